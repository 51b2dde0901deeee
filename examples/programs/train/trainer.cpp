// SPDX-License-Identifier: Apache-2.0
#include "trainer.hpp"

#include <array>
#include <cstddef>

namespace gmac::examples::train {

// Each in a file of its own, made from methods/method.cpp.in.
using factory = std::unique_ptr<trainer>(settings const&, environment_batch&, executor&);
factory make_gmac, make_ppo, make_iqac, make_iqac_e, make_dirac_huber_quantile, make_dirac_expectile, make_dirac_energy,
    make_c51, make_hl_gauss, make_categorical_energy;

namespace {

constexpr std::array<std::string_view, 10> names{"gmac",
                                                 "ppo",
                                                 "iqac",
                                                 "iqac_e",
                                                 "dirac_huber_quantile",
                                                 "dirac_expectile",
                                                 "dirac_energy",
                                                 "c51",
                                                 "hl_gauss",
                                                 "categorical_energy"};
constexpr std::array<factory*, names.size()> factories{make_gmac,
                                                       make_ppo,
                                                       make_iqac,
                                                       make_iqac_e,
                                                       make_dirac_huber_quantile,
                                                       make_dirac_expectile,
                                                       make_dirac_energy,
                                                       make_c51,
                                                       make_hl_gauss,
                                                       make_categorical_energy};

} // namespace

std::span<std::string_view const> algorithm_names() {
    return names;
}

std::unique_ptr<trainer> make_trainer(settings const& settings, environment_batch& worlds, executor& tasks) {
    require_known("algorithm", settings.algorithm, names);
    std::size_t method = 0;
    while (names[method] != settings.algorithm)
        ++method;
    return factories[method](settings, worlds, tasks);
}

} // namespace gmac::examples::train
