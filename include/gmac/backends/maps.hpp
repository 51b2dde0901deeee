// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/backends/detail/activations.hpp>
#include <gmac/core/detail/registers.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/overlap.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/backend.hpp>

#include <xsimd/xsimd.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>

namespace gmac::inline GMAC_ABI::backends {

/// The part of a backend that is no matrix product, in SIMD registers: a base of every backend whose memory is plain. Defined
/// outside of the class, so that a program of many files may compile it in one of them (docs/extending.md).
template <std::floating_point T>
struct maps {
    /// result = f(input); in place if both are the same view.
    static void activate(nn::activation f, matrix_view<T const> input, matrix_view<T> result);

    /// result = output_gradient · f'(x), with f' from the output f(x); in place if result and an operand are the same view.
    static void activate_backward(nn::activation f, matrix_view<T const> output, matrix_view<T const> output_gradient,
                                  matrix_view<T> result);

    /// result[j] = Σ_i matrix(i, j), from the first row to the last.
    static void column_sums(matrix_view<T const> matrix, vector_view<T> result);

protected:
    /// What every product asks of its operands.
    static void check_product(matrix_view<T const> const& left, matrix_view<T const> const& right,
                              matrix_view<T> const& result, std::string_view where);

private:
    using V = lanes::widest<T>;
    static constexpr std::size_t width = lanes::width_of<V>;

    /// `count` columns from `first` on, in so many registers; element by element where those cannot be read.
    template <std::size_t Registers>
    static void column_sums_of(matrix_view<T const> const& matrix, std::size_t first, std::size_t count,
                               vector_view<T> const& result) noexcept;
};

template <std::floating_point T>
void maps<T>::activate(nn::activation f, matrix_view<T const> input, matrix_view<T> result) {
    require_shape(input, result.rows(), result.cols(), "the input", "activate");
    require_same_or_no_overlap(result, input, "activate");
    detail::activate(f, input, result);
}

template <std::floating_point T>
void maps<T>::activate_backward(nn::activation f, matrix_view<T const> output, matrix_view<T const> output_gradient,
                                matrix_view<T> result) {
    require_shape(output, result.rows(), result.cols(), "the output", "activate_backward");
    require_shape(output_gradient, result.rows(), result.cols(), "the output gradient", "activate_backward");
    require_same_or_no_overlap(result, output, "activate_backward");
    require_same_or_no_overlap(result, output_gradient, "activate_backward");
    detail::activate_backward(f, output, output_gradient, result);
}

template <std::floating_point T>
void maps<T>::column_sums(matrix_view<T const> matrix, vector_view<T> result) {
    require_size(result, matrix.cols(), "the result", "column_sums");
    require_no_overlap(as_column(result), matrix, "column_sums");
    std::size_t j = 0;
    for (; j + 4 * width <= matrix.cols(); j += 4 * width)
        column_sums_of<4>(matrix, j, 4 * width, result);
    for (; j < matrix.cols(); j += width)
        column_sums_of<1>(matrix, j, (std::min)(width, matrix.cols() - j), result);
}

template <std::floating_point T>
void maps<T>::check_product(matrix_view<T const> const& left, matrix_view<T const> const& right,
                            matrix_view<T> const& result, std::string_view where) {
    require(left.rows() == result.rows() && right.cols() == result.cols() && left.cols() == right.rows(),
            "{}: {} x {} times {} x {} does not give {} x {}", where, left.rows(), left.cols(), right.rows(),
            right.cols(), result.rows(), result.cols());
    require_no_overlap(result, left, where);
    require_no_overlap(result, right, where);
}

template <std::floating_point T>
template <std::size_t Registers>
void maps<T>::column_sums_of(matrix_view<T const> const& matrix, std::size_t first, std::size_t count,
                             vector_view<T> const& result) noexcept {
    std::array<V, Registers> sums;
    sums.fill(V(T(0)));
    std::size_t const readable = lanes::readable_rows(matrix, first, Registers * width);
    for (std::size_t i = 0; i < readable; ++i)
#pragma GCC unroll 4
        for (std::size_t r = 0; r < Registers; ++r)
            sums[r] = sums[r] + V::load_unaligned(&matrix(i, first) + r * width);
    alignas(64) std::array<T, Registers * width> sum;
    for (std::size_t r = 0; r < Registers; ++r)
        sums[r].store_aligned(&sum[r * width]);
    for (std::size_t i = readable; i < matrix.rows(); ++i)
        for (std::size_t j = 0; j < count; ++j)
            sum[j] += matrix(i, first + j);
    for (std::size_t j = 0; j < count; ++j)
        result[first + j] = sum[j];
}

namespace detail {

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

} // namespace detail

} // namespace gmac::inline GMAC_ABI::backends
