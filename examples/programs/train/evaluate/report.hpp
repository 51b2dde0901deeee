// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "statistics.hpp"
#include "train/stored_run.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gmac::examples::train {

/// What one run is worth: its episodes with the most likely actions.
struct run_score {
    std::string path;
    std::string environment, algorithm;
    std::uint64_t training_seed = 0, frames = 0;
    std::vector<finished_episode> episodes;
    summary returns;              ///< over the episodes
    double continuity_cost = 0.0; ///< of real actions, or else NaN; see watched_actions
};

/// Runs of one environment and algorithm together: the mean return of a run is one value, since it is from one training
/// to the next that returns vary, whatever the number of episodes.
struct group_score {
    std::string environment, algorithm;
    std::vector<std::uint64_t> training_seeds;
    summary returns;              ///< over the means of the runs
    double continuity_cost = 0.0; ///< the mean of theirs
};

/// Plays `episodes` episodes, each in an environment of its own, of which the k-th is the same for every run with the
/// environment and every number of threads; `risk` is of observed_environments. Throws gmac::error.
[[nodiscard]] run_score score(registry const& known, std::string const& path, std::size_t episodes, std::uint64_t seed,
                              std::optional<double> risk, bootstrap const& options, executor& tasks);

/// The groups of at least two runs, in the order of their first ones.
[[nodiscard]] std::vector<group_score> group(std::vector<run_score> const& runs, bootstrap const& options);

[[nodiscard]] nlohmann::ordered_json to_json(std::vector<run_score> const& runs,
                                             std::vector<group_score> const& groups);
/// A table in Markdown, one line a run and one a group.
[[nodiscard]] std::string table(std::vector<run_score> const& runs, std::vector<group_score> const& groups);

} // namespace gmac::examples::train
