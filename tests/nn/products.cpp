// SPDX-License-Identifier: Apache-2.0
#include "judges.hpp"
#include "support/catch.hpp"

#include <gmac/core/overlap.hpp>
#include <gmac/nn/backend.hpp>
#include <gmac/nn/module.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

/// How far the result may be from base + left · right by the rounding of k + 1 additions and products in any order
/// (Higham 2002, Section 3.1), as a multiple of that bound: at most 1.
template <class T>
double off_bound(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T const> result, double base) {
    double worst = 0;
    for (std::size_t i = 0; i < result.rows(); ++i)
        for (std::size_t j = 0; j < result.cols(); ++j) {
            long double exact = base;
            long double magnitude = std::abs(base);
            for (std::size_t k = 0; k < left.cols(); ++k) {
                long double const term = static_cast<long double>(left(i, k)) * static_cast<long double>(right(k, j));
                exact += term;
                magnitude += std::abs(term);
            }
            long double const bound = static_cast<long double>(left.cols() + 2) * magnitude *
                                          static_cast<long double>(std::numeric_limits<T>::epsilon()) / 2 +
                                      static_cast<long double>((std::numeric_limits<T>::min)());
            double const off = static_cast<double>(std::abs(static_cast<long double>(result(i, j)) - exact) / bound);
            worst = off > worst || std::isnan(off) ? off : worst;
        }
    return worst;
}

template <class B>
void check_product(std::size_t n, std::size_t k, std::size_t m, std::array<layout, 3> const& in,
                   random_stream& random) {
    using T = typename B::scalar;
    strided_matrix<T> left(n, k, in[0]), right(k, m, in[1]), result(n, m, in[2]);
    left.fill(random);
    right.fill(random);
    CAPTURE(n, k, m, in[0], in[1], in[2]);

    B::product(left.view(), right.view(), result.view());
    CHECK(off_bound<T>(left.view(), right.view(), result.view(), 0) <= 1);
    CHECK(result.touched() == n * m);

    result.fill(T(1));
    B::product_add(left.view(), right.view(), result.view());
    CHECK(off_bound<T>(left.view(), right.view(), result.view(), 1) <= 1);

    std::vector<T> const bias(m, T(0.5));
    B::affine(left.view(), right.view(), bias, nn::activation::none, result.view());
    CHECK(off_bound<T>(left.view(), right.view(), result.view(), 0.5) <= 1);
    CHECK(result.touched() == n * m);
}

} // namespace

TEMPLATE_TEST_CASE("A product is the sum over the inner index, in every layout", "[nn][product]", GMAC_TEST_BACKENDS) {
    random_stream random(1);
    SECTION("all 125 pairs of layouts") {
        for (auto const& [n, k, m] : {std::array<std::size_t, 3>{5, 21, 35}, {13, 4, 3}, {3, 33, 66}, {1, 40, 18}})
            for (layout a : layouts)
                for (layout b : layouts)
                    for (layout c : layouts)
                        check_product<TestType>(n, k, m, {a, b, c}, random);
    }
    SECTION("sizes around those of registers, tiles and panels") {
        for (std::size_t n : {1u, 2u, 6u, 7u, 12u, 49u})
            for (std::size_t k : {1u, 3u, 16u, 65u})
                for (std::size_t m : {1u, 2u, 4u, 5u, 8u, 15u, 16u, 17u, 32u, 63u, 64u, 100u}) {
                    check_product<TestType>(n, k, m, {layout::row_major, layout::row_major, layout::row_major}, random);
                    check_product<TestType>(n, k, m, {layout::column_major, layout::row_major, layout::row_major},
                                            random);
                    check_product<TestType>(n, k, m, {layout::row_major, layout::column_major, layout::row_major},
                                            random);
                }
    }
    SECTION("inner sizes and rows beyond a block") {
        for (layout a : {layout::row_major, layout::column_major})
            for (layout b : {layout::row_major, layout::column_major}) {
                check_product<TestType>(9, 1100, 70, {a, b, layout::row_major}, random);
                check_product<TestType>(9, 1100, 2, {a, b, layout::row_major}, random);
                check_product<TestType>(530, 300, 19, {a, b, layout::padded_rows}, random);
            }
    }
    SECTION("nothing to sum or nothing to write") {
        for (auto const& [n, k, m] : {std::array<std::size_t, 3>{3, 0, 5}, {0, 3, 5}, {3, 5, 0}, {0, 0, 0}})
            check_product<TestType>(n, k, m, {layout::row_major, layout::row_major, layout::row_major}, random);
    }
}

TEMPLATE_TEST_CASE("A product that goes back through an activation is the product, and then its slope", "[nn][product]",
                   GMAC_TEST_BACKENDS) {
    using T = typename TestType::scalar;
    random_stream random(7);
    auto const check = [&](std::size_t n, std::size_t k, std::size_t m, std::array<layout, 4> const& in,
                           nn::activation f) {
        CAPTURE(n, k, m, in[0], in[1], in[2], in[3], static_cast<int>(f));
        strided_matrix<T> left(n, k, in[0]), right(k, m, in[1]), output(n, m, in[2]), result(n, m, in[3]),
            expected(n, m, in[3]);
        left.fill(random);
        right.fill(random);
        output.fill(random);
        TestType::activate(f, output.cview(), output.view());
        TestType::product_backward(left.cview(), right.cview(), f, output.cview(), result.view());
        TestType::product(left.cview(), right.cview(), expected.view());
        double worst = 0;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < m; ++j) {
                auto const y = static_cast<double>(output.view()(i, j));
                double const slope = f == nn::activation::tanh   ? 1 - y * y
                                     : f == nn::activation::relu ? (y > 0 ? 1 : 0)
                                                                 : 1;
                auto const sum = static_cast<double>(expected.view()(i, j));
                worst = (std::max)(worst, std::abs(static_cast<double>(result.view()(i, j)) - sum * slope) /
                                              (std::abs(sum) + (std::numeric_limits<double>::min)()));
            }
        CHECK(worst <= 2 * static_cast<double>(std::numeric_limits<T>::epsilon()));
        CHECK(result.touched() == n * m);
    };
    for (nn::activation f : {nn::activation::none, nn::activation::tanh, nn::activation::relu}) {
        for (auto const& [n, k, m] : {std::array<std::size_t, 3>{7, 5, 35}, {1, 40, 18}, {70, 9, 6}, {13, 70, 1}})
            for (layout a : layouts)
                for (layout b : layouts) {
                    check(n, k, m, {a, b, layout::row_major, layout::row_major}, f);
                    check(n, k, m, {layout::row_major, layout::column_major, a, b}, f);
                }
        for (std::size_t n : {1u, 2u, 5u, 6u, 13u, 64u, 73u, 150u})
            for (std::size_t m : {1u, 7u, 16u, 17u, 64u, 100u})
                check(n, 9, m, {layout::row_major, layout::column_major, layout::row_major, layout::row_major}, f);
    }
    // A NaN in the gradient or in the output is not lost.
    T const nan = std::numeric_limits<T>::quiet_NaN();
    for (nn::activation f : {nn::activation::tanh, nn::activation::relu}) {
        strided_matrix<T> left(20, 3, layout::row_major), right(3, 32, layout::row_major),
            output(20, 32, layout::row_major), result(20, 32, layout::row_major);
        left.fill(T(1));
        right.fill(T(1));
        output.fill(T(0.5));
        left.view()(2, 1) = nan;
        output.view()(5, 7) = nan;
        TestType::product_backward(left.cview(), right.cview(), f, output.cview(), result.view());
        CHECK(std::isnan(result.view()(2, 31)));
        CHECK((f == nn::activation::relu || std::isnan(result.view()(5, 7))));
        CHECK(result.view()(5, 6) == (f == nn::activation::relu ? T(3) : T(2.25)));
    }
}

TEMPLATE_TEST_CASE("A product of integers is exact", "[nn][product]", GMAC_TEST_BACKENDS) {
    using T = TestType;
    std::vector<typename T::scalar> const a{1, 2, 3, 4, 5, 6};
    std::vector<typename T::scalar> const b{7, 8, 9, 10, 11, 12};
    std::vector<typename T::scalar> c(4);
    matrix_view<typename T::scalar> const result(c.data(), 2, 2);
    T::product({a.data(), 2, 3}, {b.data(), 3, 2}, result);
    CHECK(c == std::vector<typename T::scalar>{58, 64, 139, 154});
    T::product(transposed(matrix_view<typename T::scalar const>(a.data(), 3, 2)), {b.data(), 3, 2}, result);
    CHECK(c == std::vector<typename T::scalar>{89, 98, 116, 128});
    T::product_add({a.data(), 2, 3}, transposed(matrix_view<typename T::scalar const>(b.data(), 2, 3)), result);
    CHECK(c == std::vector<typename T::scalar>{89 + 50, 98 + 68, 116 + 122, 128 + 167});
}

TEMPLATE_TEST_CASE("Eigen matrices of either order are operands without a copy", "[nn][product]", GMAC_TEST_BACKENDS) {
    using T = typename TestType::scalar;
    Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> const a{{1, 2}, {3, 4}};
    Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> const b{{5, 6}, {7, 8}};
    Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> c(3, 3);
    c.setConstant(T(-1));
    TestType::product(a, b, c.block(1, 1, 2, 2));
    CHECK(c == Eigen::Matrix<T, 3, 3>{{-1, -1, -1}, {-1, 19, 22}, {-1, 43, 50}});
}

TEMPLATE_TEST_CASE("A NaN or infinity reaches its row of the product and no other", "[nn][product]",
                   GMAC_TEST_BACKENDS) {
    using T = typename TestType::scalar;
    for (std::size_t m : {1u, 3u, 17u, 64u}) {
        random_stream random(3);
        strided_matrix<T> left(9, 20, layout::row_major), right(20, m, layout::row_major),
            result(9, m, layout::row_major);
        left.fill(random);
        right.fill(random);
        left.view()(2, 19) = std::numeric_limits<T>::quiet_NaN();
        left.view()(7, 0) = std::numeric_limits<T>::infinity();
        TestType::product(left.view(), right.view(), result.view());
        for (std::size_t j = 0; j < m; ++j) {
            CHECK(std::isnan(result.view()(2, j)));
            CHECK(std::isinf(result.view()(7, j)));
            for (std::size_t i : {0u, 1u, 3u, 4u, 5u, 6u, 8u})
                CHECK(std::isfinite(result.view()(i, j)));
        }
    }
}

TEMPLATE_TEST_CASE("A product gives the same bits every time", "[nn][product]", GMAC_TEST_BACKENDS) {
    using T = typename TestType::scalar;
    random_stream random(4);
    strided_matrix<T> left(70, 90, layout::row_major), right(90, 77, layout::row_major),
        first(70, 77, layout::row_major), again(70, 77, layout::row_major);
    left.fill(random);
    right.fill(random);
    TestType::product(left.view(), right.view(), first.view());
    TestType::product(left.view(), right.view(), again.view());
    CHECK(std::equal(first.view().data(), first.view().data() + 70 * 77, again.view().data()));
}

TEMPLATE_TEST_CASE("With the SIMD backend a row is the same to the bit in every batch", "[nn][product]", simd_float,
                   simd_double) {
    using T = typename TestType::scalar;
    random_stream random(5);
    for (std::size_t m : {1u, 2u, 6u, 15u, 16u, 33u, 64u})
        for (std::size_t k : {3u, 17u, 64u, 300u}) {
            strided_matrix<T> input(23, k, layout::row_major), weight(k, m, layout::row_major),
                all(23, m, layout::row_major), one(1, m, layout::row_major);
            input.fill(random, T(2));
            weight.fill(random);
            std::vector<T> const bias = random_numbers<T>(m, random);
            TestType::affine(input.view(), weight.view(), bias, nn::activation::tanh, all.view());
            for (std::size_t i = 0; i < 23; ++i) {
                TestType::affine(input.view().middle_rows(i, 1), weight.view(), bias, nn::activation::tanh, one.view());
                CAPTURE(m, k, i);
                CHECK(std::equal(one.view().data(), one.view().data() + m, &all.view()(i, 0)));
            }
        }
}

TEMPLATE_TEST_CASE("Shapes that do not fit and operands that overlap are refused", "[nn][product]",
                   GMAC_TEST_BACKENDS) {
    using T = typename TestType::scalar;
    std::vector<T> memory(100);
    auto const view = [&](std::size_t first, std::size_t rows, std::size_t cols) {
        return matrix_view<T>(memory.data() + first, rows, cols);
    };
    CHECK_THROWS_WITH(TestType::product(view(0, 2, 3), view(10, 4, 5), view(50, 2, 5)),
                      "product: 2 x 3 times 4 x 5 does not give 2 x 5");
    CHECK_THROWS_WITH(TestType::product_add(view(0, 2, 3), view(10, 3, 5), view(50, 2, 4)),
                      "product_add: 2 x 3 times 3 x 5 does not give 2 x 4");
    CHECK_THROWS_WITH(TestType::affine(view(0, 2, 3), view(10, 3, 5), view(90, 1, 4).row(0), nn::activation::none,
                                       view(50, 2, 5)),
                      "affine: the bias has 4 elements, but must have 5");
    CHECK_THROWS_WITH(TestType::product(view(0, 3, 3), view(10, 3, 3), view(0, 3, 3)),
                      "product: the result overlaps an operand in memory, which it must not");
    CHECK_THROWS_AS(TestType::product(view(0, 3, 3), view(10, 3, 3), view(17, 3, 3)), error);
    CHECK_THROWS_WITH(TestType::product_backward(view(0, 3, 3), view(10, 3, 3), nn::activation::relu, view(20, 3, 3),
                                                 view(20, 3, 3)),
                      "product_backward: the result overlaps an operand in memory, which it must not");
    CHECK_NOTHROW(TestType::product_backward(view(0, 3, 3), view(10, 3, 3), nn::activation::none, view(20, 3, 3),
                                             view(20, 3, 3)));
}

TEST_CASE("Operands and result may be parts of one matrix", "[nn]") {
    std::vector<float> memory(60, 1.f);
    matrix_view<float> const all(memory.data(), 6, 10);
    simd_float::product(all.block(0, 0, 2, 3), all.block(3, 0, 3, 2), all.block(0, 5, 2, 2));
    CHECK(all(1, 6) == 3.f);
}
