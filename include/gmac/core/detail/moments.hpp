// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace gmac::inline GMAC_ABI::detail {

/// A power of two that brings numbers of at most this magnitude to about one, so that neither their squares nor their
/// sums leave the range of double. It multiplies without rounding.
[[nodiscard]] inline double unit_scale(double largest) noexcept {
    return std::ldexp(1.0, -std::clamp(std::ilogb(largest), -1000, 1000));
}

/// The mean of `count` numbers and the sum of the squared distances to it.
struct moments {
    double mean = 0.0, squares = 0.0;
};

/// Moments of number(0) … number(count − 1), in two passes. What the mean lost to rounding is put right in the squares
/// (Chan, Golub, LeVeque 1983, equation 1.7).
template <class Number>
[[nodiscard]] moments moments_of(std::size_t count, Number const& number) noexcept {
    double sum = 0.0;
    for (std::size_t i = 0; i < count; ++i)
        sum += number(i);
    double const mean = sum / static_cast<double>(count);
    double squares = 0.0;
    double rest = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
        double const distance = number(i) - mean;
        squares += distance * distance;
        rest += distance;
    }
    return {mean, squares - rest * (rest / static_cast<double>(count))};
}

/// True if a mean squared distance is no more than what rounding leaves of equal numbers of type T of this magnitude.
template <class T>
[[nodiscard]] bool only_rounding(double mean_square, double largest) noexcept {
    double const rounding = 2.0 * static_cast<double>(std::numeric_limits<T>::epsilon()) * largest;
    return mean_square <= rounding * rounding;
}

/// The largest magnitude; 0 of none. NaNs are passed over.
template <class View>
[[nodiscard]] double largest_magnitude(View const& numbers) noexcept {
    double largest = 0.0;
    for (std::size_t i = 0; i < numbers.size(); ++i)
        largest = (std::max)(largest, std::abs(static_cast<double>(numbers[i])));
    return largest;
}

} // namespace gmac::inline GMAC_ABI::detail
