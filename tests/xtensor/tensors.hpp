// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/matrices.hpp"

#include <gmac/core/view.hpp>

// xtensor 0.26 sorted its headers into folders.
#if __has_include(<xtensor/containers/xtensor.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/misc/xmanipulation.hpp>
#include <xtensor/views/xstrided_view.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xstrided_view.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#endif

#include <Eigen/Core>

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace gmac::testing {

using shape = std::array<std::size_t, 2>;

/// Every kind of two-dimensional xtensor that is a strided view of memory, uninitialised, of one shape.
template <class T>
struct tensors_of_all_kinds {
    explicit tensors_of_all_kinds(std::size_t rows, std::size_t cols)
        : fixed_rows(shape{rows, cols}),
          fixed_columns(shape{rows, cols}),
          array(std::vector<std::size_t>{rows, cols}, xt::layout_type::row_major),
          array_columns(std::vector<std::size_t>{rows, cols}, xt::layout_type::column_major),
          memory(rows * cols),
          spread(4 * rows * (cols + 1)),
          large(shape{2 * rows + 3, 3 * cols + 2}),
          wide(shape{cols, rows}) {}

    /// visit(name, tensor) for each of them.
    template <class Visit>
    void for_each(Visit&& visit) {
        std::size_t const rows = fixed_rows.shape()[0];
        std::size_t const cols = fixed_rows.shape()[1];
        auto const r = static_cast<std::ptrdiff_t>(rows);
        auto const c = static_cast<std::ptrdiff_t>(cols);
        visit("xtensor, row-major", fixed_rows);
        visit("xtensor, column-major", fixed_columns);
        visit("xarray, row-major", array);
        visit("xarray, column-major", array_columns);
        auto adapted = xt::adapt(memory, shape{rows, cols});
        visit("adapted vector", adapted);
        auto pointer = xt::adapt<xt::layout_type::column_major>(memory.data(), memory.size(), xt::no_ownership(),
                                                                shape{rows, cols});
        visit("adapted pointer, column-major", pointer);
        auto strided = xt::adapt(spread.data(), rows * cols, xt::no_ownership(), shape{rows, cols},
                                 std::array<std::ptrdiff_t, 2>{4 * (c + 1), 3});
        visit("adapted pointer with strides", strided);
        auto part = xt::view(large, xt::range(3, 2 * r + 3, 2), xt::range(1, 3 * c + 1, 3));
        visit("every third column of every second row", part);
        auto backwards = xt::view(fixed_rows, xt::range(r - 1, xt::placeholders::_, -1), xt::all());
        visit("the rows from the last to the first", backwards);
        auto turned = xt::transpose(wide);
        visit("a transposed view", turned);
        auto block = xt::strided_view(large, {xt::range(1, r + 1), xt::range(2, c + 2)});
        visit("a block by strided_view", block);
    }

    xt::xtensor<T, 2, xt::layout_type::row_major> fixed_rows;
    xt::xtensor<T, 2, xt::layout_type::column_major> fixed_columns;
    xt::xarray<T> array;
    xt::xarray<T, xt::layout_type::dynamic> array_columns;
    std::vector<T> memory, spread;
    xt::xtensor<T, 2> large, wide;
};

/// Writes the elements of a matrix into a tensor, by the tensor's own indices.
template <class T, class Tensor>
void fill(Tensor& tensor, matrix_view<T const> from) {
    for (std::size_t i = 0; i < from.rows(); ++i)
        for (std::size_t j = 0; j < from.cols(); ++j)
            tensor(i, j) = from(i, j);
}

/// How many elements of a tensor, read by its own indices, are not those of the matrix, bit for bit.
template <class Tensor, class Matrix>
[[nodiscard]] std::size_t differences(Tensor const& tensor, Matrix const& wanted) {
    std::size_t count = 0;
    for (Eigen::Index i = 0; i < wanted.rows(); ++i)
        for (Eigen::Index j = 0; j < wanted.cols(); ++j)
            count += tensor(static_cast<std::size_t>(i), static_cast<std::size_t>(j)) == wanted(i, j) ? 0u : 1u;
    return count;
}

} // namespace gmac::testing
