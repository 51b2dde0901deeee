// SPDX-License-Identifier: Apache-2.0
// Views: what converts to one, without a copy, and what their parts are.
#include "support/catch.hpp"
#include "support/says.hpp"

#include <gmac/core/view.hpp>

#include <Eigen/Core>

#include <array>
#include <concepts>
#include <cstddef>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

using gmac::as_column;
using gmac::as_matrix;
using gmac::as_vector;
using gmac::matrix_view;
using gmac::vector_view;
using gmac::testing::says;

static_assert(std::same_as<decltype(vector_view(std::declval<std::vector<float>&>())), vector_view<float>>);
static_assert(std::same_as<decltype(vector_view(std::declval<std::vector<float> const&>())), vector_view<float const>>);
static_assert(std::same_as<decltype(vector_view(std::declval<std::span<int const>&>())), vector_view<int const>>);
static_assert(std::same_as<decltype(matrix_view(std::declval<Eigen::MatrixXd const&>())), matrix_view<double const>>);
static_assert(std::convertible_to<vector_view<int>, vector_view<int const>>);
static_assert(std::convertible_to<matrix_view<int>, matrix_view<int const>>);
static_assert(!std::convertible_to<vector_view<int const>, vector_view<int>>);
static_assert(!std::convertible_to<matrix_view<int const>, matrix_view<int>>);
static_assert(!std::convertible_to<std::vector<float>&, vector_view<double>>);
static_assert(!std::convertible_to<Eigen::MatrixXf&, matrix_view<double>>);

namespace {

/// The elements, row by row.
template <class T>
std::vector<std::remove_const_t<T>> elements(matrix_view<T> const& m) {
    std::vector<std::remove_const_t<T>> all;
    for (std::size_t i = 0; i < m.rows(); ++i)
        for (std::size_t j = 0; j < m.cols(); ++j)
            all.push_back(m(i, j));
    return all;
}
template <class T>
std::vector<std::remove_const_t<T>> elements(vector_view<T> const& v) {
    std::vector<std::remove_const_t<T>> all;
    for (std::size_t i = 0; i < v.size(); ++i)
        all.push_back(v[i]);
    return all;
}

using numbers = std::vector<int>;

/// An element for every place that a view of 4 x 5 elements in one of the layouts below can reach.
std::array<int, 200> const places = [] {
    std::array<int, 200> all{};
    std::iota(all.begin(), all.end(), 0);
    return all;
}();
matrix_view<int const> const layouts[]{{places.data(), 4, 5},                // row-major
                                       {places.data(), 4, 5, 1, 4},          // column-major
                                       {places.data() + 7, 4, 5, 9, 1},      // rows with gaps
                                       {places.data() + 3, 4, 5, 20, 3},     // gaps everywhere
                                       {places.data() + 100, 4, 5, -15, -2}, // backwards
                                       {places.data() + 9, 4, 5, 0, 1}};     // one row, four times

constexpr std::array three{1, 2, 3};
constexpr vector_view<int const> seen(three);
static_assert(seen.size() == 3 && seen[2] == 3 && seen.subview(1, 2)[0] == 2);
static_assert(matrix_view<int const>(three.data(), 1, 3).col(1)[0] == 2);

} // namespace

TEST_CASE("A view's elements, rows, columns and blocks are where its strides say", "[core]") {
    for (matrix_view<int const> const& m : layouts) {
        auto const place = [&](std::size_t i, std::size_t j) {
            return m.data() + static_cast<std::ptrdiff_t>(i) * m.row_stride() +
                   static_cast<std::ptrdiff_t>(j) * m.col_stride();
        };
        std::size_t wrong = 0;
        // Every block, the empty ones too, and the blocks of blocks, whose corner lies one further in.
        for (std::size_t top = 0; top <= 4; ++top)
            for (std::size_t left = 0; left <= 5; ++left)
                for (std::size_t rows = 0; top + rows <= 4; ++rows)
                    for (std::size_t cols = 0; left + cols <= 5; ++cols) {
                        auto const block = m.block(top, left, rows, cols);
                        wrong += block.rows() != rows || block.cols() != cols;
                        wrong += block.empty() != (rows == 0 || cols == 0);
                        bool dense = true, contiguous = true;
                        for (std::size_t i = 0; i < rows; ++i)
                            for (std::size_t j = 0; j < cols; ++j) {
                                auto const* const exact = place(top + i, left + j);
                                wrong +=
                                    &block(i, j) != exact || &block.row(i)[j] != exact || &block.col(j)[i] != exact;
                                wrong +=
                                    &block.middle_rows(i, 1)(0, j) != exact || &block.middle_cols(j, 1)(i, 0) != exact;
                                wrong += &block.block(i, j, rows - i, cols - j)(0, 0) != exact;
                                wrong += &block.row(i).subview(j, cols - j)[0] != exact;
                                wrong += &as_column(block.col(j))(i, 0) != exact;
                                dense = dense && exact == &block(0, 0) + (i * cols + j);
                                contiguous = contiguous && exact == &block(i, 0) + j;
                            }
                        if (!block.empty()) {
                            wrong += block.dense() != dense || block.row_contiguous() != contiguous;
                            wrong += block.row(0).contiguous() != contiguous;
                        }
                    }
        CAPTURE(m.row_stride(), m.col_stride());
        CHECK(wrong == 0);
    }
}

TEST_CASE("A view of const shows the same memory, and a view without elements is empty", "[core]") {
    numbers memory(20);
    matrix_view<int> const m(memory.data() + 19, 3, 2, -6, -2);
    matrix_view<int const> const same = m;
    m(2, 1) = 7;
    CHECK(memory[5] == 7);
    CHECK(same(2, 1) == 7);
    CHECK((same.data() == m.data() && same.row_stride() == -6 && same.col_stride() == -2));
    vector_view<int const> const row = m.row(2);
    CHECK((row.size() == 2 && row[1] == 7 && row.stride() == -2));
    Eigen::MatrixXi const fixed = Eigen::MatrixXi::Constant(2, 3, 4);
    CHECK(as_matrix(fixed)(1, 2) == 4);
    CHECK(as_vector(fixed.row(1)).data() == &fixed(1, 0));

    CHECK((vector_view<int>().empty() && vector_view<int>().data() == nullptr && vector_view<int>().contiguous()));
    CHECK((matrix_view<int>().empty() && matrix_view<int>().data() == nullptr && matrix_view<int>().dense()));
    numbers nothing;
    CHECK(vector_view<int>(nothing).empty());
    CHECK(vector_view<int>(memory).subview(20, 0).empty());
    Eigen::MatrixXi none(0, 3);
    CHECK((as_matrix(none).empty() && as_matrix(none).cols() == 3 && as_matrix(none).col(1).empty()));
    CHECK((as_column(vector_view<int>()).empty() && as_column(vector_view<int>()).cols() == 1));
    CHECK(elements(m.block(1, 1, 0, 1)).empty());
}

TEST_CASE("vectors, arrays, spans and Eigen's vectors are seen where they are", "[core]") {
    numbers of_vector{1, 2, 3};
    std::array of_array{4, 5};
    vector_view<int> const a = of_vector, b = of_array, c = std::span(of_vector).subspan(1);
    CHECK(elements(a) == numbers{1, 2, 3});
    CHECK(elements(b) == numbers{4, 5});
    CHECK(elements(c) == numbers{2, 3});
    c[0] = 7;
    CHECK(of_vector[1] == 7);
    CHECK(a.contiguous());

    Eigen::Matrix<int, 2, 3> by_columns;
    by_columns << 1, 2, 3, 4, 5, 6;
    Eigen::Matrix<int, 2, 3, Eigen::RowMajor> by_rows = by_columns;
    CHECK(elements(vector_view<int>(by_columns.row(1))) == numbers{4, 5, 6});
    CHECK(elements(vector_view<int>(by_rows.row(1))) == numbers{4, 5, 6});
    CHECK(elements(vector_view<int>(by_rows.col(1))) == numbers{2, 5});
    CHECK(as_vector(by_rows.col(1)).stride() == 3);
    CHECK_FALSE(as_vector(by_rows.col(1)).contiguous());
    CHECK_THROWS_WITH(vector_view<int>(by_rows), says("a vector is wanted, but the matrix is 2 x 3"));
}

TEST_CASE("parts of a vector, and a vector as a column", "[core]") {
    std::array<int, 7> data{0, 1, 2, 3, 4, 5, 6};
    vector_view<int> const every_other(data.data(), 4, 2);
    CHECK(elements(every_other) == numbers{0, 2, 4, 6});
    CHECK(elements(every_other.subview(1, 2)) == numbers{2, 4});
    vector_view<int> const backwards(data.data() + 6, 3, -3);
    CHECK(elements(backwards) == numbers{6, 3, 0});
    CHECK(elements(as_column(backwards)) == numbers{6, 3, 0});
    CHECK((as_column(every_other).rows() == 4 && as_column(every_other).cols() == 1));
    CHECK(vector_view<int>().empty());
    CHECK(vector_view<int>(data.data(), 1, 5).contiguous());
    CHECK_THROWS_WITH(gmac::require_size(every_other, 3, "the vector", "here"),
                      "here: the vector has 4 elements, but must have 3");
}

TEST_CASE("matrices in either order, their blocks and maps", "[core]") {
    Eigen::Matrix<int, 3, 4> by_columns;
    by_columns << 0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23;
    Eigen::Matrix<int, 3, 4, Eigen::RowMajor> by_rows = by_columns;
    auto const check = [](matrix_view<int> const& m) {
        CHECK((m.rows() == 3 && m.cols() == 4));
        CHECK(elements(m) == numbers{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23});
        CHECK(elements(m.row(1)) == numbers{10, 11, 12, 13});
        CHECK(elements(m.col(2)) == numbers{2, 12, 22});
        CHECK(elements(m.block(1, 2, 2, 2)) == numbers{12, 13, 22, 23});
        CHECK(elements(m.middle_rows(1, 1)) == numbers{10, 11, 12, 13});
        CHECK(elements(m.middle_cols(3, 1)) == numbers{3, 13, 23});
    };
    check(by_columns);
    check(by_rows);
    check(matrix_view<int>(by_rows.data(), 3, 4));
    CHECK(as_matrix(by_rows).dense());
    CHECK_FALSE(as_matrix(by_columns).row_contiguous());
    auto const block = as_matrix(by_rows.block(1, 1, 2, 2));
    CHECK(elements(block) == numbers{11, 12, 21, 22});
    CHECK(block.row_contiguous());
    CHECK_FALSE(block.dense());
    CHECK(block.middle_rows(0, 1).dense()); // one row has no gap
    block(0, 0) = -1;
    CHECK(by_rows(1, 1) == -1);
    CHECK(elements(as_matrix(by_columns.transpose())).front() == 0);
    CHECK(elements(as_matrix(by_columns.transpose()).row(1)) == numbers{1, 11, 21});
    CHECK((matrix_view<int>().empty() && matrix_view<int>(by_rows.data(), 0, 4).empty()));
    CHECK_THROWS_WITH(gmac::require_shape(as_matrix(by_rows), 3, 5, "the matrix", "here"),
                      "here: the matrix is 3 x 4, but must be 3 x 5");
}
