// SPDX-License-Identifier: Apache-2.0
// The losses on xtensors, in both layouts and through a strided view.
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/losses/gaussian_mixture_energy.hpp>

#include "mixture/case.hpp"
#include "support/catch.hpp"

#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

#include <array>
#include <cstddef>
#include <random>

TEST_CASE("xtensors give the same as plain vectors", "[mixture]") {
    std::mt19937_64 random(41);
    auto const given = gmac::test::random_case<3>(random, 20, 33);
    gmac::test::table<double> expected(20, 9);
    gmac::losses::gaussian_mixture_energy const loss;
    double const value = loss.value_and_gradient(given.head, given.outputs.view(), given.targets(), expected.view());

    std::array<std::size_t, 2> const shape{20, 9}, wide{20, 18};
    xt::xtensor<double, 2, xt::layout_type::row_major> rows(shape), gradient(wide);
    xt::xtensor<double, 2, xt::layout_type::column_major> columns(shape);
    for (std::size_t i = 0; i < 20; ++i)
        for (std::size_t j = 0; j < 9; ++j)
            rows(i, j) = columns(i, j) = given.outputs(i, j);
    auto every_second = xt::view(gradient, xt::all(), xt::range(0, 18, 2));
    auto const check = [&](auto const& result) {
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < 20; ++i)
            for (std::size_t j = 0; j < 9; ++j)
                wrong += result(i, j) == expected(i, j) ? 0U : 1U;
        CHECK(wrong == 0);
    };
    CHECK(loss.value_and_gradient(given.head, columns, given.targets(), every_second) == value);
    check(every_second);
    CHECK(loss.value(given.head, rows, given.targets()) == value);
    CHECK(loss.value_and_gradient(given.head, rows, given.targets(), columns) == value);
    check(columns);
}
