// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "configurations.hpp"
#include "sweep_file.hpp"

#include "train/evaluate/statistics.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gmac::examples::sweep {

/// What the runs of a configuration came to.
struct result {
    configuration const* what = nullptr;
    std::size_t rung = 0;                      ///< the last one that it was on
    std::vector<std::optional<double>> scores; ///< in the order of the seeds; nothing of a run that has none
    double frames = 0.0, seconds = 0.0;        ///< of a run, the mean of those that have a score
    /// Interquartile mean over the seeds with its 95 % bootstrap interval; nothing unless each run has a score.
    std::optional<train::estimate> found{};
};

/// Fills `found`.
void summarize(result& one);

/// The highest rung first, on it the best first, and at its end those without an estimate.
void sort_best_first(std::vector<result>& results);

/// For the terminal, in Markdown.
[[nodiscard]] std::string table_of(std::vector<result> const& results);

/// The same with the scores of all runs, numbers in full.
[[nodiscard]] std::string csv_of(std::vector<result> const& results);

/// Draws the interquartile means with their intervals, of at most 30 configurations, as `stem`.png and `stem`.svg. Throws
/// gmac::error if gnuplot is missing or a file cannot be written.
void plot_results(std::filesystem::path const& stem, std::vector<result> const& results);

/// A file for --config of the program that trains.
[[nodiscard]] std::string config_of(sweep_file const& sweep, result const& best);

} // namespace gmac::examples::sweep
