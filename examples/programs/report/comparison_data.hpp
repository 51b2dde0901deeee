// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train/settings.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <span>
#include <string>

namespace gmac::examples::report {

/// Everything that the page of several runs shows, from the files of their folders. What one of them lacks is a line in
/// "problems", and the others are compared. A method is an algorithm, and, where runs of it on one environment have settings
/// of their own besides the seed, these settings.
///
/// "format" is "gmac-comparison-1"; "runs" lists all with their scores: the mean of the evaluation if each run on the
/// environment has one, else the mean of the last 100 episodes. "tasks" has for each environment, by method: the "curve"
/// of the means over the seeds, with the range of the seeds, "interquartile_mean" and "mean", the "profile" over
/// "thresholds"; and in "improvement" the chances that a run of a method is better than one of another one, [row][column].
/// "overall" is the same over the tasks that all methods have, means and profiles in units of the mean of the baseline on each,
/// or null; "overall_problem" says why something is missing there. Intervals hold 95 %, by the stratified bootstrap (Agarwal et al. 2021).
/// "settings" are those that differ, with the values of each method. Throws gmac::error if there are fewer than two runs with a
/// score, or if `baseline`, unless empty, is no method; by default it is ppo, or the first.
[[nodiscard]] nlohmann::ordered_json comparison_data(train::registry const& known,
                                                     std::span<std::filesystem::path const> runs,
                                                     std::string const& baseline = {});

} // namespace gmac::examples::report
