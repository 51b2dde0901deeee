// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

/// Loops over a flat range in SIMD registers. The elements that do not fill a register go through one that is padded, so
/// every element is computed by the same instructions wherever it lies, and gives the same bits.
namespace gmac::inline GMAC_ABI::lanes {

/// Fewer elements than V has lanes, in pieces of a fixed size: no call, as a copy of any size would be.
template <class V>
[[gnu::always_inline]] inline void copy_partial(scalar_of<V> const* from, std::size_t count,
                                                scalar_of<V>* to) noexcept {
    auto const piece = [&](auto size) {
        if constexpr (size < width_of<V>) {
            if ((count & size) == 0)
                return;
            std::memcpy(to, from, size * sizeof(scalar_of<V>));
            from += size;
            to += size;
        }
    };
    piece(std::integral_constant<std::size_t, 8>{});
    piece(std::integral_constant<std::size_t, 4>{});
    piece(std::integral_constant<std::size_t, 2>{});
    piece(std::integral_constant<std::size_t, 1>{});
}

/// `count` ≤ width elements; the other lanes are `fill`.
template <class V>
[[nodiscard, gnu::always_inline]] inline V load_partial(scalar_of<V> const* data, std::size_t count,
                                                        scalar_of<V> fill = 0) noexcept {
    if constexpr (width_of<V> == 1) {
        return *data;
    } else {
        if (count >= width_of<V>)
            return V::load_unaligned(data);
        alignas(64) std::array<scalar_of<V>, width_of<V>> lane;
        lane.fill(fill);
        copy_partial<V>(data, count, lane.data());
        return V::load_aligned(lane.data());
    }
}

/// The first `count` ≤ width lanes.
template <class V>
[[gnu::always_inline]] inline void store_partial(V const& value, scalar_of<V>* data, std::size_t count) noexcept {
    if constexpr (width_of<V> == 1) {
        *data = value;
    } else {
        if (count >= width_of<V>) {
            value.store_unaligned(data);
            return;
        }
        alignas(64) std::array<scalar_of<V>, width_of<V>> lane;
        value.store_aligned(lane.data());
        copy_partial<V>(lane.data(), count, data);
    }
}

/// Copies `count` ≤ width elements to an aligned register in memory; the rest of it is zero.
template <class V>
[[gnu::always_inline]] inline void store_padded(scalar_of<V> const* data, std::size_t count,
                                                scalar_of<V>* to) noexcept {
    if (count >= width_of<V>)
        return V::load_unaligned(data).store_aligned(to);
    V(scalar_of<V>(0)).store_aligned(to);
    copy_partial<V>(data, count, to);
}

/// body(first, count) for each register of V that covers 0 … size − 1; count is the width, as a constant of its own type,
/// but at the end: so a generic body is compiled once without the padding and once with it.
template <class V, class Body>
[[gnu::always_inline]] inline void for_each_register(std::size_t size, Body&& body) {
    constexpr std::size_t width = width_of<V>;
    std::size_t i = 0;
    for (; i + width <= size; i += width)
        body(i, std::integral_constant<std::size_t, width>{});
    if (i < size)
        body(i, size - i);
}

/// How many rows can be read in place, `width` elements from column `col` on. The last registers of a narrow row reach
/// into the next row, whose elements are only computed with in lanes that are thrown away; but nothing outside the matrix
/// may be read.
template <class T>
[[nodiscard]] inline std::size_t readable_rows(matrix_view<T> const& matrix, std::size_t col,
                                               std::size_t width) noexcept {
    std::size_t const rows = matrix.rows(), cols = matrix.cols();
    if (!matrix.row_contiguous())
        return 0;
    if (col + width <= cols)
        return rows;
    return matrix.dense() ? rows - (std::min)(rows, (col + width - 1) / cols) : 0;
}

} // namespace gmac::inline GMAC_ABI::lanes
