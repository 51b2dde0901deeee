// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/backends/eigen.hpp>
#include <gmac/backends/simd.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/backend.hpp>
#if defined(GMAC_TEST_XTENSOR)
#include <gmac/backends/xtensor.hpp>
#endif

#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

namespace gmac::testing {

/// A backend whose functions are compiled in backends.cpp only, which keeps the other files quick to compile.
template <class B>
struct compiled {
    using scalar = typename B::scalar;
    using T = scalar;

    static void product(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result);
    static void product_add(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result);
    static void affine(matrix_view<T const> input, matrix_view<T const> weight, vector_view<T const> bias,
                       nn::activation f, matrix_view<T> result);
    static void activate(nn::activation f, matrix_view<T const> input, matrix_view<T> result);
    static void activate_backward(nn::activation f, matrix_view<T const> output, matrix_view<T const> output_gradient,
                                  matrix_view<T> result);
    static void column_sums(matrix_view<T const> matrix, vector_view<T> result);
    /// By nn::product_backward: the backend's own, or what stands in for it.
    static void product_backward(matrix_view<T const> left, matrix_view<T const> right, nn::activation f,
                                 matrix_view<T const> output, matrix_view<T> result);
};

using simd_float = compiled<backends::simd<float>>;
using simd_double = compiled<backends::simd<double>>;
using eigen_float = compiled<backends::eigen<float>>;
using eigen_double = compiled<backends::eigen<double>>;

// Those of which everything below must hold; another backend is added here and in backends.cpp.
#define GMAC_TEST_CORE_BACKENDS \
    gmac::testing::simd_float, gmac::testing::simd_double, gmac::testing::eigen_float, gmac::testing::eigen_double
#if defined(GMAC_TEST_XTENSOR)
using xtensor_float = compiled<backends::xtensor<float>>;
using xtensor_double = compiled<backends::xtensor<double>>;
#define GMAC_TEST_BACKENDS GMAC_TEST_CORE_BACKENDS, gmac::testing::xtensor_float, gmac::testing::xtensor_double
#else
#define GMAC_TEST_BACKENDS GMAC_TEST_CORE_BACKENDS
#endif

/// How a matrix lies in memory.
enum class layout { row_major, column_major, padded_rows, padded_columns, both_strided };
inline constexpr std::initializer_list<layout> layouts{layout::row_major, layout::column_major, layout::padded_rows,
                                                       layout::padded_columns, layout::both_strided};

/// A matrix of any layout in memory of its own, between elements that nobody may touch.
template <class T>
class strided_matrix {
public:
    strided_matrix(std::size_t rows, std::size_t cols, layout l)
        : memory_(margin + 2 * (rows + 2) * (cols + 3) + margin, untouched) {
        T* const start = memory_.data() + margin;
        auto const r = static_cast<std::ptrdiff_t>(rows);
        auto const c = static_cast<std::ptrdiff_t>(cols);
        switch (l) {
        case layout::row_major:
            view_ = {start, rows, cols, c, 1};
            break;
        case layout::column_major:
            view_ = {start, rows, cols, 1, r};
            break;
        case layout::padded_rows:
            view_ = {start, rows, cols, c + 3, 1};
            break;
        case layout::padded_columns:
            view_ = {start, rows, cols, 1, r + 2};
            break;
        case layout::both_strided:
            view_ = {start, rows, cols, 2 * (c + 1), 2};
            break;
        }
    }
    [[nodiscard]] matrix_view<T> view() { return view_; }
    [[nodiscard]] matrix_view<T const> cview() const { return view_; }
    void fill(random_stream& random, T scale = 1) {
        for (std::size_t i = 0; i < view_.rows(); ++i)
            for (std::size_t j = 0; j < view_.cols(); ++j)
                view_(i, j) = scale * (2 * random.uniform<T>() - 1);
    }
    void fill(T value) {
        for (std::size_t i = 0; i < view_.rows(); ++i)
            for (std::size_t j = 0; j < view_.cols(); ++j)
                view_(i, j) = value;
    }
    /// How many elements are not what they were at the start: those of the matrix, if only it was written.
    [[nodiscard]] std::size_t touched() const {
        std::size_t count = 0;
        for (T x : memory_)
            count += x != untouched;
        return count;
    }

private:
    static constexpr std::size_t margin = 70;
    static constexpr T untouched = T(-7777);
    std::vector<T> memory_;
    matrix_view<T> view_;
};

template <class T>
[[nodiscard]] std::vector<T> random_numbers(std::size_t count, random_stream& random, T scale = 1) {
    std::vector<T> numbers(count);
    for (T& x : numbers)
        x = scale * random.normal<T>();
    return numbers;
}

/// A fully connected layer, as a textbook has it, for any number type: y = f(x W + b), W [inputs, outputs] row-major, b.
template <class N>
[[nodiscard]] std::vector<N> textbook_layer(std::vector<N> const& x, N const* parameters, std::size_t outputs,
                                            nn::activation f) {
    using std::tanh;
    std::vector<N> y(outputs);
    for (std::size_t j = 0; j < outputs; ++j) {
        y[j] = parameters[x.size() * outputs + j];
        for (std::size_t i = 0; i < x.size(); ++i)
            y[j] += x[i] * parameters[i * outputs + j];
        if (f == nn::activation::tanh)
            y[j] = tanh(y[j]);
        if (f == nn::activation::relu && y[j] < N(0))
            y[j] = N(0);
    }
    return y;
}

} // namespace gmac::testing
