// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/moments.hpp>
#include <gmac/core/detail/registers.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/lanes.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <type_traits>

namespace gmac::inline GMAC_ABI::nn {

namespace detail {

/// Σ (scale · gᵢ)², in blocks of 1024 squares that are added up in T, and the blocks in double.
template <std::floating_point T>
[[nodiscard]] double sum_of_squares(std::span<T const> gradient, T scale) noexcept {
    using V = lanes::widest<T>;
    constexpr std::size_t width = lanes::width_of<V>;
    constexpr std::size_t block = 1024;
    double total = 0;
    for (std::size_t first = 0; first < gradient.size(); first += block) {
        std::size_t const size = (std::min)(block, gradient.size() - first);
        T const* const g = gradient.data() + first;
        std::array<V, 4> sums{V(T(0)), V(T(0)), V(T(0)), V(T(0))}; // four chains hide the latency of an addition
        std::size_t i = 0;
        for (; i + 4 * width <= size; i += 4 * width)
            for (std::size_t k = 0; k < 4; ++k) {
                V const x = V::load_unaligned(g + i + k * width) * V(scale);
                sums[k] = sums[k] + x * x;
            }
        for (std::size_t k = 0; i < size; i += width, ++k) {
            V const x = lanes::load_partial<V>(g + i, (std::min)(width, size - i)) * V(scale);
            sums[k] = sums[k] + x * x;
        }
        total += static_cast<double>(lanes::sum_lanes<V>((sums[0] + sums[1]) + (sums[2] + sums[3])));
    }
    return total;
}

/// Scales a gradient of this norm to one of at most max_norm, if the norm is finite.
template <std::floating_point T>
void limit_norm(std::span<T> gradient, std::type_identity_t<T> norm, std::type_identity_t<T> max_norm) noexcept {
    if (!(std::isfinite(norm) && norm > max_norm))
        return;
    T const scale = max_norm / norm;
    bool const exact = std::isnormal(scale);
    for (T& g : gradient)
        g = exact ? g * scale : g / norm * max_norm;
}

} // namespace detail

/// The Euclidean norm √(Σ gᵢ²), summed in an order that depends only on the size: the same bits for any number of
/// threads. It is NaN or infinite only if an element is, or if T cannot hold it.
template <std::floating_point T>
[[nodiscard]] T gradient_norm(std::span<T const> gradient) noexcept {
    using limits = std::numeric_limits<T>;
    double const total = detail::sum_of_squares(gradient, T(1));
    // Squares that were lost below the smallest number, or the sum beyond the largest, are made on another scale.
    double const lost = static_cast<double>((limits::min)()) * static_cast<double>(gradient.size());
    if (std::isnan(total) || (total > lost / static_cast<double>(limits::epsilon()) && std::isfinite(total)))
        return static_cast<T>(std::sqrt(total));
    T const largest = static_cast<T>(gmac::detail::largest_magnitude(gradient));
    if (largest == T(0) || std::isinf(largest))
        return largest;
    int const exponent = std::clamp(std::ilogb(largest), 2 - limits::max_exponent, limits::max_exponent - 2);
    T const scale = std::ldexp(T(1), -exponent);
    return static_cast<T>(std::ldexp(std::sqrt(detail::sum_of_squares(gradient, scale)), exponent));
}

/// Scales the gradient so that its norm is at most max_norm, and returns the norm that it had before. A gradient whose
/// norm is NaN or infinite is left as it is, and the caller sees it by what is returned: check std::isfinite.
/// Throws gmac::error unless max_norm is positive; infinity switches the clipping off.
template <std::floating_point T>
[[nodiscard]] T clip_gradient_norm(std::span<T> gradient, std::type_identity_t<T> max_norm) {
    require(max_norm > 0, "clip_gradient_norm: max_norm is {}, but must be positive", max_norm);
    T const norm = gradient_norm(std::span<T const>(gradient));
    detail::limit_norm(gradient, norm, max_norm);
    return norm;
}

} // namespace gmac::inline GMAC_ABI::nn
