// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/deploy/policy_file.hpp>

#include <cstddef>
#include <filesystem>

namespace gmac::examples::exporting {

/// A mean and its standard error.
struct mean_return {
    double value = 0.0, error = 0.0;
};

/// What two policies earn in the same episodes, and how much less the rounded one does in each.
struct returns {
    std::size_t episodes = 0;
    mean_return exact, rounded, loss;
};

/// Plays at least two episodes of the environment of a run of gmac-train, a folder, with each policy. Throws gmac::error for a
/// folder without a checkpoint, which says what the environment is, and for Atari games.
[[nodiscard]] returns play(std::filesystem::path const& run, std::size_t episodes, any_policy<> const& exact,
                           any_policy<> const& rounded);

} // namespace gmac::examples::exporting
