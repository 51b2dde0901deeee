// SPDX-License-Identifier: Apache-2.0
#include <gmac/agent/explained_variance.hpp>
#include <gmac/agent/report.hpp>
#include <gmac/losses/clipped_surrogate.hpp>
#include <gmac/targets/normalize.hpp>

#include "support/catch.hpp"

#include <Eigen/Core>

#include <cmath>
#include <limits>
#include <vector>

namespace {

/// −min(r A, clip(r) A), straight from equation 7 of Schulman et al. 2017.
double objective(double log_probability, double old, double advantage, double clip) {
    double const ratio = std::exp(log_probability - old);
    double const clipped = ratio < 1.0 - clip ? 1.0 - clip : ratio > 1.0 + clip ? 1.0 + clip : ratio;
    return -std::fmin(ratio * advantage, clipped * advantage);
}

} // namespace

TEST_CASE("the clipped surrogate and its derivative are those of the formula") {
    // Ratios below, inside and above the range, each with a positive and a negative advantage.
    std::vector<double> const now{-0.5, -0.5, 0.05, 0.05, 0.4, 0.4, 0.0};
    std::vector<double> const old(7, 0.0);
    std::vector<double> const advantages{1.5, -1.5, 0.7, -0.7, 2.0, -2.0, 0.0};
    std::vector<double> gradient(7);
    double const clip = 0.2;
    gmac::losses::clipped_surrogate const surrogate{.clip = clip};
    auto const sums = surrogate.value_and_gradient(now, old, advantages, gradient, 0.25);
    double loss = 0.0, kl = 0.0;
    for (std::size_t i = 0; i < now.size(); ++i) {
        loss += objective(now[i], old[i], advantages[i], clip);
        kl += std::exp(now[i]) - 1.0 - now[i];
        double const h = 1e-6;
        double const slope =
            (objective(now[i] + h, old[i], advantages[i], clip) - objective(now[i] - h, old[i], advantages[i], clip)) /
            (2.0 * h);
        CAPTURE(i);
        CHECK(gradient[i] == Approx(0.25 * slope).margin(1e-9));
    }
    CHECK(sums.loss == Approx(loss).epsilon(1e-14));
    CHECK(sums.kl == Approx(kl).epsilon(1e-14));
    CHECK(sums.clipped == 4);
    // The gradient vanishes only where the ratio has left the range in the direction of gain.
    CHECK(gradient[0] < 0.0);
    CHECK(gradient[1] == 0.0);
    CHECK(gradient[4] == 0.0);
    CHECK(gradient[5] > 0.0);
}

TEST_CASE("a ratio that is not a number reaches the loss and the gradient") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> gradient(1);
    auto const sums = gmac::losses::clipped_surrogate{}.value_and_gradient(std::vector{nan}, std::vector{0.0},
                                                                           std::vector{1.0}, gradient, 1.0);
    CHECK(std::isnan(sums.loss));
    CHECK(std::isnan(gradient[0]));
}

TEST_CASE("advantages are normalised by the n - 1 standard deviation") {
    std::vector<double> values{1.0, 2.0, 3.0, 6.0};
    gmac::targets::normalize(values);
    // mean 3, squared differences 4 + 1 + 0 + 9 = 14, deviation sqrt(14 / 3)
    double const deviation = std::sqrt(14.0 / 3.0);
    CHECK(values[0] == Approx(-2.0 / deviation));
    CHECK(values[2] == Approx(0.0).margin(1e-15));
    CHECK(values[3] == Approx(3.0 / deviation));

    std::vector<float> one{5.0f};
    gmac::targets::normalize(one);
    CHECK(one[0] == 0.0f);
    std::vector<float> equal(7, 0.1f);
    gmac::targets::normalize(equal);
    for (float const value : equal)
        CHECK(value == 0.0f);
    std::vector<double> poisoned{1.0, std::numeric_limits<double>::quiet_NaN()};
    gmac::targets::normalize(poisoned);
    CHECK(std::isnan(poisoned[0]));
}

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
