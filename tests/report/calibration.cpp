// SPDX-License-Identifier: Apache-2.0
// Calibration against closed forms and quadrature.
#include "report/calibration.hpp"

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>

#include "support/catch.hpp"
#include "support/quadrature.hpp"
#include "support/says.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

using gmac::gaussian_mixture;
using gmac::examples::report::calibration;
using gmac::examples::report::transform_of;

namespace {

/// Equally likely points.
gaussian_mixture<double> points(std::vector<double> const& places) {
    std::vector<gmac::normal_component<double>> components;
    for (double const x : places)
        components.push_back({1.0 / static_cast<double>(places.size()), x, 0.0});
    return gaussian_mixture<double>(std::move(components));
}

/// Normal distribution, by the error function of the C library.
double normal_cdf(double z) {
    return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}
/// Its inverse, by bisection.
double normal_quantile(double p) {
    double low = -10.0, high = 10.0;
    for (int i = 0; i < 100; ++i) {
        double const middle = 0.5 * (low + high);
        (normal_cdf(middle) < p ? low : high) = middle;
    }
    return low;
}

} // namespace

TEST_CASE("the transform of a mixture is its distribution function", "[report]") {
    gaussian_mixture<double> const mixture{{0.3, -1.0, 0.5}, {0.7, 2.0, 1.5}};
    for (double const x : {-3.0, -1.0, 0.4, 2.0, 9.0}) {
        double const expected = 0.3 * normal_cdf((x + 1.0) / 0.5) + 0.7 * normal_cdf((x - 2.0) / 1.5);
        CHECK(transform_of(mixture, x).low == Approx(expected));
        CHECK(transform_of(mixture, x).high == Approx(expected));
    }
    // A point among them is a jump, anywhere in which the outcome may lie.
    gaussian_mixture<double> const jump{{0.5, 0.0, 1.0}, {0.5, 0.0, 0.0}};
    auto const at = transform_of(jump, 0.0);
    CHECK(at.low == Approx(0.25));
    CHECK(at.high == Approx(0.75));
    CHECK(at.below(0.25) == 0.0);
    CHECK(at.below(0.5) == Approx(0.5));
    CHECK(at.below(0.8) == 1.0);
}

TEST_CASE("points are taken for quantiles in the middle of their weight", "[report]") {
    // Those of the uniform distribution on [0, 1] at 1/8, 3/8, 5/8, 7/8, of which the transform is the outcome itself.
    auto const four = points({0.125, 0.375, 0.625, 0.875});
    for (double const x : {0.125, 0.2, 0.375, 0.5, 0.8, 0.875}) {
        CHECK(transform_of(four, x).low == Approx(x));
        CHECK(transform_of(four, x).high == Approx(x));
    }
    CHECK(transform_of(four, -7.0).low == 0.0);
    CHECK(transform_of(four, -7.0).high == Approx(0.125));
    CHECK(transform_of(four, 7.0).low == Approx(0.875));
    CHECK(transform_of(four, 7.0).high == 1.0);
    // Two at one place are one of their weight.
    CHECK(transform_of(points({0.0, 1.0, 1.0, 2.0}), 1.0).low == Approx(0.5));
    CHECK(transform_of(points({0.0, 1.0, 1.0, 2.0}), 1.5).low == Approx(0.6875));
}

TEST_CASE("predictions that are right are calibrated, and those half as wide as they should be are not", "[report]") {
    gmac::random_stream random(7, 0);
    std::vector<double> outcomes;
    for (int i = 0; i < 20'000; ++i)
        outcomes.push_back(normal_quantile(random.uniform<double>()));
    for (double const deviation : {1.0, 0.5, 3.0}) {
        calibration found;
        gaussian_mixture<double> const predicted{{0.4, 0.0, deviation}, {0.6, 0.0, deviation}};
        for (std::size_t i = 0; i < outcomes.size(); ++i)
            found.add(predicted, outcomes[i], i / 20);
        auto const all = found.result();
        CHECK(all["states"] == 20'000);
        CHECK(all["episodes"] == 1'000);
        CHECK(all["spread"] == true);
        double total = 0.0;
        for (std::size_t i = 0; i < calibration::levels; ++i) {
            double const p = all["levels"][i].get<double>();
            CHECK(p == Approx(0.05 * static_cast<double>(i + 1)));
            double const expected = normal_cdf(deviation * normal_quantile(p)); // P(F(Y) < p)
            CHECK(all["below"][i].get<double>() == Approx(expected).margin(0.015));
            CHECK(all["low"][i].get<double>() <= all["below"][i].get<double>());
            CHECK(all["high"][i].get<double>() >= all["below"][i].get<double>());
            CHECK(all["high"][i].get<double>() - all["low"][i].get<double>() < 0.03);
        }
        for (std::size_t i = 0; i < calibration::bins; ++i) {
            auto const share = [&](double p) {
                return p <= 0 ? 0 : p >= 1 ? 1 : normal_cdf(deviation * normal_quantile(p));
            };
            double const from = static_cast<double>(i) / calibration::bins;
            CHECK(all["bins"][i].get<double>() ==
                  Approx(share(from + 1.0 / calibration::bins) - share(from)).margin(0.01));
            total += all["bins"][i].get<double>();
        }
        CHECK(total == Approx(1.0).margin(1e-3));
        // E|X − Y| − E|X − X'| / 2 for X ~ N(0, s²), Y ~ N(0, 1).
        double const expected = std::sqrt(2.0 / std::numbers::pi) * std::sqrt(1.0 + deviation * deviation) -
                                deviation / std::sqrt(std::numbers::pi);
        CHECK(all["crps"].get<double>() == Approx(expected).margin(0.015));
        CHECK(all["crps_of_mean"].get<double>() == Approx(std::sqrt(2.0 / std::numbers::pi)).margin(0.015));
        CHECK(all["crps_of_all"].get<double>() == Approx(1.0 / std::sqrt(std::numbers::pi)).margin(0.015));
        CHECK(all["mean_predicted"].get<double>() == 0.0);
        CHECK(all["mean_came"].get<double>() == Approx(0.0).margin(0.03));
    }
}

TEST_CASE("the score is the integral of the squared distance of distribution functions", "[report]") {
    gaussian_mixture<double> const gaussians{{0.3, -1.0, 0.5}, {0.7, 2.0, 1.5}};
    auto const diracs = points({-2.0, 0.5, 0.75, 3.0});
    for (double const x : {-4.0, -1.0, 0.6, 3.5}) {
        for (auto const* const predicted : {&gaussians, &diracs}) {
            calibration found;
            found.add(*predicted, x, 0);
            auto const square = [&](double y) {
                double const difference = predicted->cdf(y) - (y >= x ? 1.0 : 0.0);
                return difference * difference;
            };
            std::vector<double> jumps{-12.0, x, 12.0};
            if (predicted == &diracs)
                jumps.insert(jumps.end(), {-2.0, 0.5, 0.75, 3.0});
            double const expected = gmac::testing::integrate_between(square, jumps, 1e-10);
            CHECK(found.result()["crps"].get<double>() == Approx(expected).epsilon(1e-4));
        }
    }
}

TEST_CASE("a prediction that is a number has no spread, and its score is its distance", "[report]") {
    calibration found;
    found.add(gaussian_mixture<double>{{1.0, 2.0, 0.0}}, 5.0, 1);
    found.add(gaussian_mixture<double>{{1.0, 2.0, 0.0}}, 1.0, 1);
    auto const all = found.result();
    CHECK(all["spread"] == false);
    CHECK(all["crps"] == 2);
    CHECK(all["crps_of_mean"] == 2);
    CHECK(all["crps_of_all"] == 1);   // half of the mean of 0, 4, 4, 0
    CHECK_FALSE(all.contains("low")); // one episode has no spread
}

TEST_CASE("a return that is not finite is refused, and nothing is a result of nothing", "[report]") {
    calibration found;
    for (double const bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
        CHECK_THROWS_WITH(found.add(gaussian_mixture<double>{{1.0, 0.0, 1.0}}, bad, 0),
                          gmac::testing::says("must be finite"));
    CHECK(found.result()["states"] == 0);
    CHECK_FALSE(found.result().contains("crps"));
}
