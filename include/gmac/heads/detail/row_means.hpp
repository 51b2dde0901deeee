// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/result.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <string_view>

namespace gmac::inline GMAC_ABI::heads::detail {

/// The mean of each row: matrix [B, columns] → means [B]. Rows are summed in double if they are float.
template <class T, class U>
void row_means(matrix_view<T> const& matrix, std::size_t columns, vector_view<U> const& means, std::string_view where) {
    gmac::detail::require_values(means.size(), matrix.rows(), where);
    require_shape(matrix, matrix.rows(), columns, "outputs", where);
    using sum_type = lanes::accumulator_for<U>;
    for (std::size_t i = 0; i < matrix.rows(); ++i) {
        sum_type sum(0);
        for (std::size_t j = 0; j < columns; ++j)
            sum = sum + static_cast<sum_type>(matrix(i, j));
        sum_type mean = sum / static_cast<sum_type>(columns);
        if constexpr (std::floating_point<sum_type>)
            if (!std::isfinite(sum)) { // which the mean may be
                mean = 0;
                for (std::size_t j = 0; j < columns; ++j)
                    mean += static_cast<sum_type>(matrix(i, j)) / static_cast<sum_type>(columns);
            }
        means[i] = static_cast<U>(mean);
    }
}

} // namespace gmac::inline GMAC_ABI::heads::detail
