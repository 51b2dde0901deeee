// SPDX-License-Identifier: Apache-2.0
// The counting scalar: each kind of operation, and the mixture energy's count in closed form.
#include <gmac/core/counted.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/special.hpp>
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/heads/scalar.hpp>
#include <gmac/losses/gaussian_mixture_energy.hpp>
#include <gmac/losses/squared_error.hpp>

#include "losses/gaussian_mixture_energy/case.hpp"
#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <type_traits>

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

TEST_CASE("every operation is counted as what it is", "[mixture]") {
    operation_counts counter;
    number const a(2.0, counter), b(3.0, counter);
    number const constant = 0.5;
    CHECK((a + b - constant).value() == 4.5);
    CHECK((a * b / constant).value() == 12.0);
    CHECK((-a).value() == -2.0);
    CHECK((constant * constant + constant).value() == 0.75);
    CHECK(a < b);
    CHECK_FALSE(a == b);
    CHECK(b >= constant);
    CHECK(abs(-a).value() == 2.0);
    CHECK(sqrt(a).value() == std::sqrt(2.0));
    CHECK(exp(a).value() == std::exp(2.0));
    CHECK((log(a) + log1p(a)).value() == std::log(2.0) + std::log1p(2.0));
    CHECK(erf(a).value() == std::erf(2.0));
    CHECK(tanh(a).value() == std::tanh(2.0));
    number sum = a;
    sum += b;
    sum *= b;
    CHECK(sum.value() == 15.0);
    CHECK(counter == operation_counts{.additions = 4,
                                      .multiplications = 2,
                                      .divisions = 1,
                                      .comparisons = 4,
                                      .square_roots = 1,
                                      .exponentials = 1,
                                      .logarithms = 2,
                                      .error_functions = 1,
                                      .other_functions = 1});
    CHECK(counter.total() == 17);
    CHECK(counter - counter == operation_counts{});
    CHECK((counter + counter).additions == 8);
    // Two counters do not meet.
    operation_counts other;
    CHECK((number(1.0, other) + number(1.0, other)).value() == 2.0);
    CHECK(other.additions == 1);
    CHECK(counter.additions == 4);
    // The functions of the kernels.
    operation_counts kernel;
    number const x(0.7, kernel);
    CHECK(gmac::lanes::exp_erf(x).erf.value() == std::erf(0.7));
    CHECK(gmac::lanes::select(x < constant, x, constant).value() == 0.5);
    CHECK(gmac::lanes::mul_add(x, x, x).value() == Approx(1.19));
    CHECK(kernel == operation_counts{.additions = 1,
                                     .multiplications = 2,
                                     .comparisons = 1,
                                     .exponentials = 1,
                                     .error_functions = 1});
}

TEST_CASE("the cost of the mixture energy in closed form", "[mixture]") {
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

TEST_CASE("the cost of the squared error", "[mixture]") {
    operation_counts counter;
    number const output(0.5, counter), target(0.25, counter);
    number gradient;
    number const loss = gmac::losses::squared_error{}.value_and_gradient(gmac::heads::scalar{},
                                                                         gmac::matrix_view<number const>(&output, 1, 1),
                                                                         gmac::vector_view<number const>(&target, 1),
                                                                         gmac::matrix_view<number>(&gradient, 1, 1));
    CHECK(loss.value() == 0.03125);
    CHECK(gradient.value() == 0.25);
    // v - R, and the sum over states; ½ / B d d, and d times 1 / B.
    CHECK(counter == operation_counts{.additions = 2, .multiplications = 3, .divisions = 0});
}
