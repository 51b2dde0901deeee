// SPDX-License-Identifier: Apache-2.0
#include "judges.hpp"
#include "support/catch.hpp"

#include <gmac/nn/initialization.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

TEMPLATE_TEST_CASE("Orthogonal initialisation: tall, wide, square, in every layout", "[nn][initialization]", float,
                   double) {
    using T = TestType;
    for (auto const& [rows, cols] : {std::array<std::size_t, 2>{30, 7}, {7, 30}, {24, 24}, {1, 5}, {5, 1}, {1, 1}})
        for (layout l : layouts)
            for (T gain : {T(1), T(1.4142135623730951), T(0.1), T(0), T(-2)}) {
                random_stream random(11);
                strided_matrix<T> m(rows, cols, l);
                nn::initialize_orthogonal(m.view(), gain, random);
                CHECK(m.touched() == rows * cols);
                bool const wide = rows <= cols;
                auto const at = [&](std::size_t i, std::size_t k) {
                    return static_cast<double>(wide ? m.view()(i, k) : m.view()(k, i));
                };
                double worst = 0;
                for (std::size_t i = 0; i < (wide ? rows : cols); ++i)
                    for (std::size_t j = 0; j <= i; ++j) {
                        double dot = 0;
                        for (std::size_t k = 0; k < (wide ? cols : rows); ++k)
                            dot += at(i, k) * at(j, k);
                        double const square = static_cast<double>(gain) * static_cast<double>(gain);
                        worst = (std::max)(worst, std::abs(dot - (i == j ? square : 0)));
                    }
                CAPTURE(rows, cols, gain);
                // Rounding the elements alone may give gain² ε.
                CHECK(worst <= 6 * static_cast<double>(gain * gain * std::numeric_limits<T>::epsilon()));
            }
}

TEST_CASE("The random orthogonal matrix is uniform: its entries have mean 0 and variance 1 / size",
          "[nn][initialization]") {
    random_stream random(12);
    constexpr std::size_t size = 4;
    constexpr int draws = 4000;
    std::array<double, size * size> sum{}, square{};
    std::array<double, size * size> m{};
    for (int n = 0; n < draws; ++n) {
        nn::initialize_orthogonal(matrix_view<double>(m.data(), size, size), 1.0, random);
        for (std::size_t i = 0; i < m.size(); ++i) {
            sum[i] += m[i];
            square[i] += m[i] * m[i];
        }
    }
    // Standard errors: 0.5 / √4000 = 0.0079, and √(Var x²) / √4000 with Var x² = 3 / (4 · 6) − 1 / 16 = 1 / 16: 0.0040.
    for (std::size_t i = 0; i < m.size(); ++i) {
        CHECK(std::abs(sum[i] / draws) < 4.5 * 0.0079);
        CHECK(std::abs(square[i] / draws - 0.25) < 4.5 * 0.0040);
    }
}

TEST_CASE("The same stream gives the same matrix, in float that of double rounded", "[nn][initialization]") {
    std::vector<double> a(12), b(12);
    std::vector<float> c(12);
    random_stream first(3), second(3), third(3), other(4);
    nn::initialize_orthogonal(matrix_view<double>(a.data(), 3, 4), 1.0, first);
    nn::initialize_orthogonal(matrix_view<double>(b.data(), 3, 4), 1.0, second);
    nn::initialize_orthogonal(matrix_view<float>(c.data(), 3, 4), 1.f, third);
    CHECK(a == b);
    for (std::size_t i = 0; i < 12; ++i)
        CHECK(c[i] == static_cast<float>(a[i]));
    nn::initialize_orthogonal(matrix_view<double>(b.data(), 3, 4), 1.0, other);
    CHECK(a != b);
}

TEST_CASE("Orthogonal initialisation refuses a gain that is not finite", "[nn][initialization]") {
    random_stream random(1);
    std::vector<double> m(4);
    CHECK_THROWS_WITH(nn::initialize_orthogonal(matrix_view<double>(m.data(), 2, 2),
                                                std::numeric_limits<double>::quiet_NaN(), random),
                      "initialize_orthogonal: gain is nan, but must be finite");
    CHECK_NOTHROW(nn::initialize_orthogonal(matrix_view<double>(m.data(), 0, 2), 1.0, random));
}
