// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <gmac/core/random.hpp>
#include <gmac/distributions/dirac_mixture.hpp>
#include <gmac/distributions/gaussian_mixture.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

using namespace gmac;

TEMPLATE_TEST_CASE("A Dirac mixture by hand", "", float, double) {
    using T = TestType;
    dirac_mixture<T> const d{{T(0.5), T(2)}, {T(0.25), T(-1)}, {T(0.25), T(0)}}; // in any order
    CHECK(d.size() == 3);
    CHECK(d.points()[0].location == T(-1));
    CHECK(d.points()[2].weight == T(0.5));
    CHECK(d.mean() == Approx(0.75));
    CHECK(d.variance() == Approx(0.25 * 1.75 * 1.75 + 0.25 * 0.75 * 0.75 + 0.5 * 1.25 * 1.25));
    CHECK(d.cdf(T(-1.5)) == T(0));
    CHECK(d.cdf(T(-1)) == T(0.25));
    CHECK(d.cdf(T(1)) == T(0.5));
    CHECK(d.cdf(T(2)) == T(1));
    CHECK(std::isnan(d.cdf(std::numeric_limits<T>::quiet_NaN())));
    CHECK(d.quantile(T(0)) == T(-1));
    CHECK(d.quantile(T(0.25)) == T(-1));
    CHECK(d.quantile(T(0.26)) == T(0));
    CHECK(d.quantile(T(0.5)) == T(0));
    CHECK(d.quantile(T(1)) == T(2));
    CHECK(d.cvar(T(0.1)) == T(-1));
    CHECK(d.cvar(T(0.5)) == T(-0.5));
    CHECK(d.cvar(T(0.75)) == Approx((-0.25 + 0.0 + 0.5) / 0.75));
    CHECK(d.cvar(T(1)) == Approx(0.75));
    CHECK(d.component(2).deviation == T(0));
}

TEST_CASE("Points of weight zero are never a quantile nor a sample") {
    dirac_mixture<double> const d{{0.0, -5.0}, {0.5, 1.0}, {0.0, 2.0}, {0.5, 3.0}, {0.0, 9.0}};
    CHECK(d.quantile(0.0) == 1.0);
    CHECK(d.quantile(0.5) == 1.0);
    CHECK(d.quantile(0.75) == 3.0);
    CHECK(d.quantile(1.0) == 3.0);
    CHECK(d.cdf(-5.0) == 0.0);
    CHECK(d.cdf(3.0) == 1.0);
    CHECK(d.cvar(1e-3) == 1.0);
    random_stream random(1);
    std::vector<double> values(1000);
    d.sample(random, values);
    CHECK(std::ranges::all_of(values, [](double x) { return x == 1.0 || x == 3.0; }));
}

TEST_CASE("The distribution function never falls, nor exceeds one, where weights sum to more by rounding") {
    std::vector<float> weights(10, 0.1f), points;
    weights.push_back(1e-9f);
    for (std::size_t i = 0; i < weights.size(); ++i)
        points.push_back(static_cast<float>(i));
    dirac_mixture<float> const d(weights, points);
    for (std::size_t i = 0; i < 9; ++i)
        CHECK(static_cast<double>(d.cdf(points[i])) == Approx(0.1 * static_cast<double>(i + 1)).epsilon(1e-6));
    CHECK(d.cdf(9.0f) == 1.0f);
    CHECK(d.cdf(10.0f) == 1.0f);
    CHECK(d.quantile(1.0f) == 9.0f); // the least point where it is reached
}

TEST_CASE("Samples follow the weights") {
    dirac_mixture<double> const d{{0.1, 0.0}, {0.2, 1.0}, {0.7, 2.0}};
    random_stream random(2);
    std::vector<double> values(100'000);
    d.sample(random, values);
    for (auto const& [weight, location] : d.points()) {
        auto const count = static_cast<double>(std::ranges::count(values, location));
        // Within 4 standard deviations: a chance of 2e-4 for three points together.
        CHECK(std::abs(count - 1e5 * weight) < 4.0 * std::sqrt(1e5 * weight * (1.0 - weight)));
    }
}

TEST_CASE("Distances by hand, and to other mixtures") {
    dirac_mixture<double> const zero{{1.0, 0.0}};
    dirac_mixture<double> const pair{{0.5, -1.0}, {0.5, 1.0}};
    CHECK(cramer(zero, pair) == 0.5);
    CHECK(energy(zero, pair) == 1.0);
    CHECK(crps(pair, 0.0) == 0.5);
    CHECK(energy(pair, pair) == 0.0);
    CHECK(energy(pair, point_mass{0.0}) == Approx(1.0));
    // E|N(0,1)| = √(2/π), E|N − N'| = 2/√π.
    gaussian_mixture<double> const normal{{1.0, 0.0, 1.0}};
    CHECK(energy(zero, normal) == Approx(2.0 * std::sqrt(2.0 / M_PI) - 2.0 / std::sqrt(M_PI)));
    CHECK(energy(normal, zero) == Approx(energy(zero, normal)));
    CHECK(crps(dirac_mixture<double>{{0.5, 0.0}, {0.5, 2.0}}, 5.0) == Approx(0.25 * 2.0 + 3.0));
}

TEST_CASE("Points may come from a vector, a view or Eigen") {
    std::vector<double> const points{3.0, 1.0, 2.0, 2.0};
    dirac_mixture<double> const d(points);
    CHECK(d.mean() == 2.0);
    CHECK(d.cdf(2.0) == 0.75);
    Eigen::Vector4d const same(3.0, 1.0, 2.0, 2.0);
    CHECK(energy(d, dirac_mixture<double>(same)) == 0.0);
    std::vector<double> const every_other{3.0, -7.0, 1.0, -7.0, 2.0, -7.0, 2.0};
    CHECK(energy(d, dirac_mixture<double>(vector_view<double const>(every_other.data(), 4, 2))) == 0.0);
    std::vector<double> const weights{0.25, 0.25, 0.5}, three{3.0, 1.0, 2.0};
    CHECK(energy(d, dirac_mixture<double>(weights, three)) == 0.0);
    // Weights that miss one by a little are divided out.
    std::vector<double> const nearly{0.25, 0.25, 0.5 + 4e-7};
    CHECK(dirac_mixture<double>(nearly, three).cdf(3.0) == 1.0);
    CHECK(dirac_mixture<double>(nearly, three).mean() == Approx(2.0).epsilon(1e-15));
}

TEST_CASE("Dirac mixtures must be distributions") {
    using mixture = dirac_mixture<double>;
    CHECK_THROWS_WITH(mixture(std::vector<double>{}),
                      "dirac_mixture: there are no points, but there must be one at least");
    CHECK_THROWS_WITH((mixture{{0.5, 1.0}, {0.4, 2.0}}), "dirac_mixture: the weights sum to 0.9, but must sum to 1");
    CHECK_THROWS_WITH((mixture{{1.5, 1.0}, {-0.5, 2.0}}),
                      "dirac_mixture: weight 1 is -0.5, but must be finite and not negative");
    CHECK_THROWS_WITH((mixture{{std::numeric_limits<double>::quiet_NaN(), 1.0}}),
                      "dirac_mixture: weight 0 is nan, but must be finite and not negative");
    CHECK_THROWS_WITH((mixture{{1.0, std::numeric_limits<double>::quiet_NaN()}}),
                      "dirac_mixture: location 0 is nan, but must be finite");
    CHECK_THROWS_WITH((mixture{std::vector<double>{0.5, 0.5}, std::vector<double>{1.0}}),
                      "dirac_mixture: the vector of weights has 2 elements, but must have 1");
    mixture const point{{1.0, 2.0}};
    CHECK_THROWS_WITH(point.quantile(1.5), "dirac_mixture: quantile of 1.5, but it must be in [0, 1]");
    CHECK_THROWS_WITH(point.cvar(0.0), "dirac_mixture: cvar of 0, but it must be in (0, 1]");
}
