// SPDX-License-Identifier: Apache-2.0
// What gmac-train says of Atari games when it was built without the Arcade Learning Environment.
#include "atari_games.hpp"

#include <gmac/core/error.hpp>

namespace gmac::examples::train {

namespace {

[[noreturn]] void refuse(std::string const& environment) {
    fail(
        "{} needs the Arcade Learning Environment, which was missing when this program was built: docs/ale.md says how "
        "it is found",
        environment);
}

} // namespace

image_games atari_games(settings const& settings, executor&) {
    refuse(settings.environment);
}
void find_game_rom(settings& settings, std::string const&) {
    refuse(settings.environment);
}

} // namespace gmac::examples::train
