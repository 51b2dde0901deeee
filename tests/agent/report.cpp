// SPDX-License-Identifier: Apache-2.0
// What is told of an update.
#include "support/catch.hpp"
#include "support/extremes.hpp"

#include <gmac/agent/explained_variance.hpp>
#include <gmac/agent/report.hpp>
#include <gmac/losses/clipped_surrogate.hpp>
#include <gmac/targets/normalize.hpp>

#include <Eigen/Core>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

TEST_CASE("explained variance is that of the formula") {
    std::vector<double> const returns{1.0, 2.0, 3.0, 6.0};
    auto const explained = [&](std::vector<double> const& values) { return gmac::explained_variance(returns, values); };
    CHECK(explained(returns) == 1.0);
    CHECK(explained({7.0, 7.0, 7.0, 7.0}) == Approx(0.0).margin(1e-15));
    // Errors 1, 0, 0, −1: squared 2, mean 0; the returns' squared differences are 14.
    CHECK(explained({0.0, 2.0, 3.0, 7.0}) == Approx(1.0 - 2.0 / 14.0));
    std::vector<double> const equal(4, 2.0);
    CHECK(std::isnan(gmac::explained_variance(equal, returns)));
}

TEMPLATE_TEST_CASE("explained variance: NaN of constants, right for numbers of any size", "[extremes]", float, double) {
    using T = TestType;
    using limits = std::numeric_limits<T>;
    auto const explained = [](std::vector<T> const& returns, std::vector<T> const& values) {
        return explained_variance(returns, values);
    };
    std::vector<T> const wavering{T(1), T(1.5), T(1), T(1.5), T(1), T(1.5), T(1), T(1.5), T(1), T(1.5)};
    CHECK(std::isnan(explained(std::vector<T>(10, T(1)), wavering)));
    CHECK(std::isnan(explained(std::vector<T>(10, static_cast<T>(0.1)), wavering)));
    // Returns made as advantage plus value, (1 − v) + v.
    std::vector<T> returns;
    for (int i = 0; i < 100; ++i) {
        T const value = static_cast<T>(std::sin(i));
        returns.push_back(static_cast<T>(static_cast<T>(T(1) - value) + value));
    }
    CHECK(std::isnan(explained(returns, std::vector<T>(100, T(0)))));
    for (T const size : extremes<T>()) {
        if (size == T(0) || std::abs(size) > (limits::max)() / 3)
            continue;
        CAPTURE(size);
        // Errors 2, 0, 0, 0 of returns −1, 1, 1, 3: variances 3/4 and 2.
        CHECK(explained({-size, size, size, 3 * size}, {-3 * size, size, size, 3 * size}) == Approx(1.0 - 3.0 / 8.0));
    }
    // Their difference is more than the largest number.
    T const most = (limits::max)();
    CHECK(explained({-most, most, most, -most}, {most, most, most, -most}) == Approx(1.0 - 3.0 / 4.0));
    CHECK(explained({T(0), T(1)}, {T(1e18), T(-1e18)}) == Approx(-4e36));
    for (T const bad : {quiet_nan<T>, infinity<T>, -infinity<T>}) {
        CHECK(std::isnan(explained({T(1), bad, T(3)}, {T(1), T(2), T(3)})));
        CHECK(std::isnan(explained({T(1), T(2), T(3)}, {T(1), T(2), bad})));
    }
    CHECK_THROWS_WITH(explained({T(1)}, {T(1), T(2)}),
                      "explained_variance: the vector of values has 2 elements, but must have 1");
}

TEST_CASE("the numbers of a minibatch may be Eigen's vectors, rows, columns and maps") {
    std::vector<double> const now{-0.5, 0.05, 0.4, 0.1}, old{0.1, 0.0, -0.1, 0.2}, advantages{1.5, -0.7, 2.0, 0.3};
    std::vector<double> normal(advantages), gradient(4);
    gmac::targets::normalize(normal);
    gmac::losses::clipped_surrogate const surrogate;
    double const loss = surrogate.value_and_gradient(now, old, advantages, gradient, 0.25).loss;
    double const explained = gmac::explained_variance(advantages, now);

    // part_of(matrix) is one of its vectors of four.
    auto const check = [&](auto matrix, auto const& part_of) {
        auto a_matrix = matrix, b_matrix = matrix, c_matrix = matrix, slopes_matrix = matrix;
        auto a = part_of(a_matrix), b = part_of(b_matrix), c = part_of(c_matrix), slopes = part_of(slopes_matrix);
        for (Eigen::Index i = 0; i < 4; ++i) {
            auto const at = static_cast<std::size_t>(i);
            a(i) = now[at];
            b(i) = old[at];
            c(i) = advantages[at];
        }
        CHECK(surrogate.value_and_gradient(a, b, c, slopes, 0.25).loss == loss);
        CHECK(gmac::explained_variance(c, a) == explained);
        gmac::targets::normalize(c);
        for (Eigen::Index i = 0; i < 4; ++i) {
            CHECK(slopes(i) == gradient[static_cast<std::size_t>(i)]);
            CHECK(c(i) == normal[static_cast<std::size_t>(i)]);
        }
    };
    using by_rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    check(Eigen::VectorXd(4), [](auto& m) { return Eigen::Map<Eigen::VectorXd>(m.data(), 4); });
    check(Eigen::MatrixXd(4, 3), [](auto& m) { return m.col(1); });
    check(Eigen::MatrixXd(3, 4), [](auto& m) { return m.row(1); });
    check(by_rows(4, 3), [](auto& m) { return m.col(1); });
    check(by_rows(3, 4), [](auto& m) { return m.row(1); });
    check(Eigen::MatrixXd(6, 3), [](auto& m) { return m.template block<4, 1>(1, 2); });
    check(Eigen::MatrixXd(3, 4), [](auto& m) { return m.transpose().col(2); });
    check(Eigen::VectorXd(8),
          [](auto& m) { return Eigen::Map<Eigen::VectorXd, 0, Eigen::InnerStride<2>>(m.data(), 4); });
}

TEST_CASE("the episode window keeps the last hundred") {
    gmac::episode_window window;
    CHECK(std::isnan(window.mean_return()));
    CHECK(std::isnan(window.median_return()));
    for (std::size_t i = 1; i <= 150; ++i)
        window.add({static_cast<double>(i), 10 * i, 0});
    CHECK(window.count() == 150);
    CHECK(window.mean_return() == Approx(100.5)); // of 51 … 150
    CHECK(window.median_return() == Approx(100.5));
    CHECK(window.mean_length() == Approx(1005.0));
}
