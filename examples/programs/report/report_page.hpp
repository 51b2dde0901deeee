// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace gmac::examples::report {

/// The page of report_data, in one file that fetches nothing. With `live` it listens to the server-sent events of
/// "events", and at each message it fetches "data.json", the same data anew, and shows it.
[[nodiscard]] std::string report_page(nlohmann::ordered_json const& data, bool live = false);

/// The page of one episode, likewise: {"run", "env", "algorithm", "seed", "frames": that the agent was trained for, "episode":
/// of episode_json}.
[[nodiscard]] std::string play_page(nlohmann::ordered_json const& data);
/// The page of comparison_data, likewise.
[[nodiscard]] std::string comparison_page(nlohmann::ordered_json const& data);

/// What the pages of episodes and of comparisons have in them, and no other file.
inline constexpr std::string_view report_page_mark = "<title>gmac: a run</title>";
inline constexpr std::string_view play_page_mark = "<!-- gmac: an episode -->";
inline constexpr std::string_view comparison_page_mark = "<!-- gmac-report: a comparison -->";
/// Whatever else has this name stays: throws gmac::error if the file is there without the mark. `what` such a page is.
void require_replaceable(std::filesystem::path const& file, std::string_view mark, std::string_view what);

} // namespace gmac::examples::report
