// SPDX-License-Identifier: Apache-2.0
// Compiled several times, each time for other vectors and with another name in GMAC_PART.
#include "abi/part.hpp"

#include <gmac/backends/simd.hpp>
#include <gmac/core.hpp>
#include <gmac/heads.hpp>
#include <gmac/losses.hpp>
#include <gmac/nn.hpp>
#include <gmac/targets.hpp>

#include <array>
#include <cstddef>

namespace {

template <class T, std::size_t Size>
gmac::matrix_view<T> matrix(std::array<T, Size>& numbers, std::size_t rows) {
    return {numbers.data(), rows, Size / rows};
}
template <class T, std::size_t Size>
gmac::matrix_view<T const> matrix(std::array<T, Size> const& numbers, std::size_t rows) {
    return {numbers.data(), rows, Size / rows};
}

} // namespace

namespace parts {

answers GMAC_PART(questions const& asked) {
    answers given{};
    given.lanes = gmac::lanes::width_of<gmac::lanes::widest<float>>;

    gmac::losses::gaussian_mixture_energy const loss{.target_term = true};
    gmac::targets::gaussian_particles const targets{matrix(asked.means, states), matrix(asked.deviations, states)};
    given.loss = loss.value_and_gradient(gmac::heads::gaussian_mixture<components>{.scale = 1.0, .floor = floor},
                                         matrix(asked.raw, states), targets, matrix(given.gradient, states));

    std::array<bool, steps> const no{};
    gmac::targets::dirac_particles const returns{matrix(given.returns, steps)};
    gmac::targets::sr_lambda const sr_lambda{.discount = discount, .lambda = 0.5, .particles = particles};
    gmac::random_stream random(/*seed*/ 1);
    sr_lambda(gmac::targets::rollout_view{asked.rewards, no, no},
              gmac::targets::dirac_source{matrix(asked.values, steps + 1)}, random, returns);

    gmac::nn::mlp<gmac::backends::simd<float>> const network({inputs, hidden, actions}, {.activate_last = false});
    auto memory = network.make_workspace(states);
    auto const outputs = network.forward(asked.parameters, matrix(asked.rows, states), memory);
    for (std::size_t i = 0; i < given.outputs.size(); ++i)
        given.outputs[i] = outputs(i / actions, i % actions);
    return given;
}

} // namespace parts
