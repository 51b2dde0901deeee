// SPDX-License-Identifier: Apache-2.0
// What the mixture energy costs, counted and in closed form.
#include "losses/gaussian_mixture_energy/case.hpp"
#include "support/catch.hpp"

#include <gmac/core/counted.hpp>
#include <gmac/losses/gaussian_mixture_energy.hpp>

#include <cstddef>
#include <cstdint>
#include <random>

namespace {

using gmac::operation_counts;
using number = gmac::counted<double>;
using gmac::testing::random_case;
using gmac::testing::table;

/// Operations of the mixture energy of one state, with and without the gradient.
template <std::size_t K>
operation_counts cost(std::size_t particles, bool with_gradient, bool weighted) {
    std::mt19937_64 random(31);
    auto given = random_case<K>(random, 1, particles);
    given.head.floor = 1.0; // with 0 a deviation takes one exponential more
    operation_counts counter;
    auto const counted = [&](table<double> const& from) {
        table<number> result(from.rows, from.cols);
        for (std::size_t i = 0; i < from.data.size(); ++i)
            result.data[i] = number(from.data[i], counter);
        return result;
    };
    auto const outputs = counted(given.outputs), means = counted(given.means), deviations = counted(given.deviations),
               weights = counted(given.weights);
    table<number> gradient(1, 3 * K);
    gmac::targets::gaussian_particles<number const> const targets{means.view(), deviations.view(),
                                                                  weighted ? weights.view()
                                                                           : gmac::matrix_view<number const>{}};
    gmac::losses::gaussian_mixture_energy const loss;
    if (with_gradient)
        loss.value_and_gradient(given.head, outputs.view(), targets, gradient.view());
    else
        static_cast<void>(loss.value(given.head, outputs.view(), targets));
    return counter;
}

} // namespace

TEST_CASE("the cost of the mixture energy in closed form") {
    auto const per_particle = [](std::size_t m, bool gradient, bool weighted) {
        auto const more = cost<5>(m + 1, gradient, weighted), less = cost<5>(m, gradient, weighted);
        return more - less;
    };
    for (bool const gradient : {false, true})
        for (bool const weighted : {false, true}) {
            for (std::size_t const m : {std::size_t(1), std::size_t(63), std::size_t(64), std::size_t(128)}) {
                // One more particle: K pairs, and its doubled variance. A pair: d, q, the two sums (and two more for the
                // gradient); d h, its square, h E, and a product for each of the first sums (and two for the weight).
                // Each 64 particles are summed by themselves.
                std::uint64_t const pairs = 5, sums = gradient ? 4 : 2;
                operation_counts const expected{.additions = pairs * (2 + sums) + (m % 64 == 0 ? pairs * sums : 0) +
                                                             (weighted ? 1 : 0),
                                                .multiplications = pairs * (weighted ? 7 : 5) + 2,
                                                .divisions = pairs,
                                                .comparisons = pairs + 1 + (weighted ? 1 : 0),
                                                .square_roots = pairs,
                                                .exponentials = pairs,
                                                .error_functions = pairs};
                CAPTURE(m, gradient, weighted);
                CHECK(per_particle(m, gradient, weighted) == expected);
            }
        }
    // Of exponentials: K m + K (K - 1) / 2 pairs, K of the softmax, K of softplus, and K more of softplus's gradient.
    CHECK(cost<5>(128, true, false).exponentials == 5 * 128 + 10 + 5 + 5 + 5);
    CHECK(cost<5>(128, true, false).error_functions == 5 * 128 + 10);
    CHECK(cost<5>(128, false, false).exponentials == 5 * 128 + 10 + 5 + 5);
    CHECK(cost<5>(128, true, false).logarithms == 10);
}
