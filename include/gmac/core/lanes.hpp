// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>

#include <xsimd/xsimd.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>

/// Kernels are templates over a lane type V: float, double, xsimd::batch (a lane is a state), gmac::counted<T>, or a
/// user's dual number. Besides + - * / and the comparisons, a kernel calls the functions of this namespace by
/// unqualified name after a using-declaration (`using gmac::lanes::select;`); a lane type of another namespace
/// brings its own overloads, found by argument-dependent lookup.
namespace gmac::lanes {

template <class V>
struct lane_traits {
    using scalar = V; ///< the type of one lane
    static constexpr std::size_t width = 1;
};
template <class T, class A>
struct lane_traits<xsimd::batch<T, A>> {
    using scalar = T;
    static constexpr std::size_t width = xsimd::batch<T, A>::size;
};
template <class V>
using scalar_of = typename lane_traits<V>::scalar;
template <class V>
inline constexpr std::size_t width_of = lane_traits<V>::width;

/// The widest lane type for T under the flags of this translation unit.
template <std::floating_point T>
using widest = xsimd::batch<T>;

// select(mask, a, b): a where the mask holds, else b. A NaN in either stays where it was.
template <std::floating_point T>
[[nodiscard]] constexpr T select(bool mask, T a, T b) noexcept {
    return mask ? a : b;
}
template <class T, class A>
[[nodiscard]] inline xsimd::batch<T, A> select(xsimd::batch_bool<T, A> const& mask, xsimd::batch<T, A> const& a,
                                               xsimd::batch<T, A> const& b) noexcept {
    return xsimd::select(mask, a, b);
}

template <std::floating_point T>
[[nodiscard]] inline T abs(T x) noexcept {
    return std::abs(x);
}
template <std::floating_point T>
[[nodiscard]] inline T sqrt(T x) noexcept {
    return std::sqrt(x);
}
template <class T, class A>
[[nodiscard]] inline xsimd::batch<T, A> abs(xsimd::batch<T, A> const& x) noexcept {
    return xsimd::abs(x);
}
template <class T, class A>
[[nodiscard]] inline xsimd::batch<T, A> sqrt(xsimd::batch<T, A> const& x) noexcept {
    return xsimd::sqrt(x);
}

/// True if the mask holds in any lane.
[[nodiscard]] constexpr bool any(bool mask) noexcept {
    return mask;
}
template <class T, class A>
[[nodiscard]] inline bool any(xsimd::batch_bool<T, A> const& mask) noexcept {
    return xsimd::any(mask);
}

/// One column of `width_of<V>` consecutive rows. `count` < width repeats the last valid row, so that no lane computes on
/// memory that is not there; use store_rows with the same count.
template <class V, class T>
    requires std::same_as<std::remove_const_t<T>, scalar_of<V>>
[[nodiscard]] inline V load_rows(matrix_view<T> const& matrix, std::size_t first_row, std::size_t col,
                                 std::size_t count = width_of<V>) noexcept {
    if constexpr (width_of<V> == 1) {
        return matrix(first_row, col);
    } else {
        T const* const start = &matrix(first_row, col);
        if (count == width_of<V> && matrix.row_stride() == 1)
            return V::load_unaligned(start);
        alignas(64) std::array<scalar_of<V>, width_of<V>> lanes;
        for (std::size_t i = 0; i < lanes.size(); ++i)
            lanes[i] = start[static_cast<std::ptrdiff_t>(i < count ? i : count - 1) * matrix.row_stride()];
        return V::load_aligned(lanes.data());
    }
}

template <class V>
inline void store_rows(V const& value, matrix_view<scalar_of<V>> const& matrix, std::size_t first_row, std::size_t col,
                       std::size_t count = width_of<V>) noexcept {
    if constexpr (width_of<V> == 1) {
        matrix(first_row, col) = value;
    } else {
        scalar_of<V>* const start = &matrix(first_row, col);
        if (count == width_of<V> && matrix.row_stride() == 1) {
            value.store_unaligned(start);
            return;
        }
        alignas(64) std::array<scalar_of<V>, width_of<V>> lanes;
        value.store_aligned(lanes.data());
        for (std::size_t i = 0; i < count; ++i)
            start[static_cast<std::ptrdiff_t>(i) * matrix.row_stride()] = lanes[i];
    }
}

/// The sum of the first `count` lanes, from the first to the last.
template <class V>
[[nodiscard]] inline scalar_of<V> sum_lanes(V const& value, std::size_t count = width_of<V>) noexcept {
    if constexpr (width_of<V> == 1) {
        return value;
    } else {
        alignas(64) std::array<scalar_of<V>, width_of<V>> lanes;
        value.store_aligned(lanes.data());
        scalar_of<V> sum = 0;
        for (std::size_t i = 0; i < count; ++i)
            sum += lanes[i];
        return sum;
    }
}

} // namespace gmac::lanes
