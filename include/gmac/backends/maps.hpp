// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/backends/detail/activations.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/overlap.hpp>
#include <gmac/core/registers.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/backend.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>

namespace gmac::backends {

/// The part of a backend that is no matrix product, in SIMD registers: a base of every backend whose memory is plain.
template <std::floating_point T>
struct maps {
    /// result = f(input); in place if both are the same view.
    static void activate(nn::activation f, matrix_view<T const> input, matrix_view<T> result) {
        require_shape(input, result.rows(), result.cols(), "the input", "activate");
        require_same_or_no_overlap(result, input, "activate");
        detail::activate(f, input, result);
    }

    /// result = output_gradient · f'(x), with f' from the output f(x); in place if result and an operand are the same view.
    static void activate_backward(nn::activation f, matrix_view<T const> output, matrix_view<T const> output_gradient,
                                  matrix_view<T> result) {
        require_shape(output, result.rows(), result.cols(), "the output", "activate_backward");
        require_shape(output_gradient, result.rows(), result.cols(), "the output gradient", "activate_backward");
        require_same_or_no_overlap(result, output, "activate_backward");
        require_same_or_no_overlap(result, output_gradient, "activate_backward");
        detail::activate_backward(f, output, output_gradient, result);
    }

    /// result[j] = Σ_i matrix(i, j), from the first row to the last.
    static void column_sums(matrix_view<T const> matrix, vector_view<T> result) {
        require_size(result, matrix.cols(), "the result", "column_sums");
        require_no_overlap(as_column(result), matrix, "column_sums");
        for (std::size_t j = 0; j < matrix.cols(); ++j)
            result[j] = T(0);
        for (std::size_t i = 0; i < matrix.rows(); ++i) {
            if (matrix.row_contiguous() && result.contiguous())
                add(&matrix(i, 0), matrix.cols(), result.data());
            else
                for (std::size_t j = 0; j < matrix.cols(); ++j)
                    result[j] += matrix(i, j);
        }
    }

protected:
    /// What every product asks of its operands.
    static void check_product(matrix_view<T const> const& left, matrix_view<T const> const& right,
                              matrix_view<T> const& result, std::string_view where) {
        require(left.rows() == result.rows() && right.cols() == result.cols() && left.cols() == right.rows(),
                "{}: {} x {} times {} x {} does not give {} x {}", where, left.rows(), left.cols(), right.rows(),
                right.cols(), result.rows(), result.cols());
        require_no_overlap(result, left, where);
        require_no_overlap(result, right, where);
    }

private:
    static void add(T const* row, std::size_t size, T* sums) noexcept {
        using V = lanes::widest<T>;
        lanes::for_each_register<V>(
            size, [&](std::size_t j, auto count) __attribute__((always_inline)) {
                V const sum = lanes::load_partial<V>(sums + j, count) + lanes::load_partial<V>(row + j, count);
                lanes::store_partial<V>(sum, sums + j, count);
            });
    }
};

} // namespace gmac::backends
