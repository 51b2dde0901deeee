// SPDX-License-Identifier: Apache-2.0
// The SIMD backend's products and maps, and the optimizers; compiled once for each instruction set.
#include <gmac/backends/simd.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/adam.hpp>
#include <gmac/nn/backend.hpp>
#include <gmac/nn/rmsprop.hpp>

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

/// Of an activation, from its output.
template <class T>
T slope(nn::activation f, T output) {
    return f == nn::activation::tanh ? 1 - output * output : f == nn::activation::relu && output <= 0 ? 0 : 1;
}

/// The largest error of f(x W + b), of its products and sums and of the maps, in units of rounding.
template <class T>
double largest_error(std::size_t rows, std::size_t inner, std::size_t cols, nn::activation f) {
    using backend = backends::simd<T>;
    random_stream random(3, rows + inner + cols);
    auto const x = numbers<T>(random, rows * inner), w = numbers<T>(random, inner * cols), b = numbers<T>(random, cols);
    std::vector<T> y(rows * cols), sums(cols), back(rows * inner), slopes(rows * cols), before(rows * inner),
        through(rows * inner);
    matrix_view<T const> const input(x.data(), rows, inner), weight(w.data(), inner, cols),
        output(y.data(), rows, cols);
    backend::affine(input, weight, vector_view<T const>(b.data(), cols), f, matrix_view<T>(y.data(), rows, cols));
    backend::column_sums(output, vector_view<T>(sums.data(), cols));
    matrix_view<T const> const turned(w.data(), cols, inner, 1, static_cast<std::ptrdiff_t>(cols)); // W transposed
    backend::product(output, turned, matrix_view<T>(back.data(), rows, inner));
    backend::activate(f, input, matrix_view<T>(before.data(), rows, inner));
    backend::product_backward(output, turned, f, {before.data(), rows, inner},
                              matrix_view<T>(through.data(), rows, inner));
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
            look(out * slope(f, out), slopes[i * cols + j], 1 + std::abs(out));
        }
        look(of_column.value, sums[j], of_column.size + 1);
    }
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t k = 0; k < inner; ++k) {
            sum_of<wide> sum;
            for (std::size_t j = 0; j < cols; ++j)
                sum.add(static_cast<wide>(y[i * cols + j]) * static_cast<wide>(w[k * cols + j]));
            look(sum.value, back[i * inner + k], sum.size + 1);
            look(sum.value * slope(f, static_cast<wide>(before[i * inner + k])), through[i * inner + k], sum.size + 1);
        }
    return largest;
}

/// Steps over many parameters together, and over each by itself.
template <class Optimizer>
void check_alone_and_together() {
    using T = typename Optimizer::scalar;
    constexpr std::size_t size = 67;
    random_stream random(5);
    std::vector<T> together = numbers<T>(random, size);
    std::vector<T> alone = together;
    Optimizer of_all(size);
    std::vector<Optimizer> of_each;
    for (std::size_t i = 0; i < size; ++i)
        of_each.emplace_back(1);
    for (int step = 0; step < 50; ++step) {
        auto const gradient = numbers<T>(random, size);
        of_all.step(together, gradient);
        for (std::size_t i = 0; i < size; ++i)
            of_each[i].step({&alone[i], 1}, {&gradient[i], 1});
    }
    CHECK(together == alone);
}

} // namespace

TEMPLATE_TEST_CASE("In lanes of any width products and maps are right to rounding", "[nn][lanes]", float, double) {
    for (auto const f : {nn::activation::none, nn::activation::tanh, nn::activation::relu})
        for (std::size_t const rows : {1u, 7u, 18u})
            for (std::size_t const inner : {1u, 16u, 70u})
                for (std::size_t const cols : {1u, 8u, 33u}) {
                    CAPTURE(rows, inner, cols, static_cast<int>(f));
                    CHECK(largest_error<TestType>(rows, inner, cols, f) < 2.0);
                }
}

TEMPLATE_TEST_CASE("In lanes of any width an optimizer's step has the same bits wherever the parameter lies",
                   "[nn][lanes]", float, double) {
    check_alone_and_together<nn::adam<TestType>>();
    check_alone_and_together<nn::rmsprop<TestType>>();
}
