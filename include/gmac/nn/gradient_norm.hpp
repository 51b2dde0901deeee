// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/nn/packs.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

namespace gmac::nn {

/// The Euclidean norm √(Σ gᵢ²), summed in an order that depends only on the size: the same bits for any number of
/// threads. Blocks of 1024 squares are added up in T and the blocks in double.
template <std::floating_point T>
[[nodiscard]] T gradient_norm(std::span<T const> gradient) noexcept {
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
                V const x = V::load_unaligned(g + i + k * width);
                sums[k] = sums[k] + x * x;
            }
        for (std::size_t k = 0; i < size; i += width, ++k) {
            V const x = detail::load_pack<V>(g + i, (std::min)(width, size - i));
            sums[k] = sums[k] + x * x;
        }
        total += static_cast<double>(lanes::sum_lanes<V>((sums[0] + sums[1]) + (sums[2] + sums[3])));
    }
    return static_cast<T>(std::sqrt(total));
}

/// Scales the gradient so that its norm is at most max_norm, and returns the norm that it had before. A gradient whose
/// norm is NaN or infinite is left as it is, and the caller sees it by what is returned: check std::isfinite.
/// Throws gmac::error unless max_norm is positive; infinity switches the clipping off.
template <std::floating_point T>
[[nodiscard]] T clip_gradient_norm(std::span<T> gradient, std::type_identity_t<T> max_norm) {
    require(max_norm > 0, "clip_gradient_norm: max_norm is {}, but must be positive", max_norm);
    T const norm = gradient_norm(std::span<T const>(gradient));
    if (std::isfinite(norm) && norm > max_norm) {
        T const scale = max_norm / norm;
        for (T& g : gradient)
            g *= scale;
    }
    return norm;
}

} // namespace gmac::nn
