// SPDX-License-Identifier: Apache-2.0
// What the five-state chain shows, against fixed points that are computed without any learning.
#include "support/huber_quantiles.hpp"

#include "five_state/experiment.hpp"

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/distributions/energy.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/says.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace gmac::examples::five_state;
using gmac::testing::huber_quantiles_by_bisection;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The points of a learned value in ascending order.
[[nodiscard]] std::vector<double> sorted_points(distribution const& value) {
    std::vector<double> found;
    for (component const& one : value.components())
        found.push_back(one.mean);
    std::sort(found.begin(), found.end());
    return found;
}

/// Equally likely numbers that stand for a distribution.
[[nodiscard]] std::vector<double> fine(distribution const& value, std::size_t count) {
    std::vector<double> samples;
    for (double const fraction : gmac::testing::midpoints(count))
        samples.push_back(value.quantile(fraction));
    return samples;
}

/// Where naive one-step learning ends: the statistics of S5, taken for samples, give those of S4, and so on to S1.
[[nodiscard]] std::vector<double> naive_fixed_point(chain const& world, double kappa) {
    distribution const last{{1.0, 0.0, chain::reward_deviation}};
    auto statistics = huber_quantiles_by_bisection(fine(last, 1000), points, kappa);
    std::vector<double> after_r4;
    for (int i = 0; i < 10; ++i) // the probabilities are tenths
        for (double const sample : statistics)
            after_r4.push_back(sample + (i < std::lround(10.0 * world.minus_probability) ? -1.0 : 1.0));
    statistics = huber_quantiles_by_bisection(after_r4, points, kappa);
    for (int state = 3; state >= 1; --state)
        statistics = huber_quantiles_by_bisection(statistics, points, kappa);
    return statistics;
}

void check_near(std::vector<double> const& found, std::vector<double> const& expected, double margin) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        CHECK(found[i] == Approx(expected[i]).margin(margin));
}

[[nodiscard]] double floor_of(chain const& world) {
    return gmac::energy(world.best_points(points), world.truth());
}

struct mode {
    double weight = 0.0;
    double mean = 0.0;
};
/// The components on one side of 0, taken together.
[[nodiscard]] mode mode_of(distribution const& value, bool positive) {
    mode found;
    for (component const& one : value.components())
        if ((one.mean > 0.0) == positive) {
            found.weight += one.weight;
            found.mean += one.weight * one.mean;
        }
    found.mean /= found.weight;
    return found;
}

} // namespace

TEST_CASE("episodes have the rewards of the chain") {
    for (chain const& world : chains) {
        constexpr std::size_t count = 40'000;
        std::vector<double> rewards(chain::states * count);
        gmac::random_stream random(3, 4);
        world.draw(random, {rewards.data(), chain::states, count});
        double minus = 0.0, sum = 0.0, squares = 0.0, others = 0.0;
        for (std::size_t e = 0; e < count; ++e) {
            others += std::abs(rewards[e]) + std::abs(rewards[count + e]) + std::abs(rewards[2 * count + e]);
            others += std::abs(std::abs(rewards[3 * count + e]) - 1.0);
            minus += rewards[3 * count + e] < 0.0 ? 1.0 : 0.0;
            sum += rewards[4 * count + e];
            squares += rewards[4 * count + e] * rewards[4 * count + e];
        }
        auto const n = static_cast<double>(count);
        CHECK(others == 0.0);
        // Five standard errors.
        CHECK(minus / n == Approx(world.minus_probability).margin(5.0 * 0.5 / std::sqrt(n)));
        CHECK(sum / n == Approx(0.0).margin(5.0 * 0.1 / std::sqrt(n)));
        CHECK(squares / n == Approx(0.01).margin(5.0 * 0.01 * std::sqrt(2.0 / n)));
    }
}

TEST_CASE("no fifteen points are nearer to the truth than the best ones") {
    for (chain const& world : chains) {
        distribution const truth = world.truth();
        distribution const best = world.best_points(points);
        double const floor = gmac::energy(best, truth);
        CHECK(floor > 1e-4);
        std::vector<component> moved(best.components().begin(), best.components().end());
        for (component& one : moved) {
            double const place = one.mean;
            for (double const step : {-0.3, -0.02, 0.02, 0.3}) {
                one.mean = place + step;
                CHECK(gmac::energy(distribution(moved), truth) >= floor * (1.0 - 1e-9));
            }
            one.mean = place;
        }
        gmac::random_stream random(1, 2);
        for (int i = 0; i < 50; ++i) {
            std::vector<component> drawn;
            for (std::size_t k = 0; k < points; ++k)
                drawn.push_back({1.0 / points, truth.sample(random), 0.0});
            CHECK(gmac::energy(distribution(drawn), truth) > floor);
        }
    }
}

TEST_CASE("naive Huber quantiles collapse the two modes, to the fixed point of their own mistake") {
    for (chain const& world : chains)
        for (std::uint64_t const seed : {1u, 2u}) {
            result const found = learn(world, "huber_quantile", {.seed = seed});
            CHECK(found.energy_distance > 0.3);
            CHECK(found.variance < 0.1);
            check_near(sorted_points(found.learned), naive_fixed_point(world, 1.0), 0.03);
        }
}

TEST_CASE("naive expectiles do too, and imputed ones do not") {
    for (chain const& world : chains) {
        result const naive = learn(world, "expectile", {});
        CHECK(naive.energy_distance > 0.3);
        CHECK(naive.variance < 0.1);
        check_near(sorted_points(naive.learned), naive_fixed_point(world, infinity), 0.03);
        result const imputed = learn(world, "expectile_imputed", {.steps = 1000});
        CHECK(imputed.energy_distance < 0.05);
        CHECK(imputed.energy_distance >= floor_of(world));
    }
}

TEST_CASE("imputed Huber quantiles keep both modes") {
    for (chain const& world : chains) {
        result const found = learn(world, "huber_quantile_imputed", {.steps = 1000});
        CHECK(found.energy_distance < 0.03);
        CHECK(found.energy_distance >= floor_of(world));
        CHECK(found.variance == Approx(world.truth().variance()).margin(0.1));
    }
}

TEST_CASE("sample energy finds both modes, as well as fifteen points can") {
    for (chain const& world : chains)
        for (std::uint64_t const seed : {1u, 2u}) {
            result const found = learn(world, "sample_energy", {.seed = seed});
            CHECK(found.energy_distance < 0.02);
            CHECK(found.energy_distance >= floor_of(world));
            CHECK(found.energy_distance < floor_of(world) + 0.001);
            CHECK(found.distances.front() > 0.5);
        }
}

TEST_CASE("Gaussian mixture energy finds both modes, with their weights") {
    for (chain const& world : chains)
        for (std::uint64_t const seed : {1u, 2u}) {
            result const found = learn(world, "gaussian_mixture_energy", {.seed = seed});
            CHECK(found.energy_distance < 0.02);
            mode const low = mode_of(found.learned, false);
            mode const high = mode_of(found.learned, true);
            CHECK(low.mean == Approx(-1.0).margin(0.05));
            CHECK(high.mean == Approx(1.0).margin(0.05));
            double astray = 0.0;
            for (component const& one : found.learned.components())
                astray += one.weight * std::abs(std::abs(one.mean) - 1.0);
            CHECK(astray < 0.05);
            CHECK(low.weight == Approx(world.minus_probability).margin(0.03));
            CHECK(found.mean == Approx(world.truth().mean()).margin(0.05));
            CHECK(found.variance == Approx(world.truth().variance()).margin(0.05));
        }
}

TEST_CASE("midpoint quantiles are their own samples: imputation changes nothing") {
    result const naive = learn(chains[0], "quantile", {.steps = 300});
    result const imputed = learn(chains[0], "quantile_imputed", {.steps = 300});
    CHECK(sorted_points(naive.learned) == sorted_points(imputed.learned));
    CHECK(naive.distances == imputed.distances);
    result const longer = learn(chains[0], "quantile", {});
    CHECK(longer.energy_distance < floor_of(chains[0]) + 0.001);
}

TEST_CASE("without bootstrapping, Huber quantiles are those of the truth: the collapse comes from the bootstrap") {
    for (chain const& world : chains) {
        result const found = learn(world, "huber_quantile", {.lambda = 1.0});
        auto const expected = huber_quantiles_by_bisection(fine(world.truth(), 2000), points, 1.0);
        check_near(sorted_points(found.learned), expected, 0.04);
        CHECK(found.energy_distance < 0.2);
        result const short_sighted = learn(world, "huber_quantile", {});
        CHECK(short_sighted.energy_distance > 3.0 * found.energy_distance);
    }
}

TEST_CASE("a run is the same each time, and another with another seed") {
    options const few{.seed = 5, .steps = 50};
    for (auto const method : methods) {
        result const once = learn(chains[1], method, few);
        CHECK(once.method == method);
        CHECK(once.chain == "asymmetric");
        CHECK(once.distances == learn(chains[1], method, few).distances);
        CHECK(once.distances != learn(chains[1], method, {.seed = 6, .steps = 50}).distances);
        CHECK(once.steps.back() == 50.0);
        CHECK(once.energy_distance == gmac::energy(once.learned, chains[1].truth()));
    }
}

TEST_CASE("an option out of its range is named") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    auto const says = [](options const& asked, std::string const& text) {
        CHECK_THROWS_WITH(learn(chains[0], "quantile", asked), gmac::testing::says(text));
    };
    says({.steps = 0}, "steps is 0");
    says({.episodes = 0}, "episodes is 0");
    says({.learning_rate = -1.0}, "learning-rate is -1");
    says({.learning_rate = nan}, "learning-rate is nan");
    says({.lambda = 1.5}, "lambda is 1.5, but must be in [0, 1]");
    says({.kappa = 0.0}, "kappa is 0");
    CHECK_THROWS_WITH(learn(chains[0], "median", {}),
                      gmac::testing::says("there is no method median; there are huber_quantile, "));
}
