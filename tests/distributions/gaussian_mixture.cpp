// SPDX-License-Identifier: Apache-2.0
// The Gaussian mixture as a value: moments, density, distribution function, quantiles, sampling, distances.
#include <gmac/distributions/gaussian_mixture.hpp>

#include "support/catch.hpp"
#include "support/quadrature.hpp"
#include "support/says.hpp"

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

namespace {

using mixture = gmac::gaussian_mixture<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();

mixture const two{{0.3, -1.0, 0.5}, {0.7, 2.0, 1.0}};
mixture const with_points{{0.25, -1.0, 0.0}, {0.5, 0.5, 2.0}, {0.25, 3.0, 0.0}};
/// Modes 1e8 apart, deviations from 1e-8 to 1e3, weights down to 1e-6.
mixture const far{{0.5, -1e8, 1e-4}, {0.25, 1e8, 1e3}, {0.249999, 3.0, 1e-8}, {1e-6, 0.0, 1.0}};

template <class F>
double expectation(mixture const& m, F f) {
    std::vector<double> points;
    for (auto const& c : m.components())
        for (double const step : {-12.0, -4.0, -1.0, 0.0, 1.0, 4.0, 12.0})
            points.push_back(c.mean + step * c.deviation);
    return gmac::testing::integrate_between([&](double x) { return f(x) * m.pdf(x); }, points, 1e-13);
}

} // namespace

TEST_CASE("moments are those of the density", "[mixture]") {
    CHECK(expectation(two, [](double) { return 1.0; }) == Approx(1.0).epsilon(1e-12));
    CHECK(two.mean() == Approx(expectation(two, [](double x) { return x; })).epsilon(1e-12));
    double const mean = two.mean();
    CHECK(two.variance() == Approx(expectation(two, [&](double x) { return (x - mean) * (x - mean); })).epsilon(1e-12));
    // By hand: mean -0.25 + 0.25 + 0.75, second moments 1, 4.25, 9.
    CHECK(with_points.mean() == Approx(0.75).epsilon(1e-15));
    CHECK(with_points.variance() == Approx(0.25 + 0.5 * 4.25 + 0.25 * 9.0 - 0.75 * 0.75).epsilon(1e-15));
    // A small variance far from zero is not lost.
    CHECK(mixture{{0.5, 1e8, 1e-3}, {0.5, 1e8, 1e-3}}.variance() == Approx(1e-6).epsilon(1e-12));
}

TEST_CASE("the density, its logarithm and the distribution function", "[mixture]") {
    for (double const x : {-3.0, -1.0, 0.0, 0.4, 2.0, 5.0}) {
        CHECK(two.log_pdf(x) == Approx(std::log(two.pdf(x))).epsilon(1e-13));
        std::vector<double> points{-14.0, x};
        for (double const knot : {-3.0, -1.0, 0.0, 2.0})
            if (knot < x)
                points.push_back(knot);
        double const integral = gmac::testing::integrate_between([](double y) { return two.pdf(y); }, points, 1e-14);
        CHECK(two.cdf(x) == Approx(integral).epsilon(1e-10));
    }
    // Where the density underflows its logarithm does not: the component with the wider tail is left.
    CHECK(two.pdf(1e3) == 0.0);
    CHECK(two.log_pdf(1e3) ==
          Approx(std::log(0.7) - 0.5 * std::log(2.0 * std::numbers::pi) - 0.5 * 998.0 * 998.0).epsilon(1e-14));
    CHECK(two.log_pdf(infinity) == -infinity);
    CHECK(two.cdf(-infinity) == 0.0);
    CHECK(two.cdf(infinity) == 1.0);
    CHECK(std::isnan(two.cdf(std::nan(""))));
    CHECK(std::isnan(two.pdf(std::nan(""))));
    CHECK(std::isnan(two.log_pdf(std::nan(""))));

    CHECK(with_points.pdf(-1.0) == infinity);
    CHECK(with_points.log_pdf(-1.0) == infinity);
    CHECK(with_points.pdf(-0.5) ==
          Approx(0.5 * two.pdf(infinity) + 0.5 * std::exp(-0.125) / std::sqrt(8.0 * std::numbers::pi)));
    double const middle = 0.5 * 0.5 * std::erfc(1.5 / 2.0 / std::numbers::sqrt2); // of the normal part at -1
    CHECK(with_points.cdf(std::nextafter(-1.0, -2.0)) == Approx(middle).epsilon(1e-14));
    CHECK(with_points.cdf(-1.0) == Approx(0.25 + middle).epsilon(1e-14));
    // A component of weight 0 is not there, not even as a point.
    mixture const ghost{{1.0, 0.0, 1.0}, {0.0, 0.5, 0.0}};
    CHECK(ghost.pdf(0.5) == Approx(std::exp(-0.125) / std::sqrt(2.0 * std::numbers::pi)));
    CHECK(std::isfinite(ghost.log_pdf(0.5)));
}

TEST_CASE("quantiles invert the distribution function", "[mixture]") {
    for (mixture const* m : {&two, &with_points, &far}) {
        for (double const p : {1e-300, 1e-20, 1e-9, 1e-3, 0.1, 0.2499, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7499, 0.75, 0.9,
                               0.999, 1.0 - 1e-9, 1.0 - 1e-15}) {
            double const x = m->quantile(p);
            CAPTURE(p, x);
            // F(x) = p, or F jumps over p within a few numbers of x.
            double below = x, above = x;
            for (int step = 0; step < 3; ++step) {
                below = std::nextafter(below, -infinity);
                above = std::nextafter(above, infinity);
            }
            double const tolerance = 4e-14 * std::min(p, 1.0 - p) + 1.2e-16;
            CHECK(m->cdf(below) <= p + (p < 0.5 ? 4e-14 * p : tolerance));
            CHECK(m->cdf(above) >= p - (p < 0.5 ? 4e-14 * p : tolerance));
        }
        CHECK(m->quantile(0.0) == -infinity);
        CHECK(m->quantile(1.0) == infinity);
    }
    // Exactly at a point wherever F jumps there.
    double const jump = with_points.cdf(std::nextafter(-1.0, -2.0));
    CHECK(with_points.quantile(jump + 1e-12) == -1.0);
    CHECK(with_points.quantile(jump + 0.24) == -1.0);
    CHECK(with_points.quantile(jump + 0.2501) > -1.0);
    // On a plateau the left end, where the left mode ends: the whole of 0.5 lies left of 1e8 / 2.
    CHECK(mixture{{0.5, -1e8, 1.0}, {0.5, 1e8, 1.0}}.quantile(0.5) == Approx(-1e8).epsilon(1e-7));

    mixture const points{{0.25, 5.0, 0.0}, {0.5, -2.0, 0.0}, {0.25, 1.0, 0.0}};
    CHECK(points.quantile(0.0) == -2.0);
    CHECK(points.quantile(0.5) == -2.0);
    CHECK(points.quantile(0.50001) == 1.0);
    CHECK(points.quantile(0.75) == 1.0);
    CHECK(points.quantile(1.0) == 5.0);

    gmac::gaussian_mixture<float> const small{{0.5F, -1.0F, 1e-6F}, {0.5F, 2.0F, 3.0F}};
    for (float const p : {0.01F, 0.2F, 0.5F, 0.7F, 0.99F})
        CHECK(small.cdf(small.quantile(p)) == Approx(p).margin(0.025)); // one float there is an eighth of 1e-6
}

TEST_CASE("the conditional value at risk is the mean of the worst", "[mixture]") {
    for (mixture const* m : {&two, &with_points}) {
        for (double const p : {0.01, 0.2, 0.5, 0.83, 0.99}) {
            // (1/p) of the integral of the quantile function, substituted so that the end at 0 is tame.
            double const by_quantiles =
                gmac::testing::integrate([&](double t) { return m->quantile(p * t * t) * 2.0 * t; }, 1e-9, 1.0, 1e-9,
                                         14);
            CHECK(m->cvar(p) == Approx(by_quantiles).epsilon(1e-6));
        }
        CHECK(m->cvar(1.0) == Approx(m->mean()).epsilon(1e-14));
    }
    mixture const points{{0.25, 5.0, 0.0}, {0.5, -2.0, 0.0}, {0.25, 1.0, 0.0}};
    CHECK(points.cvar(0.4) == Approx(-2.0).epsilon(1e-15));
    CHECK(points.cvar(0.6) == Approx((0.5 * -2.0 + 0.1 * 1.0) / 0.6).epsilon(1e-14));
    CHECK(points.cvar(1.0) == Approx(0.5).epsilon(1e-14));
}

TEST_CASE("samples follow the distribution", "[mixture]") {
    gmac::random_stream random(5);
    std::vector<double> samples(40000);
    for (mixture const* m : {&two, &with_points}) {
        m->sample(random, samples);
        std::sort(samples.begin(), samples.end());
        double distance = 0.0;
        for (std::size_t i = 0; i < samples.size(); ++i) {
            double const x = samples[i];
            auto const first = std::lower_bound(samples.begin(), samples.end(), x) - samples.begin();
            auto const last = std::upper_bound(samples.begin(), samples.end(), x) - samples.begin();
            double const n = static_cast<double>(samples.size());
            distance = std::max(distance, std::abs(static_cast<double>(last) / n - m->cdf(x)));
            distance =
                std::max(distance, std::abs(static_cast<double>(first) / n - m->cdf(std::nextafter(x, -infinity))));
        }
        // Kolmogorov-Smirnov (Dvoretzky-Kiefer-Wolfowitz): larger with probability 2 exp(-2 · 2.63²) < 2e-6.
        CHECK(distance < 2.63 / std::sqrt(40000.0));
    }
    // Components come with their weights (5 standard deviations), one of weight 0 never.
    mixture const three{{0.2, 0.0, 1.0}, {0.0, 9.0, 1.0}, {0.8, 1.0, 1.0}};
    std::vector<int> counts(3);
    for (int i = 0; i < 40000; ++i)
        ++counts[three.sample_component(random)];
    CHECK(std::abs(counts[0] - 8000) < 5 * std::sqrt(40000 * 0.2 * 0.8));
    CHECK(counts[1] == 0);
    // One stream, one sequence.
    gmac::random_stream first(9), second(9);
    CHECK(two.sample(first) == two.sample(second));
}

TEST_CASE("energy, Cramer distance and score by name and number", "[mixture]") {
    // The score of a normal forecast in closed form (Gneiting and Raftery 2007):
    // σ (z (2 Φ(z) − 1) + 2 φ(z) − 1/√π)
    auto const normal_crps = [](double mean, double deviation, double x) {
        double const z = (x - mean) / deviation;
        return deviation *
               (z * std::erf(z / std::numbers::sqrt2) +
                2.0 * std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi) - std::numbers::inv_sqrtpi);
    };
    for (double const x : {-2.0, 0.1, 0.7, 30.0})
        CHECK(gmac::crps(mixture{{1.0, 0.7, 1.3}}, x) == Approx(normal_crps(0.7, 1.3, x)).epsilon(1e-13));
    CHECK(gmac::energy(two, gmac::point_mass{1.5}) == Approx(2.0 * gmac::crps(two, 1.5)).epsilon(1e-15));
    CHECK(gmac::energy(two, with_points) == Approx(2.0 * gmac::cramer(two, with_points)).epsilon(1e-15));
    double const integral =
        gmac::testing::integrate_between([](double x) { return std::pow(two.cdf(x) - with_points.cdf(x), 2); },
                                         {-20.0, -8.0, -4.0, -1.0, 0.5, 3.0, 8.0, 20.0}, 1e-14);
    CHECK(gmac::cramer(two, with_points) == Approx(integral).epsilon(1e-10));
    // Points: |a - b| for energy / 2; equal distributions: exactly nothing.
    CHECK(gmac::energy(gmac::point_mass{-1.0}, gmac::point_mass{2.5}) == 7.0);
    CHECK(gmac::energy(with_points, with_points) == 0.0);
    CHECK(gmac::energy(far, far) == 0.0);
}

TEST_CASE("a mixture from vectors, and its weights", "[mixture]") {
    std::vector<float> const weights{0.25F, 0.75F}, means{1.0F, 2.0F}, deviations{0.0F, 1.0F};
    gmac::gaussian_mixture<double> const m(weights, means, deviations);
    CHECK(m.size() == 2);
    CHECK(m.component(1).weight == 0.75);
    CHECK(m.component(1).mean == 2.0);
    CHECK(m.component(0).deviation == 0.0);
    // A sum that rounding spoiled is divided out.
    gmac::gaussian_mixture<double> const almost{{0.5 + 4e-7, 0.0, 1.0}, {0.5, 0.0, 2.0}};
    CHECK(almost.component(0).weight + almost.component(1).weight == Approx(1.0).epsilon(1e-15));
    CHECK(almost.cdf(infinity) == 1.0);
}

TEST_CASE("a mixture that is none is refused", "[mixture]") {
    CHECK_THROWS_WITH(mixture(std::vector<gmac::normal_component<double>>{}),
                      gmac::testing::says("gaussian_mixture: there is no component"));
    CHECK_THROWS_WITH((mixture{{0.5, 0.0, 1.0}, {0.4, 0.0, 1.0}}),
                      gmac::testing::says("the weights sum to 0.9, but must sum to 1"));
    CHECK_THROWS_WITH((mixture{{1.5, 0.0, 1.0}, {-0.5, 0.0, 1.0}}),
                      gmac::testing::says("weight 1 is -0.5, but must be finite and not negative"));
    CHECK_THROWS_WITH((mixture{{std::numeric_limits<double>::quiet_NaN(), 0.0, 1.0}}),
                      gmac::testing::says("weight 0 is nan, but must be finite"));
    CHECK_THROWS_WITH((mixture{{1.0, 0.0, -1.0}}),
                      gmac::testing::says("deviation 0 is -1, but must be finite and not negative"));
    CHECK_THROWS_WITH((mixture{{1.0, 0.0, std::numeric_limits<double>::quiet_NaN()}}),
                      gmac::testing::says("deviation 0 is nan"));
    CHECK_THROWS_WITH((mixture{{1.0, std::numeric_limits<double>::infinity(), 1.0}}),
                      gmac::testing::says("mean 0 is inf, but must be finite"));
    std::vector<double> const halves{0.5, 0.5};
    Eigen::VectorXd const three = Eigen::VectorXd::Ones(3);
    CHECK_THROWS_WITH(mixture(halves, three, halves),
                      gmac::testing::says("gaussian_mixture: the vector of means has 3 elements, but must have 2"));
    CHECK_THROWS_WITH(mixture(std::span<double const>(halves), halves, three),
                      gmac::testing::says("deviations has 3 elements"));

    mixture const fine{{1.0, 0.0, 1.0}};
    CHECK_THROWS_WITH(fine.quantile(1.5),
                      gmac::testing::says("probability of a quantile is 1.5, but must be in [0, 1]"));
    CHECK_THROWS_WITH(fine.quantile(std::numeric_limits<double>::quiet_NaN()), gmac::testing::says("quantile is nan"));
    CHECK_THROWS_WITH(fine.cvar(0.0), gmac::testing::says("probability of a cvar is 0, but must be in (0, 1]"));
}
