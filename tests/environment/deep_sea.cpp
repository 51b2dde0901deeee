// SPDX-License-Identifier: Apache-2.0
// Deep sea against its definition (Osband et al. 2020): all ways through a small one, and the laws of the stochastic one.
#include "support/catch.hpp"
#include "support/memory_archive.hpp"
#include "support/numbers.hpp"
#include "support/says.hpp"

#include "../../examples/environments/classic/deep_sea.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace {

using classic::deep_sea;
using gmac::testing::message_of;
using gmac::testing::says;

static_assert(gmac::checkpointable_environment<deep_sea>);

/// A sea, and the streams and memory to dive in it.
struct dive {
    deep_sea sea;
    gmac::random_stream random{5};
    std::vector<float> observation;

    explicit dive(std::size_t size, bool stochastic = false) : sea(size, stochastic), observation(size * size) {
        sea.reset(random, observation);
    }
    gmac::transition go(bool right) {
        int const action = sea.right(sea.row(), sea.column());
        return sea.step(right ? action : 1 - action, random, observation);
    }
};

TEST_CASE("of all ways through a deep sea one brings the treasure, and right costs", "[deep_sea]") {
    constexpr std::size_t n = 6;
    dive d(n);
    int treasures = 0;
    for (unsigned way = 0; way < 1u << n; ++way) {
        d.sea.reset(d.random, d.observation);
        double sum = 0.0, cost = 0.0;
        std::size_t column = 0;
        for (std::size_t step = 0; step < n; ++step) {
            CHECK(d.sea.row() == step);
            CHECK(d.sea.column() == column);
            std::vector<float> wanted(n * n);
            wanted[step * n + column] = 1.0f;
            CHECK(d.observation == wanted);
            bool const right = (way >> step & 1u) != 0;
            auto const done = d.go(right);
            column = right ? std::min(column + 1, n - 1) : column - std::min<std::size_t>(column, 1);
            cost += right ? 0.01 / n : 0.0;
            sum += done.reward;
            CHECK(done.terminated == (step + 1 == n));
            CHECK_FALSE(done.truncated);
        }
        CHECK(d.observation == std::vector<float>(n * n));
        bool const treasure = way + 1 == 1u << n;
        CHECK(sum == Approx((treasure ? 1.0 : 0.0) - cost).margin(1e-15));
        treasures += sum > 0.5;
    }
    CHECK(treasures == 1);
    CHECK(d.random.position() == 0); // nothing is left to chance
}

TEST_CASE("the map of the actions is drawn once: the same in every sea of a size", "[deep_sea]") {
    deep_sea const one(30), other(30, true);
    std::vector<int> counts(2);
    for (std::size_t row = 0; row < 30; ++row)
        for (std::size_t column = 0; column < 30; ++column) {
            CHECK(one.right(row, column) == other.right(row, column));
            ++counts[static_cast<std::size_t>(one.right(row, column))];
        }
    CHECK(gmac::testing::chi_square(counts) < 10.8); // one in a thousand
    CHECK(one.observation_size() == 900);
    CHECK(one.action_space().count == 2);
}

TEST_CASE("in the stochastic sea a step right fails once in N, and costs all the same", "[deep_sea]") {
    constexpr std::size_t n = 10;
    constexpr int tries = 20'000;
    dive d(n, true);
    int moved = 0;
    for (int i = 0; i < tries; ++i) {
        d.sea.reset(d.random, d.observation);
        CHECK(d.go(true).reward == Approx(-0.001).epsilon(1e-12));
        moved += d.sea.column() == 1;
        CHECK(d.sea.column() <= 1);
    }
    CHECK(std::abs(moved - 0.9 * tries) < 4.0 * std::sqrt(0.09 * tries));

    // Right as long as there is a chance of the treasure: (1 − 1/N)^(N−1) − 0.01, with noise of deviation 1 at the end.
    double sum = 0.0;
    int corner = 0;
    std::vector<double> noise;
    for (int i = 0; i < tries; ++i) {
        d.sea.reset(d.random, d.observation);
        for (gmac::transition done; !done.terminated;) {
            bool const last = d.sea.row() == n - 1, in_corner = last && d.sea.column() == n - 1;
            done = d.go(true);
            sum += done.reward;
            if (in_corner)
                noise.push_back(done.reward - 1.0 + 0.001);
            else
                CHECK(done.reward == Approx(-0.001).epsilon(1e-12));
            corner += in_corner;
        }
    }
    double const arrives = std::pow(0.9, 9);
    CHECK(std::abs(corner - arrives * tries) < 4.0 * std::sqrt(arrives * (1.0 - arrives) * tries));
    CHECK(std::abs(sum / tries - (arrives - 0.01)) < 4.0 * std::sqrt((arrives * (1.0 - arrives) + arrives) / tries));
    CHECK(gmac::testing::kolmogorov(noise, gmac::testing::standard_normal_cdf) < 1.95);
}

TEST_CASE("the stochastic sea has noise in its lower left corner too, and nowhere else", "[deep_sea]") {
    constexpr std::size_t n = 4;
    dive d(n, true);
    std::vector<double> noise;
    for (int i = 0; i < 5000; ++i) {
        d.sea.reset(d.random, d.observation);
        for (std::size_t step = 0; step < n; ++step) {
            double const reward = d.go(false).reward; // to the left there is no chance
            CHECK(d.sea.column() == 0);
            if (step + 1 == n)
                noise.push_back(reward);
            else
                CHECK(reward == 0.0);
        }
    }
    CHECK(gmac::testing::kolmogorov(noise, gmac::testing::standard_normal_cdf) < 1.95);
}

TEST_CASE("a dive is restored, and a field outside of the sea refused", "[deep_sea]") {
    dive first(12, true), second(12, true);
    for (int i = 0; i < 5; ++i)
        static_cast<void>(first.go(i != 2));
    gmac::testing::memory_archive saved;
    first.sea.persist(saved);
    saved.rewind();
    second.sea.persist(saved);
    second.random = first.random;
    for (int i = 5; i < 12; ++i) {
        auto const one = first.go(true), two = second.go(true);
        CHECK(one.reward == two.reward);
        CHECK(one.terminated == two.terminated);
        CHECK(first.observation == second.observation);
    }
    deep_sea small(3);
    saved.rewind();
    CHECK_THAT(message_of([&] { small.persist(saved); }), says("but the size is 3"));
    CHECK(small.row() == 0);
    for (std::size_t const size : {std::size_t(0), std::size_t(1), std::size_t(101)})
        CHECK_THAT(message_of([&] { return deep_sea(size); }), says("but must be in [2, 100]"));
}

} // namespace
