// SPDX-License-Identifier: Apache-2.0
// Which actions may be done next: what a batch says of it, and what it refuses.
#include "support/catch.hpp"
#include "support/masked_ring.hpp"
#include "support/memory_archive.hpp"
#include "worlds.hpp"

#include <gmac/environment/normalized.hpp>
#include <gmac/environment/time_limit.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using gmac::vector_environment;
using gmac::testing::masked_ring;
using worlds::message_of;

struct everything {
    std::size_t count;
    std::vector<float> observations, finals, rewards, actions;
    std::vector<std::uint8_t> terminated, truncated;
    explicit everything(std::size_t n)
        : count(n), observations(2 * n), finals(2 * n), rewards(n), actions(n), terminated(n), truncated(n) {}
    [[nodiscard]] gmac::matrix_view<float> seen() { return {observations.data(), count, 2}; }
    void step(gmac::environment_batch& worlds) {
        worlds.step({actions.data(), count, 1}, {seen(), {finals.data(), count, 2}, rewards, terminated, truncated});
    }
};

/// Whether the batch's masks are those of the rule, in the states that the observations tell.
bool right(gmac::environment_batch const& batch, everything const& now) {
    auto const masks = batch.action_masks();
    if (masks.rows() != now.count || masks.cols() != masked_ring::actions)
        return false;
    for (std::size_t i = 0; i < now.count; ++i)
        for (std::size_t j = 0; j < masked_ring::actions; ++j) {
            auto const field = static_cast<std::uint64_t>(now.observations[2 * i] * 6.0f + 0.5f);
            auto const steps = static_cast<std::uint64_t>(now.observations[2 * i + 1] * 9.0f + 0.5f);
            if ((masks(i, j) == 1) != masked_ring::allows(field, steps, j) || masks(i, j) > 1)
                return false;
        }
    return true;
}

void choose(gmac::environment_batch const& batch, everything& now, gmac::random_stream& random) {
    for (std::size_t i = 0; i < now.count; ++i)
        do
            now.actions[i] = static_cast<float>(random.below(4));
        while (batch.action_masks()(i, static_cast<std::size_t>(now.actions[i])) == 0);
}

} // namespace

TEST_CASE("a batch says which actions may come next, after resets, steps, ends of episodes and a restoring") {
    vector_environment<masked_ring> batch(5, 3), restored(5, 99);
    everything now(5);
    gmac::random_stream random(7);
    batch.reset(now.seen());
    CHECK(right(batch, now));
    for (int i = 0; i < 30; ++i) {
        choose(batch, now, random);
        now.step(batch);
        CHECK(right(batch, now));
    }
    gmac::testing::memory_archive file;
    batch.persist(file);
    file.rewind();
    restored.persist(file);
    CHECK(right(restored, now));
    choose(batch, now, random);
    everything same = now;
    now.step(batch);
    same.step(restored);
    CHECK(same.observations == now.observations);
    CHECK(right(restored, now));

    CHECK(vector_environment<worlds::counting>(2, 1).action_masks().empty());
}

TEST_CASE("wrappers pass masks on") {
    vector_environment batch(3, 1, [](std::size_t) { return gmac::time_limit(masked_ring{}, 4); });
    gmac::normalized_environments normalized(batch, {.observations = false});
    everything now(3);
    gmac::random_stream random(7);
    normalized.reset(now.seen());
    for (int i = 0; i < 9; ++i) {
        CHECK(right(normalized, now));
        choose(normalized, now, random);
        now.step(normalized);
    }
    CHECK(vector_environment(1, 1, [](std::size_t) { return gmac::time_limit(worlds::counting{}, 4); })
              .action_masks()
              .empty());
}

TEST_CASE("a forbidden action is refused by name, and nothing moves") {
    vector_environment<masked_ring> batch(4, 1);
    everything now(4);
    gmac::random_stream random(7);
    batch.reset(now.seen());
    choose(batch, now, random);
    now.step(batch);
    auto const before = now.observations;
    choose(batch, now, random);
    auto const allowed = now.actions[2];
    now.actions[2] = 2.0f;
    CHECK(message_of([&] { now.step(batch); }) ==
          "vector_environment: environment 2, step 2 of its episode: the action is 2, which action_mask forbids there");
    batch.observe(now.seen());
    CHECK(now.observations == before);
    now.actions[2] = allowed;
    now.step(batch);
    CHECK(right(batch, now));
}

TEST_CASE("an environment that forbids everything is named, with the step") {
    vector_environment<masked_ring> batch(4, 1, [](std::size_t i) { return masked_ring{.forbids_all = i == 3}; });
    everything now(4);
    gmac::random_stream random(7);
    batch.reset(now.seen());
    for (int i = 0; i < 2; ++i) {
        choose(batch, now, random);
        now.step(batch);
    }
    choose(batch, now, random);
    CHECK(
        message_of([&] { now.step(batch); }) ==
        "vector_environment: environment 3, step 3 of its episode: action_mask forbids all of the 4 actions, but must "
        "allow at least one");
    CHECK(message_of([&] { now.step(batch); }).find("reset has to be called first") != std::string::npos);

    struct dead : masked_ring {
        static void action_mask(std::span<std::uint8_t> allowed) { std::ranges::fill(allowed, std::uint8_t(0)); }
    };
    vector_environment<dead> none(2, 1);
    everything two(2);
    CHECK(message_of([&] { none.reset(two.seen()); }) ==
          "vector_environment: environment 0, reset: action_mask forbids all of the 4 actions, but must allow at least "
          "one");

    struct reals : worlds::walk {
        static void action_mask(std::span<std::uint8_t>) {}
    };
    CHECK(
        message_of([] { vector_environment<reals> const made(1, 1); }) ==
        "vector_environment: the environment has an action_mask, but its action space is a box; a mask is for discrete "
        "actions");
}
