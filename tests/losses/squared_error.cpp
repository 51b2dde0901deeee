// SPDX-License-Identifier: Apache-2.0
// Squared errors of any size.
#include "support/catch.hpp"
#include "support/extremes.hpp"

#include <gmac/heads/scalar.hpp>
#include <gmac/losses/squared_error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

using real = long double;

template <class T>
struct clipped_target {
    vector_view<T const> returns, old_values;
};

} // namespace

TEMPLATE_TEST_CASE("a mean of squares that are too large themselves", "[extremes]", float, double) {
    using T = TestType;
    std::vector<T> values(100, T(0)), returns(100, T(1)), gradient(100);
    values[7] = 4 * std::sqrt(std::numeric_limits<T>::max());
    auto const largest = static_cast<real>(std::numeric_limits<T>::max());
    losses::squared_error const loss;
    T const mean = loss.value_and_gradient(heads::scalar{}, matrix_view<T const>(values.data(), 100, 1), returns,
                                           matrix_view<T>(gradient.data(), 100, 1));
    CHECK(agrees(mean, 8 * largest / 100, 8)); // half of 16 largest
    CHECK(gradient[7] == Approx(values[7] / 100));
}

TEMPLATE_TEST_CASE("squared errors of any size", "[extremes]", float, double) {
    using T = TestType;
    auto numbers = extremes<T>();
    for (T const factor : {T(1.2), T(1.4), T(2), T(3)}) // halves of squares end at the root of two
        numbers.push_back(factor * std::sqrt(std::numeric_limits<T>::max()));
    sweep cases;
    heads::scalar const head;
    for (T const v : numbers)
        for (T const wanted : numbers) {
            T gradient = 0;
            auto const one = [](T const& x) { return vector_view<T const>(&x, 1); };
            auto const evaluate = [&](auto const& loss, auto const& targets) {
                return loss.value_and_gradient(head, matrix_view<T const>(&v, 1, 1), targets,
                                               matrix_view<T>(&gradient, 1, 1));
            };
            auto const V = static_cast<real>(v), R = static_cast<real>(wanted);
            real const d = V - R, sizes = std::fmax(std::abs(V), std::abs(R));
            cases.expect("squared error", evaluate(losses::squared_error{}, one(wanted)), d * d / 2, 4, sizes * sizes,
                         v, wanted);
            cases.expect("slope", gradient, d, 1, sizes, v, wanted);
            for (T const old : numbers)
                for (double const clip : {0.0, 0.2, 1e30}) {
                    auto const O = static_cast<real>(old);
                    real const limit = static_cast<real>(static_cast<T>(clip));
                    bool const inside = std::abs(V - O) <= limit;
                    real const clipped = (inside ? V : O + std::copysign(limit, V - O)) - R;
                    real const all = std::fmax(sizes, std::abs(O));
                    // Where the two are told from each other by rounding alone, either may win.
                    bool const close = std::abs(std::abs(clipped) - std::abs(d)) <=
                                       4 * all * static_cast<real>(std::numeric_limits<T>::epsilon());
                    real const larger = std::fmax(std::abs(clipped), std::abs(d));
                    cases.expect("clipped squared error",
                                 evaluate(losses::clipped_squared_error{.clip = clip},
                                          clipped_target<T>{one(wanted), one(old)}),
                                 larger * larger / 2, 8, all * all, v, wanted, old, clip);
                    if (!close && std::fmax(larger, std::abs(V - O)) < std::numeric_limits<T>::max())
                        cases.expect("clipped slope", gradient,
                                     std::abs(clipped) > std::abs(d) && !inside ? real(0) : d, 1, sizes, v, wanted, old,
                                     clip);
                }
        }
    CHECK(cases.failed() == "");
}
