// SPDX-License-Identifier: Apache-2.0
// The formulas of an update: policy loss, advantages, the norm of the gradient, what is reported.
#include "support/extremes.hpp"
#include "support/catch.hpp"

#include <gmac/agent/explained_variance.hpp>
#include <gmac/losses/clipped_surrogate.hpp>
#include <gmac/nn/gradient_norm.hpp>
#include <gmac/targets/normalize.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

TEMPLATE_TEST_CASE("the clipped surrogate of any ratio and advantage", "[extremes]", float, double) {
    using T = TestType;
    losses::clipped_surrogate const surrogate{.clip = 0.25};
    for (double const log_ratio : {0.0, 1e-3, 0.5, 10.0, 80.0, 100.0, 700.0, 1000.0, 1400.0})
        for (double const sign : {-1.0, 1.0})
            for (T const advantage : extremes<T>())
                for (T const scale : {T(1), T(1) / 256}) {
                    std::array const now{static_cast<T>(sign * log_ratio)};
                    std::array<T, 1> gradient;
                    auto const sums =
                        surrogate.value_and_gradient(now, std::array{T(0)}, std::array{advantage}, gradient, scale);
                    auto const x = static_cast<long double>(now[0]);
                    auto const a = static_cast<long double>(advantage);
                    long double const plain = std::exp(x) * a;
                    long double const clipped = std::fmin(std::fmax(std::exp(x), 0.75L), 1.25L) * a;
                    long double const slope = clipped < plain ? 0 : -plain * static_cast<long double>(scale);
                    CAPTURE(now[0], advantage, scale, gradient[0], slope, sums.loss);
                    double const ulps = 8 * (static_cast<double>(std::numeric_limits<T>::epsilon()) / 0x1p-52);
                    CHECK(agrees(gradient[0], slope));
                    CHECK(agrees(sums.loss, -std::fmin(plain, clipped), ulps));
                    CHECK(agrees(sums.kl, std::exp(x) - 1 - x, 8, std::abs(x)));
                }
}

TEMPLATE_TEST_CASE("the clipped surrogate lets a NaN through", "[extremes]", float, double) {
    using T = TestType;
    for (auto const& [now, old, advantage] :
         {std::array{quiet_nan<T>, T(0), T(0)}, std::array{T(0), quiet_nan<T>, T(1)},
          std::array{T(0), T(0), quiet_nan<T>}, std::array{infinity<T>, T(0), T(0)},
          std::array{T(-1000), T(0), infinity<T>}}) {
        std::array<T, 1> gradient;
        auto const sums = losses::clipped_surrogate{}.value_and_gradient(std::array{now}, std::array{old},
                                                                         std::array{advantage}, gradient, T(1));
        CAPTURE(now, old, advantage);
        CHECK_FALSE(std::isfinite(sums.loss));
        CHECK_FALSE(std::isfinite(gradient[0]));
    }
    CHECK_THROWS_WITH((losses::clipped_surrogate{.clip = -1}.value_and_gradient(std::vector<T>(2), std::vector<T>(2),
                                                                                std::vector<T>(2), std::vector<T>(2),
                                                                                T(1))),
                      "clipped_surrogate: clip is -1, but must not be negative");
    CHECK_THROWS_WITH(losses::clipped_surrogate{}.value_and_gradient(std::vector<T>(2), std::vector<T>(2),
                                                                     std::vector<T>(3), std::vector<T>(2), T(1)),
                      "clipped_surrogate: the vector of advantages has 3 elements, but must have 2");
}

TEMPLATE_TEST_CASE("normalised numbers: constants give zeros, and no number is too large or too small", "[extremes]",
                   float, double) {
    using T = TestType;
    using limits = std::numeric_limits<T>;
    for (T const size : extremes<T>()) {
        if (size == T(0))
            continue;
        // −1, 1, 1, 3 have the deviation √(8/3) around 1.
        std::vector<T> numbers{size, size, size, size};
        targets::normalize(numbers);
        CAPTURE(size);
        CHECK(numbers == std::vector<T>(4, T(0)));
        if (std::abs(size) > (limits::max)() / 3)
            continue;
        numbers = {-size, size, size, 3 * size};
        targets::normalize(numbers);
        T const unit = std::sqrt(T(1.5)) * (size < T(0) ? T(-1) : T(1));
        for (std::size_t i = 0; i < 4; ++i)
            CHECK(agrees(numbers[i], std::array<long double, 4>{-unit, 0, 0, unit}[i], 8, 1));
    }
    // A thousand equal numbers whose sum is not a thousand times the number, and rounding around one.
    std::vector<T> equal(1000, static_cast<T>(14.62));
    targets::normalize(equal);
    CHECK(equal == std::vector<T>(1000, T(0)));
    std::vector<T> rounded{T(1), T(1) + limits::epsilon(), T(1), T(1) - limits::epsilon()};
    targets::normalize(rounded);
    CHECK(rounded == std::vector<T>(4, T(0)));
    for (T const bad : {quiet_nan<T>, infinity<T>, -infinity<T>})
        for (std::size_t count : {1u, 3u}) {
            std::vector<T> poisoned(count, T(1));
            poisoned[0] = bad;
            targets::normalize(poisoned);
            for (T const number : poisoned)
                CHECK(std::isnan(number));
        }
}

TEMPLATE_TEST_CASE("explained variance: NaN of constants, right for numbers of any size", "[extremes]", float, double) {
    using T = TestType;
    using limits = std::numeric_limits<T>;
    auto const explained = [](std::vector<T> const& returns, std::vector<T> const& values) {
        return explained_variance(returns, values);
    };
    std::vector<T> const wavering{T(1), T(1.5), T(1), T(1.5), T(1), T(1.5), T(1), T(1.5), T(1), T(1.5)};
    CHECK(std::isnan(explained(std::vector<T>(10, T(1)), wavering)));
    CHECK(std::isnan(explained(std::vector<T>(10, static_cast<T>(0.1)), wavering)));
    // Returns made as advantage plus value, (1 − v) + v.
    std::vector<T> returns;
    for (int i = 0; i < 100; ++i) {
        T const value = static_cast<T>(std::sin(i));
        returns.push_back(static_cast<T>(static_cast<T>(T(1) - value) + value));
    }
    CHECK(std::isnan(explained(returns, std::vector<T>(100, T(0)))));
    for (T const size : extremes<T>()) {
        if (size == T(0) || std::abs(size) > (limits::max)() / 3)
            continue;
        CAPTURE(size);
        // Errors 2, 0, 0, 0 of returns −1, 1, 1, 3: variances 3/4 and 2.
        CHECK(explained({-size, size, size, 3 * size}, {-3 * size, size, size, 3 * size}) == Approx(1.0 - 3.0 / 8.0));
    }
    // Their difference is more than the largest number.
    T const most = (limits::max)();
    CHECK(explained({-most, most, most, -most}, {most, most, most, -most}) == Approx(1.0 - 3.0 / 4.0));
    CHECK(explained({T(0), T(1)}, {T(1e18), T(-1e18)}) == Approx(-4e36));
    for (T const bad : {quiet_nan<T>, infinity<T>, -infinity<T>}) {
        CHECK(std::isnan(explained({T(1), bad, T(3)}, {T(1), T(2), T(3)})));
        CHECK(std::isnan(explained({T(1), T(2), T(3)}, {T(1), T(2), bad})));
    }
    CHECK_THROWS_WITH(explained({T(1)}, {T(1), T(2)}),
                      "explained_variance: the vector of values has 2 elements, but must have 1");
}

TEMPLATE_TEST_CASE("the norm of a gradient that T has, though not its square", "[extremes]", float, double) {
    using T = TestType;
    using limits = std::numeric_limits<T>;
    for (T const size : extremes<T>())
        for (std::size_t const zeros : {0u, 2000u}) {
            if (std::abs(size) > (limits::max)() / 5)
                continue;
            std::vector<T> gradient{3 * size, 4 * size};
            gradient.resize(2 + zeros);
            auto const exact = 5 * std::abs(static_cast<long double>(size));
            CAPTURE(size, zeros);
            CHECK(agrees(nn::gradient_norm<T>(gradient), exact));
            T const half = std::abs(size) / 2;
            if (half == T(0) || std::isinf(half))
                continue;
            CHECK(agrees(nn::clip_gradient_norm<T>(gradient, half), exact));
            CHECK(agrees(gradient[0], static_cast<long double>(std::copysign(half, size)) * 0.6L));
            CHECK(agrees(gradient[1], static_cast<long double>(std::copysign(half, size)) * 0.8L));
        }
    std::vector<T> far{(limits::max)() / 2, T(1)};
    CHECK(nn::clip_gradient_norm<T>(far, (limits::min)()) == (limits::max)() / 2);
    CHECK(agrees(far[0], static_cast<long double>((limits::min)())));
    std::vector<T> const mixed{(limits::min)(), T(1), -(limits::min)()};
    CHECK(nn::gradient_norm<T>(mixed) == T(1));
    CHECK(std::isinf(nn::gradient_norm<T>(std::vector<T>(2, (limits::max)())))); // √2 times the largest
    CHECK(std::isinf(nn::gradient_norm<T>(std::vector{T(1), -infinity<T>})));
    CHECK(std::isnan(nn::gradient_norm<T>(std::vector{(limits::max)(), quiet_nan<T>, infinity<T>})));
}
