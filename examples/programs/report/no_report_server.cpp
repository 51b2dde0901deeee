// SPDX-License-Identifier: Apache-2.0
// In the place of report_server.cpp where cpp-httplib is missing.
#include "report_server.hpp"

#include <gmac/core/error.hpp>

namespace gmac::examples::report {

class report_server::server {};

report_server::report_server(std::filesystem::path const&, std::uint16_t, report_source, std::chrono::milliseconds) {
    fail(
        "this program was built without a web server, which --serve needs: install libcpp-httplib-dev and build it anew");
}
report_server::~report_server() = default;
std::uint16_t report_server::port() const noexcept {
    return 0;
}
std::string report_server::address() const {
    return {};
}
void report_server::changed() noexcept {}

std::unique_ptr<report_server> serve_report(train::registry const&, std::filesystem::path const& run,
                                            std::uint16_t port) {
    return std::make_unique<report_server>(run, port, report_source{});
}

} // namespace gmac::examples::report
