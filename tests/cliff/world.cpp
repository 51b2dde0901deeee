// SPDX-License-Identifier: Apache-2.0
// The rules of the windy cliff, step by step.
#include "classic/windy_cliff.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"
#include "support/numbers.hpp"
#include "support/says.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace {

using classic::windy_cliff;
using world = classic::windy_cliff_world;

static_assert(gmac::checkpointable_environment<windy_cliff>);

constexpr int up = 0, right = 1, down = 2, left = 3;

struct bench {
    gmac::random_stream random{3};
    std::array<float, 17> observation{};

    /// A step from this place without a gust: steps are tried until there was none.
    world::place calm(world::place const& from, int action) {
        world w;
        // A gust comes with less than one step in ten, so the place that is the highest of a hundred had none.
        world::place highest{-1, 0};
        for (int i = 0; i < 100; ++i) {
            w.set(from);
            static_cast<void>(w.step(action, random, observation));
            if (w.current().height > highest.height)
                highest = w.current();
        }
        return highest;
    }
};

void check_place(world::place const& found, world::place const& wanted) {
    CHECK(found.height == wanted.height);
    CHECK(found.column == wanted.column);
}

TEST_CASE("the four actions move by a field, and the edges stop them", "[cliff]") {
    bench b;
    check_place(b.calm({3, 4}, up), {4, 4});
    check_place(b.calm({3, 4}, right), {3, 5});
    check_place(b.calm({3, 4}, down), {2, 4});
    check_place(b.calm({3, 4}, left), {3, 3});
    check_place(b.calm({6, 4}, up), {6, 4});
    check_place(b.calm({3, 9}, right), {3, 9});
    check_place(b.calm({0, 0}, down), {0, 0});
    check_place(b.calm({3, 0}, left), {3, 0});
    // And so does the cliff's.
    check_place(b.calm({0, 0}, right), {0, 0});
    check_place(b.calm({1, 1}, down), {1, 1});
    check_place(b.calm({1, 8}, down), {1, 8});
    check_place(b.calm({1, 9}, down), {0, 9});
}

TEST_CASE("the wind blows down by a row or more, each further row with the same chance", "[cliff]") {
    bench b;
    world w;
    std::vector<int> ends(7);
    constexpr int tries = 200'000;
    for (int i = 0; i < tries; ++i) {
        w.set({4, 4});
        static_cast<void>(w.step(right, b.random, b.observation));
        ++ends[static_cast<std::size_t>(w.current().height)];
        CHECK(w.current().column == 5);
    }
    CHECK(ends[5] == 0);
    CHECK(ends[6] == 0);
    ends.resize(5);
    // Heights 0 (all gusts of four rows or more) to 4 (none). With 4 degrees of freedom 18.5 is exceeded once in a thousand.
    double const p = world::gust, q = world::further;
    std::vector<double> const probabilities{p * q * q * q, p * q * q * (1 - q), p * q * (1 - q), p * (1 - q), 1 - p};
    CHECK(gmac::testing::chi_square(ends, probabilities) < 18.5);
}

TEST_CASE("a step costs, a fall costs more and ends the episode, and so does the goal", "[cliff]") {
    bench b;
    world w;
    auto const after = [&](world::place const& from, int action) {
        w.set(from);
        return w.step(action, b.random, b.observation);
    };
    int falls = 0;
    for (int i = 0; i < 1000; ++i) {
        auto const done = after({1, 4}, down);
        CHECK(done.terminated == w.current().fallen());
        CHECK(done.reward == (w.current().fallen() ? -6.0 : -0.2));
        falls += done.terminated;
    }
    CHECK(falls > 0);
    auto const goal = after({1, 9}, down);
    CHECK(goal.reward == -0.2);
    CHECK(goal.terminated);
    auto const stay = after({0, 0}, left);
    CHECK(stay.reward == -0.2);
    CHECK_FALSE(stay.terminated);
    CHECK_FALSE(stay.truncated);
    int gusts = 0;
    for (int i = 0; i < 1000; ++i) {
        auto const done = after({1, 0}, left); // blown to the start at most
        CHECK_FALSE(done.terminated);
        CHECK(done.reward == -0.2);
        gusts += w.current().height == 0;
    }
    CHECK(gusts > 0);
}

TEST_CASE("an observation marks the height and the column", "[cliff]") {
    bench b;
    world w;
    CHECK(w.observation_size() == b.observation.size());
    CHECK(w.action_space().count == 4);
    w.set({5, 9});
    w.reset(b.random, b.observation);
    check_place(w.current(), {0, 0});
    std::array<float, 17> wanted{};
    wanted[0] = wanted[7] = 1.0f;
    CHECK(b.observation == wanted);
    for (int i = 0; i < 20; ++i) {
        w.set({2, i % 8});
        static_cast<void>(w.step(up, b.random, b.observation));
        wanted = {};
        wanted[static_cast<std::size_t>(w.current().height)] = 1.0f;
        wanted[static_cast<std::size_t>(7 + i % 8)] = 1.0f;
        CHECK(b.observation == wanted);
    }
}

TEST_CASE("an episode on the cliff is cut after 100 steps, and restored bit for bit", "[cliff]") {
    bench b;
    windy_cliff walk;
    walk.reset(b.random, b.observation);
    for (int i = 1; i <= 60; ++i)
        CHECK_FALSE(walk.step(i % 3 == 0 ? left : up, b.random, b.observation).truncated);
    gmac::testing::memory_archive saved;
    walk.persist(saved);
    saved.rewind();
    windy_cliff other;
    other.persist(saved);
    gmac::random_stream same = b.random;
    auto observed = b.observation;
    for (int i = 61; i <= 100; ++i) {
        int const action = i % 3 == 0 ? left : up;
        auto const one = walk.step(action, b.random, b.observation);
        auto const two = other.step(action, same, observed);
        CHECK(one.reward == two.reward);
        CHECK(one.truncated == (i == 100));
        CHECK(two.truncated == (i == 100));
        CHECK_FALSE(one.terminated);
        CHECK(b.observation == observed);
    }
}

TEST_CASE("a stored place outside of the grid is refused", "[cliff]") {
    world w;
    w.set({3, 4});
    for (auto const& [height, column] : {std::pair(-1, 0), std::pair(7, 0), std::pair(0, -1), std::pair(0, 10)}) {
        gmac::testing::memory_archive saved;
        w.persist(saved);
        std::array<std::int32_t, 2> const outside{height, column};
        std::memcpy(saved.entries().at("place").data.data(), outside.data(), sizeof(outside));
        saved.rewind();
        CHECK_THAT(gmac::testing::message_of([&] { w.persist(saved); }), gmac::testing::says("7 rows and 10 columns"));
        check_place(w.current(), {3, 4});
    }
}

} // namespace

TEST_CASE("that share of the episodes begins at any height, all heights alike, and none without exploring starts",
          "[cliff]") {
    constexpr int episodes = 20'000;
    for (double const share : {0.0, 0.5, 1.0}) {
        windy_cliff walk(share);
        gmac::random_stream random(5);
        std::vector<float> observation(walk.observation_size());
        std::array<int, world::rows> at{};
        for (int i = 0; i < episodes; ++i) {
            walk.reset(random, observation);
            REQUIRE(walk.world().current().column == 0);
            at[static_cast<std::size_t>(walk.world().current().height)]++;
        }
        for (std::size_t height = 0; height < at.size(); ++height) {
            double const p = share / world::rows + (height == 0 ? 1.0 - share : 0.0);
            CHECK(std::abs(at[height] - episodes * p) <= 5.0 * std::sqrt(episodes * p * (1.0 - p)));
        }
    }
    using gmac::testing::message_of;
    for (double const wrong : {-0.1, 1.5, std::nan("")})
        CHECK(message_of([&] { windy_cliff walk(wrong); }).starts_with("windy_cliff: exploring_starts is "));
}
