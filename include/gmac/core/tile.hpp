// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

namespace gmac::lanes {

namespace detail {

/// The side of the square that 16-byte registers transpose.
template <class T>
inline constexpr std::size_t square = 16 / sizeof(T);

template <class T>
using square_batch = xsimd::make_sized_batch_t<T, square<T>>;

/// May `columns` of rows that lie contiguous in memory be transposed by squares into lanes?
template <class V>
inline constexpr bool squares_fit = false;
template <class T, class A>
    requires(!std::is_void_v<square_batch<T>>)
inline constexpr bool squares_fit<xsimd::batch<T, A>> = xsimd::batch<T, A>::size % square<T> == 0;

/// A square of rows `stride` apart, written as rows `out_stride` apart of its transpose: perfect shuffles.
template <class T>
inline void transpose_square(T const* from, std::ptrdiff_t stride, T* to, std::size_t out_stride) noexcept {
    constexpr std::size_t n = square<T>;
    using B = square_batch<T>;
    std::array<B, n> rows;
    for (std::size_t i = 0; i < n; ++i)
        rows[i] = B::load_unaligned(from + static_cast<std::ptrdiff_t>(i) * stride);
    for (std::size_t half = 1; half < n; half *= 2) {
        std::array<B, n> shuffled;
        for (std::size_t i = 0; i < n / 2; ++i) {
            shuffled[2 * i] = xsimd::zip_lo(rows[i], rows[i + n / 2]);
            shuffled[2 * i + 1] = xsimd::zip_hi(rows[i], rows[i + n / 2]);
        }
        rows = shuffled;
    }
    for (std::size_t i = 0; i < n; ++i)
        rows[i].store_unaligned(to + i * out_stride);
}

} // namespace detail

/// Some columns of `width_of<V>` consecutive rows, one column a lane vector: the batch's layout is met here, and kernels
/// behind it see lanes only. `count` < width repeats the last valid row.
template <class V, class T>
inline void load_columns(matrix_view<T> const& matrix, std::size_t first_row, std::size_t first_col,
                         std::size_t columns, V* to, std::size_t count = width_of<V>) noexcept {
    std::size_t done = 0;
    if constexpr (detail::squares_fit<V>) {
        if (count == width_of<V> && matrix.col_stride() == 1 && matrix.row_stride() != 1) {
            using scalar = scalar_of<V>;
            constexpr std::size_t n = detail::square<scalar>;
            alignas(V) std::array<scalar, n * width_of<V>> square_columns;
            for (; done + n <= columns; done += n) {
                for (std::size_t i = 0; i < width_of<V>; i += n)
                    detail::transpose_square<scalar>(&matrix(first_row + i, first_col + done), matrix.row_stride(),
                                                     square_columns.data() + i, width_of<V>);
                for (std::size_t j = 0; j < n; ++j)
                    to[done + j] = V::load_aligned(square_columns.data() + j * width_of<V>);
            }
        }
    }
    for (; done < columns; ++done)
        to[done] = load_rows<V>(matrix, first_row, first_col + done, count);
}

} // namespace gmac::lanes
