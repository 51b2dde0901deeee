// SPDX-License-Identifier: Apache-2.0
// Environments with several discrete actions at once: what they are given, their masks, and what is refused.
#include "support/catch.hpp"
#include "support/dials.hpp"
#include "support/memory_archive.hpp"
#include "worlds.hpp"

#include <gmac/actors/to_environment.hpp>
#include <gmac/environment/check.hpp>
#include <gmac/environment/clipped_rewards.hpp>
#include <gmac/environment/normalized.hpp>
#include <gmac/environment/time_limit.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace {

using gmac::multi_discrete;
using gmac::vector_environment;
using gmac::testing::buffers;
using gmac::testing::choose_allowed;
using gmac::testing::dials;
using gmac::testing::masked_dials;
using gmac::testing::message_of;

/// Shows what it was given, and how many numbers that was.
struct echo {
    std::vector<std::size_t> counts{3, 16'777'216};

    [[nodiscard]] std::size_t observation_size() const { return counts.size() + 1; }
    [[nodiscard]] multi_discrete action_space() const { return {counts}; }
    static void reset(gmac::random_stream&, std::span<float> observation) { std::ranges::fill(observation, 0.0f); }
    static gmac::transition step(std::span<int const> action, gmac::random_stream&, std::span<float> observation) {
        for (std::size_t k = 0; k < action.size(); ++k)
            observation[k] = static_cast<float>(action[k]);
        observation.back() = static_cast<float>(action.size());
        return {};
    }
};

/// Takes each kind of action; which, is known when the program runs.
struct any_kind {
    gmac::action_space space;

    static std::size_t observation_size() { return 1; }
    [[nodiscard]] gmac::action_space const& action_space() const { return space; }
    static void reset(gmac::random_stream&, std::span<float> observation) { observation[0] = 0.0f; }
    static gmac::transition step(int, gmac::random_stream&, std::span<float> observation) {
        return observation[0] = 1.0f, gmac::transition{};
    }
    static gmac::transition step(std::span<float const>, gmac::random_stream&, std::span<float> observation) {
        return observation[0] = 2.0f, gmac::transition{};
    }
    static gmac::transition step(std::span<int const>, gmac::random_stream&, std::span<float> observation) {
        return observation[0] = 3.0f, gmac::transition{};
    }
};

struct stuck : dials {
    static void action_mask(std::span<std::uint8_t> allowed) { std::fill_n(allowed.begin() + 3, 4, std::uint8_t(0)); }
};

std::string refused(std::vector<std::size_t> const& counts) {
    return message_of([&] { vector_environment made(1, 1, [&](std::size_t) { return echo{counts}; }); });
}

/// Whether the batch's masks are those of the rule, in the states that its observations tell.
bool right(gmac::environment_batch const& batch, buffers const& now) {
    auto const masks = batch.action_masks();
    bool same = masks.rows() == now.count && masks.cols() == dials::values;
    for (std::size_t e = 0; e < now.count && same; ++e)
        for (std::size_t j = 0; j < dials::values; ++j)
            same = same &&
                   masks(e, j) == (masked_dials::allows(std::span(now.observations).subspan(e * now.width), j) ? 1 : 0);
    return same;
}

} // namespace

TEST_CASE("sizes of action spaces") {
    gmac::action_space const one = gmac::discrete{5}, real = gmac::box::uniform(3, -1, 1),
                             several = multi_discrete{{3, 4}};
    CHECK(gmac::action_size(one) == 1);
    CHECK(gmac::action_size(real) == 3);
    CHECK(gmac::action_size(several) == 2);
    CHECK(gmac::mask_size(one) == 5);
    CHECK(gmac::mask_size(real) == 0);
    CHECK(gmac::mask_size(several) == 7);
    CHECK(gmac::action_counts(one).size() == 1);
    CHECK(gmac::action_counts(real).empty());
    CHECK(gmac::action_counts(several)[1] == 4);
    // A policy's numbers go to the environment as they are, also one that is none.
    std::vector<double> const sampled{2.0, std::numeric_limits<double>::quiet_NaN()};
    std::vector<float> actions(2);
    gmac::to_environment(several, gmac::matrix_view<double const>(sampled.data(), 1, 2), {actions.data(), 1, 2});
    CHECK(actions[0] == 2.0f);
    CHECK(actions[1] != actions[1]);
}

TEST_CASE("an environment is given whole numbers, one for each component") {
    STATIC_REQUIRE(gmac::environment<echo>);
    STATIC_REQUIRE(gmac::environment<gmac::time_limit<dials>>);
    STATIC_REQUIRE(gmac::masked_environment<gmac::time_limit<masked_dials>>);
    vector_environment<echo> batch(2, 1);
    buffers now(batch);
    REQUIRE(now.action_width == 2);
    batch.reset(now.observation_view());
    now.actions = {2.0f, 7.0f, 0.0f, 16'777'215.0f};
    now.step(batch);
    CHECK(now.observations == std::vector<float>{2.0f, 7.0f, 2.0f, 0.0f, 16'777'215.0f, 2.0f});

    for (auto const& [space, kind] : {std::pair(gmac::action_space(gmac::discrete{2}), 1.0f),
                                      std::pair(gmac::action_space(gmac::box::uniform(2, 0, 1)), 2.0f),
                                      std::pair(gmac::action_space(multi_discrete{{2}}), 3.0f)}) {
        vector_environment either(1, 1, [&space = space](std::size_t) { return any_kind{space}; });
        buffers seen(either);
        either.reset(seen.observation_view());
        seen.step(either);
        CHECK(seen.observations[0] == kind);
    }
}

TEST_CASE("a component outside its values is refused by name, and nothing moves") {
    vector_environment<dials> batch(3, 1);
    buffers now(batch);
    batch.reset(now.observation_view());
    auto const before = now.observations;
    for (auto const& [bad, text] : {std::pair(4.0f, "4"), std::pair(-1.0f, "-1"), std::pair(0.5f, "0.5"),
                                    std::pair(std::numeric_limits<float>::quiet_NaN(), "nan")}) {
        now.actions[2 * 3 + 1] = bad;
        CHECK(message_of([&] { now.step(batch); }) ==
              "vector_environment: environment 2, step 1 of its episode: component 1 of the action is " +
                  std::string(text) + ", but must be a whole number from 0 to 3");
    }
    batch.observe(now.observation_view());
    CHECK(now.observations == before);
    now.actions[2 * 3 + 1] = 3.0f;
    now.step(batch);
    CHECK(now.observations != before);
}

TEST_CASE("spaces of several actions that make no sense are refused") {
    CHECK(refused({2, 3}).empty());
    CHECK(refused({}) == "vector_environment: the action space has no components, but needs at least 1");
    CHECK(refused({2, 0}) ==
          "vector_environment: component 1 of the action space has 0 values, but must have 1 to 16777216");
    CHECK(refused({16'777'217}) ==
          "vector_environment: component 0 of the action space has 16777217 values, but must have 1 to 16777216");
    CHECK(message_of([] { vector_environment made(2, 1, [](std::size_t i) {
                              return echo{{3, 4 + i}};
                          }); }) ==
          "vector_environment: environment 1 has another observation size, history or action space than environment 0");
    struct confused : gmac::testing::walk {
        [[nodiscard]] gmac::action_space action_space() const { return multi_discrete{{2}}; }
    };
    CHECK(
        message_of([] { vector_environment<confused>(1, 1); }) ==
        "vector_environment: the environment's action space is multi-discrete, but its step takes no std::span<int const>");
}

TEST_CASE("masks of several actions at once, through wrappers and a restoring") {
    vector_environment limited(4, 3, [](std::size_t) { return gmac::time_limit(masked_dials{}, 4); });
    vector_environment other(4, 99, [](std::size_t) { return gmac::time_limit(masked_dials{}, 4); });
    gmac::clipped_rewards clipped(limited);
    gmac::normalized_environments normalized(clipped, {.observations = false});
    buffers now(normalized), same(other);
    gmac::random_stream random(7);
    normalized.reset(now.observation_view());
    for (int i = 0; i < 11; ++i) {
        REQUIRE(right(normalized, now));
        choose_allowed(normalized, now.actions, random);
        now.step(normalized);
    }
    gmac::testing::memory_archive file;
    limited.persist(file);
    file.rewind();
    other.reset(same.observation_view());
    other.persist(file);
    CHECK(right(other, now));
    choose_allowed(limited, now.actions, random);
    same.actions = now.actions;
    now.step(limited);
    same.step(other);
    CHECK(same.observations == now.observations);
    CHECK(same.rewards == now.rewards);
}

TEST_CASE("a forbidden value, and a component without an allowed one, are refused by name") {
    vector_environment<masked_dials> batch(4, 1);
    buffers now(batch);
    gmac::random_stream random(7);
    batch.reset(now.observation_view());
    choose_allowed(batch, now.actions, random);
    now.step(batch);
    choose_allowed(batch, now.actions, random);
    now.actions[2 * 3 + 1] = 3.0f;
    CHECK(message_of([&] { now.step(batch); }) ==
          "vector_environment: environment 2, step 2 of its episode: component 1 of the action is 3, which action_mask "
          "forbids there");
    vector_environment<stuck> none(2, 1);
    CHECK(message_of([&] { none.reset(now.observation_view().middle_rows(0, 2)); }) ==
          "vector_environment: environment 0, reset: action_mask forbids all of the 4 values of component 1, but must "
          "allow at least one");
}

TEST_CASE("the check of environments plays several actions at once") {
    auto const found = gmac::check_environment<masked_dials>([](std::size_t) { return masked_dials(); });
    REQUIRE(!found.empty());
    CHECK(found[0].found == "observations of 10 elements, 3 discrete actions at once, of 3, 4, 2");
    for (auto const& finding : found)
        CHECK((finding.sound ? std::string() : finding.asked + ": " + finding.found) == "");
    auto const bare = gmac::check_environment<echo>([](std::size_t) { return echo{{3, 0}}; });
    CHECK(bare[0].found == "component 1 of the action space has 0 values");
    auto const batches = gmac::check_environments<float>([](std::size_t count, std::uint64_t seed) {
        return std::make_unique<vector_environment<masked_dials>>(count, seed);
    });
    CHECK(std::ranges::all_of(batches, [](auto const& finding) { return finding.sound; }));
}
