// SPDX-License-Identifier: Apache-2.0
// Expectiles, and the mean of the best: against closed forms, long double and brute force.
#include "support/catch.hpp"
#include "support/extremes.hpp"
#include "support/quadrature.hpp"
#include "support/says.hpp"

#include <gmac/core/random.hpp>
#include <gmac/distributions/dirac_mixture.hpp>
#include <gmac/distributions/gaussian_mixture.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

using real = long double;

/// E max(x − X, 0) of a component.
template <class T>
[[nodiscard]] real shortfall(normal_component<T> const& c, real x) {
    real const d = x - static_cast<real>(c.mean);
    if (c.deviation == T(0))
        return std::max(d, 0.0L);
    real const s = static_cast<real>(c.deviation);
    real const z = d / s;
    return d * std::erfc(-z / std::numbers::sqrt2_v<real>) / 2 +
           s * std::exp(-z * z / 2) * std::numbers::inv_sqrtpi_v<real> / std::numbers::sqrt2_v<real>;
}

/// The root of τ E max(X − e, 0) = (1 − τ) E max(e − X, 0) by halving.
template <class D, class T>
[[nodiscard]] real expectile_by_halving(D const& distribution, T tau, real low, real high) {
    real const above = static_cast<real>(tau);
    for (int i = 0; i < 300; ++i) {
        real const middle = low / 2 + high / 2;
        real excess = 0;
        for (std::size_t k = 0; k < distribution.size(); ++k) {
            normal_component<T> const c = distribution.component(k);
            normal_component<T> const mirrored{c.weight, -c.mean, c.deviation};
            excess += static_cast<real>(c.weight) *
                      (above * shortfall(mirrored, -middle) - (1 - above) * shortfall(c, middle));
        }
        (excess > 0 ? low : high) = middle;
    }
    return high;
}

} // namespace

TEMPLATE_TEST_CASE("the expectiles of points", "[expectile]", float, double) {
    using T = TestType;
    // ± 1, equally likely: 2τ − 1.
    dirac_mixture<T> const pair{{T(0.5), T(-1)}, {T(0.5), T(1)}};
    for (T const tau : {T(0.0625), T(0.25), T(0.5), T(0.75), T(0.96875)})
        CHECK(pair.expectile(tau) == 2 * tau - 1);
    // 0.5 at 0, 0.25 at 4 and at 8: between 0 and 4, 0.5 e (1 − τ) = τ (0.25 (4 − e) + 0.25 (8 − e)), so e = 6 τ, up to τ = 2/3.
    // Beyond, (1 − τ) (0.5 e + 0.25 (e − 4)) = τ 0.25 (8 − e).
    dirac_mixture<T> const three{{T(0.25), T(8)}, {T(0.5), T(0)}, {T(0), T(100)}, {T(0.25), T(4)}};
    for (double const tau : {0.1, 0.5, 0.6})
        CHECK(three.expectile(static_cast<T>(tau)) == Approx(6.0 * tau).epsilon(1e-6));
    for (double const tau : {0.7, 0.9, 0.99})
        CHECK(three.expectile(static_cast<T>(tau)) == Approx((1.0 + tau) / (0.75 - 0.5 * tau)).epsilon(1e-6));
    CHECK(dirac_mixture<T>{{T(1), T(3)}}.expectile(T(0.9)) == T(3));

    // The least of the asymmetric squared loss, among many places.
    gmac::random_stream random(4);
    std::vector<T> places(50);
    for (T& place : places)
        place = random.normal<T>();
    dirac_mixture<T> const many(places);
    for (T const tau : {T(0.01), T(0.3), T(0.8), T(0.99)}) {
        auto const loss = [&](real e) {
            real sum = 0;
            for (T const place : places) {
                real const d = static_cast<real>(place) - e;
                sum += (d < 0 ? 1 - static_cast<real>(tau) : static_cast<real>(tau)) * d * d;
            }
            return sum;
        };
        real const found = static_cast<real>(many.expectile(tau));
        for (real const step : {1e-3L, 1e-2L, 0.1L, 1.0L}) {
            CHECK(loss(found) < loss(found + step));
            CHECK(loss(found) < loss(found - step));
        }
        // As a mixture of components of no deviation it is the same.
        std::vector<T> const weights(places.size(), T(1) / T(50)), none(places.size(), T(0));
        CHECK(gaussian_mixture<T>(weights, places, none).expectile(tau) == Approx(many.expectile(tau)).epsilon(1e-5));
    }
}

TEMPLATE_TEST_CASE("the expectiles of mixtures", "[expectile]", float, double) {
    using T = TestType;
    double const precision = std::same_as<T, float> ? 1e-6 : 1e-12;
    gaussian_mixture<T> const normal{{T(1), T(2), T(3)}};
    // Of N(0, 1), from the integral of the density: e with τ = (φ(e) + e Φ(e)) / (2 (φ(e) + e Φ(e)) − e).
    for (double const e : {-2.0, -0.5, 0.0, 1.0, 3.0}) {
        double const density = std::exp(-0.5 * e * e) / std::sqrt(2.0 * std::numbers::pi);
        double const below = integrate([&](double x) { return (e - x) * std::exp(-0.5 * x * x); }, -14.0, e, 1e-15) /
                             std::sqrt(2.0 * std::numbers::pi);
        CHECK(below == Approx(density + e * 0.5 * std::erfc(-e / std::numbers::sqrt2)).epsilon(1e-9));
        double const tau = below / (2.0 * below - e);
        CHECK(normal.expectile(static_cast<T>(tau)) == Approx(2.0 + 3.0 * e).epsilon(20 * precision));
    }
    sweep cases;
    for (auto const& mixture :
         {normal, gaussian_mixture<T>{{T(0.25), T(-3), T(0.5)}, {T(0.75), T(4), T(2)}},
          gaussian_mixture<T>{{T(0.25), T(-1), T(0)}, {T(0.5), T(0.5), T(2)}, {T(0.25), T(3), T(0)}},
          gaussian_mixture<T>{{T(0.5), T(-1e4), T(1e-3)}, {T(0.5), T(1e4), T(1e3)}, {T(0), T(1e9), T(1)}}})
        for (T const tau : {T(1e-20), T(1e-6), T(0.01), T(0.3), T(0.5), T(0.8), T(0.999), T(1) - T(1e-6)}) {
            real const exact = expectile_by_halving(mixture, tau, -1e6L, 1e6L);
            // Far out the outcomes beyond have the rounding of an exponent; near zero, that of the means.
            cases.expect("expectile", mixture.expectile(tau), exact, 64,
                         std::abs(static_cast<real>(mixture.mean())) + 1, mixture.mean(), tau);
        }
    CHECK(cases.failed() == "");
    CHECK(normal.expectile(T(0.5)) == Approx(2.0).epsilon(1e-6));
}

TEMPLATE_TEST_CASE("expectiles of mixtures of any size", "[expectile]", float, double) {
    using T = TestType;
    sweep cases;
    for (T const a : extremes<T>())
        for (T const b : extremes<T>())
            for (T const tau : {T(0.1), T(0.5), T(0.9)}) {
                dirac_mixture<T> const points{{T(0.25), a}, {T(0.75), b}};
                real const scale = std::fmax(std::abs(static_cast<real>(a)), std::abs(static_cast<real>(b)));
                real const exact = expectile_by_halving(points, tau, -4 * scale, 4 * scale);
                cases.expect("points", points.expectile(tau), exact, 8, scale, a, b, tau);
                gaussian_mixture<T> const mixture{{T(0.25), a, std::abs(b)}, {T(0.75), b, T(0)}};
                real const root = expectile_by_halving(mixture, tau, -4 * scale, 4 * scale);
                cases.expect("mixture", mixture.expectile(tau), root, 32, scale, a, b, tau);
            }
    CHECK(cases.failed() == "");
}

TEMPLATE_TEST_CASE("the mean of the best is that of the worst of the mirrored", "[expectile]", float, double) {
    using T = TestType;
    gaussian_mixture<T> const two{{T(0.25), T(-3), T(0.5)}, {T(0.75), T(4), T(2)}};
    dirac_mixture<T> const points{{T(0.25), T(5)}, {T(0.5), T(-2)}, {T(0.25), T(1)}};
    CHECK(points.upper_cvar(T(0.125)) == T(5));
    CHECK(points.upper_cvar(T(0.5)) == T(3));
    CHECK(points.upper_cvar(T(0.75)) == Approx((0.25 * 5.0 + 0.25 * 1.0 + 0.25 * -2.0) / 0.75).epsilon(1e-6));
    CHECK(points.upper_cvar(T(1)) == Approx(0.5).epsilon(1e-6));
    CHECK(points.mirrored().points()[0].location == T(-5));
    CHECK(points.mirrored().cdf(T(-1)) == T(0.5));
    CHECK(two.mirrored().mean() == -two.mean());
    // The mean is made of the two ends.
    for (T const p : {T(0.125), T(0.5), T(0.875)}) {
        CHECK(p * two.upper_cvar(p) + (1 - p) * two.cvar(1 - p) == Approx(two.mean()).epsilon(1e-5));
        CHECK(p * points.upper_cvar(p) + (1 - p) * points.cvar(1 - p) == Approx(points.mean()).epsilon(1e-5));
    }
    // One in a million of N(0, 1): φ(z) / p at its quantile z = 4.753424308822899.
    CHECK(gaussian_mixture<T>{{T(1), T(0), T(1)}}.upper_cvar(T(1e-6)) ==
          Approx(std::exp(-0.5 * 4.753424308822899 * 4.753424308822899) / std::sqrt(2.0 * std::numbers::pi) * 1e6)
              .epsilon(1e-5));
}

TEST_CASE("expectiles and the mean of the best are refused outside of their range", "[expectile]") {
    gaussian_mixture<double> const mixture{{1.0, 0.0, 1.0}};
    dirac_mixture<double> const points{{1.0, 0.0}};
    CHECK_THROWS_WITH(mixture.expectile(0.0),
                      says("gaussian_mixture: the expectile of 0 is wanted, but it must be in (0, 1)"));
    CHECK_THROWS_WITH(mixture.expectile(1.0), says("expectile of 1"));
    CHECK_THROWS_WITH(mixture.expectile(std::nan("")), says("expectile of nan"));
    CHECK_THROWS_WITH(points.expectile(1.0), says("dirac_mixture: expectile of 1, but it must be in (0, 1)"));
    CHECK_THROWS_WITH(mixture.upper_cvar(0.0), says("probability of an upper_cvar is 0, but must be in (0, 1]"));
    CHECK_THROWS_WITH(points.upper_cvar(1.5), says("dirac_mixture: upper_cvar of 1.5, but it must be in (0, 1]"));
}
