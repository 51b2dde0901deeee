// SPDX-License-Identifier: Apache-2.0
// Statistics of points and of atoms, against their definition.
#include <gmac/distributions/dirac_mixture.hpp>
#include <gmac/statistics.hpp>

#include "statistics.hpp"
#include "support/catch.hpp"
#include "support/matrices.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace {

using namespace gmac;
using testing::all_statistics;
using testing::table;

table<double> draw(std::size_t rows, std::size_t cols, std::uint64_t seed) {
    random_stream random(seed);
    table<double> result(rows, cols);
    for (double& x : result.data)
        x = 2.0 * random.normal<double>();
    return result;
}

std::vector<double> row(table<double> const& from, std::size_t i) {
    return {from.data.begin() + static_cast<std::ptrdiff_t>(i * from.cols),
            from.data.begin() + static_cast<std::ptrdiff_t>((i + 1) * from.cols)};
}

/// Differences of `value` as one number moves.
template <class Value>
double slope(Value&& value, double& number) {
    constexpr double step = 1e-5;
    double const middle = number;
    number = middle + step;
    double const above = value();
    number = middle - step;
    double const below = value();
    number = middle;
    return (above - below) / (2.0 * step);
}

} // namespace

TEST_CASE("statistics of equally likely points are their definition's") {
    constexpr std::size_t N = 20, B = 9;
    auto const points = draw(B, N, 1);
    std::vector<double> const weights(N, 1.0 / N);
    table<double> gradient(B, N);
    std::vector<double> values(B), quantiles(B);
    for (statistic const& of : all_statistics()) {
        statistics::value_and_gradient(of, heads::dirac<N>(), points.view(), values, gradient.view());
        statistics::evaluate(of, heads::implicit_quantile{.samples_per_state = N}, points.view(), quantiles);
        for (std::size_t i = 0; i < B; ++i) {
            INFO(name_of(of.kind) << " " << of.parameter);
            CHECK(values[i] == Approx(testing::of_points(of, row(points, i), weights)).margin(1e-12));
            CHECK(quantiles[i] == Approx(values[i]).margin(1e-12));
            double sum = 0.0;
            for (std::size_t j = 0; j < N; ++j) {
                auto moved = row(points, i);
                CHECK(gradient(i, j) ==
                      Approx(slope([&] { return testing::of_points(of, moved, weights); }, moved[j])).margin(1e-6));
                sum += gradient(i, j);
            }
            CHECK(sum == Approx(1.0)); // a shift of all points goes through
        }
    }
    gmac::dirac_mixture<double> const first(row(points, 0));
    statistics::evaluate(statistics::cvar(0.13), heads::dirac<N>(), points.view(), values);
    CHECK(values[0] == Approx(first.cvar(0.13)));
    statistics::evaluate(statistics::quantile(0.15), heads::dirac<N>(), points.view(), values);
    CHECK(values[0] == first.quantile(0.15));
}

TEST_CASE("statistics of a categorical head are those of its atoms") {
    constexpr std::size_t N = 21, B = 19;
    auto logits = draw(B, N, 2);
    logits(3, 5) = 40.0;  // nearly certain
    logits(4, 0) = -60.0; // nearly impossible
    table<double> gradient(B, N);
    std::vector<double> values(B);
    for (bool const symlog : {false, true}) {
        heads::categorical<N> const head{.minimum = -4.0, .maximum = 11.0, .symlog = symlog};
        auto const atoms = head.grid<double>().atoms;
        auto const exact = [&](statistic const& of, std::vector<double> const& raw) {
            std::vector<double> weights(N);
            double total = 0.0;
            for (std::size_t j = 0; j < N; ++j)
                total += weights[j] = std::exp(raw[j]);
            for (double& weight : weights)
                weight /= total;
            return testing::of_points(of, {atoms.begin(), atoms.end()}, weights);
        };
        for (statistic const& of : all_statistics()) {
            INFO(name_of(of.kind) << " " << of.parameter);
            statistics::value_and_gradient(of, head, logits.view(), values, gradient.view());
            for (std::size_t i = 0; i < B; ++i) {
                auto moved = row(logits, i);
                CHECK(values[i] == Approx(exact(of, moved)).margin(1e-9));
                for (std::size_t j = 0; j < N; ++j)
                    CHECK(gradient(i, j) == Approx(slope([&] { return exact(of, moved); }, moved[j])).margin(2e-6));
            }
        }
    }
}

TEST_CASE("more points than there is room for are refused") {
    table<float> const points(1, 4097);
    std::vector<float> values(1);
    heads::implicit_quantile const head{.samples_per_state = 4097};
    CHECK_THROWS_WITH(statistics::evaluate(statistics::cvar(0.5), head, points.view(), values),
                      "statistic: a state has 4097 points, but may have at most 4096");
}

TEST_CASE("points with a number that is none have no statistic") {
    auto points = draw(2, 20, 3);
    points(1, 7) = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> values(2);
    for (statistic const& of : all_statistics()) {
        INFO(name_of(of.kind) << " " << of.parameter);
        statistics::evaluate(of, heads::dirac<20>(), points.view(), values);
        CHECK(std::isfinite(values[0]));
        CHECK(std::isnan(values[1]));
        statistics::evaluate(of, heads::categorical<20>(), points.view(), values);
        CHECK(std::isfinite(values[0]));
        CHECK(std::isnan(values[1]));
    }
}

TEMPLATE_TEST_CASE("a quantile at a share of the points is the point that closes it", "", float, double) {
    using T = TestType;
    constexpr std::size_t N = 10;
    table<T> points(1, N);
    for (std::size_t i = 0; i < N; ++i)
        points(0, i) = static_cast<T>(i);
    std::vector<T> value(1), of_state(1);
    for (std::size_t i = 0; i < N; ++i) {
        double const p = static_cast<double>(i + 1) / static_cast<double>(N); // the i + 1 lowest of ten
        CAPTURE(p);
        statistics::evaluate(statistics::quantile(p), heads::dirac<N>(), points.view(), value);
        statistics::evaluate(statistic_kind::quantile, std::vector{static_cast<T>(p)}, heads::dirac<N>(), points.view(),
                             of_state);
        CHECK(value[0] == static_cast<T>(i));
        CHECK(of_state[0] == static_cast<T>(i));
        statistics::evaluate(statistics::quantile(p - 1e-5), heads::dirac<N>(), points.view(), value);
        CHECK(value[0] == static_cast<T>(i));
        if (i + 1 < N) {
            statistics::evaluate(statistics::quantile(p + 1e-5), heads::dirac<N>(), points.view(), value);
            CHECK(value[0] == static_cast<T>(i + 1));
        }
    }
}

TEMPLATE_TEST_CASE("the mean and its gradient where the variance overflows", "", float, double) {
    using T = TestType;
    T const far = std::sqrt(std::numeric_limits<T>::max()) * T(100);
    std::vector<T> value(1), of_state(1);
    auto const check = [&](auto const& head, std::vector<T> outputs, T mean, std::vector<T> const& slopes) {
        INFO(head.name);
        matrix_view<T const> const view(outputs.data(), 1, outputs.size());
        std::vector<T> gradient(outputs.size());
        statistics::value_and_gradient(statistics::mean(), head, view, value,
                                       matrix_view<T>(gradient.data(), 1, gradient.size()));
        statistics::evaluate(statistic_kind::mean, std::vector{T(0)}, head, view, of_state);
        CHECK(value[0] == Approx(mean).epsilon(1e-6));
        CHECK(of_state[0] == Approx(mean).epsilon(1e-6));
        for (std::size_t i = 0; i < slopes.size(); ++i)
            CHECK(gradient[i] == Approx(slopes[i]).epsilon(1e-6));
    };
    // Equally likely: the slope by a logit is p (x − mean), that by a point or a mean p.
    check(heads::dirac<2>(), {far * 3, -far}, far, {T(0.5), T(0.5)});
    check(heads::categorical<2>{.minimum = -static_cast<double>(far), .maximum = 3 * static_cast<double>(far)},
          {T(0), T(0)}, far, {-far, far});
    check(heads::gaussian_mixture<2>(), {T(0), T(0), far * 3, -far, T(0), T(0)}, far,
          {far, -far, T(0.5), T(0.5), T(0), T(0)});
}
