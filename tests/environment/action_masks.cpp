// SPDX-License-Identifier: Apache-2.0
// Which actions may be done next: what a batch says of it, and what it refuses.
#include "support/catch.hpp"

#include "support/masked_ring.hpp"
#include "support/memory_archive.hpp"
#include "worlds.hpp"

#include <gmac/environment/clipped_rewards.hpp>
#include <gmac/environment/normalized.hpp>
#include <gmac/environment/time_limit.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

using gmac::vector_environment;
using gmac::testing::buffers;
using gmac::testing::counting;
using gmac::testing::masked_ring;
using gmac::testing::message_of;

/// Whether the batch's masks are those of the rule, in the states that its observations tell.
bool right(gmac::environment_batch const& batch, buffers const& now) {
    auto const masks = batch.action_masks();
    if (masks.rows() != now.count || masks.cols() != masked_ring::actions)
        return false;
    for (std::size_t i = 0; i < now.count; ++i)
        for (std::size_t j = 0; j < masked_ring::actions; ++j)
            if (masks(i, j) != (masked_ring::allows(std::span(now.observations).subspan(2 * i, 2), j) ? 1 : 0))
                return false;
    return true;
}

void choose(gmac::environment_batch const& batch, buffers& now, gmac::random_stream& random) {
    for (std::size_t i = 0; i < now.count; ++i)
        do
            now.actions[i] = static_cast<float>(random.below(masked_ring::actions));
        while (batch.action_masks()(i, static_cast<std::size_t>(now.actions[i])) == 0);
}

/// Forbids everything in the fourth state of its episodes, if `now` says so, and in each if it is 0.
struct stuck : counting {
    std::uint64_t when = 99;
    void action_mask(std::span<std::uint8_t> allowed) const {
        if (when == 0 || steps == when)
            std::ranges::fill(allowed, std::uint8_t(0));
    }
    void persist(gmac::archive& state) {
        state("episode", episode);
        state("steps", steps);
    }
};

vector_environment<stuck> one_of_four(std::uint64_t when) {
    return vector_environment<stuck>(4, 1, [when](std::size_t i) {
        stuck world;
        world.first_episode = 3;
        world.when = i == 2 ? when : 99;
        return world;
    });
}

} // namespace

TEST_CASE("a batch says which actions may come next, after resets, steps, ends of episodes and a restoring") {
    vector_environment<masked_ring> batch(5, 3), restored(5, 99);
    buffers now(batch), same(batch);
    gmac::random_stream random(7);
    std::size_t terminated = 0, truncated = 0;
    batch.reset(now.observation_view());
    CHECK(right(batch, now));
    for (int i = 0; i < 30; ++i) {
        choose(batch, now, random);
        now.step(batch);
        CHECK(right(batch, now));
        terminated += static_cast<std::size_t>(std::ranges::count(now.terminated, 1));
        truncated += static_cast<std::size_t>(std::ranges::count(now.truncated, 1));
    }
    CHECK(terminated > 0);
    CHECK(truncated > 0);

    gmac::testing::memory_archive file;
    batch.persist(file);
    file.rewind();
    restored.reset(same.observation_view());
    restored.persist(file);
    CHECK(right(restored, now));
    choose(batch, now, random);
    same.actions = now.actions;
    now.step(batch);
    same.step(restored);
    CHECK(same.observations == now.observations);
    CHECK(right(restored, now));
    batch.reset(now.observation_view());
    CHECK(right(batch, now));

    CHECK(vector_environment<counting>(2, 1).action_masks().empty());
}

TEST_CASE("wrappers pass masks on") {
    vector_environment limited(3, 1, [](std::size_t) { return gmac::time_limit(masked_ring{}, 4); });
    gmac::clipped_rewards clipped(limited);
    gmac::normalized_environments normalized(clipped, {.observations = false});
    buffers now(normalized);
    gmac::random_stream random(7);
    normalized.reset(now.observation_view());
    for (int i = 0; i < 9; ++i) {
        REQUIRE(right(normalized, now));
        choose(normalized, now, random);
        now.step(normalized);
    }
    CHECK(vector_environment(1, 1, [](std::size_t) { return gmac::time_limit(counting{}, 4); }).action_masks().empty());
}

TEST_CASE("a forbidden action is refused by name, and nothing moves") {
    vector_environment<masked_ring> batch(4, 1);
    buffers now(batch);
    gmac::random_stream random(7);
    batch.reset(now.observation_view());
    choose(batch, now, random);
    now.step(batch);
    auto const before = now.observations;
    choose(batch, now, random);
    auto const allowed = now.actions[2];
    now.actions[2] = 2.0f;
    CHECK(message_of([&] { now.step(batch); }) ==
          "vector_environment: environment 2, step 2 of its episode: the action is 2, which action_mask forbids there");
    batch.observe(now.observation_view());
    CHECK(now.observations == before);
    now.actions[2] = allowed;
    now.step(batch);
    CHECK(right(batch, now));
}

TEST_CASE("an environment that forbids everything is named, with the step") {
    auto batch = one_of_four(3);
    buffers now(batch);
    batch.reset(now.observation_view());
    now.step(batch);
    now.step(batch);
    CHECK(message_of([&] { now.step(batch); }) ==
          "vector_environment: environment 2, step 3 of its episode: action_mask forbids all of the 3 actions, but "
          "must allow at least one");
    CHECK(message_of([&] { now.step(batch); }) ==
          "vector_environment::step: reset has to be called first, since the last step failed or the episodes could "
          "not be restored");

    auto none = one_of_four(0);
    CHECK(message_of([&] { none.reset(now.observation_view()); }) ==
          "vector_environment: environment 2, reset: action_mask forbids all of the 3 actions, but must allow at least "
          "one");

    // Where an episode ends nothing comes next, so nobody asks.
    auto last = one_of_four(6);
    last.reset(now.observation_view());
    for (int i = 0; i < 6; ++i)
        now.step(last);
    CHECK(std::ranges::count(now.terminated, 1) == 4);
}

TEST_CASE("a stored state that forbids everything is refused; one that does not mends a batch that failed") {
    auto sound = one_of_four(99), fails = one_of_four(2);
    buffers now(sound);
    sound.reset(now.observation_view());
    now.step(sound);
    gmac::testing::memory_archive early, late;
    sound.persist(early);
    now.step(sound);
    sound.persist(late);
    early.rewind();
    late.rewind();
    CHECK(message_of([&] { fails.persist(late); }) ==
          "vector_environment: environment 2, step 2 of its episode: action_mask forbids all of the 3 actions, but "
          "must allow at least one");
    CHECK_THROWS_AS(now.step(fails), gmac::error);
    fails.persist(early);
    fails.observe(now.observation_view());
    CHECK(now.observations[1] == 1.0f);
    CHECK(message_of([&] { now.step(fails); }).find("environment 2, step 2 of its episode") != std::string::npos);
}

TEST_CASE("a mask is for discrete actions") {
    struct reals : gmac::testing::walk {
        static void action_mask(std::span<std::uint8_t>) {}
    };
    CHECK(
        message_of([] { vector_environment<reals> const made(1, 1); }) ==
        "vector_environment: the environment has an action_mask, but its action space is a box; a mask is for discrete "
        "actions");
}
