// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train/settings.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace gmac::examples::report {

/// Makes what a server shows, at each request anew; on threads of the server, one at a time.
struct report_source {
    std::function<std::string()> page; ///< HTML
    std::function<std::string()> data; ///< JSON
};

/// Shows a run that is on its way to browsers on this machine, at http://127.0.0.1:PORT/ and at no other address: the page, its
/// data as data.json, files/NAME for tables and pictures in the run's folder, and as events a server-sent event for each
/// change, at most one a second. Nothing can be changed by it. What a browser asks by another name than that of this machine,
/// or for a page from elsewhere, is refused.
///
/// All requests are answered on threads of the server. A client that does not read for two seconds is left; more than a
/// few at once wait for each other.
class report_server {
public:
    /// Port 0 is one that is free. Throws gmac::error for a port that cannot be had and a folder that cannot be read.
    report_server(std::filesystem::path const& run, std::uint16_t port, report_source source,
                  std::chrono::milliseconds between_events = std::chrono::seconds(1));
    /// Tells those who listen of the last change, and gives them up to two seconds to ask for it.
    ~report_server();
    report_server(report_server const&) = delete;
    report_server& operator=(report_server const&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept;
    [[nodiscard]] std::string address() const;
    /// To be called when there is more to show; waits for no client.
    void changed() noexcept;

private:
    class server;
    std::unique_ptr<server> server_;
};

/// Serves the report of the run in a folder, of a program that must outlive it. Throws gmac::error as above.
[[nodiscard]] std::unique_ptr<report_server> serve_report(train::registry const& known,
                                                          std::filesystem::path const& run, std::uint16_t port);

} // namespace gmac::examples::report
