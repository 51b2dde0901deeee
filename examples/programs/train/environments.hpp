// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <gmac/core/executor.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/environment/normalized.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace gmac::examples::train {

/// `count` environments as the settings have them, unnormalised. Throws gmac::error if the name is not known, or if this
/// program was built without the library that the environment needs.
[[nodiscard]] std::unique_ptr<environment_batch> make_environments(settings const& settings, std::size_t count,
                                                                   std::uint64_t seed, executor& tasks);

/// What the settings ask of normalized_environments.
[[nodiscard]] inline normalization normalization_of(settings const& settings) {
    return {.observations = settings.normalize_observations, .rewards = settings.normalize_rewards};
}

/// The environments' own reward units in one unit of a normalised reward, and so of a predicted value.
[[nodiscard]] inline double reward_scale(normalized_environments const& worlds) noexcept {
    auto const& options = worlds.options();
    return options.rewards ? 1.0 / worlds.return_statistics().scale(0, options.epsilon) : 1.0;
}

/// The ROM of ale/GAME as an absolute path: `file`, or else the one in `folder`. Throws gmac::error that says what would
/// work if there is none, or if this program was built without the Arcade Learning Environment.
[[nodiscard]] std::string find_game_rom(std::string const& environment, std::string const& file,
                                        std::string const& folder);

} // namespace gmac::examples::train
