// SPDX-License-Identifier: Apache-2.0
#include "method_table.hpp"
#include "trainer.hpp"

#include <array>

namespace gmac::examples::train {

// Each in a file of its own, made from methods/image_method.cpp.in.
method<std::uint8_t>::trainer_factory make_image_gmac, make_image_ppo, make_image_iqac, make_image_iqac_e;
image_trainer::critic_factory watch_image_gmac, watch_image_ppo, watch_image_iqac, watch_image_iqac_e;

namespace {

constexpr std::array<method<std::uint8_t>, 4> methods{{{"gmac", make_image_gmac, watch_image_gmac},
                                                       {"ppo", make_image_ppo, watch_image_ppo},
                                                       {"iqac", make_image_iqac, watch_image_iqac},
                                                       {"iqac_e", make_image_iqac_e, watch_image_iqac_e}}};

} // namespace

std::unique_ptr<image_trainer> make_image_trainer(settings const& settings, image_trainer::batch& worlds,
                                                  executor& tasks) {
    return make_of<std::uint8_t>("algorithm for images", methods, settings, worlds, tasks);
}

} // namespace gmac::examples::train
