// SPDX-License-Identifier: Apache-2.0
// Statistics of Gaussian mixtures, against closed forms of one normal, quadrature and differences.
#include <gmac/distributions/gaussian_mixture.hpp>
#include <gmac/statistics.hpp>

#include "statistics.hpp"
#include "support/catch.hpp"
#include "support/quadrature.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <vector>

namespace {

using namespace gmac;
using testing::all_statistics;
constexpr std::size_t K = 4;
template <class T>
using mixture = statistics::detail::mixture<T, K>;

template <class T>
T value(statistic const& of, mixture<T> const& m) {
    return statistics::detail::value_of<false>(of.kind, static_cast<T>(of.parameter), m).value;
}

/// Scales from one to a thousandth, or all the same.
mixture<double> draw(random_stream& random, int number) {
    mixture<double> m{};
    double sum = 0.0;
    for (std::size_t k = 0; k < K; ++k) {
        m.weights[k] = number % 5 == 4 && k == 1 ? 0.0 : 0.05 + random.uniform<double>();
        sum += m.weights[k];
        m.means[k] = 6.0 * random.uniform<double>() - 3.0;
        m.deviations[k] = number % 3 == 0 ? 0.7 : std::pow(10.0, -3.0 * random.uniform<double>());
    }
    for (double& weight : m.weights)
        weight /= sum;
    return m;
}

/// By adaptive quadrature of the definition, ∫ x g'(F(x)) f(x) dx, which is not how the library does it.
double by_quadrature(statistic const& of, mixture<double> const& m) {
    gaussian_mixture<double> const whole(m.weights, m.means, m.deviations);
    if (of.kind == statistic_kind::quantile)
        return whole.quantile(of.parameter);
    if (of.kind == statistic_kind::mean_minus_deviations)
        return whole.mean() - of.parameter * std::sqrt(whole.variance());
    auto const cdf = [&](double x, double sign) {
        double sum = 0.0;
        for (std::size_t k = 0; k < K; ++k)
            sum += m.weights[k] * testing::standard_normal_cdf(sign * (x - m.means[k]) / m.deviations[k]);
        return sum;
    };
    double low = -std::numeric_limits<double>::infinity(), high = -low, factor = 1.0;
    if (of.kind == statistic_kind::cvar) {
        high = whole.quantile(of.parameter);
        factor = 1.0 / of.parameter;
    } else if (of.kind == statistic_kind::upper_cvar) {
        low = whole.quantile(1.0 - of.parameter);
        factor = 1.0 / of.parameter;
    }
    std::vector<double> borders;
    for (std::size_t k = 0; k < K; ++k)
        for (double const z : {-13.0, -8.0, -4.0, -2.0, 0.0, 2.0, 4.0, 8.0, 13.0})
            borders.push_back(std::clamp(m.means[k] + z * m.deviations[k], low, high));
    borders.push_back(std::isfinite(low) ? low : borders.front());
    borders.push_back(std::isfinite(high) ? high : borders.front());
    return factor *
           testing::integrate_between(
               [&](double x) { return x * testing::distortion_density(of, cdf(x, 1.0), cdf(x, -1.0)) * whole.pdf(x); },
               borders, 1e-13);
}

} // namespace

TEST_CASE("of one normal distribution every statistic is its mean plus a number of deviations") {
    mixture<double> m{};
    m.weights = {0.1, 0.2, 0.3, 0.4};
    m.means.fill(1.5);
    m.deviations.fill(0.25);
    auto const at = [&](double z) { return Approx(1.5 + 0.25 * z).epsilon(1e-10); };
    for (double const shift : {-3.0, -0.75, 0.0, 2.0})
        CHECK(value(statistics::wang(shift), m) == at(shift));
    for (double const level : {0.01, 0.1, 0.5, 0.9}) {
        double const z = standard_normal_quantile(level);
        double const density = std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
        CHECK(value(statistics::quantile(level), m) == at(z));
        CHECK(value(statistics::cvar(level), m) == at(-density / level));
        CHECK(value(statistics::upper_cvar(level), m) == at(density / level));
    }
    CHECK(value(statistics::mean_minus_deviations(2.0), m) == at(-2.0));
    CHECK(value(statistics::mean(), m) == at(0.0));
    // The expected greatest and least of two and of three normal numbers.
    CHECK(value(statistics::power(1.0), m) == at(1.0 / std::sqrt(std::numbers::pi)));
    CHECK(value(statistics::power(-1.0), m) == at(-1.0 / std::sqrt(std::numbers::pi)));
    CHECK(value(statistics::power(2.0), m) == at(1.5 / std::sqrt(std::numbers::pi)));
}

TEST_CASE("statistics of mixtures are their definition's integrals to 1e-8") {
    random_stream random(3);
    for (int number = 0; number < 25; ++number) {
        auto const m = draw(random, number);
        for (statistic const& of : all_statistics()) {
            INFO(name_of(of.kind) << " " << of.parameter << " of mixture " << number);
            double const exact = by_quadrature(of, m);
            CHECK(std::abs(value(of, m) - exact) < 1e-8);
            mixture<float> single{};
            for (std::size_t k = 0; k < K; ++k) {
                single.weights[k] = static_cast<float>(m.weights[k]);
                single.means[k] = static_cast<float>(m.means[k]);
                single.deviations[k] = static_cast<float>(m.deviations[k]);
            }
            CHECK(std::abs(static_cast<double>(value(of, single)) - exact) < 3e-5);
        }
    }
}

TEST_CASE("shifts and positive factors go through, and mirroring turns a statistic into its opposite") {
    random_stream random(4);
    for (int number = 0; number < 10; ++number) {
        auto const m = draw(random, number);
        auto moved = m, mirror = m;
        for (std::size_t k = 0; k < K; ++k) {
            moved.means[k] = 100.0 * m.means[k] - 70.0;
            moved.deviations[k] = 100.0 * m.deviations[k];
            mirror.means[k] = -m.means[k];
        }
        for (statistic const& of : all_statistics()) {
            INFO(name_of(of.kind) << " " << of.parameter);
            CHECK(value(of, moved) == Approx(100.0 * value(of, m) - 70.0).margin(1e-7));
        }
        for (double const x : {0.05, 0.7}) {
            CHECK(value(statistics::upper_cvar(x), m) == Approx(-value(statistics::cvar(x), mirror)).margin(1e-12));
            CHECK(value(statistics::wang(x), m) == Approx(-value(statistics::wang(-x), mirror)).margin(1e-10));
            CHECK(value(statistics::power(x), m) == Approx(-value(statistics::power(-x), mirror)).margin(1e-10));
        }
    }
}

TEST_CASE("gradients of statistics of mixtures are the slopes of their values") {
    random_stream random(5);
    for (int number = 0; number < 12; ++number) {
        auto const m = draw(random, 3 * number); // one scale: differences tell there
        for (statistic const& of : all_statistics()) {
            INFO(name_of(of.kind) << " " << of.parameter << " of mixture " << number);
            auto const gradient = statistics::detail::value_of<true>(of.kind, of.parameter, m).gradient;
            auto const slope = [&](auto&& move) {
                constexpr double step = 1e-4;
                auto const at = [&](double by) {
                    auto moved = m;
                    move(moved, by);
                    return value(of, moved);
                };
                return (8.0 * (at(step) - at(-step)) - (at(2.0 * step) - at(-2.0 * step))) / (12.0 * step);
            };
            for (std::size_t k = 0; k < K; ++k) {
                std::size_t const other = (k + 1) % K;
                CHECK(gradient.means[k] == Approx(slope([&](auto& to, double by) { to.means[k] += by; })).margin(1e-6));
                CHECK(gradient.deviations[k] ==
                      Approx(slope([&](auto& to, double by) { to.deviations[k] += by; })).margin(1e-6));
                // Mass that goes from one component to the next.
                CHECK(gradient.weights[k] - gradient.weights[other] == Approx(slope([&](auto& to, double by) {
                                                                           to.weights[k] += by;
                                                                           to.weights[other] -= by;
                                                                       })).margin(1e-6));
            }
        }
    }
}

TEST_CASE("points in a mixture, components without weight and numbers that are none") {
    mixture<double> m{};
    m.weights = {0.25, 0.25, 0.5, 0.0};
    m.means = {-1.0, 0.0, 2.0, 50.0};
    m.deviations = {0.0, 0.0, 0.0, 3.0};
    for (statistic const& of : all_statistics()) {
        INFO(name_of(of.kind) << " " << of.parameter);
        CHECK(value(of, m) == Approx(testing::of_points(of, {-1.0, 0.0, 2.0}, {0.25, 0.25, 0.5})).margin(1e-9));
        auto wide = m;
        wide.deviations = {1.0, 0.5, 0.1, 30.0};
        auto const gradient = statistics::detail::value_of<true>(of.kind, of.parameter, wide).gradient;
        CHECK(gradient.means[0] + gradient.means[1] + gradient.means[2] == Approx(1.0)); // a shift goes through
        CHECK(gradient.means[3] == 0.0);
        CHECK(gradient.deviations[3] == 0.0);
    }
    random_stream random(6);
    for (double const bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
        for (statistic const& of : all_statistics()) {
            auto weights = draw(random, 0), means = weights, deviations = weights;
            weights.weights[1] = means.means[2] = deviations.deviations[3] = bad;
            CHECK(std::isnan(value(of, weights)));
            CHECK(std::isnan(value(of, means)));
            CHECK(std::isnan(value(of, deviations)));
        }
}

TEMPLATE_TEST_CASE("in a gap between modes, where there is no density, a quantile has no gradient", "", float, double) {
    using T = TestType;
    heads::gaussian_mixture<2> const head; // deviations of about 0.065
    std::vector<T> const outputs{T(0), T(0), T(0), T(10), T(0), T(0)};
    std::vector<T> value(1), gradient(6, T(7));
    statistics::value_and_gradient(statistics::quantile(0.5), head, matrix_view<T const>(outputs.data(), 1, 6), value,
                                   matrix_view<T>(gradient.data(), 1, 6));
    CHECK(value[0] > T(1));
    CHECK(value[0] < T(9));
    CHECK(gradient == std::vector<T>(6, T(0)));
}
