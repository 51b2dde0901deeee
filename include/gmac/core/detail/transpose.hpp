// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

/// Between a batch in memory and lane vectors: whole tiles at a time, so that row-major batches are transposed in
/// registers instead of being picked together lane by lane.
namespace gmac::inline GMAC_ABI::lanes {

namespace detail {

/// Can blocks of this lane type be transposed in registers? Needs the generic vectors of GCC 12 and Clang.
template <class V>
inline constexpr bool transposes_in_registers =
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
    (width_of<V> > 1);
#else
    false;
#endif
#else
    false;
#endif

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
/// One exchange between rows r and r + Step of a W × W block: of each 2 × 2 block of Step × Step pieces, the two pieces off
/// the diagonal change places.
template <std::size_t Step, class V, std::size_t... C>
inline void exchange_pieces(V& upper, V& lower, std::index_sequence<C...>) noexcept {
    using vector = typename V::register_type;
    constexpr std::size_t width = width_of<V>;
    vector const a = upper;
    vector const b = lower;
    vector const first = __builtin_shufflevector(a, b, ((C & Step) == 0 ? C : width + C - Step)...);
    vector const second = __builtin_shufflevector(a, b, ((C & Step) == 0 ? C + Step : width + C)...);
    upper = V(first);
    lower = V(second);
}

template <std::size_t Step, class V>
inline void transpose_from(std::array<V, width_of<V>>& block) noexcept {
    if constexpr (Step > 0) {
#pragma GCC unroll 16
        for (std::size_t r = 0; r < width_of<V>; ++r)
            if ((r & Step) == 0)
                exchange_pieces<Step>(block[r], block[r + Step], std::make_index_sequence<width_of<V>>());
        transpose_from<Step / 2>(block);
    }
}

/// Rows become columns.
template <class V>
inline void transpose(std::array<V, width_of<V>>& block) noexcept {
    transpose_from<width_of<V> / 2>(block);
}
#endif
#endif

} // namespace detail

/// `columns` columns of `width_of<V>` consecutive rows → to[0 … columns): one column a lane vector. `count` < width
/// repeats the last valid row.
template <class V, class T>
    requires std::same_as<std::remove_const_t<T>, scalar_of<V>>
inline void read_columns(matrix_view<T> const& matrix, std::size_t first_row, std::size_t first_col,
                         std::size_t columns, V* to, std::size_t count = width_of<V>) noexcept {
    constexpr std::size_t width = width_of<V>;
    if constexpr (width == 1) {
        for (std::size_t j = 0; j < columns; ++j)
            to[j] = matrix(first_row, first_col + j);
    } else if (matrix.row_stride() == 0) { // one row for all
        for (std::size_t j = 0; j < columns; ++j)
            to[j] = V(matrix(first_row, first_col + j));
    } else if (matrix.row_stride() == 1 && count == width) {
        for (std::size_t j = 0; j < columns; ++j)
            to[j] = V::load_unaligned(&matrix(first_row, first_col + j));
    } else {
        std::size_t j = 0;
        if constexpr (detail::transposes_in_registers<V>) {
            if (matrix.col_stride() == 1) {
                for (; j + width <= columns; j += width) {
                    std::array<V, width> block;
#pragma GCC unroll 16
                    for (std::size_t r = 0; r < width; ++r)
                        block[r] = V::load_unaligned(&matrix(first_row + (r < count ? r : count - 1), first_col + j));
                    detail::transpose(block);
#pragma GCC unroll 16
                    for (std::size_t r = 0; r < width; ++r)
                        to[j + r] = block[r];
                }
            }
        }
        // A block is filled before any of it is loaded: a wide load right after narrow stores would stall.
        while (j < columns) {
            std::size_t const part = (std::min)(columns - j, width);
            alignas(64) std::array<scalar_of<V>, width * width> block;
            for (std::size_t r = 0; r < width; ++r)
                for (std::size_t c = 0; c < part; ++c)
                    block[c * width + r] = matrix(first_row + (r < count ? r : count - 1), first_col + j + c);
            for (std::size_t c = 0; c < part; ++c)
                to[j + c] = V::load_aligned(block.data() + c * width);
            j += part;
        }
    }
}

/// The reverse: `columns` lane vectors → the same columns of `count` consecutive rows.
template <class V>
inline void write_columns(V const* from, matrix_view<scalar_of<V>> const& matrix, std::size_t first_row,
                          std::size_t first_col, std::size_t columns, std::size_t count = width_of<V>) noexcept {
    constexpr std::size_t width = width_of<V>;
    if constexpr (width == 1) {
        for (std::size_t j = 0; j < columns; ++j)
            matrix(first_row, first_col + j) = from[j];
    } else if (matrix.row_stride() == 1 && count == width) {
        for (std::size_t j = 0; j < columns; ++j)
            from[j].store_unaligned(&matrix(first_row, first_col + j));
    } else {
        std::size_t j = 0;
        if constexpr (detail::transposes_in_registers<V>) {
            if (matrix.col_stride() == 1) {
                for (; j + width <= columns; j += width) {
                    std::array<V, width> block;
                    for (std::size_t c = 0; c < width; ++c)
                        block[c] = from[j + c];
                    detail::transpose(block);
                    if (count == width) {
#pragma GCC unroll 16
                        for (std::size_t r = 0; r < width; ++r)
                            block[r].store_unaligned(&matrix(first_row + r, first_col + j));
                    } else {
                        for (std::size_t r = 0; r < count; ++r)
                            block[r].store_unaligned(&matrix(first_row + r, first_col + j));
                    }
                }
            }
        }
        while (j < columns) {
            std::size_t const part = (std::min)(columns - j, width);
            alignas(64) std::array<scalar_of<V>, width * width> block;
            for (std::size_t c = 0; c < part; ++c)
                from[j + c].store_aligned(block.data() + c * width);
            for (std::size_t r = 0; r < count; ++r)
                for (std::size_t c = 0; c < part; ++c)
                    matrix(first_row + r, first_col + j + c) = block[c * width + r];
            j += part;
        }
    }
}

} // namespace gmac::inline GMAC_ABI::lanes
