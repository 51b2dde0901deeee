// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/overlap.hpp>
#include <gmac/core/view.hpp>

#include <concepts>
#include <type_traits>

namespace gmac::inline GMAC_ABI::nn {

/// What is applied to each element after a linear map.
enum class activation {
    none, ///< y = x
    tanh, ///< y = tanh(x)
    relu  ///< y = max(x, 0); a NaN stays a NaN
};

/// What the layers ask of the library that they are computed with. All functions take views of any strides (a transposed
/// matrix is a view with its strides exchanged, see transposed), allocate nothing, and give the same bits for the
/// same input. The result must not overlap the operands, except that the maps may work in place.
///
/// - `product(left, right, result)`: result = left · right.
/// - `product_add(left, right, result)`: result += left · right.
/// - `affine(input, weight, bias, f, result)`: result = f(input · weight + bias), the bias added to each row.
/// - `activate(f, input, result)`: result = f(input).
/// - `activate_backward(f, output, output_gradient, result)`: result = output_gradient · f'(x), with f' computed from the
///   output f(x).
/// - `column_sums(matrix, result)`: result[j] = Σ_i matrix(i, j).
///
/// A backend may also have `product_backward(left, right, f, output, result)`, see nn::product_backward.
///
/// The scalar is float, double, or a number type with their arithmetic, such as gmac::counted.
template <class B>
concept backend =
    std::constructible_from<typename B::scalar, double> && std::is_trivially_copyable_v<typename B::scalar> &&
    requires(matrix_view<typename B::scalar const> in, matrix_view<typename B::scalar> out,
             vector_view<typename B::scalar const> vector, vector_view<typename B::scalar> vector_out, activation f) {
        B::product(in, in, out);
        B::product_add(in, in, out);
        B::affine(in, in, vector, f, out);
        B::activate(f, in, out);
        B::activate_backward(f, in, in, out);
        B::column_sums(in, vector_out);
    };

/// result = (left · right) · f'(x), the latter element by element and computed from the output f(x), which has the shape of
/// the result: the gradient that a layer passes on through the activation before it. By the backend's own
/// `product_backward` if it has one, else its product and then its activate_backward. The result must not overlap the
/// operands; without an activation the output is none of them.
template <backend B>
void product_backward(matrix_view<typename B::scalar const> left, matrix_view<typename B::scalar const> right,
                      activation f, matrix_view<typename B::scalar const> output,
                      matrix_view<typename B::scalar> result) {
    if constexpr (requires { B::product_backward(left, right, f, output, result); }) {
        B::product_backward(left, right, f, output, result);
    } else {
        if (f != activation::none)
            require_no_overlap(result, output, "product_backward");
        B::product(left, right, result);
        if (f != activation::none)
            B::activate_backward(f, output, result, result);
    }
}

} // namespace gmac::inline GMAC_ABI::nn
