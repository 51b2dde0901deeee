// SPDX-License-Identifier: Apache-2.0
// Advantages and λ-returns of rewards and values of any size.
#include "support/extremes.hpp"
#include "support/catch.hpp"

#include <gmac/targets/exact_sr_lambda.hpp>
#include <gmac/targets/gae.hpp>
#include <gmac/targets/lambda_return.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

using real = long double;

} // namespace

TEMPLATE_TEST_CASE("advantages and returns of any size, although a part of their sums may be too large", "[extremes]",
                   float, double) {
    using T = TestType;
    sweep cases;
    auto const numbers = extremes<T>();
    T const most = (std::numeric_limits<T>::max)();
    for (T const a : numbers)
        for (T const b : numbers)
            for (auto const& values : {std::array{T(0), a, b}, std::array{a, b, T(1)}, std::array{most, most, a},
                                       std::array{-most, a, most}}) {
                std::array const rewards{b, a};
                targets::rollout_view<T> const rollout{matrix_view<T const>(rewards.data(), 2, 1)};
                std::array<T, 2> advantages, returns, lambda_returns;
                targets::gae const rule{.discount = 0.75, .lambda = 0.5};
                rule(rollout, values, vector_view<T const>(), advantages, returns);
                targets::lambda_return const other{.discount = 0.75, .lambda = 0.5};
                other(rollout, values, vector_view<T const>(), lambda_returns);
                std::array<real, 3> v;
                for (std::size_t i = 0; i < 3; ++i)
                    v[i] = static_cast<real>(values[i]);
                real const last = static_cast<real>(a) + 0.75L * v[2] - v[1];
                if (std::abs(last) > static_cast<real>(most))
                    continue; // then the first has nothing to be made of
                real const first = static_cast<real>(b) + 0.75L * v[1] - v[0] + 0.375L * last;
                real const size = std::abs(static_cast<real>(a)) + std::abs(static_cast<real>(b)) + std::abs(v[0]) +
                                  std::abs(v[1]) + std::abs(v[2]);
                cases.expect("advantage", advantages[1], last, 8, size, a, b, values);
                cases.expect("advantage", advantages[0], first, 8, size, a, b, values);
                cases.expect("return", returns[1], last + v[1], 8, size, a, b, values);
                cases.expect("return", returns[0], first + v[0], 8, size, a, b, values);
                if (std::abs(last + v[1]) <= static_cast<real>(most)) {
                    cases.expect("lambda-return", lambda_returns[1], last + v[1], 8, size, a, b, values);
                    cases.expect("lambda-return", lambda_returns[0], first + v[0], 8, size, a, b, values);
                }
            }
    CHECK(cases.failed() == "");
}

TEMPLATE_TEST_CASE("what is not finite in a rollout comes out of its advantages and returns", "[extremes]", float,
                   double) {
    using T = TestType;
    for (T const bad : {quiet_nan<T>, infinity<T>, -infinity<T>})
        for (std::size_t place = 0; place < 5; ++place) {
            std::array<T, 5> numbers{T(1), T(2), T(3), T(4), T(5)}; // two rewards, three values
            numbers[place] = bad;
            targets::rollout_view<T> const rollout{matrix_view<T const>(numbers.data(), 2, 1)};
            vector_view<T const> const values(numbers.data() + 2, 3);
            std::array<T, 2> advantages, returns, lambda_returns;
            targets::gae{}(rollout, values, vector_view<T const>(), advantages, returns);
            targets::lambda_return{}(rollout, values, vector_view<T const>(), lambda_returns);
            CAPTURE(bad, place);
            CHECK_FALSE(std::isfinite(advantages[0]));
            CHECK_FALSE(std::isfinite(returns[0]));
            CHECK(std::isfinite(lambda_returns[0]) == (place == 2)); // which needs no value of the first state
            CHECK(std::isfinite(advantages[1]) == (place == 0 || place == 2));
        }
}

TEMPLATE_TEST_CASE("merged components of any size keep weight, mean and variance", "[extremes]", float, double) {
    using T = TestType;
    sweep cases;
    T const root = std::sqrt((std::numeric_limits<T>::max)());
    for (T const size : {std::numeric_limits<T>::denorm_min() * 1024, (std::numeric_limits<T>::min)(), T(1), root * 4,
                         (std::numeric_limits<T>::max)() / 4})
        for (T const deviation : {T(0), T(1)}) {
            // One environment, three steps, one component a state: three n-step returns, of which the last two are merged.
            std::array const rewards{T(0), T(0), T(0)};
            std::array const weights{T(1), T(1), T(1), T(1)};
            std::array const means{T(0), size, T(-1) * size, size};
            std::array<T, 4> const deviations{deviation * size, deviation * size, deviation * size, deviation * size};
            std::array<T, 6> to_weights, to_means, to_deviations;
            auto const rows = [](auto& data, std::size_t count) {
                return matrix_view(data.data(), count, data.size() / count);
            };
            targets::exact_sr_lambda const exact{.discount = 1.0, .lambda = 0.5, .cutoff = 0.5};
            exact(targets::rollout_view<T>{rows(rewards, 3)},
                  targets::gaussian_source<T>{rows(weights, 4), rows(means, 4), rows(deviations, 4)},
                  targets::gaussian_particles<T>{rows(to_means, 3), rows(to_deviations, 3), rows(to_weights, 3)});
            // Of the first state: 1/2 N(size), and the rest, half N(−size) and half N(size), as one.
            auto const s = static_cast<real>(size);
            auto const square = static_cast<real>(deviation) * s * static_cast<real>(deviation) * s;
            cases.expect("weight", to_weights[1], 0.5L, 8, 0, size, deviation);
            cases.expect("mean", to_means[1], 0, 8, s, size, deviation);
            cases.expect("deviation", to_deviations[1], std::sqrt(s * s + square), 8, 0, size, deviation);
        }
    CHECK(cases.failed() == "");
}
