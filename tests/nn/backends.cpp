// SPDX-License-Identifier: Apache-2.0
#include "judges.hpp"

#include <gmac/backends/eigen.hpp>
#include <gmac/backends/simd.hpp>

namespace gmac::testing {

template <class B>
void compiled<B>::product(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result) {
    B::product(left, right, result);
}
template <class B>
void compiled<B>::product_add(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result) {
    B::product_add(left, right, result);
}
template <class B>
void compiled<B>::affine(matrix_view<T const> input, matrix_view<T const> weight, vector_view<T const> bias,
                         nn::activation f, matrix_view<T> result) {
    B::affine(input, weight, bias, f, result);
}
template <class B>
void compiled<B>::activate(nn::activation f, matrix_view<T const> input, matrix_view<T> result) {
    B::activate(f, input, result);
}
template <class B>
void compiled<B>::activate_backward(nn::activation f, matrix_view<T const> output, matrix_view<T const> output_gradient,
                                    matrix_view<T> result) {
    B::activate_backward(f, output, output_gradient, result);
}
template <class B>
void compiled<B>::column_sums(matrix_view<T const> matrix, vector_view<T> result) {
    B::column_sums(matrix, result);
}
template <class B>
void compiled<B>::product_backward(matrix_view<T const> left, matrix_view<T const> right, nn::activation f,
                                   matrix_view<T const> output, matrix_view<T> result) {
    nn::product_backward<B>(left, right, f, output, result);
}

template struct compiled<backends::simd<float>>;
template struct compiled<backends::simd<double>>;
template struct compiled<backends::eigen<float>>;
template struct compiled<backends::eigen<double>>;
#if defined(GMAC_TEST_XTENSOR)
template struct compiled<backends::xtensor<float>>;
template struct compiled<backends::xtensor<double>>;
#endif

} // namespace gmac::testing
