// SPDX-License-Identifier: Apache-2.0
#include "atari_player.hpp"

#include <gmac/core/error.hpp>

#include <array>
#include <cstddef>

namespace gmac::examples::train {

// Each in a file of its own, made from methods/atari_method.cpp.in.
using atari_factory = std::unique_ptr<atari_player>(settings const&, atari_player::batch&, executor&);
atari_factory make_atari_gmac, make_atari_ppo, make_atari_iqac, make_atari_iqac_e;

namespace {

constexpr std::array<std::string_view, 4> names{"gmac", "ppo", "iqac", "iqac_e"};
constexpr std::array<atari_factory*, names.size()> factories{make_atari_gmac, make_atari_ppo, make_atari_iqac,
                                                             make_atari_iqac_e};

} // namespace

std::unique_ptr<atari_player> make_atari_player(settings const& settings, atari_player::batch& worlds,
                                                executor& tasks) {
    require_known("algorithm for Atari games", settings.algorithm, names);
    require(settings.agent.hidden.size() == 1,
            "--hidden has {} widths, but the trunk for Atari games has one fully connected layer",
            settings.agent.hidden.size());
    std::size_t method = 0;
    while (names[method] != settings.algorithm)
        ++method;
    return factories[method](settings, worlds, tasks);
}

} // namespace gmac::examples::train
