// SPDX-License-Identifier: Apache-2.0
// Atari games by the Arcade Learning Environment.
#include "atari_games.hpp"

#include "ale/arcade.hpp"

#include <filesystem>
#include <string>

namespace gmac::examples::train {

namespace {

[[nodiscard]] std::string game_of(settings const& settings) {
    return settings.environment.substr(settings.environment.find('/') + 1);
}

} // namespace

image_games atari_games(settings const& settings, executor& tasks) {
    std::string const rom = ale::find_rom(game_of(settings), settings.rom, {}).string();
    auto const emulator = [rom, mode = settings.mode,
                           difficulty = settings.difficulty](ale::preprocessing const& rules) {
        return ale::arcade(rom, {.full_action_set = rules.full_action_set, .mode = mode, .difficulty = difficulty});
    };
    return games_of(emulator, preprocessing_of(settings), tasks);
}

void find_game_rom(settings& settings, std::string const& folder) {
    settings.rom = std::filesystem::absolute(ale::find_rom(game_of(settings), settings.rom, folder)).string();
}

} // namespace gmac::examples::train
