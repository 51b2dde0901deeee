// SPDX-License-Identifier: Apache-2.0
#include "image_player.hpp"

#include <gmac/core/error.hpp>

#include <array>
#include <cstddef>

namespace gmac::examples::train {

// Each in a file of its own, made from methods/image_method.cpp.in.
using image_factory = std::unique_ptr<image_player>(settings const&, image_player::batch&, executor&);
image_factory make_image_gmac, make_image_ppo, make_image_iqac, make_image_iqac_e;

namespace {

constexpr std::array<std::string_view, 4> names{"gmac", "ppo", "iqac", "iqac_e"};
constexpr std::array<image_factory*, names.size()> factories{make_image_gmac, make_image_ppo, make_image_iqac,
                                                             make_image_iqac_e};

} // namespace

std::unique_ptr<image_player> make_image_player(settings const& settings, image_player::batch& worlds,
                                                executor& tasks) {
    require_known("algorithm for images", settings.algorithm, names);
    std::size_t method = 0;
    while (names[method] != settings.algorithm)
        ++method;
    return factories[method](settings, worlds, tasks);
}

} // namespace gmac::examples::train
