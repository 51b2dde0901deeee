// SPDX-License-Identifier: Apache-2.0
// What gmac-train says of Atari games when it was built without the Arcade Learning Environment.
#include "environments.hpp"
#include "image_experiment.hpp"

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

std::unique_ptr<image_experiment> make_atari_experiment(settings const& settings, executor&) {
    refuse(settings.environment);
}
std::string find_game_rom(std::string const& environment, std::string const&, std::string const&) {
    refuse(environment);
}

} // namespace gmac::examples::train
