// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/counted.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/backend.hpp>

#include <cmath>
#include <cstddef>

namespace gmac::flops {

/// The library's layers in plain loops over numbers of any type: with gmac::counted, whose counter comes with the parameters and
/// the input, a layer counts what it does.
template <class T>
struct plain_backend {
    using scalar = T;
    using matrix = matrix_view<T const>;

    static void product(matrix left, matrix right, matrix_view<T> result) {
        for_each(result, [&](std::size_t i, std::size_t j) { return dot(left, right, i, j, T(0.0)); });
    }
    static void product_add(matrix left, matrix right, matrix_view<T> result) {
        for_each(result, [&](std::size_t i, std::size_t j) { return dot(left, right, i, j, result(i, j)); });
    }
    static void affine(matrix input, matrix weight, vector_view<T const> bias, nn::activation f,
                       matrix_view<T> result) {
        for_each(result, [&](std::size_t i, std::size_t j) { return activated(f, dot(input, weight, i, j, bias[j])); });
    }
    static void activate(nn::activation f, matrix input, matrix_view<T> result) {
        for_each(result, [&](std::size_t i, std::size_t j) { return activated(f, input(i, j)); });
    }
    static void activate_backward(nn::activation f, matrix output, matrix output_gradient, matrix_view<T> result) {
        for_each(result, [&](std::size_t i, std::size_t j) {
            T const y = output(i, j), slope = output_gradient(i, j);
            if (f == nn::activation::tanh)
                return T(slope * (T(1.0) - y * y));
            if (f == nn::activation::relu)
                return T(lanes::select(y > T(0.0), slope, T(0.0)));
            return slope;
        });
    }
    static void column_sums(matrix matrix, vector_view<T> result) {
        for (std::size_t j = 0; j < matrix.cols(); ++j) {
            T sum = 0.0;
            for (std::size_t i = 0; i < matrix.rows(); ++i)
                sum += matrix(i, j);
            result[j] = sum;
        }
    }

private:
    template <class Element>
    static void for_each(matrix_view<T> result, Element&& element) {
        for (std::size_t i = 0; i < result.rows(); ++i)
            for (std::size_t j = 0; j < result.cols(); ++j)
                result(i, j) = element(i, j);
    }
    static T dot(matrix const& left, matrix const& right, std::size_t i, std::size_t j, T sum) {
        for (std::size_t k = 0; k < left.cols(); ++k)
            sum += left(i, k) * right(k, j);
        return sum;
    }
    static T activated(nn::activation f, T const& x) {
        using std::tanh;
        if (f == nn::activation::tanh)
            return tanh(x);
        if (f == nn::activation::relu)
            return lanes::select(x > T(0.0), x, T(0.0));
        return x;
    }
};
static_assert(nn::backend<plain_backend<double>> && nn::backend<plain_backend<counted<double>>>);

} // namespace gmac::flops
