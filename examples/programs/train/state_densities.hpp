// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image_experiment.hpp"
#include "output/density_history.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

namespace gmac::examples::train {

/// Which state to look at, and how often games are played on from it.
struct state_choice {
    std::size_t step = 100;  ///< of a game that the last run's latest agent plays,
    bool before_end = false; ///< counted from its end backwards, or from its start
    std::uint64_t seed = 1;  ///< of this game
    std::size_t plays = 0;   ///< games that go on from the state
};

/// A state of a game beside the densities that runs of gmac-train on it, folders, gave its value at the moments of which
/// they kept checkpoints, or at the end; the critics of a run are methods beside its own. Games that are played on have the
/// policy of the run and moment, with actions as in training. Throws gmac::error for a folder that is no such run, and for a
/// state that the game has not.
[[nodiscard]] density_picture state_densities(
    registry const& known, std::span<std::filesystem::path const> runs, state_choice const& choice,
    std::function<std::unique_ptr<image_experiment>(settings const&)> const& make);

} // namespace gmac::examples::train
