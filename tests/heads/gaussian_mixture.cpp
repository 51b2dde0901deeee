// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"
#include "support/dual.hpp"

#include <gmac/heads/gaussian_mixture.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <random>

using gmac::testing::dual;

TEST_CASE("the pull-back of the Gaussian-mixture head is its transposed Jacobian") {
    constexpr std::size_t K = 3;
    using D = dual<double, 3 * K>;
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    double largest = 0.0;
    for (int step = 0; step < 20000; ++step) {
        gmac::heads::gaussian_mixture<K> const head{.scale = std::pow(10.0, 8.0 * uniform(random)),
                                                    .floor = step % 2 == 0 ? 0.0 : 1.0};
        double const size = step % 3 == 0 ? 700.0 : 5.0;
        std::array<double, 3 * K> raw{}, gradient{};
        std::array<D, 3 * K> dual_raw;
        for (std::size_t i = 0; i < 3 * K; ++i) {
            raw[i] = size * uniform(random);
            dual_raw[i] = D::variable(raw[i], i);
        }
        typename gmac::heads::gaussian_mixture<K>::parameters<double> slope;
        for (std::size_t k = 0; k < K; ++k) {
            slope.weights[k] = uniform(random);
            slope.means[k] = uniform(random);
            slope.deviations[k] = uniform(random);
        }
        head.pull_back(raw, head.transform(raw), slope, gradient);
        auto const mixture = head.transform(dual_raw);
        for (std::size_t i = 0; i < 3 * K; ++i) {
            double sum = 0.0, term = 0.0;
            if (i < K) // the softmax sums w_i (g_i − Σ w g)
                for (double const part : slope.weights)
                    term = std::max(term, mixture.weights[i].value * std::abs(part));
            for (std::size_t k = 0; k < K; ++k)
                for (double const part :
                     {slope.weights[k] * mixture.weights[k].slope[i], slope.means[k] * mixture.means[k].slope[i],
                      slope.deviations[k] * mixture.deviations[k].slope[i]}) {
                    sum += part;
                    term = std::max(term, std::abs(part));
                }
            if (std::abs(sum - gradient[i]) > 1e-300) // below, the softmax is subnormal
                largest = std::max(largest, std::abs(sum - gradient[i]) / term);
        }
    }
    CHECK(largest < 1e-12);
}
