// SPDX-License-Identifier: Apache-2.0
#include "trainer.hpp"

#include "method_table.hpp"

#include <array>
#include <cstddef>

namespace gmac::examples::train {

// Each in a file of its own, made from methods/method.cpp.in.
method<float>::trainer_factory make_gmac, make_ppo, make_iqac, make_iqac_e, make_dirac_huber_quantile,
    make_dirac_expectile, make_dirac_energy, make_c51, make_hl_gauss, make_categorical_energy;
trainer::critic_factory watch_gmac, watch_ppo, watch_iqac, watch_iqac_e, watch_dirac_huber_quantile,
    watch_dirac_expectile, watch_dirac_energy, watch_c51, watch_hl_gauss, watch_categorical_energy;

namespace {

constexpr std::array<method<float>, 10> methods{
    {{"gmac", make_gmac, watch_gmac},
     {"ppo", make_ppo, watch_ppo},
     {"iqac", make_iqac, watch_iqac},
     {"iqac_e", make_iqac_e, watch_iqac_e},
     {"dirac_huber_quantile", make_dirac_huber_quantile, watch_dirac_huber_quantile},
     {"dirac_expectile", make_dirac_expectile, watch_dirac_expectile},
     {"dirac_energy", make_dirac_energy, watch_dirac_energy},
     {"c51", make_c51, watch_c51},
     {"hl_gauss", make_hl_gauss, watch_hl_gauss},
     {"categorical_energy", make_categorical_energy, watch_categorical_energy}}};

constexpr auto names = [] {
    std::array<std::string_view, methods.size()> all;
    for (std::size_t i = 0; i < methods.size(); ++i)
        all[i] = methods[i].name;
    return all;
}();

} // namespace

std::span<std::string_view const> algorithm_names() {
    return names;
}

std::unique_ptr<trainer> make_trainer(settings const& settings, environment_batch& worlds, executor& tasks) {
    return make_of<float>("algorithm", methods, settings, worlds, tasks);
}

} // namespace gmac::examples::train
