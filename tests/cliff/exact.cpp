// SPDX-License-Identifier: Apache-2.0
// The exact law of the paths at each height: against a closed form, against episodes, and what follows from it for the
// statistics of the return.
#include "cliff/exact.hpp"
#include "errors.hpp"
#include "support/catch.hpp"

#include <gmac/core/random.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace {

namespace cliff = gmac::examples::cliff;
using cliff::place;
using cliff::world;

/// The height of the path in [1, rows) with the largest lower mean.
[[nodiscard]] int best_height(double level, double discount) {
    int best = 1;
    double highest = -1e300;
    for (int height = 1; height < world::rows; ++height) {
        double const value =
            cliff::lower_mean(cliff::returns_of(cliff::laws_of(cliff::path_at(height)).front(), discount), level);
        if (value > highest) {
            highest = value;
            best = height;
        }
    }
    return best;
}

// Along the edge any gust is a fall: the first eight of the nine steps across must have none. Before it, each step up in
// the first column fails with a gust; after it, a gust at the last step across leads straight to the goal.
TEST_CASE("the law of the path along the edge is its closed form", "[cliff]") {
    auto const law = cliff::laws_of(cliff::path_at(1)).front();
    double const p = world::gust, calm = 1.0 - p;
    std::vector<double> falls(cliff::time_limit + 20), arrives(cliff::time_limit + 20);
    for (std::size_t tries = 1; tries <= cliff::time_limit; ++tries) { // of the step up
        double const up = std::pow(p, tries - 1) * calm;
        for (std::size_t across = 1; across <= 8; ++across)
            falls[tries + across] += up * std::pow(calm, across - 1) * p;
        arrives[tries + 9] += up * std::pow(calm, 8) * p;
        arrives[tries + 10] += up * std::pow(calm, 9);
    }
    for (std::size_t step = 0; step <= cliff::time_limit; ++step) {
        CHECK(law.falls[step] == Approx(falls[step]).epsilon(1e-12).margin(1e-18));
        CHECK(law.arrives[step] == Approx(arrives[step]).epsilon(1e-12).margin(1e-18));
    }
    CHECK(law.fall() == Approx(1.0 - std::pow(calm, 8)).epsilon(1e-12));
    CHECK(cliff::height_of(cliff::path_at(1)) == Approx(1.0).epsilon(1e-12));
}

TEST_CASE("the laws are those of episodes", "[cliff]") {
    constexpr std::size_t episodes = 20'000;
    for (int height = 1; height < world::rows; ++height) {
        INFO("height " << height);
        auto const path = cliff::path_at(height);
        auto const law = cliff::laws_of(path).front();
        auto const returns = cliff::returns_of(law, 1.0);

        classic::windy_cliff walk;
        std::vector<float> observation(walk.observation_size());
        std::vector<double> sums;
        double falls = 0.0, heights = 0.0, crossing = 0.0;
        for (std::size_t episode = 0; episode < episodes; ++episode) {
            gmac::random_stream random(11, episode);
            walk.reset(random, observation);
            double sum = 0.0;
            for (gmac::transition done; !done.terminated && !done.truncated; sum += done.reward) {
                place const at = walk.world().current();
                heights += at.crossing() ? at.height : 0.0;
                crossing += at.crossing() ? 1.0 : 0.0;
                auto const& chances = path[cliff::cell_of(at)];
                int const action = static_cast<int>(std::ranges::find(chances, 1.0) - chances.begin());
                done = walk.step(action, random, observation);
            }
            falls += walk.world().current().fallen() ? 1.0 : 0.0;
            sums.push_back(sum);
        }
        // Within four standard errors.
        auto const error = [&](double level) { return gmac::testing::lower_mean_error(returns, level, episodes); };
        double const p = law.fall();
        CHECK(std::abs(falls / episodes - p) < 4.0 * std::sqrt(p * (1.0 - p) / episodes));
        CHECK(std::abs(heights / crossing - cliff::height_of(path)) < 0.02);
        std::ranges::sort(sums);
        for (double const level : {1.0, 0.5, 0.1}) {
            auto const part = static_cast<std::size_t>(level * episodes);
            double const found = std::accumulate(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(part), 0.0);
            CHECK(std::abs(found / static_cast<double>(part) - cliff::lower_mean(returns, level)) < 4.0 * error(level));
        }
    }
}

TEST_CASE("the lower mean is that of the lowest part", "[cliff]") {
    std::vector<cliff::outcome> const rising{{-6.0, 0.25}, {-2.0, 0.5}, {-1.0, 0.25}};
    CHECK(cliff::lower_mean(rising, 1.0) == Approx(-2.75));
    CHECK(cliff::lower_mean(rising, 0.5) == Approx(-4.0));
    CHECK(cliff::lower_mean(rising, 0.25) == Approx(-6.0));
    CHECK(cliff::lower_mean(rising, 0.1) == Approx(-6.0));
}

// The constants are chosen for this: returns differ by the two steps that a row costs, falls by a factor of two.
TEST_CASE("the best path is the higher, the lower the part of the returns that counts", "[cliff]") {
    for (double const discount : {1.0, 0.99}) {
        CHECK(best_height(1.0, discount) == 1);
        CHECK(best_height(0.5, discount) == 2);
        CHECK(best_height(0.25, discount) == 3);
        CHECK(best_height(0.1, discount) == 4);
        CHECK(best_height(0.05, discount) == 5);
    }
}

TEST_CASE("for the mean nothing is better than to walk along the edge", "[cliff]") {
    // Value iteration over all plans. Along the best path only the gusts differ: who is blown down goes on from there.
    constexpr double discount = 0.99;
    std::array<double, cliff::cells> value{};
    for (int sweep = 0; sweep < 1000; ++sweep)
        for (std::size_t i = 0; i < cliff::cells; ++i) {
            double best = -1e300;
            for (std::size_t action = 0; action < cliff::actions; ++action) {
                double gain = 0.0;
                for (auto const& [at, probability] : cliff::ends_of_step(cliff::place_of(i), action))
                    gain += probability * (at.fallen()    ? -world::fall_cost
                                           : at.arrived() ? -world::step_cost
                                                          : -world::step_cost + discount * value[cliff::cell_of(at)]);
                best = std::max(best, gain);
            }
            value[i] = best;
        }
    auto const along = cliff::returns_of(cliff::laws_of(cliff::path_at(1)).front(), discount);
    CHECK(value[0] == Approx(cliff::lower_mean(along, 1.0)).epsilon(1e-9));
}

// At λ = 1 the advantage is that of the mean return, whatever the statistic; at λ = 0 it is one step and the statistic.
TEST_CASE("the advantages of a statistic are the mean's at lambda 1, and those of one step at lambda 0", "[cliff]") {
    auto path = cliff::path_at(3);
    for (auto& chances : path)
        for (double& one : chances)
            one = 0.6 * one + 0.1;
    auto const mean = cliff::advantages_of(path, 1.0, 0.3, 0.99), risk = cliff::advantages_of(path, 0.1, 1.0, 0.99);
    auto const one_step = cliff::advantages_of(path, 0.1, 0.0, 0.99);
    auto const laws = cliff::laws_of(path);
    auto const cvar = [&](place const& at) {
        return cliff::lower_mean(cliff::returns_of(laws[cliff::cell_of(at)], 0.99), 0.1);
    };
    for (std::size_t i = 0; i < cliff::cells; ++i) {
        place const from = cliff::place_of(i);
        if (from.fallen() || from.arrived())
            continue;
        std::array<double, cliff::actions> gains{};
        double expected = 0.0;
        for (std::size_t action = 0; action < cliff::actions; ++action) {
            CHECK(risk[i][action] == Approx(mean[i][action]).margin(1e-6));
            for (auto const& [at, probability] : cliff::ends_of_step(from, action))
                gains[action] += probability * (at.fallen() ? -6.0 : at.arrived() ? -0.2 : -0.2 + 0.99 * cvar(at));
            expected += path[i][action] * gains[action];
        }
        for (std::size_t action = 0; action < cliff::actions; ++action)
            CHECK(one_step[i][action] == Approx(gains[action] - expected).margin(1e-12));
    }
}

TEST_CASE("agents that learn without error walk the higher, the lower the part, unless lambda hides it", "[cliff]") {
    auto const height = [](double level, double lambda) {
        return cliff::height_of(cliff::learned_plan(level, lambda, 0.99));
    };
    // A little below a row: who is blown down does not climb again near the goal.
    CHECK(height(1.0, 0.5) == Approx(1.0).margin(0.01));
    CHECK(height(0.5, 0.5) == Approx(2.0).margin(0.1));
    CHECK(height(0.25, 0.5) == Approx(3.0).margin(0.1));
    CHECK(height(0.1, 0.5) == Approx(4.0).margin(0.1));
    CHECK(height(0.05, 0.5) == Approx(5.0).margin(0.1));
    CHECK(height(0.25, 0.95) == Approx(1.0).margin(0.01));
}

} // namespace
