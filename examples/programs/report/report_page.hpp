// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace gmac::examples::report {

/// The page of report_data, in one file that fetches nothing. With `live` it listens to the server-sent events of
/// "events", and at each message it fetches "data.json", the same data anew, and shows it.
[[nodiscard]] std::string report_page(nlohmann::ordered_json const& data, bool live = false);

/// The page of one episode, likewise: {"run", "env", "algorithm", "seed", "frames": that the agent was trained for, "episode":
/// of episode_json}.
[[nodiscard]] std::string play_page(nlohmann::ordered_json const& data);
/// What it has in it, and no other file.
inline constexpr std::string_view play_page_mark = "<!-- gmac: an episode -->";

/// The page of comparison_data, likewise.
[[nodiscard]] std::string comparison_page(nlohmann::ordered_json const& data);

} // namespace gmac::examples::report
