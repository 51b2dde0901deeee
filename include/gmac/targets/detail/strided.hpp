// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>

#include <xsimd/xsimd.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>

namespace gmac::inline GMAC_ABI::targets::detail {

/// A row of particles or components. Small enough to stay in registers, which compilers do not manage for views.
template <class T>
struct strided {
    T* data;
    std::ptrdiff_t stride;

    strided(matrix_view<T> const& of, std::size_t row) noexcept
        : data(of.data() + static_cast<std::ptrdiff_t>(row) * of.row_stride()), stride(of.col_stride()) {}
    T& operator[](std::size_t i) const noexcept { return data[static_cast<std::ptrdiff_t>(i) * stride]; }
    /// Without its first elements.
    [[nodiscard]] strided from(std::size_t first) const noexcept {
        strided rest = *this;
        rest.data += static_cast<std::ptrdiff_t>(first) * stride;
        return rest;
    }
};

/// to = shift + scale · from, from element `first` on, through a vector in memory.
template <std::floating_point T>
[[gnu::noinline]] void affine_by_element(strided<T> from, strided<T> to, std::size_t first, std::size_t size, T shift,
                                         T scale) noexcept {
    using V = lanes::widest<T>;
    constexpr std::size_t width = V::size;
    alignas(64) std::array<T, width> part{};
    for (std::size_t i = first; i < size; i += width) {
        std::size_t const count = (std::min)(width, size - i);
        for (std::size_t lane = 0; lane < count; ++lane)
            part[lane] = from[i + lane];
        xsimd::fma(V(scale), V::load_aligned(part.data()), V(shift)).store_aligned(part.data());
        for (std::size_t lane = 0; lane < count; ++lane)
            to[i + lane] = part[lane];
    }
}

/// to = shift + scale · from, with the same rounding for every stride and length.
template <std::floating_point T>
[[gnu::always_inline]] inline void affine(strided<T> from, strided<T> to, std::size_t size, T shift, T scale) noexcept {
    using V = lanes::widest<T>;
    constexpr std::size_t width = V::size;
    std::size_t i = 0;
    if (std::size_t const whole = size - size % width; from.stride == 1 && to.stride == 1)
#pragma GCC unroll 4
        for (; i < whole; i += width)
            xsimd::fma(V(scale), V::load_unaligned(from.data + i), V(shift)).store_unaligned(to.data + i);
    if (i < size)
        affine_by_element(from, to, i, size, shift, scale);
}

} // namespace gmac::inline GMAC_ABI::targets::detail
