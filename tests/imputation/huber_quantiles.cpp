// SPDX-License-Identifier: Apache-2.0
// imputation::from_huber_quantiles: the samples have the Huber quantiles that were given.
#include "support/huber_quantiles.hpp"

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/imputation/expectiles.hpp>
#include <gmac/imputation/huber_quantiles.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/says.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
using gmac::testing::huber_quantiles_by_bisection;
using gmac::testing::largest_difference;
using gmac::testing::midpoints;
using gmac::testing::says;
using view = gmac::vector_view<double const>;

/// Normal, or every other time with two modes, as in the five-state chain.
[[nodiscard]] std::vector<double> some_points(std::size_t count, bool two_modes, gmac::random_stream& random) {
    std::vector<double> points;
    for (std::size_t i = 0; i < count; ++i) {
        double const centre = two_modes ? (random.uniform<double>() < 0.4 ? -1.0 : 1.0) : 0.0;
        points.push_back(centre + (two_modes ? 0.1 : 1.0) * random.normal<double>());
    }
    return points;
}

struct tally {
    int met = 0;
    double worst_when_met = 0.0;
    double worst = 0.0;
};

[[nodiscard]] tally impute_some(std::size_t count, double kappa, int cases) {
    gmac::random_stream random(11, count);
    tally all;
    for (int i = 0; i < cases; ++i) {
        auto const quantiles = huber_quantiles_by_bisection(some_points(count, i % 2 == 1, random), count, kappa);
        std::vector<double> samples(count);
        auto const found =
            gmac::imputation::from_huber_quantiles{.kappa = kappa}(view(quantiles), midpoints(count), samples);
        CHECK(std::is_sorted(samples.begin(), samples.end()));
        double const missed = largest_difference(huber_quantiles_by_bisection(samples, count, kappa), quantiles);
        all.met += found.met ? 1 : 0;
        all.worst_when_met = found.met ? std::max(all.worst_when_met, missed) : all.worst_when_met;
        all.worst = std::max(all.worst, missed);
    }
    return all;
}

/// What is wrong with the input.
[[nodiscard]] std::string refusal(gmac::imputation::from_huber_quantiles impute, std::vector<double> quantiles,
                                  std::vector<double> fractions, std::size_t samples = 2) {
    std::vector<double> to(samples);
    return gmac::testing::message_of([&] { impute(view(quantiles), fractions, to); });
}

} // namespace

TEST_CASE("few Huber quantiles of points give points with these Huber quantiles") {
    for (double const kappa : {0.1, 1.0, 3.0, infinity}) {
        for (std::size_t const count : {std::size_t(1), std::size_t(2), std::size_t(3)}) {
            tally const all = impute_some(count, kappa, 40);
            CHECK(all.met == 40);
            CHECK(all.worst < 1e-12);
        }
    }
}

TEST_CASE("so do most sets of fifteen, and the others miss by little") {
    for (double const kappa : {0.1, 1.0, infinity}) {
        tally const all = impute_some(15, kappa, 40);
        INFO("kappa " << kappa << ", met " << all.met << " of 40, missed by " << all.worst);
        CHECK(all.met >= 15);
        CHECK(all.worst_when_met < 1e-8);
        CHECK(all.worst < 0.2);
    }
}

TEST_CASE("two modes come back from the Huber quantiles that smear them") {
    // Seven points near −1 and seven near 1 (and one between), of which the Huber quantiles fill the gap.
    std::vector<double> const points{-1.15, -1.1, -1.05, -1.0, -0.95, -0.9, -0.85, 0.0,
                                     0.85,  0.9,  0.95,  1.0,  1.05,  1.1,  1.15};
    auto const quantiles = huber_quantiles_by_bisection(points, 15, 1.0);
    CHECK(quantiles[9] < 0.5); // the second of the points near 1
    std::vector<double> samples(15);
    auto const found = gmac::imputation::from_huber_quantiles{}(view(quantiles), midpoints(15), samples);
    CHECK(found.error < 1e-3);
    for (std::size_t i = 0; i < 15; ++i)
        CHECK(std::abs(samples[i] - points[i]) < (i == 7 ? 0.2 : 0.15));
}

TEST_CASE("with an infinite threshold they are the samples of expectiles") {
    gmac::random_stream random(5, 6);
    for (int i = 0; i < 20; ++i) {
        auto const expectiles = huber_quantiles_by_bisection(some_points(9, i % 2 == 1, random), 9, infinity);
        std::vector<double> ours(9);
        std::vector<double> theirs(9);
        auto const found =
            gmac::imputation::from_huber_quantiles{.kappa = infinity}(view(expectiles), midpoints(9), ours);
        auto const known = gmac::imputation::from_expectiles{}(view(expectiles), midpoints(9), theirs);
        REQUIRE(known.met);
        CHECK(found.error < 1e-4);
        // The points are not unique, but their mean is: the expectile in the middle.
        double mean = 0.0;
        for (double const sample : ours)
            mean += sample / 9.0;
        CHECK(mean == Approx(expectiles[4]).margin(1e-3));
    }
}

TEST_CASE("Huber imputation moves and scales with its input, in float and over strides") {
    std::vector<double> const quantiles{-0.9, -0.3, 0.1, 0.5, 0.8};
    auto const fractions = midpoints(5);
    std::vector<double> plain(5);
    std::vector<double> moved(5);
    gmac::imputation::from_huber_quantiles{.kappa = 0.5}(view(quantiles), fractions, plain);
    std::vector<double> other;
    for (double const q : quantiles)
        other.push_back(1000.0 * q + 7.0);
    gmac::imputation::from_huber_quantiles{.kappa = 500.0}(view(other), fractions, moved);
    for (std::size_t i = 0; i < 5; ++i)
        CHECK(moved[i] == Approx(1000.0 * plain[i] + 7.0).epsilon(1e-9));

    // Every second element, in place.
    std::vector<float> wide(10, 99.0f);
    std::vector<float> narrow;
    for (std::size_t i = 0; i < 5; ++i) {
        wide[2 * i] = static_cast<float>(quantiles[i]);
        narrow.push_back(static_cast<float>(fractions[i]));
    }
    gmac::vector_view<float> const strided(wide.data(), 5, 2);
    gmac::imputation::from_huber_quantiles{.kappa = 0.5}(gmac::vector_view<float const>(strided), narrow, strided);
    for (std::size_t i = 0; i < 5; ++i) {
        CHECK(wide[2 * i] == Approx(plain[i]).margin(2e-5));
        CHECK(wide[2 * i + 1] == 99.0f);
    }

    std::vector<double> same(3);
    auto const one = gmac::imputation::from_huber_quantiles{}(view(std::vector{2.0, 2.0, 2.0}), midpoints(3), same);
    CHECK(one.met);
    CHECK(same == std::vector{2.0, 2.0, 2.0});
}

TEST_CASE("Huber imputation says what is wrong with its input") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_THAT(refusal({.kappa = 0.0}, {0.0, 1.0}, {0.25, 0.75}), says("kappa is 0, but must be positive"));
    CHECK_THAT(refusal({.kappa = nan}, {0.0, 1.0}, {0.25, 0.75}), says("kappa is nan"));
    CHECK_THAT(refusal({.starts = 9}, {0.0, 1.0}, {0.25, 0.75}), says("starts is 9, but must be from 1 to 8"));
    CHECK_THAT(refusal({}, {0.0, nan}, {0.25, 0.75}), says("quantile 1 is nan, but must be finite"));
    CHECK_THAT(refusal({}, {0.0, infinity}, {0.25, 0.75}), says("quantile 1 is inf, but must be finite"));
    CHECK_THAT(refusal({}, {0.0, 1.0}, {0.0, 0.75}), says("fraction 0 is 0, but must be in (0, 1)"));
    CHECK_THAT(refusal({}, {0.0, 1.0}, {0.25}), says("fractions"));
    CHECK_THAT(refusal({}, {0.0, 1.0}, {0.25, 0.75}, 3), says("samples"));
    CHECK_THAT(refusal({}, {}, {}), says("there are no quantiles"));
}
