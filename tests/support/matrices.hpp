// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>

#include <Eigen/Core>

#include <cstddef>
#include <vector>

/// Matrices of several kinds that own their memory.
namespace gmac::testing {

/// In row-major order, for the tests that do not care about the layout.
template <class T>
struct table {
    std::size_t rows = 0, cols = 0;
    std::vector<T> data{};

    table(std::size_t r, std::size_t c, T value = T(0)) : rows(r), cols(c), data(r * c, value) {}
    [[nodiscard]] T& operator()(std::size_t i, std::size_t j) { return data[i * cols + j]; }
    [[nodiscard]] T const& operator()(std::size_t i, std::size_t j) const { return data[i * cols + j]; }
    [[nodiscard]] matrix_view<T> view() { return {data.data(), rows, cols}; }
    [[nodiscard]] matrix_view<T const> view() const { return {data.data(), rows, cols}; }
    template <class U>
    [[nodiscard]] table<U> as() const {
        table<U> result(rows, cols);
        for (std::size_t i = 0; i < data.size(); ++i)
            result.data[i] = static_cast<U>(data[i]);
        return result;
    }
};

/// Somewhere inside a larger matrix, and backwards if that is asked for.
template <class T>
struct strided {
    std::vector<T> memory;
    matrix_view<T> view;

    strided(std::size_t rows, std::size_t cols, bool backwards = true) {
        std::size_t const stride = 3 * cols + 5;
        memory.assign((rows + 1) * stride, T(-99));
        view = backwards ? matrix_view<T>(memory.data() + rows * stride - 1, rows, cols,
                                          -static_cast<std::ptrdiff_t>(stride), -2)
                         : matrix_view<T>(memory.data() + 3, rows, cols, static_cast<std::ptrdiff_t>(stride), 3);
    }
    explicit strided(matrix_view<T const> const& content, bool backwards = true)
        : strided(content.rows(), content.cols(), backwards) {
        for (std::size_t i = 0; i < content.rows(); ++i)
            for (std::size_t j = 0; j < content.cols(); ++j)
                view(i, j) = content(i, j);
    }
    strided(strided const&) = delete;
    strided& operator=(strided const&) = delete;
};

template <class T>
using column_major = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

template <class T>
[[nodiscard]] column_major<T> eigen_copy(matrix_view<T const> const& content) {
    column_major<T> result(static_cast<Eigen::Index>(content.rows()), static_cast<Eigen::Index>(content.cols()));
    for (std::size_t i = 0; i < content.rows(); ++i)
        for (std::size_t j = 0; j < content.cols(); ++j)
            result(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = content(i, j);
    return result;
}

} // namespace gmac::testing
