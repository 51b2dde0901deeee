// SPDX-License-Identifier: Apache-2.0
// Bounds and estimates of a mixture's entropy against quadrature in long double and closed forms.
#include <gmac/distributions/entropy.hpp>

#include "support/catch.hpp"
#include "support/extremes.hpp"
#include "support/quadrature.hpp"
#include "support/says.hpp"

#include <gmac/core/random.hpp>
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
using mixture = gaussian_mixture<double>;

[[nodiscard]] real normal_entropy(real deviation) {
    return (std::log(2 * std::numbers::pi_v<real>) + 1) / 2 + std::log(deviation);
}

/// −∫ f log f, on a sixteenth of a deviation of each component at the most, from 12 deviations below to 12 above.
[[nodiscard]] real entropy_by_quadrature(mixture const& m) {
    auto const integrand = [&](real x) {
        real density = 0;
        for (auto const& c : m.components()) {
            real const z = (x - static_cast<real>(c.mean)) / static_cast<real>(c.deviation);
            density += static_cast<real>(c.weight) / static_cast<real>(c.deviation) * std::exp(-z * z / 2) *
                       std::numbers::inv_sqrtpi_v<real> / std::numbers::sqrt2_v<real>;
        }
        return density > 0 ? -density * std::log(density) : 0;
    };
    std::vector<real> places;
    for (auto const& c : m.components())
        for (int i = -24; i <= 24; ++i)
            places.push_back(static_cast<real>(c.mean) + static_cast<real>(i) / 2 * static_cast<real>(c.deviation));
    std::ranges::sort(places);
    real sum = 0;
    for (std::size_t i = 1; i < places.size(); ++i)
        if (places[i] > places[i - 1])
            sum += integrate_long(integrand, places[i - 1], places[i] - places[i - 1], 16);
    return sum;
}

std::vector<mixture> const mixtures{
    mixture{{0.3, -1.0, 0.5}, {0.7, 2.0, 1.0}},
    mixture{{0.5, -1.0, 1.0}, {0.5, 1.0, 1.0}},
    mixture{{0.5, -1.5, 1.0}, {0.5, 1.5, 1.0}},
    mixture{{0.2, 0.0, 0.1}, {0.3, 0.0, 1.0}, {0.5, 0.0, 4.0}},
    mixture{{0.2, -2.0, 0.01}, {0.0, 3.0, 0.0}, {0.3, 0.1, 0.3}, {0.1, 0.5, 2.0}, {0.4, 6.0, 0.7}},
    mixture{{0.999, 0.0, 1.0}, {0.001, 0.5, 1e-3}},
};

} // namespace

TEST_CASE("the bounds enclose the entropy", "[entropy]") {
    for (mixture const& m : mixtures) {
        std::vector<normal_component<double>> present;
        for (auto const& c : m.components())
            if (c.weight > 0.0)
                present.push_back(c);
        auto const exact = static_cast<double>(entropy_by_quadrature(mixture(present)));
        auto const [lower, upper] = entropy_bounds(m);
        CAPTURE(lower, exact, upper);
        CHECK(lower < exact);
        CHECK(upper > exact);
        CHECK(upper - lower < 0.5);
        // What each bound must be at least: the formulas of Huber et al., and the normal distribution of this variance.
        double jensen = 0.0, rough = 0.0;
        for (auto const& a : present) {
            double density = 0.0;
            for (auto const& b : present)
                density += b.weight * mixture{{1.0, b.mean, std::hypot(a.deviation, b.deviation)}}.pdf(a.mean);
            jensen -= a.weight * std::log(density);
            rough +=
                a.weight * (static_cast<double>(normal_entropy(static_cast<real>(a.deviation))) - std::log(a.weight));
        }
        CHECK(lower >= jensen - 1e-14);
        CHECK(upper <= rough + 1e-14);
        CHECK(upper <= static_cast<double>(normal_entropy(std::sqrt(static_cast<real>(m.variance())))) + 1e-14);
    }
}

TEMPLATE_TEST_CASE("the bounds are the entropy where it is known", "[entropy]", float, double) {
    using T = TestType;
    double const precision = std::same_as<T, float> ? 1e-6 : 1e-14;
    for (T const deviation : {T(1e-3), T(1), T(1e6)}) {
        auto const exact = static_cast<double>(normal_entropy(static_cast<real>(deviation)));
        for (auto const& m : {gaussian_mixture<T>{{T(1), T(5), deviation}},
                              gaussian_mixture<T>{{T(0.25), T(5), deviation}, {T(0.75), T(5), deviation}}}) {
            CHECK(entropy_bounds(m).lower == Approx(exact).epsilon(precision));
            CHECK(entropy_bounds(m).upper == Approx(exact).epsilon(precision));
        }
        // Far from each other the entropy of the choice is added.
        T const far = 100 * deviation;
        gaussian_mixture<T> const apart{{T(0.25), -far, deviation}, {T(0.75), far, 2 * deviation}};
        double const choice = -0.25 * std::log(0.25) - 0.75 * std::log(0.75) + 0.75 * std::log(2.0);
        CHECK(entropy_bounds(apart).lower == Approx(exact + choice).epsilon(precision));
        CHECK(entropy_bounds(apart).upper == Approx(exact + choice).epsilon(precision));
    }
    for (gaussian_mixture<T> const& point :
         {gaussian_mixture<T>{{T(1), T(0), T(0)}}, gaussian_mixture<T>{{T(0.5), T(0), T(0)}, {T(0.5), T(1), T(1)}}}) {
        CHECK(entropy_bounds(point).lower == -infinity<T>);
        CHECK(entropy_bounds(point).upper == -infinity<T>);
        random_stream random(1);
        CHECK(entropy_estimate(point, random, 2).value == -infinity<T>);
    }
    // Of any size.
    constexpr T most = (std::numeric_limits<T>::max)();
    constexpr T least = (std::numeric_limits<T>::min)();
    auto const [lower, upper] =
        entropy_bounds(gaussian_mixture<T>{{T(0.5), most, most}, {T(0.25), -most, T(1)}, {T(0.25), T(0), least}});
    real const parts = normal_entropy(static_cast<real>(most)) / 2 + normal_entropy(1) / 4 +
                       normal_entropy(static_cast<real>(least)) / 4 + 1.5L * std::numbers::ln2_v<real>;
    CHECK(lower == Approx(static_cast<double>(parts)).epsilon(precision));
    CHECK(upper == Approx(static_cast<double>(parts)).epsilon(precision));
}

TEST_CASE("the estimate is the entropy, within its error", "[entropy]") {
    random_stream random(3);
    for (mixture const& m : mixtures) {
        std::vector<normal_component<double>> present;
        for (auto const& c : m.components())
            if (c.weight > 0.0)
                present.push_back(c);
        auto const exact = static_cast<double>(entropy_by_quadrature(mixture(present)));
        auto const [value, error] = entropy_estimate(m, random, 20'000);
        CAPTURE(value, error, exact);
        CHECK(std::abs(value - exact) < 4.5 * error); // a chance of 1e-5 for each
        CHECK(error < 0.02);
    }
    // −log f of N(0, 1) is z²/2 and a constant, of deviation √½.
    auto const normal = entropy_estimate(mixture{{1.0, 0.0, 1.0}}, random, 20'000);
    CHECK(normal.standard_error == Approx(std::sqrt(0.5 / 20'000)).epsilon(0.05));
    // In float nothing but the numbers is rounded.
    random_stream first(5), second(5);
    auto const single =
        entropy_estimate(gaussian_mixture<float>{{0.5F, 0.0F, 1.0F}, {0.5F, 3.0F, 0.5F}}, first, 20'000);
    auto const twice = entropy_estimate(mixture{{0.5, 0.0, 1.0}, {0.5, 3.0, 0.5}}, second, 20'000);
    CHECK(std::abs(single.value - twice.value) < 6.0 * twice.standard_error);
    CHECK_THROWS_WITH(entropy_estimate(mixture{{1.0, 0.0, 1.0}}, random, 1),
                      says("entropy_estimate: samples is 1, but must be 2 at least"));
}
