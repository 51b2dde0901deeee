// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/backends/maps.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/backend.hpp>

#include <concepts>
#include <cstddef>

namespace gmac::inline GMAC_ABI::backends::detail {

/// The products of a backend from its function `multiply(left, right, result, accumulate)`, which adds to the result or
/// writes it.
template <std::floating_point T, class Backend>
struct products : maps<T> {
    using scalar = T;

    /// result = left · right with left [n, k], right [k, m], result [n, m]; a transposed operand is transposed(view).
    static void product(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result) {
        maps<T>::check_product(left, right, result, "product");
        Backend::multiply(left, right, result, false);
    }
    /// result += left · right.
    static void product_add(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result) {
        maps<T>::check_product(left, right, result, "product_add");
        Backend::multiply(left, right, result, true);
    }
    /// result = f(input · weight + bias), the bias [m] added to each row.
    static void affine(matrix_view<T const> input, matrix_view<T const> weight, vector_view<T const> bias,
                       nn::activation f, matrix_view<T> result) {
        maps<T>::check_product(input, weight, result, "affine");
        require_size(bias, result.cols(), "the bias", "affine");
        for (std::size_t i = 0; i < result.rows(); ++i)
            for (std::size_t j = 0; j < result.cols(); ++j)
                result(i, j) = bias[j];
        Backend::multiply(input, weight, result, true);
        if (f != nn::activation::none)
            maps<T>::activate(f, result, result);
    }
};

} // namespace gmac::inline GMAC_ABI::backends::detail
