// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"
#include "support/extremes.hpp"

#include <gmac/targets/normalize.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

TEST_CASE("advantages are normalised by the n - 1 standard deviation") {
    std::vector<double> values{1.0, 2.0, 3.0, 6.0};
    gmac::targets::normalize(values);
    // mean 3, squared differences 4 + 1 + 0 + 9 = 14, deviation sqrt(14 / 3)
    double const deviation = std::sqrt(14.0 / 3.0);
    CHECK(values[0] == Approx(-2.0 / deviation));
    CHECK(values[2] == Approx(0.0).margin(1e-15));
    CHECK(values[3] == Approx(3.0 / deviation));

    std::vector<float> one{5.0f};
    gmac::targets::normalize(one);
    CHECK(one[0] == 0.0f);
    std::vector<float> equal(7, 0.1f);
    gmac::targets::normalize(equal);
    for (float const value : equal)
        CHECK(value == 0.0f);
    std::vector<double> poisoned{1.0, std::numeric_limits<double>::quiet_NaN()};
    gmac::targets::normalize(poisoned);
    CHECK(std::isnan(poisoned[0]));
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
