// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/moments.hpp>
#include <gmac/core/view.hpp>

#include <cmath>
#include <cstddef>

namespace gmac::inline GMAC_ABI::targets {

/// Gives numbers [n], such as the advantages of a minibatch, the mean 0 and the n − 1 standard deviation 1. A single
/// number, and numbers that are equal up to rounding, become zeros. If one is NaN or infinite, all become NaN.
template <class Values>
void normalize(Values&& values) noexcept {
    auto const numbers = as_vector(values);
    using T = typename decltype(numbers)::value_type;
    std::size_t const count = numbers.size();
    double const largest = gmac::detail::largest_magnitude(numbers);
    double const scale = gmac::detail::unit_scale(largest);
    auto const number = [&](std::size_t i) { return static_cast<double>(numbers[i]) * scale; };
    auto const [mean, squares] = gmac::detail::moments_of(count, number);
    bool const constant = gmac::detail::only_rounding<T>(squares / static_cast<double>(count), largest * scale);
    double const deviation = std::sqrt(squares / static_cast<double>(count - 1));
    for (std::size_t i = 0; i < count; ++i)
        numbers[i] = constant ? T(0) : static_cast<T>((number(i) - mean) / deviation);
}

} // namespace gmac::inline GMAC_ABI::targets
