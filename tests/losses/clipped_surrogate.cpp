// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"
#include "support/extremes.hpp"

#include <gmac/losses/clipped_surrogate.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

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

TEMPLATE_TEST_CASE("the clipped surrogate of any ratio and advantage", "[extremes]", float, double) {
    using T = TestType;
    losses::clipped_surrogate const surrogate{.clip = 0.25};
    for (double const log_ratio : {0.0, 1e-3, 0.5, 10.0, 80.0, 100.0, 700.0, 1000.0, 1400.0, 3000.0})
        for (double const sign : {-1.0, 1.0})
            for (T const advantage : extremes<T>())
                for (T const scale : {T(1), T(1) / 256}) {
                    std::array const now{static_cast<T>(sign * log_ratio)};
                    std::array<T, 1> gradient;
                    auto const sums =
                        surrogate.value_and_gradient(now, std::array{T(0)}, std::array{advantage}, gradient, scale);
                    auto const x = static_cast<long double>(now[0]);
                    auto const a = static_cast<long double>(advantage);
                    long double const plain = std::exp(x) * a;
                    long double const clipped = std::fmin(std::fmax(std::exp(x), 0.75L), 1.25L) * a;
                    long double const slope = clipped < plain ? 0 : -plain * static_cast<long double>(scale);
                    CAPTURE(now[0], advantage, scale, gradient[0], slope, sums.loss);
                    double const ulps = 8 * (static_cast<double>(std::numeric_limits<T>::epsilon()) / 0x1p-52);
                    CHECK(agrees(gradient[0], slope));
                    CHECK(agrees(sums.loss, -std::fmin(plain, clipped), ulps));
                    CHECK(agrees(sums.kl, std::exp(x) - 1 - x, 8, std::abs(x)));
                }
}

TEMPLATE_TEST_CASE("the clipped surrogate lets a NaN through", "[extremes]", float, double) {
    using T = TestType;
    for (auto const& [now, old, advantage] :
         {std::array{quiet_nan<T>, T(0), T(0)}, std::array{T(0), quiet_nan<T>, T(1)},
          std::array{T(0), T(0), quiet_nan<T>}, std::array{infinity<T>, T(0), T(0)},
          std::array{T(-1000), T(0), infinity<T>}}) {
        std::array<T, 1> gradient;
        auto const sums = losses::clipped_surrogate{}.value_and_gradient(std::array{now}, std::array{old},
                                                                         std::array{advantage}, gradient, T(1));
        CAPTURE(now, old, advantage);
        CHECK_FALSE(std::isfinite(sums.loss));
        CHECK_FALSE(std::isfinite(gradient[0]));
    }
    CHECK_THROWS_WITH((losses::clipped_surrogate{.clip = -1}.value_and_gradient(std::vector<T>(2), std::vector<T>(2),
                                                                                std::vector<T>(2), std::vector<T>(2),
                                                                                T(1))),
                      "clipped_surrogate: clip is -1, but must not be negative");
    CHECK_THROWS_WITH(losses::clipped_surrogate{}.value_and_gradient(std::vector<T>(2), std::vector<T>(2),
                                                                     std::vector<T>(3), std::vector<T>(2), T(1)),
                      "clipped_surrogate: the vector of advantages has 3 elements, but must have 2");
}
