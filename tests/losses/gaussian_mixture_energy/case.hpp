// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/matrices.hpp"

#include <gmac/core/view.hpp>
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/targets/particles.hpp>

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace gmac::testing {

/// Raw outputs of a Gaussian-mixture head and targets for it, in double.
template <std::size_t K>
struct mixture_case {
    heads::gaussian_mixture<K> head{};
    table<double> outputs, means, deviations, weights;
    bool weighted = false;

    mixture_case(std::size_t states, std::size_t particles)
        : outputs(states, 3 * K), means(states, particles), deviations(states, particles), weights(states, particles) {}

    [[nodiscard]] targets::gaussian_particles<double const> targets() const {
        return {means.view(), deviations.view(), weighted ? weights.view() : matrix_view<double const>{}};
    }
};

/// Random, with what is hard among it: deviations of exactly 0, equal means, weights of exactly 0, scales from 1e-8 to
/// 1e8 and distances of up to 50 deviations.
template <std::size_t K>
mixture_case<K> random_case(std::mt19937_64& random, std::size_t states, std::size_t particles) {
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    auto const symmetric = [&] { return 2.0 * unit(random) - 1.0; };
    auto const one_in = [&](int n) { return unit(random) * n < 1.0; };
    mixture_case<K> result(states, particles);
    double const scale = one_in(3) ? 1.0 : std::pow(10.0, 8.0 * symmetric());
    double const spread = one_in(2) ? 1.0 : 50.0; // of the means, in deviations
    result.head.scale = scale * scale;
    result.head.floor = one_in(3) ? 0.0 : 1.0;
    result.weighted = one_in(2);
    for (std::size_t i = 0; i < states; ++i) {
        for (std::size_t k = 0; k < K; ++k) {
            result.outputs(i, k) = one_in(10) ? -1000.0 : 3.0 * symmetric();
            result.outputs(i, K + k) = scale * spread * symmetric();
            result.outputs(i, 2 * K + k) = (one_in(10) ? 20.0 : 4.0) * symmetric();
        }
        if (one_in(5))
            result.outputs(i, 2 * K - 1) = result.outputs(i, K);
        double total = 0.0;
        for (std::size_t j = 0; j < particles; ++j) {
            result.means(i, j) = one_in(5) ? result.outputs(i, K) : scale * spread * symmetric();
            result.deviations(i, j) = one_in(4) ? 0.0 : scale * 2.0 * unit(random);
            result.weights(i, j) = one_in(4) && j > 0 ? 0.0 : 0.01 + unit(random);
            total += result.weights(i, j);
        }
        for (std::size_t j = 0; j < particles; ++j)
            result.weights(i, j) /= total;
    }
    return result;
}

} // namespace gmac::testing
