// SPDX-License-Identifier: Apache-2.0
// The SIMD backend's products and maps; compiled once for each instruction set.
#include <gmac/backends/simd.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/backend.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using namespace gmac;

namespace {

template <class T>
std::vector<T> numbers(random_stream& random, std::size_t count) {
    std::vector<T> result(count);
    for (T& x : result)
        x = static_cast<T>(random.normal<double>());
    return result;
}

template <class T>
struct sum_of {
    T value = 0;
    T size = 0; ///< of the terms' absolute values, which rounding is relative to

    void add(T term) {
        value += term;
        size += std::abs(term);
    }
};

/// The largest error of f(x W + b), of its products and sums and of the maps, in units of rounding.
template <class T>
double largest_error(std::size_t rows, std::size_t inner, std::size_t cols, nn::activation f) {
    using backend = backends::simd<T>;
    random_stream random(3, rows + inner + cols);
    auto const x = numbers<T>(random, rows * inner), w = numbers<T>(random, inner * cols), b = numbers<T>(random, cols);
    std::vector<T> y(rows * cols), sums(cols), back(rows * inner), slopes(rows * cols);
    matrix_view<T const> const input(x.data(), rows, inner), weight(w.data(), inner, cols),
        output(y.data(), rows, cols);
    backend::affine(input, weight, vector_view<T const>(b.data(), cols), f, matrix_view<T>(y.data(), rows, cols));
    backend::column_sums(output, vector_view<T>(sums.data(), cols));
    backend::product(output, {w.data(), cols, inner, 1, static_cast<std::ptrdiff_t>(cols)}, // W transposed
                     matrix_view<T>(back.data(), rows, inner));
    backend::activate_backward(f, output, output, matrix_view<T>(slopes.data(), rows, cols));

    using wide = long double;
    double largest = 0.0;
    auto const look = [&](wide exact, T computed, wide size) {
        wide const error = std::abs(exact - static_cast<wide>(computed)) / size;
        largest =
            (std::max)(largest, static_cast<double>(error / static_cast<wide>(std::numeric_limits<T>::epsilon())));
    };
    for (std::size_t j = 0; j < cols; ++j) {
        sum_of<wide> of_column;
        for (std::size_t i = 0; i < rows; ++i) {
            sum_of<wide> sum;
            sum.add(b[j]);
            for (std::size_t k = 0; k < inner; ++k)
                sum.add(static_cast<wide>(x[i * inner + k]) * static_cast<wide>(w[k * cols + j]));
            wide const exact = f == nn::activation::tanh                    ? std::tanh(sum.value)
                               : f == nn::activation::relu && sum.value < 0 ? 0
                                                                            : sum.value;
            auto const out = static_cast<wide>(y[i * cols + j]);
            look(exact, y[i * cols + j], sum.size);
            of_column.add(out);
            wide const slope = f == nn::activation::tanh               ? 1 - out * out
                               : f == nn::activation::relu && out <= 0 ? 0
                                                                       : 1;
            look(out * slope, slopes[i * cols + j], 1 + std::abs(out));
        }
        look(of_column.value, sums[j], of_column.size + 1);
    }
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t k = 0; k < inner; ++k) {
            sum_of<wide> sum;
            for (std::size_t j = 0; j < cols; ++j)
                sum.add(static_cast<wide>(y[i * cols + j]) * static_cast<wide>(w[k * cols + j]));
            look(sum.value, back[i * inner + k], sum.size + 1);
        }
    return largest;
}

} // namespace

TEMPLATE_TEST_CASE("In lanes of any width products and maps are right to rounding", "[nn][lanes]", float, double) {
    for (auto const f : {nn::activation::none, nn::activation::tanh, nn::activation::relu})
        for (std::size_t const rows : {1u, 7u, 18u})
            for (std::size_t const inner : {1u, 16u, 37u})
                for (std::size_t const cols : {1u, 8u, 33u}) {
                    CAPTURE(rows, inner, cols, static_cast<int>(f));
                    CHECK(largest_error<TestType>(rows, inner, cols, f) < 2.0);
                }
}
