// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/counted.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/backend.hpp>

#include <cmath>
#include <cstddef>

namespace gmac::flops {

/// A backend for the library's layers whose every product and map is done with counted<double>. What a backend computes
/// with is static, so its counter is too: one for each thread of this program.
struct counting_backend {
    using scalar = double;

    static operation_counts& counter() {
        thread_local operation_counts counts;
        return counts;
    }

    static void product(matrix_view<double const> left, matrix_view<double const> right, matrix_view<double> result) {
        for (std::size_t i = 0; i < result.rows(); ++i)
            for (std::size_t j = 0; j < result.cols(); ++j)
                result(i, j) = dot(left, right, i, j, 0.0);
    }
    static void product_add(matrix_view<double const> left, matrix_view<double const> right,
                            matrix_view<double> result) {
        for (std::size_t i = 0; i < result.rows(); ++i)
            for (std::size_t j = 0; j < result.cols(); ++j)
                result(i, j) = dot(left, right, i, j, result(i, j));
    }
    static void affine(matrix_view<double const> input, matrix_view<double const> weight,
                       vector_view<double const> bias, nn::activation f, matrix_view<double> result) {
        for (std::size_t i = 0; i < result.rows(); ++i)
            for (std::size_t j = 0; j < result.cols(); ++j)
                result(i, j) = activated(f, dot(input, weight, i, j, bias[j]));
    }
    static void activate(nn::activation f, matrix_view<double const> input, matrix_view<double> result) {
        for (std::size_t i = 0; i < result.rows(); ++i)
            for (std::size_t j = 0; j < result.cols(); ++j)
                result(i, j) = activated(f, input(i, j));
    }
    static void activate_backward(nn::activation f, matrix_view<double const> output,
                                  matrix_view<double const> output_gradient, matrix_view<double> result) {
        for (std::size_t i = 0; i < result.rows(); ++i)
            for (std::size_t j = 0; j < result.cols(); ++j) {
                number const y = numbered(output(i, j)), slope = numbered(output_gradient(i, j));
                number gradient = slope;
                if (f == nn::activation::tanh)
                    gradient = slope * (number(1.0) - y * y);
                else if (f == nn::activation::relu)
                    gradient = y > number(0.0) ? slope : number(0.0);
                result(i, j) = gradient.value();
            }
    }
    static void column_sums(matrix_view<double const> matrix, vector_view<double> result) {
        for (std::size_t j = 0; j < matrix.cols(); ++j) {
            number sum = 0.0;
            for (std::size_t i = 0; i < matrix.rows(); ++i)
                sum += numbered(matrix(i, j));
            result[j] = sum.value();
        }
    }

private:
    using number = counted<double>;
    static number numbered(double value) { return {value, counter()}; }

    static double dot(matrix_view<double const> const& left, matrix_view<double const> const& right, std::size_t i,
                      std::size_t j, double start) {
        number sum = start;
        for (std::size_t k = 0; k < left.cols(); ++k)
            sum += numbered(left(i, k)) * numbered(right(k, j));
        return sum.value();
    }
    static double activated(nn::activation f, double x) {
        if (f == nn::activation::tanh)
            return tanh(numbered(x)).value();
        if (f == nn::activation::relu)
            return numbered(x) > number(0.0) ? x : 0.0;
        return x;
    }
};
static_assert(nn::backend<counting_backend>);

} // namespace gmac::flops
