// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include "ale/atari.hpp"

#include <gmac/core/executor.hpp>
#include <gmac/environment/clipped_rewards.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace gmac::examples::train {

/// Environments of the Atari game that the settings name, on the real emulator. Throws gmac::error if the ROM cannot be played,
/// and if the emulator was left out of this program.
[[nodiscard]] image_games atari_games(settings const& settings, executor& tasks);
/// Makes settings.rom the absolute path of the game's ROM: of the file that it names, or else of the one in `folder`. Throws
/// gmac::error that says what would work if there is none, or if this program was built without the Arcade Learning
/// Environment.
void find_game_rom(settings& settings, std::string const& folder);

/// What the settings say of an Atari game: the preprocessing of their name, and what they want otherwise.
[[nodiscard]] inline ale::preprocessing preprocessing_of(settings const& settings) {
    ale::preprocessing rules = ale::preprocessing_named(settings.preprocessing);
    rules.sticky = settings.sticky.value_or(rules.sticky);
    rules.full_action_set = settings.full_action_set.value_or(rules.full_action_set);
    return rules;
}

/// The games of an emulator: `make(rules)` gives one, with the action set that the rules ask for. They share a table of
/// greys. Games that are learned from end with a life and have clipped rewards, if the rules say so.
template <std::invocable<ale::preprocessing const&> Make>
    requires ale::emulator<std::invoke_result_t<Make&, ale::preprocessing const&>>
[[nodiscard]] image_games games_of(Make make, ale::preprocessing const& all_rules, executor& tasks) {
    return [make = std::move(make), all_rules,
            &tasks](image_games_for use, std::size_t count,
                    std::uint64_t seed) -> std::unique_ptr<basic_environment_batch<std::uint8_t>> {
        using emulator = std::invoke_result_t<Make const&, ale::preprocessing const&>;
        ale::preprocessing rules = all_rules;
        rules.episodic_life = rules.episodic_life && use == image_games_for::learning;
        std::shared_ptr<ale::grey_maximum const> grey;
        auto const game = [&](std::size_t) {
            emulator machine = make(rules);
            if (!grey)
                grey = std::make_shared<ale::grey_maximum const>(machine.colours(), rules.grey);
            return ale::atari(std::move(machine), rules, grey);
        };
        auto games = std::make_unique<vector_environment<ale::atari<emulator>>>(count, seed, game, &tasks);
        if (!rules.clip_rewards || use == image_games_for::scores)
            return games;
        return std::make_unique<basic_clipped_rewards<std::uint8_t>>(std::move(games));
    };
}

} // namespace gmac::examples::train
