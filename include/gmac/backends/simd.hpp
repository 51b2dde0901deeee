// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/backends/convolution.hpp>
#include <gmac/backends/maps.hpp>
#include <gmac/backends/product.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/backend.hpp>
#include <gmac/nn/module.hpp>

#include <xsimd/xsimd.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>

namespace gmac::backends {

/// Computes networks with kernels of our own, made for the sizes of reinforcement learning, in the SIMD registers of the
/// compiler's target. Models gmac::nn::backend.
///
/// A row of `affine` has the same bits whatever batch it is in: acting on one observation gives what training on it gives.
template <std::floating_point T>
struct simd : maps<T> {
    using scalar = T;
    /// Convolutions of its own, see nn::convolution_of.
    using convolution = detail::direct_convolution<lanes::widest<T>>;

    /// result = left · right with left [n, k], right [k, m], result [n, m]; a transposed operand is nn::transposed(view).
    static void product(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result) {
        maps<T>::check_product(left, right, result, "product");
        multiply(left, right, result, detail::start_from::zero);
    }
    /// result += left · right.
    static void product_add(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result) {
        maps<T>::check_product(left, right, result, "product_add");
        multiply(left, right, result, detail::start_from::result);
    }
    /// result = f(input · weight + bias), the bias [m] added to each row.
    static void affine(matrix_view<T const> input, matrix_view<T const> weight, vector_view<T const> bias,
                       nn::activation f, matrix_view<T> result) {
        maps<T>::check_product(input, weight, result, "affine");
        require_size(bias, result.cols(), "the bias", "affine");
        if (detail::few_columns<V>(input, weight)) {
            detail::multiply_few_columns<V>(input, weight, result, detail::start_from::bias, bias);
            finish(f, result);
            return;
        }
        detail::product<V>(input, weight, result, detail::start_from::bias, bias).run([f](matrix_view<T> const& block) {
            finish(f, block);
        });
    }

private:
    using V = lanes::widest<T>;

    static void finish(nn::activation f, matrix_view<T> const& block) noexcept {
        if (f != nn::activation::none)
            maps<T>::activate_unchecked(f, block, block);
    }

    static void multiply(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result,
                         detail::start_from start) noexcept {
        // resultᵀ = rightᵀ leftᵀ where that gives longer rows, or rows that are contiguous.
        bool const narrow = result.cols() < lanes::width_of<V> && result.cols() < result.rows();
        if ((narrow && left.row_stride() == 1) || (!result.row_contiguous() && result.row_stride() == 1) ||
            (result.rows() == 1 && right.row_stride() == 1)) {
            matrix_view<T const> const old_left = left;
            left = nn::transposed(right);
            right = nn::transposed(old_left);
            result = nn::transposed(result);
        }
        if (detail::few_columns<V>(left, right))
            detail::multiply_few_columns<V>(left, right, result, start, {});
        else
            detail::product<V>(left, right, result, start).run([](matrix_view<T> const&) {});
    }
};

static_assert(nn::backend<simd<float>> && nn::backend<simd<double>>);

} // namespace gmac::backends
