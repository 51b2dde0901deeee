// SPDX-License-Identifier: Apache-2.0
// Atari games by the Arcade Learning Environment.
#include "atari_games.hpp"
#include "environments.hpp"
#include "image_experiment.hpp"

#include "ale/arcade.hpp"

#include <filesystem>
#include <string>

namespace gmac::examples::train {

std::unique_ptr<image_experiment> make_atari_experiment(settings const& settings, executor& tasks) {
    auto const emulator = [rom = find_game_rom(settings.environment, settings.rom, {}), mode = settings.mode,
                           difficulty = settings.difficulty](ale::preprocessing const& rules) {
        return ale::arcade(rom, {.full_action_set = rules.full_action_set, .mode = mode, .difficulty = difficulty});
    };
    return std::make_unique<image_experiment>(settings, tasks, games_of(emulator, preprocessing_of(settings), tasks));
}

std::string find_game_rom(std::string const& environment, std::string const& file, std::string const& folder) {
    return std::filesystem::absolute(ale::find_rom(atari_game(environment), file, folder)).string();
}

} // namespace gmac::examples::train
