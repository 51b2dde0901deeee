// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train/output/metrics_table.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The tables of a run as a page shows them: what is damaged is left out and told, what is long is thinned.
namespace gmac::examples::report {

/// What is wrong with a file of a run, in words for its reader.
struct problem {
    std::string where; ///< name of the file
    std::string what;
};

/// The rows of a CSV file that can be read; nothing if there is no file. Throws nothing but std::bad_alloc.
[[nodiscard]] train::csv_table read_table(std::filesystem::path const& path, std::vector<problem>& problems);

/// A number as JSON, to five digits, which no screen shows more of; null if it is not finite.
[[nodiscard]] nlohmann::ordered_json json_number(double value);
[[nodiscard]] nlohmann::ordered_json json_numbers(std::span<double const> values);

/// {"rows": n, "each": k, "x": […], "columns": {NAME: {"mean": […], "low": […], "high": […]}}}: of each k rows in a row the
/// mean and the range of the finite values, null where there is none; x is the mean of the column `key`. With k = 1, low and
/// high are left out. There are at most `most` points.
[[nodiscard]] nlohmann::ordered_json thinned(train::csv_table const& table, std::string_view key, std::size_t most);

/// {"rows": n, "each": k, "frames": […], "return": […], "length": […]}: all episodes, or of each k in a row those of the
/// lowest, the middle and the highest return, in their order. There are at most `most` or three more.
[[nodiscard]] nlohmann::ordered_json sampled_episodes(train::csv_table const& table, std::size_t most);

} // namespace gmac::examples::report
