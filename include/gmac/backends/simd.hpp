// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/backends/detail/convolution.hpp>
#include <gmac/backends/detail/narrow_product.hpp>
#include <gmac/backends/detail/product.hpp>
#include <gmac/backends/maps.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/overlap.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/backend.hpp>
#include <gmac/nn/module.hpp>

#include <xsimd/xsimd.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>

namespace gmac::inline GMAC_ABI::backends {

/// Computes networks with kernels of our own, made for the sizes of reinforcement learning, in the SIMD registers of the
/// compiler's target. Models gmac::nn::backend.
///
/// A row of `affine` has the same bits whatever batch it is in: acting on one observation gives what training on it gives.
template <std::floating_point T>
struct simd : maps<T> {
    using scalar = T;
    /// Convolutions of its own, see nn::convolution_of.
    using convolution = detail::direct_convolution<lanes::widest<T>>;

    /// result = left · right with left [n, k], right [k, m], result [n, m]; a transposed operand is transposed(view).
    static void product(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result);
    /// result += left · right.
    static void product_add(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result);
    /// result = (left · right) · f'(x), the latter element by element and computed from output = f(x) [n, m].
    static void product_backward(matrix_view<T const> left, matrix_view<T const> right, nn::activation f,
                                 matrix_view<T const> output, matrix_view<T> result);
    /// result = f(input · weight + bias), the bias [m] added to each row.
    static void affine(matrix_view<T const> input, matrix_view<T const> weight, vector_view<T const> bias,
                       nn::activation f, matrix_view<T> result);

private:
    using V = lanes::widest<T>;

    static void multiply(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result,
                         detail::start_from start) noexcept;
    /// Would resultᵀ = rightᵀ leftᵀ give longer rows, or rows that are contiguous?
    static bool better_turned(matrix_view<T const> const& left, matrix_view<T const> const& right,
                              matrix_view<T> const& result) noexcept;
    /// Turns the product; returns the transposed `other`.
    static matrix_view<T const> turn(matrix_view<T const>& left, matrix_view<T const>& right, matrix_view<T>& result,
                                     matrix_view<T const> const& other) noexcept;
    static void run(matrix_view<T const> const& left, matrix_view<T const> const& right, matrix_view<T> const& result,
                    detail::start_from start, vector_view<T const> const& bias,
                    detail::finishing<T> const& finish) noexcept;
};

template <std::floating_point T>
void simd<T>::product(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result) {
    maps<T>::check_product(left, right, result, "product");
    multiply(left, right, result, detail::start_from::zero);
}

template <std::floating_point T>
void simd<T>::product_add(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result) {
    maps<T>::check_product(left, right, result, "product_add");
    multiply(left, right, result, detail::start_from::result);
}

template <std::floating_point T>
void simd<T>::product_backward(matrix_view<T const> left, matrix_view<T const> right, nn::activation f,
                               matrix_view<T const> output, matrix_view<T> result) {
    maps<T>::check_product(left, right, result, "product_backward");
    require_shape(output, result.rows(), result.cols(), "the output", "product_backward");
    if (f != nn::activation::none) // else the output is no operand
        require_no_overlap(result, output, "product_backward");
    if (better_turned(left, right, result))
        output = turn(left, right, result, output);
    run(left, right, result, detail::start_from::zero, {}, {f, true, output});
}

template <std::floating_point T>
void simd<T>::affine(matrix_view<T const> input, matrix_view<T const> weight, vector_view<T const> bias,
                     nn::activation f, matrix_view<T> result) {
    maps<T>::check_product(input, weight, result, "affine");
    require_size(bias, result.cols(), "the bias", "affine");
    run(input, weight, result, detail::start_from::bias, bias, {.f = f});
}

template <std::floating_point T>
void simd<T>::multiply(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result,
                       detail::start_from start) noexcept {
    if (better_turned(left, right, result))
        turn(left, right, result, {});
    run(left, right, result, start, {}, {});
}

template <std::floating_point T>
bool simd<T>::better_turned(matrix_view<T const> const& left, matrix_view<T const> const& right,
                            matrix_view<T> const& result) noexcept {
    bool const narrow = result.cols() < lanes::width_of<V> && result.cols() < result.rows();
    return (narrow && left.row_stride() == 1) || (!result.row_contiguous() && result.row_stride() == 1) ||
           (result.rows() == 1 && right.row_stride() == 1);
}

template <std::floating_point T>
matrix_view<T const> simd<T>::turn(matrix_view<T const>& left, matrix_view<T const>& right, matrix_view<T>& result,
                                   matrix_view<T const> const& other) noexcept {
    matrix_view<T const> const old_left = left;
    left = transposed(right);
    right = transposed(old_left);
    result = transposed(result);
    return transposed(other);
}

template <std::floating_point T>
void simd<T>::run(matrix_view<T const> const& left, matrix_view<T const> const& right, matrix_view<T> const& result,
                  detail::start_from start, vector_view<T const> const& bias,
                  detail::finishing<T> const& finish) noexcept {
    if (detail::is_narrow<V>(left, right)) {
        detail::multiply_narrow<V>(left, right, result, start, bias);
        finish.finish(result, 0, 0);
    } else {
        detail::product<V>(left, right, result, start, bias, finish).run();
    }
}

static_assert(nn::backend<simd<float>> && nn::backend<simd<double>>);

} // namespace gmac::inline GMAC_ABI::backends
