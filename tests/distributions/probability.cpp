// SPDX-License-Identifier: Apache-2.0
// The probability of an interval, against long double and by hand.
#include "support/catch.hpp"
#include "support/extremes.hpp"
#include "support/quadrature.hpp"

#include <gmac/distributions/dirac_mixture.hpp>
#include <gmac/distributions/gaussian_mixture.hpp>

#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

using namespace gmac;
using namespace gmac::testing;

namespace {

using real = long double;

/// P(a < Z ≤ a + width) as an integral of the density, on pieces of width 1/16 at the most.
[[nodiscard]] real normal_integral(real a, real width) {
    auto const density = [](real z) {
        return std::exp(-z * z / 2) * std::numbers::inv_sqrtpi_v<real> / std::numbers::sqrt2_v<real>;
    };
    return integrate_long(density, a, width, static_cast<int>(std::ceil(width * 16)));
}

} // namespace

TEMPLATE_TEST_CASE("the probability of an interval of a mixture is accurate in the tails too", "[probability]", float,
                   double) {
    using T = TestType;
    sweep cases;
    gaussian_mixture<T> const normal{{T(1), T(0), T(1)}};
    gaussian_mixture<T> const two{{T(0.25), T(-3), T(0.5)}, {T(0.75), T(4), T(2)}};
    for (T const from : {T(-12), T(-5), T(-1.5), T(-0.25), T(0), T(0.5), T(2), T(6), T(11)})
        for (T const width : {T(1e-7), T(1e-3), T(0.03125), T(0.0625), T(0.5), T(3), T(20)}) {
            T const to = from + width;
            if (!(to > from))
                continue;
            real const a = static_cast<real>(from);
            real const b = static_cast<real>(to);
            real const d = b - a;
            // A difference loses a twentieth at the most, and the exponent of a density, z²/2, has a rounding of its own.
            double const ulps = 32 + static_cast<double>(2 * from * from);
            cases.expect("normal", normal.probability(from, to), normal_integral(a, d), ulps, 0, from, to);
            real const exact =
                0.25L * normal_integral((a + 3) * 2, d * 2) + 0.75L * normal_integral((a - 4) / 2, d / 2);
            cases.expect("mixture", two.probability(from, to), exact, 4 * ulps, 0, from, to);
        }
    CHECK(cases.failed() == "");
}

TEMPLATE_TEST_CASE("intervals by hand", "[probability]", float, double) {
    using T = TestType;
    gaussian_mixture<T> const mixture{{T(0.25), T(-1), T(0)}, {T(0.5), T(1), T(0)}, {T(0.25), T(0), T(2)}};
    dirac_mixture<T> const points{{T(0.25), T(-1)}, {T(0.5), T(1)}, {T(0.25), T(3)}};
    // Points: the left end is not in the interval, the right end is.
    CHECK(points.probability(T(-1), T(1)) == T(0.5));
    CHECK(points.probability(T(-2), T(1)) == T(0.75));
    CHECK(points.probability(T(1), T(3)) == T(0.25));
    CHECK(points.probability(T(1.5), T(2)) == T(0));
    CHECK(points.probability(-infinity<T>, infinity<T>) == T(1));
    double const within = std::erf(1.0 / 2.0 / std::numbers::sqrt2); // of the normal component
    CHECK(mixture.probability(T(-1), T(1)) == Approx(0.5 + 0.25 * within).epsilon(1e-6));
    CHECK(mixture.probability(std::nextafter(T(-1), T(-2)), T(1)) == Approx(0.75 + 0.25 * within).epsilon(1e-6));
    CHECK(mixture.probability(T(-1), std::nextafter(T(1), T(0))) == Approx(0.25 * within).epsilon(1e-6));
    CHECK(mixture.probability(-infinity<T>, infinity<T>) == T(1));
    CHECK(mixture.probability(T(0), infinity<T>) == Approx(0.625).epsilon(1e-6));
    CHECK(mixture.probability(-infinity<T>, T(0)) == Approx(0.375).epsilon(1e-6));
    // Of what is empty, 0; of what is no number, none.
    CHECK(mixture.probability(T(1), T(1)) == T(0));
    CHECK(mixture.probability(T(2), T(-2)) == T(0));
    CHECK(points.probability(T(2), T(-2)) == T(0));
    for (auto const& [a, b] : {std::pair(quiet_nan<T>, T(0)), std::pair(T(0), quiet_nan<T>)}) {
        CHECK(std::isnan(mixture.probability(a, b)));
        CHECK(std::isnan(points.probability(a, b)));
    }
}

TEMPLATE_TEST_CASE("intervals of mixtures of any size", "[probability]", float, double) {
    using T = TestType;
    constexpr T most = (std::numeric_limits<T>::max)();
    gaussian_mixture<T> const wide{{T(0.5), most, most}, {T(0.5), -most, most}};
    double const within = 0.5 * std::erf(std::numbers::sqrt2); // of each, ± 2 deviations on one side
    CHECK(wide.probability(-most, most) == Approx(within).epsilon(1e-6));
    gaussian_mixture<T> const narrow{{T(0.5), T(0), std::numeric_limits<T>::denorm_min()}, {T(0.5), T(1), T(1)}};
    CHECK(narrow.probability(T(-1), T(1)) == Approx(0.5 + 0.25 * std::erf(std::numbers::sqrt2)).epsilon(1e-6));
}
