// SPDX-License-Identifier: Apache-2.0
// Environments with a last number that is drawn for each episode.
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"

#include "worlds.hpp"

#include <gmac/environment/conditioned.hpp>
#include <gmac/environment/normalized.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace gmac;
using gmac::testing::buffers;
using gmac::testing::counting;
using gmac::testing::message_of;
using gmac::testing::walk;

} // namespace

TEST_CASE("an episode keeps its number to its last observation, and the next has another") {
    constexpr std::size_t count = 6;
    vector_environment<counting> plain(count, 3), inner(count, 3);
    conditioned_environments told(inner, 9);
    REQUIRE(told.observation_size() == 3);
    buffers bare(plain), all(told);
    plain.reset(bare.observation_view());
    told.reset(all.observation_view());
    std::vector<float> now(count);
    std::set<float> seen;
    for (std::size_t e = 0; e < count; ++e)
        seen.insert(now[e] = all.observation_view()(e, 2));
    std::size_t episodes = count;
    for (int step = 0; step < 60; ++step) {
        bare.step(plain);
        CHECK(gmac::testing::allocations_during([&] { all.step(told); }) == 0);
        CHECK(all.rewards == bare.rewards);
        CHECK(all.terminated == bare.terminated);
        CHECK(all.truncated == bare.truncated);
        for (std::size_t e = 0; e < count; ++e) {
            float const next = all.observation_view()(e, 2);
            for (std::size_t j = 0; j < 2; ++j)
                CHECK(all.observation_view()(e, j) == bare.observation_view()(e, j));
            CHECK(told.conditions()[e] == next);
            if (all.terminated[e] == 0 && all.truncated[e] == 0) {
                CHECK(next == now[e]);
                continue;
            }
            CHECK(all.final_view()(e, 2) == now[e]);
            for (std::size_t j = 0; j < 2; ++j)
                CHECK(all.final_view()(e, j) == bare.final_view()(e, j));
            now[e] = next;
            seen.insert(next);
            ++episodes;
        }
    }
    CHECK(episodes > 40);
    CHECK(seen.size() == episodes);
    buffers again(told);
    told.observe(again.observation_view());
    CHECK(again.observations == all.observations);
}

TEST_CASE("the numbers are uniform between their bounds, and one number if these are the same") {
    vector_environment<counting> inner(20'000, 3);
    conditioned_environments told(inner, 1, -3.0f, 1.0f), other(inner, 2, -3.0f, 1.0f), same(inner, 1, -3.0f, 1.0f),
        fixed(inner, 1, 0.25f, 0.25f);
    buffers seen(told), others(told), sames(told), all_fixed(told);
    told.reset(seen.observation_view());
    other.reset(others.observation_view());
    same.reset(sames.observation_view());
    fixed.reset(all_fixed.observation_view());
    double mean = 0.0, square = 0.0, equal = 0.0;
    for (std::size_t e = 0; e < told.size(); ++e) {
        double const x = static_cast<double>(told.conditions()[e]);
        REQUIRE((x >= -3.0 && x <= 1.0));
        REQUIRE(same.conditions()[e] == told.conditions()[e]);
        REQUIRE(all_fixed.observation_view()(e, 2) == 0.25f);
        equal += other.conditions()[e] == told.conditions()[e] ? 1.0 : 0.0;
        mean += x / 20'000.0;
        square += (x + 1.0) * (x + 1.0) / 20'000.0;
    }
    CHECK(equal < 20.0);
    // A uniform number on [-3, 1]: mean -1, variance 16 / 12, fourth central moment 16 / 5; within five deviations.
    CHECK(std::abs(mean + 1.0) < 5.0 * std::sqrt(16.0 / 12.0 / 20'000.0));
    CHECK(std::abs(square - 16.0 / 12.0) < 5.0 * std::sqrt((16.0 / 5.0 - 16.0 / 12.0 * 16.0 / 12.0) / 20'000.0));
}

TEST_CASE("around normalised environments, which do not see the number; goes on bit for bit where it was stored") {
    auto const make = [] { // two numbers
        auto normalized = std::make_unique<normalized_environments>(std::make_unique<vector_environment<walk>>(4, 3));
        return conditioned_environments(std::make_unique<conditioned_environments>(std::move(normalized), 4), 5);
    };
    auto first = make(), second = make();
    buffers a(first), b(second);
    first.reset(a.observation_view());
    for (int i = 0; i < 25; ++i)
        a.step(first);
    CHECK(dynamic_cast<normalized_environments&>(dynamic_cast<conditioned_environments&>(first.worlds()).worlds())
              .observation_statistics()
              .size() == 3);
    gmac::testing::memory_archive stored;
    first.persist(stored);
    stored.rewind();
    second.persist(stored);
    second.observe(b.observation_view());
    CHECK(b.observations == a.observations);
    for (int i = 0; i < 25; ++i) {
        a.step(first);
        b.step(second);
        CHECK(b.observations == a.observations);
        CHECK(b.rewards == a.rewards);
    }
}

TEST_CASE("bounds and shapes that cannot be are told") {
    vector_environment<counting> inner(2, 3);
    float const nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
    for (auto const& bounds : {std::pair(1.0f, -1.0f), std::pair(nan, 1.0f), std::pair(-1.0f, nan),
                               std::pair(-infinity, 1.0f), std::pair(0.0f, infinity)})
        CHECK(message_of([&] {
                  conditioned_environments(inner, 0, bounds.first, bounds.second);
              }).starts_with("conditioned_environments: the numbers are to be drawn in ["));
    CHECK(message_of([&] { conditioned_environments(inner, 0, -3e38f, 3e38f); }).ends_with("a float cannot hold"));
    conditioned_environments told(inner);
    buffers bare(inner);
    CHECK(message_of([&] { told.reset(bare.observation_view()); }).find("conditioned_environments::reset") !=
          std::string::npos);
    buffers all(told);
    told.reset(all.observation_view());
    CHECK(message_of([&] { told.step(all.action_view(), bare.result()); }).find("conditioned_environments::step") !=
          std::string::npos);
}
