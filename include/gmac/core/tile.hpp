// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>

#include <cstddef>

namespace gmac::lanes {

/// Some columns of `width_of<V>` consecutive rows, one column a lane vector: the batch's layout is met here, and kernels
/// behind it see lanes only. `count` < width repeats the last valid row.
template <class V, class T>
inline void load_columns(matrix_view<T> const& matrix, std::size_t first_row, std::size_t first_col, std::size_t columns,
                         V* to, std::size_t count = width_of<V>) noexcept {
    for (std::size_t j = 0; j < columns; ++j)
        to[j] = load_rows<V>(matrix, first_row, first_col + j, count);
}

} // namespace gmac::lanes
