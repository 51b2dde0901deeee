// SPDX-License-Identifier: Apache-2.0
// Views of xtensors are the memory of the xtensors.
#include "support/catch.hpp"
#include "xtensor/tensors.hpp"

#include <gmac/core/error.hpp>

#include <concepts>
#include <type_traits>

using namespace gmac;
using namespace gmac::testing;

TEMPLATE_TEST_CASE("A view of a tensor is its elements in their places", "[xtensor]", float, double) {
    using T = TestType;
    for (auto const& [rows, cols] : {shape{5, 3}, shape{1, 4}, shape{6, 1}, shape{1, 1}}) {
        tensors_of_all_kinds<T> tensors(rows, cols);
        tensors.for_each([&, n = rows, m = cols](std::string_view name, auto& tensor) {
            CAPTURE(name, n, m);
            auto const view = as_matrix(tensor);
            auto const constant = as_matrix(std::as_const(tensor));
            static_assert(std::same_as<decltype(view), matrix_view<T> const>);
            static_assert(std::same_as<typename decltype(constant)::value_type, T>);
            REQUIRE(view.rows() == n);
            REQUIRE(view.cols() == m);
            std::size_t elsewhere = 0;
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t j = 0; j < m; ++j)
                    elsewhere +=
                        &view(i, j) == &tensor(i, j) && &constant(i, j) == &std::as_const(tensor)(i, j) ? 0u : 1u;
            CHECK(elsewhere == 0);
        });
    }
}

TEST_CASE("One-dimensional tensors are vectors", "[xtensor]") {
    xt::xtensor<double, 1> const whole{1, 2, 3, 4, 5, 6, 7};
    xt::xarray<double> const array{1, 2, 3};
    auto const part = xt::view(whole, xt::range(1, 7, 2));
    vector_view<double const> const all(whole), second(part), dynamic(array);
    CHECK(all.size() == 7);
    CHECK(all.data() == whole.data());
    CHECK(second.size() == 3);
    CHECK(second[2] == 6);
    CHECK(&second[2] == &whole(5));
    CHECK(dynamic[2] == 3);
    // A column of a matrix.
    xt::xtensor<double, 2> const matrix{{1, 2}, {3, 4}, {5, 6}};
    vector_view<double const> const column(xt::view(matrix, xt::all(), 1));
    CHECK(column.size() == 3);
    CHECK(&column[2] == &matrix(2, 1));
}

TEST_CASE("A tensor of another number of dimensions is refused with both numbers", "[xtensor]") {
    xt::xtensor<float, 3> const cube(std::array<std::size_t, 3>{2, 3, 4});
    xt::xarray<float> const line(std::vector<std::size_t>{4});
    CHECK_THROWS_WITH(as_matrix(cube), "a matrix is wanted, but the tensor has 3 dimensions");
    CHECK_THROWS_WITH(as_matrix(line), "a matrix is wanted, but the tensor has 1 dimensions");
    CHECK_THROWS_WITH(as_vector(cube), "a vector is wanted, but the tensor has 3 dimensions");
    // A slice of it is a matrix.
    auto const slice = xt::view(cube, xt::all(), 1, xt::all());
    CHECK(&as_matrix(slice)(1, 3) == &cube(1, 1, 3));
}

// What has no memory of its own is refused by a sentence: tests/refusals.
TEST_CASE("What would lose const, or has another number type, is no view", "[xtensor]") {
    static_assert(!std::constructible_from<matrix_view<float>, xt::xtensor<float, 2> const&>);
    static_assert(!std::constructible_from<matrix_view<float>, xt::xtensor<double, 2>&>);
    static_assert(std::constructible_from<matrix_view<float const>, xt::xtensor<float, 2>&>);
    SUCCEED();
}
