// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace gmac::examples::report {

/// The page of report_data, in one file that fetches nothing. With `live` it listens to the server-sent events of
/// "events", and at each message it fetches "data.json", the same data anew, and shows it.
[[nodiscard]] std::string report_page(nlohmann::ordered_json const& data, bool live = false);

/// The page of comparison_data, likewise.
[[nodiscard]] std::string comparison_page(nlohmann::ordered_json const& data);

} // namespace gmac::examples::report
