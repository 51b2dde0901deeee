// SPDX-License-Identifier: Apache-2.0
// Summaries of returns against values worked out by hand, and intervals against the whole bootstrap distribution.
#include "train/evaluate/statistics.hpp"

#include "support/catch.hpp"
#include "support/says.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace gmac::examples::train;

namespace {

/// Quantiles of a statistic over all n^n resamples of n values, each as likely as any other.
template <class Statistic>
std::pair<double, double> all_resamples(std::vector<double> const& values, double level, Statistic&& statistic) {
    std::size_t const n = values.size();
    std::size_t const count = static_cast<std::size_t>(std::llround(std::pow(n, n)));
    std::vector<double> all;
    for (std::size_t code = 0; code < count; ++code) {
        std::vector<double> resample;
        for (std::size_t i = 0, rest = code; i < n; ++i, rest /= n)
            resample.push_back(values[rest % n]);
        std::ranges::sort(resample);
        all.push_back(statistic(resample));
    }
    std::ranges::sort(all);
    auto const at = [&](double probability) {
        return all[static_cast<std::size_t>(probability * static_cast<double>(count))];
    };
    return {at(0.5 * (1.0 - level)), at(0.5 * (1.0 + level))};
}

std::string refusal(std::vector<double> const& values, bootstrap const& options) {
    return gmac::testing::message_of([&] { return summarize(values, options); });
}

} // namespace

TEST_CASE("quantiles are linear between values in order", "[evaluate]") {
    std::vector<double> const sorted{1, 2, 4, 8};
    CHECK(quantile_of_sorted(sorted, 0.0) == 1.0);
    CHECK(quantile_of_sorted(sorted, 1.0) == 8.0);
    CHECK(quantile_of_sorted(sorted, 0.5) == 3.0);   // 1.5 places on
    CHECK(quantile_of_sorted(sorted, 0.25) == 1.75); // 0.75 places on
    CHECK(quantile_of_sorted(std::vector<double>{5}, 0.3) == 5.0);
}

TEST_CASE("mean, median, interquartile mean, lowest and highest", "[evaluate]") {
    auto const eight = summarize(std::vector<double>{8, 1, 100, 3, -50, 5, 4, 6}); // -50 1 | 3 4 5 6 | 8 100
    CHECK(eight.mean.value == 9.625);
    CHECK(eight.median.value == 4.5);
    CHECK(eight.interquartile_mean.value == 4.5);
    CHECK(eight.minimum == -50.0);
    CHECK(eight.maximum == 100.0);
    auto const five = summarize(std::vector<double>{7, 1000, 2, 0, 3}); // 0 | 2 3 7 | 1000
    CHECK(five.median.value == 3.0);
    CHECK(five.interquartile_mean.value == 4.0);
    auto const three = summarize(std::vector<double>{1, 2, 6}); // a quarter is no value
    CHECK(three.interquartile_mean.value == 3.0);
    auto const one = summarize(std::vector<double>{7});
    for (auto const& estimate : {one.mean, one.median, one.interquartile_mean}) {
        CHECK(estimate.value == 7.0);
        CHECK(estimate.low == 7.0);
        CHECK(estimate.high == 7.0);
    }
}

TEST_CASE("intervals are those of all resamples", "[evaluate]") {
    std::vector<double> const values{0, 1, 5, 12};
    for (double const level : {0.5, 0.8, 0.94}) {
        INFO(level);
        auto const found = summarize(values, {.level = level, .resamples = 100'000, .seed = 3});
        auto const mean_of = all_resamples(values, level, [](auto const& sample) {
            return (sample[0] + sample[1] + sample[2] + sample[3]) / 4.0;
        });
        CHECK(found.mean.low == mean_of.first);
        CHECK(found.mean.high == mean_of.second);
        auto const median_of =
            all_resamples(values, level, [](auto const& sample) { return 0.5 * (sample[1] + sample[2]); });
        CHECK(found.median.low == median_of.first);
        CHECK(found.median.high == median_of.second);
        CHECK(found.interquartile_mean.low == median_of.first); // of four values it is the mean of the middle two
        CHECK(found.interquartile_mean.high == median_of.second);
    }
}

TEST_CASE("of many values the interval of the mean is the normal one", "[evaluate]") {
    std::vector<double> values;
    gmac::random_stream random(11, 0);
    for (int i = 0; i < 400; ++i)
        values.push_back(3.0 + 2.0 * random.normal<double>());
    double square = 0.0;
    for (double const value : values)
        square += std::pow(value - mean(values), 2.0) / 400.0;
    double const half_width = 1.959964 * std::sqrt(square / 400.0);
    auto const found = summarize(values, {.resamples = 10'000});
    CHECK(found.mean.high - found.mean.value == Approx(half_width).epsilon(0.06));
    CHECK(found.mean.value - found.mean.low == Approx(half_width).epsilon(0.06));
}

TEST_CASE("the seed decides the resamples, and a change of unit changes nothing else", "[evaluate]") {
    std::vector<double> const values{3, 1, 4, 1, 5, 9, 2, 6};
    auto const low = [&](std::uint64_t seed) { return summarize(values, {.resamples = 100, .seed = seed}).mean.low; };
    CHECK(low(1) == low(1));
    CHECK((low(1) != low(2) || low(1) != low(3)));
    std::vector<double> scaled;
    for (double const value : values)
        scaled.push_back(4.0 * value);
    CHECK(summarize(scaled).interquartile_mean.high == 4.0 * summarize(values).interquartile_mean.high);
}

TEST_CASE("what makes no sense is refused", "[evaluate]") {
    CHECK(refusal({}, {}) == "summarize: there is no value");
    CHECK(refusal({1, std::numeric_limits<double>::quiet_NaN(), 3}, {}) == "summarize: value 1 is not a number");
    CHECK(refusal({1}, {.level = 1.0}) == "bootstrap: the level is 1, but must be between 0 and 1");
    CHECK(refusal({1}, {.level = std::numeric_limits<double>::quiet_NaN()}).find("level is nan") != std::string::npos);
    CHECK(refusal({1}, {.resamples = 0}) == "bootstrap: there are 0 resamples, but must be at least 1");
}

TEST_CASE("a method beside another one, by hand", "[evaluate]") {
    // Task 0: 1 and 3 against 2 and 2, whose mean is 2; task 1: 8 and 10 against 8, 4 and 6, whose mean is 6.
    std::vector<std::vector<double>> const ours{{1, 3}, {8, 10}}, theirs{{2, 2}, {8, 4, 6}};
    auto const found = compare(ours, theirs);
    CHECK(found.improvement.value == Approx(0.5 * (0.5 + (2.5 + 3.0) / 6.0)).epsilon(1e-14));
    // 0.5, 1.5, 8 / 6, 10 / 6 without the lowest and the highest.
    CHECK(found.interquartile_mean.value == Approx(0.5 * (1.5 + 8.0 / 6.0)).epsilon(1e-14));
    auto const itself = compare(theirs, theirs);
    CHECK(itself.improvement.value == 0.5);
    auto const mine = compare(std::vector<std::vector<double>>{{5}}, std::vector<std::vector<double>>{{4}});
    CHECK(mine.improvement.low == 1.0);
    CHECK(mine.improvement.high == 1.0);
    CHECK(mine.interquartile_mean.high == 1.25);
}

TEST_CASE("the interval of a comparison is that over all resamples within the tasks", "[evaluate]") {
    std::vector<std::vector<double>> const ours{{1, 4}, {9, 2}}, theirs{{2, 3}, {5, 1}};
    // Two values of two runs: 2^8 equally likely resamples.
    std::vector<double> improvements;
    for (unsigned code = 0; code < 256; ++code) {
        auto const drawn = [&](std::vector<double> const& from, unsigned shift) {
            return std::vector<double>{from[(code >> shift) & 1u], from[(code >> (shift + 1)) & 1u]};
        };
        double sum = 0.0;
        for (unsigned task = 0; task < 2; ++task)
            for (double const a : drawn(ours[task], 4 * task))
                for (double const b : drawn(theirs[task], 4 * task + 2))
                    sum += a > b ? 0.125 : a == b ? 0.0625 : 0.0;
        improvements.push_back(sum);
    }
    std::ranges::sort(improvements);
    auto const found = compare(ours, theirs, {.level = 0.8, .resamples = 40'000});
    CHECK(found.improvement.low == Approx(improvements[25]).margin(0.01));
    CHECK(found.improvement.high == Approx(improvements[230]).margin(0.01));
}

TEST_CASE("the interval of a comparison has the error of the baseline", "[evaluate]") {
    using table = std::vector<std::vector<double>>;
    // The baseline's two runs are drawn to a mean of 1, 2 or 3, in a quarter, a half and a quarter of the resamples.
    auto const found = compare(table{{2, 2}}, table{{1, 3}}).interquartile_mean;
    CHECK(found.value == 1.0);
    CHECK(found.low == Approx(2.0 / 3.0).epsilon(1e-14));
    CHECK(found.high == 2.0);
    auto const half = compare(table{{2, 2}}, table{{1, 3}}, {.level = 0.4}).interquartile_mean;
    CHECK(half.low == 1.0);
    CHECK(half.high == 1.0);
    // A quarter of the resamples has the mean -1, in which nothing can be measured: there is no bound above.
    auto const unbounded = compare(table{{2, 2}}, table{{-1, 5}}).interquartile_mean;
    CHECK(unbounded.value == 1.0);
    CHECK(unbounded.low == Approx(0.4).epsilon(1e-14));
    CHECK(std::isinf(unbounded.high));
}

TEST_CASE("the probability of improvement and the performance profile, by hand", "[evaluate]") {
    using table = std::vector<std::vector<double>>;
    // Of negative scores too, in which `compare` can measure nothing.
    auto const improvement = probability_of_improvement(table{{-3, -1}, {0}}, table{{-2}, {0, -1, 1}});
    CHECK(improvement.value == Approx(0.5 * (0.5 + 0.5)).epsilon(1e-14));

    // Shares above −1, 1, 2 and 5: of task 0 all, two thirds, two thirds and none, of task 1 both, both, one and none.
    std::vector<double> const thresholds{-1, 1, 2, 5};
    table const scores{{1, 3, 5}, {2, 4}};
    auto const profile = performance_profile(scores, thresholds);
    REQUIRE(profile.size() == 4);
    CHECK(profile[0].value == 1.0);
    CHECK(profile[1].value == Approx(0.5 * (2.0 / 3.0 + 1.0)).epsilon(1e-14));
    CHECK(profile[2].value == Approx(0.5 * (2.0 / 3.0 + 0.5)).epsilon(1e-14));
    CHECK(profile[3].value == 0.0);
    CHECK(profile[0].low == 1.0);
    CHECK(profile[3].high == 0.0);
    // All resamples of task 1 above 2, without task 0: 0, 1/2, 1/2 and 1, so both ends of 80 % are reached.
    auto const alone = performance_profile(table{{2, 4}}, std::vector<double>{2}, {.level = 0.8, .resamples = 4000});
    CHECK(alone[0].low == 0.0);
    CHECK(alone[0].high == 1.0);
    auto const half = performance_profile(table{{2, 4}}, std::vector<double>{2}, {.level = 0.4, .resamples = 4000});
    CHECK(half[0].low == 0.5);
    CHECK(half[0].high == 0.5);
    CHECK_THROWS_WITH(performance_profile(table{{}}, thresholds), "performance_profile: task 0 has no score");
    CHECK_THROWS_WITH(probability_of_improvement(table{{1}}, table{{INFINITY}}),
                      "probability_of_improvement: task 0 has the score inf, but all must be finite");
}

TEST_CASE("what cannot be compared is refused", "[evaluate]") {
    using table = std::vector<std::vector<double>>;
    CHECK_THROWS_WITH(
        compare(table{}, table{}),
        "compare: there are scores for 0 tasks and 0 of the baseline, but must be as many, and at least one");
    CHECK_THROWS_WITH(compare(table{{1}}, table{{}}), "compare: task 0 has no score");
    CHECK_THROWS_WITH(compare(table{{1}, {std::nan("")}}, table{{1}, {2}}),
                      "compare: task 1 has the score nan, but all must be finite");
    CHECK_THROWS_WITH(compare(table{{1}}, table{{-1, 1}}),
                      "compare: the baseline's mean on task 0 is 0, but must be positive");
}
