// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>
#include <gmac/nn/backend.hpp>

#include <Eigen/Core>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <type_traits>

namespace gmac::backends {

/// Computes networks with Eigen. Models gmac::nn::backend.
template <std::floating_point T>
struct eigen {
    using scalar = T;

    static void product(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result) {
        map(result).noalias() = map(left) * map(right);
    }
    static void product_add(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result) {
        map(result).noalias() += map(left) * map(right);
    }
    static void affine(matrix_view<T const> input, matrix_view<T const> weight, vector_view<T const> bias,
                       nn::activation f, matrix_view<T> result) {
        for (std::size_t i = 0; i < result.rows(); ++i)
            for (std::size_t j = 0; j < result.cols(); ++j)
                result(i, j) = bias[j];
        product_add(input, weight, result);
        activate(f, result, result);
    }
    static void activate(nn::activation f, matrix_view<T const> input, matrix_view<T> result) {
        for (std::size_t i = 0; i < result.rows(); ++i)
            for (std::size_t j = 0; j < result.cols(); ++j) {
                T const x = input(i, j);
                result(i, j) = f == nn::activation::tanh ? std::tanh(x) : f == nn::activation::relu && x < 0 ? T(0) : x;
            }
    }
    static void activate_backward(nn::activation f, matrix_view<T const> output, matrix_view<T const> output_gradient,
                                  matrix_view<T> result) {
        for (std::size_t i = 0; i < result.rows(); ++i)
            for (std::size_t j = 0; j < result.cols(); ++j) {
                T const y = output(i, j);
                T const g = output_gradient(i, j);
                result(i, j) = f == nn::activation::tanh              ? g * (T(1) - y * y)
                               : f == nn::activation::relu && y <= T(0) ? T(0)
                                                                        : g;
            }
    }
    static void column_sums(matrix_view<T const> matrix, vector_view<T> result) {
        for (std::size_t j = 0; j < matrix.cols(); ++j) {
            result[j] = T(0);
            for (std::size_t i = 0; i < matrix.rows(); ++i)
                result[j] += matrix(i, j);
        }
    }

private:
    using strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
    template <class U>
    using matrix = std::conditional_t<std::is_const_v<U>, Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> const,
                                      Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>>;
    template <class U>
    static Eigen::Map<matrix<U>, Eigen::Unaligned, strides> map(matrix_view<U> view) {
        return {view.data(), static_cast<Eigen::Index>(view.rows()), static_cast<Eigen::Index>(view.cols()),
                strides(view.col_stride(), view.row_stride())};
    }
};

static_assert(nn::backend<eigen<float>> && nn::backend<eigen<double>>);

} // namespace gmac::backends
