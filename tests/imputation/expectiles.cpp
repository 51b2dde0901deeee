// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/says.hpp"

#include <gmac/core/random.hpp>
#include <gmac/imputation/expectiles.hpp>
#include <gmac/imputation/quantiles.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

using namespace gmac;
using gmac::testing::midpoints;
using gmac::testing::says;

namespace {

/// The τ-expectile of equally likely points, by bisection of its definition τ E(Z − e)⁺ = (1 − τ) E(e − Z)⁺.
double expectile_of(std::vector<double> const& points, double tau) {
    auto [low, high] = std::ranges::minmax(points);
    for (int step = 0; step < 200; ++step) {
        double const e = 0.5 * (low + high);
        double balance = 0.0;
        for (double z : points)
            balance += z > e ? tau * (z - e) : (1.0 - tau) * (z - e);
        (balance > 0.0 ? low : high) = e;
    }
    return 0.5 * (low + high);
}

std::vector<double> expectiles_of(std::vector<double> const& points, std::vector<double> const& fractions) {
    std::vector<double> result;
    for (double tau : fractions)
        result.push_back(expectile_of(points, tau));
    return result;
}

auto impute(std::vector<double> const& expectiles, std::vector<double> const& fractions, std::vector<double>& samples,
            imputation::from_expectiles const& method = {}) {
    samples.assign(expectiles.size(), std::numeric_limits<double>::quiet_NaN());
    return method(vector_view<double const>(expectiles), fractions, samples);
}

/// Normal, two modes, heavy tails.
double draw(random_stream& random, std::uint32_t kind) {
    double const x = random.normal<double>();
    if (kind == 0)
        return x;
    return kind == 1 ? (random.below(2) == 0 ? -1.0 : 1.0) + 0.1 * x : std::tan(3.0 * (random.uniform<double>() - 0.5));
}

} // namespace

TEST_CASE("Quantiles are samples") {
    std::vector<float> const quantiles{3.0f, 1.0f, 2.0f};
    std::vector<float> samples(3);
    imputation::from_quantiles(vector_view<float const>(quantiles), samples);
    CHECK(samples == quantiles);
    std::vector<float> again(3);
    imputation::from_quantiles(quantiles, vector_view<float>(again));
    CHECK(again == quantiles);
    samples.resize(2);
    CHECK_THROWS_WITH(imputation::from_quantiles(vector_view<float const>(quantiles), samples),
                      says("samples has 2 elements, but must have 3"));
}

TEST_CASE("Samples imputed from the expectiles of N points have just these expectiles, for odd N") {
    random_stream random(1);
    for (std::size_t n : {1u, 3u, 5u, 15u, 31u})
        for (int repetition = 0; repetition < 200; ++repetition) {
            std::vector<double> points(n), samples;
            double const scale = std::pow(10.0, static_cast<double>(random.below(17)) - 8.0);
            double const offset = random.below(2) == 0 ? 0.0 : 10.0 * scale;
            auto const kind = random.below(3);
            for (double& z : points)
                z = offset + scale * draw(random, kind);
            auto const fractions = midpoints(n);
            auto const expectiles = expectiles_of(points, fractions);
            auto const found = impute(expectiles, fractions, samples);
            double const range = *std::ranges::max_element(points) - *std::ranges::min_element(points) + scale;
            CHECK(found.met);
            CHECK(found.error < 1e-10 * range);
            CHECK(std::ranges::is_sorted(samples));
            auto const again = expectiles_of(samples, fractions);
            for (std::size_t i = 0; i < n; ++i)
                CHECK(std::abs(again[i] - expectiles[i]) < 1e-8 * range);
            // The expectile at one half is the mean, and it is kept.
            double const mean = std::accumulate(points.begin(), points.end(), 0.0) / static_cast<double>(n);
            double const imputed = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(n);
            CHECK(std::abs(mean - imputed) < 1e-9 * range);
            // Of all points with these expectiles the imputed ones are the widest.
            std::ranges::sort(points);
            double most = 0.0;
            double most_imputed = 0.0;
            for (std::size_t i = n; i-- > 0;) {
                most += points[i];
                most_imputed += samples[i];
                CHECK(most_imputed > most - 1e-8 * range);
            }
        }
}

TEST_CASE("Without a fraction of one half nearly all are met, and the others nearly") {
    random_stream random(2);
    for (std::size_t n : {2u, 4u, 16u}) {
        int met = 0;
        for (int repetition = 0; repetition < 200; ++repetition) {
            std::vector<double> points(n), samples;
            for (double& z : points)
                z = draw(random, 0);
            auto const fractions = midpoints(n);
            auto const found = impute(expectiles_of(points, fractions), fractions, samples);
            met += found.met ? 1 : 0;
            CHECK(found.error < 1e-3);
        }
        CHECK(met > 160);
    }
}

TEST_CASE("Expectiles of no distribution get samples that nearly have them") {
    random_stream random(3);
    auto const fractions = midpoints(15);
    for (double noise : {1e-6, 1e-3, 1e-1})
        for (int repetition = 0; repetition < 100; ++repetition) {
            std::vector<double> points(15), samples, start;
            for (double& z : points)
                z = draw(random, 1);
            auto expectiles = expectiles_of(points, fractions);
            for (double& e : expectiles)
                e += noise * random.normal<double>();
            std::ranges::sort(expectiles);
            auto const found = impute(expectiles, fractions, samples);
            CHECK(found.error < 4.0 * noise); // the points themselves have about half of the noise
            CHECK(std::ranges::all_of(samples, [](double z) { return std::abs(z) < 10.0; }));
            // The error is the root mean square of the conditions.
            double squares = 0.0;
            for (std::size_t i = 0; i < 15; ++i) {
                double sum = 0.0;
                for (double z : samples)
                    sum += (z < expectiles[i] ? 1.0 - fractions[i] : fractions[i]) * (z - expectiles[i]) / 15.0;
                squares += sum * sum / 15.0;
            }
            CHECK(found.error == Approx(std::sqrt(squares)).epsilon(1e-6).margin(1e-13));
            // It is no worse than the closed form, where the solver starts.
            CHECK(found.error <= impute(expectiles, fractions, start, {.max_evaluations = 1}).error + 1e-15);
        }
}

TEST_CASE("A single point, in place, and in float") {
    std::vector<double> samples;
    auto const fractions = midpoints(5);
    auto const found = impute({2.5, 2.5, 2.5, 2.5, 2.5}, fractions, samples);
    CHECK(found.met);
    CHECK(samples == std::vector<double>(5, 2.5));

    std::vector<double> const points{-1.0, -0.9, 0.1, 1.0, 1.2};
    auto memory = expectiles_of(points, fractions);
    auto const before = memory;
    impute(before, fractions, samples);
    CHECK(imputation::from_expectiles{}(vector_view<double const>(memory), fractions, memory).met);
    CHECK(memory == samples);

    std::vector<float> const single(before.begin(), before.end()), taus(fractions.begin(), fractions.end());
    std::vector<float> imputed(5);
    imputation::from_expectiles{}(vector_view<float const>(single), taus, imputed);
    for (std::size_t i = 0; i < 5; ++i)
        CHECK(imputed[i] == Approx(samples[i]).margin(1e-4));
}

TEST_CASE("Imputation refuses what is no set of expectiles") {
    std::vector<double> samples;
    CHECK_THROWS_WITH(impute({}, {}, samples), says("there are no expectiles"));
    CHECK_THROWS_WITH(impute({1.0, 2.0}, {0.5}, samples), says("fractions has 1 elements, but must have 2"));
    CHECK_THROWS_WITH(impute({1.0, 2.0}, {0.5, 1.0}, samples), says("fraction 1 is 1, but must be in (0, 1)"));
    CHECK_THROWS_WITH(impute({1.0, 2.0}, {0.0, 0.5}, samples), says("fraction 0 is 0, but must be in (0, 1)"));
    CHECK_THROWS_WITH(impute({1.0, std::numeric_limits<double>::infinity()}, {0.25, 0.75}, samples),
                      says("expectile 1 is inf, but must be finite"));
}
