// SPDX-License-Identifier: Apache-2.0
// Batches of environments: resets, final observations, sums, strides, streams, checkpoints, allocations.
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"

#include "../../examples/environments/classic/cart_pole.hpp"
#include "../../examples/environments/classic/windy_cliff.hpp"
#include "worlds.hpp"

#include <gmac/environment/clipped_rewards.hpp>
#include <gmac/environment/time_limit.hpp>
#include <gmac/environment/vector_environment.hpp>
#include <gmac/storage/snapshot.hpp>

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

using gmac::testing::faulty;
using gmac::testing::message_of;

namespace {

using gmac::vector_environment;
using gmac::testing::buffers;
using gmac::testing::counting;
using gmac::testing::walk;

TEST_CASE("an episode that ends is followed by a new one, and its final observation is kept") {
    // Environment i begins with episode i + 1 of 3 + i steps; odd episodes are truncated, even ones terminated.
    vector_environment batch(2, 1, [](std::size_t i) { return counting{.first_episode = i}; });
    buffers b(batch);
    batch.reset(b.observation_view());
    CHECK(b.observations == std::vector<float>{1, 0, 2, 0});
    b.actions = {1, 2};
    b.step(batch);
    b.step(batch);
    CHECK(b.observations == std::vector<float>{1, 2, 2, 2});
    CHECK(b.rewards == std::vector<float>{12.5f, 23.0f});
    CHECK(b.terminated == std::vector<std::uint8_t>{0, 0});
    CHECK(b.truncated == std::vector<std::uint8_t>{0, 0});
    CHECK(b.finals == std::vector<float>{-7, -7, -7, -7});
    CHECK(batch.finished().empty());

    b.step(batch); // the third step ends environment 0's first episode
    CHECK(b.observations == std::vector<float>{2, 0, 2, 3});
    CHECK(b.finals == std::vector<float>{1, 3, -7, -7});
    CHECK(b.rewards == std::vector<float>{13.5f, 24.0f});
    CHECK(b.terminated == std::vector<std::uint8_t>{0, 0});
    CHECK(b.truncated == std::vector<std::uint8_t>{1, 0});
    REQUIRE(batch.finished().size() == 1);
    CHECK(batch.finished()[0].environment == 0);
    CHECK(batch.finished()[0].length == 3);
    CHECK(batch.finished()[0].reward_sum == 11.5 + 12.5 + 13.5);

    b.step(batch); // the fourth ends environment 1's
    CHECK(b.observations == std::vector<float>{2, 1, 3, 0});
    CHECK(b.finals == std::vector<float>{1, 3, 2, 4});
    CHECK(b.terminated == std::vector<std::uint8_t>{0, 1});
    CHECK(b.truncated == std::vector<std::uint8_t>{0, 0});
    REQUIRE(batch.finished().size() == 1);
    CHECK(batch.finished()[0].environment == 1);
    CHECK(batch.finished()[0].length == 4);
    CHECK(batch.finished()[0].reward_sum == 22.0 + 23.0 + 24.0 + 25.0);
}

TEST_CASE("episodes that end in the same step are reported in the order of their environments") {
    vector_environment<counting> batch(5, 1);
    buffers b(batch);
    batch.reset(b.observation_view());
    for (int i = 0; i < 3; ++i)
        b.step(batch);
    REQUIRE(batch.finished().size() == 5);
    for (std::size_t i = 0; i < 5; ++i)
        CHECK(batch.finished()[i].environment == i);
    b.step(batch);
    CHECK(batch.finished().empty());
}

TEST_CASE("reset in the middle of an episode drops it") {
    vector_environment<counting> batch(1, 1);
    buffers b(batch);
    batch.reset(b.observation_view());
    b.step(batch);
    batch.reset(b.observation_view());
    CHECK(b.observations == std::vector<float>{2, 0});
    for (int i = 0; i < 4; ++i)
        b.step(batch);
    REQUIRE(batch.finished().size() == 1);
    CHECK(batch.finished()[0].length == 4);
    CHECK(batch.finished()[0].reward_sum == 21.0 + 22.0 + 23.0 + 24.0);
}

TEST_CASE("termination wins over truncation") {
    vector_environment batch(1, 1, [](std::size_t) { return faulty{.kind = faulty::fault::both_flags, .when = 2}; });
    buffers b(batch);
    batch.reset(b.observation_view());
    b.step(batch);
    CHECK((b.terminated[0] == 0 && b.truncated[0] == 0));
    b.step(batch);
    CHECK((b.terminated[0] == 1 && b.truncated[0] == 0));
    CHECK(b.finals[0] == 2.0f);
    CHECK(b.observations[0] == 0.0f);
}

TEST_CASE("observations, final observations and actions may have any strides") {
    vector_environment<walk> plain(3, 9), strided(3, 9);
    buffers p(plain), s(strided);
    std::vector<float> columns(9), wide(3 * 7, -7.0f), actions(6 * 2);
    gmac::matrix_view<float> const by_column(columns.data(), 3, 3, 1, 3);
    gmac::matrix_view<float> const spread(wide.data(), 3, 3, 7, 2);
    plain.reset(p.observation_view());
    strided.reset(by_column);
    std::size_t ends = 0;
    for (int step = 0; step < 30; ++step) {
        for (std::size_t i = 0; i < 6; ++i) {
            p.actions[i] = 0.01f * static_cast<float>(i) - 0.02f;
            actions[2 * i] = p.actions[i];
        }
        p.step(plain);
        strided.step(gmac::matrix_view<float const>(actions.data(), 3, 2, 4, 2),
                     {by_column, spread, s.rewards, s.terminated, s.truncated});
        CHECK(p.rewards == s.rewards);
        for (std::size_t i = 0; i < 3; ++i) {
            for (std::size_t j = 0; j < 3; ++j) {
                CHECK(p.observations[3 * i + j] == by_column(i, j));
                CHECK(p.finals[3 * i + j] == spread(i, j));
            }
        }
        ends += plain.finished().size();
    }
    CHECK(ends > 5);
}

TEST_CASE("actions may lie in the memory of the observations") {
    vector_environment<counting> plain(4, 9), aliased(4, 9);
    buffers p(plain), a(aliased);
    plain.reset(p.observation_view());
    aliased.reset(a.observation_view());
    for (int step = 0; step < 3; ++step) {
        for (std::size_t i = 0; i < 4; ++i) {
            p.actions[i] = static_cast<float>(i % 3);
            a.observations[i] = p.actions[i];
        }
        p.step(plain);
        aliased.step({a.observations.data(), 4, 1}, a.result());
        CHECK(p.rewards == a.rewards);
        CHECK(p.observations == a.observations);
    }
}

TEST_CASE("final observations are optional") {
    vector_environment<counting> batch(1, 1);
    buffers b(batch);
    batch.reset(b.observation_view());
    for (int i = 0; i < 3; ++i)
        batch.step(b.action_view(), {b.observation_view(), {}, b.rewards, b.terminated, b.truncated});
    CHECK(b.truncated[0] == 1);
    CHECK(b.observations == std::vector<float>{2, 0});
}

TEST_CASE("an environment's stream depends on the seed and its index alone") {
    vector_environment<walk> few(2, 5), many(6, 5), other(2, 6);
    buffers f(few), m(many), o(other);
    few.reset(f.observation_view());
    many.reset(m.observation_view());
    other.reset(o.observation_view());
    for (int step = 0; step < 40; ++step) {
        f.step(few);
        m.step(many);
        o.step(other);
        for (std::size_t j = 0; j < 6; ++j) {
            CHECK(f.observations[j] == m.observations[j]);
            CHECK(f.observations[j] != o.observations[j]);
        }
        CHECK(f.observations[0] != f.observations[3]);
    }
    // The stream is the documented one.
    auto random = gmac::stream_for(5, gmac::stream_purpose::environment, 1);
    vector_environment<walk> fresh(2, 5);
    fresh.reset(f.observation_view());
    CHECK(f.observations[3] == static_cast<float>(random.normal<double>()));
}

TEST_CASE("observe gives the observations of the last step once more") {
    vector_environment<walk> batch(3, 5);
    buffers b(batch), again(batch);
    batch.reset(b.observation_view());
    for (int step = 0; step < 20; ++step) {
        batch.observe(again.observation_view());
        CHECK(again.observations == b.observations);
        b.step(batch);
    }
}

/// A batch that is stored after some steps, one that is restored from it, and one that was never stopped.
template <class E>
void check_resume(std::size_t steps) {
    vector_environment<E> stored(4, 77), restored(4, 78), whole(4, 77);
    buffers a(stored), b(restored), c(whole);
    stored.reset(a.observation_view());
    whole.reset(c.observation_view());
    for (std::size_t i = 0; i < steps; ++i) {
        a.step(stored);
        c.step(whole);
    }
    gmac::testing::memory_archive saved;
    stored.persist(saved);
    saved.rewind();
    restored.persist(saved);
    restored.observe(b.observation_view());
    CHECK(b.observations == c.observations);
    std::size_t ends = 0;
    for (std::size_t i = 0; i < 200; ++i) {
        for (std::size_t j = 0; j < c.actions.size(); ++j)
            c.actions[j] = (i + j) % 2 == 0 ? 0.0f : c.action_width == 1 ? 1.0f : 0.5f;
        a.actions = b.actions = c.actions;
        c.step(whole);
        ends += whole.finished().size();
        for (auto [batch, memory] : {std::pair(&stored, &a), std::pair(&restored, &b)}) {
            memory->step(*batch);
            REQUIRE(memory->observations == c.observations);
            REQUIRE(memory->rewards == c.rewards);
            REQUIRE(memory->terminated == c.terminated);
            REQUIRE(memory->truncated == c.truncated);
            REQUIRE(batch->finished().size() == whole.finished().size());
            for (std::size_t k = 0; k < whole.finished().size(); ++k) {
                CHECK(batch->finished()[k].reward_sum == whole.finished()[k].reward_sum);
                CHECK(batch->finished()[k].length == whole.finished()[k].length);
                CHECK(batch->finished()[k].environment == whole.finished()[k].environment);
            }
        }
    }
    CHECK(ends > 4);
    gmac::testing::memory_archive end_of_restored, end_of_whole;
    restored.persist(end_of_restored);
    whole.persist(end_of_whole);
    CHECK(end_of_restored == end_of_whole);
}

TEST_CASE("a restored batch goes on bit for bit in the middle of its episodes") {
    check_resume<walk>(7);
    check_resume<classic::cart_pole>(11);
    check_resume<classic::windy_cliff>(13);
}

TEST_CASE("a batch that waits for a reset is restored all the same") {
    vector_environment<walk> first(2, 3), second(2, 4), third(2, 5);
    buffers b(first), c(second);
    first.reset(b.observation_view());
    b.step(first);
    auto const visit = [](auto& batch) { return [&batch](gmac::archive& state) { batch.persist(state); }; };
    auto const put =
        [&](gmac::snapshot const& stored) { // as load_checkpoint does: it asks first whether the state fits
            stored.require_fits(gmac::snapshot::of(visit(second)), gmac::unasked::refuse, "here");
            stored.restore(visit(second));
        };
    put(gmac::snapshot::of(visit(first)));
    b.step(first);
    c.step(second);
    CHECK(b.observations == c.observations);
    // What was stored while it waited goes on waiting.
    put(gmac::snapshot::of(visit(third)));
    CHECK(message_of([&] { c.step(second); }).find("reset has to be called first") != std::string::npos);
}

TEST_CASE("a batch that cannot be stored says so, and starts anew after loading with its streams where they were") {
    struct forgetful : walk {
        void persist() = delete;
    };
    STATIC_REQUIRE_FALSE(gmac::checkpointable_environment<forgetful>);
    vector_environment<forgetful> first(2, 3), second(2, 4);
    CHECK_FALSE(first.checkpointable());
    CHECK(vector_environment<walk>(2, 3).checkpointable());
    buffers b(first), c(second);
    first.reset(b.observation_view());
    second.reset(c.observation_view());
    for (int i = 0; i < 5; ++i)
        b.step(first);
    gmac::testing::memory_archive saved;
    first.persist(saved);
    saved.rewind();
    second.persist(saved);
    CHECK(message_of([&] { c.step(second); }).find("reset has to be called first") != std::string::npos);
    first.reset(b.observation_view());
    second.reset(c.observation_view());
    CHECK(b.observations == c.observations);
    b.step(first);
    c.step(second);
    CHECK(b.observations == c.observations);
}

TEST_CASE("a checkpoint of another number of environments is refused") {
    vector_environment<walk> three(3, 1), two(2, 1);
    buffers b(three);
    three.reset(b.observation_view());
    gmac::testing::memory_archive saved;
    three.persist(saved);
    saved.rewind();
    CHECK_THROWS_AS(two.persist(saved), gmac::error);
    buffers c(two);
    CHECK(message_of([&] { c.step(two); }).find("reset has to be called first") != std::string::npos);
}

TEST_CASE("an environment that cannot be moved is built in place") {
    struct fixed : counting {
        fixed() = default;
        fixed(fixed const&) = delete;
        fixed& operator=(fixed const&) = delete;
    };
    vector_environment<fixed> batch(3, 1);
    vector_environment<fixed> made(3, 1, [](std::size_t) { return fixed(); });
    vector_environment<fixed> moved = std::move(made);
    buffers b(batch), c(moved);
    batch.reset(b.observation_view());
    moved.reset(c.observation_view());
    b.step(batch);
    c.step(moved);
    CHECK(b.observations == c.observations);
    CHECK(moved[2].steps == 1);
}

TEST_CASE("reset and step allocate nothing after construction") {
    vector_environment<classic::cart_pole> carts(16, 2);
    vector_environment<walk> walks(16, 2);
    gmac::clipped_rewards clipped(walks);
    buffers b(carts), c(walks);
    std::size_t ends = 0;
    auto const count = gmac::testing::allocations_during([&] {
        carts.reset(b.observation_view());
        clipped.reset(c.observation_view());
        for (int i = 0; i < 200; ++i) {
            b.step(carts);
            c.step(clipped);
            ends += carts.finished().size() + clipped.finished().size();
        }
    });
    CHECK(count == 0);
    CHECK(ends > 100);
    // The counter counts.
    CHECK(gmac::testing::allocations_during([&] { b.rewards.assign(1000, 0.0f); }) >= 1);
}

/// Two of counting's episodes make a game.
struct two_part_game : counting {
    double sum = 0.0;
    std::size_t steps_of_both = 0;
    std::optional<gmac::finished_episode> done{};

    gmac::transition step(int action, gmac::random_stream& random, std::span<float> observation) {
        auto const given = counting::step(action, random, observation);
        sum += given.reward;
        ++steps_of_both;
        if ((given.terminated || given.truncated) && episode % 2 == 0) {
            done = gmac::finished_episode{.reward_sum = sum, .length = steps_of_both};
            sum = 0.0;
            steps_of_both = 0;
        }
        return given;
    }
    std::optional<gmac::finished_episode> take_finished() { return std::exchange(done, std::nullopt); }
    void abandon() {
        sum = 0.0;
        steps_of_both = 0;
    }
};

TEST_CASE("an environment that scores whole games is believed: its parts are not reported") {
    vector_environment batch(2, 1, [](std::size_t i) { return two_part_game{{.first_episode = i}}; });
    buffers b(batch);
    batch.reset(b.observation_view());
    std::vector<gmac::finished_episode> finished;
    for (int step = 1; step <= 7; ++step) {
        b.step(batch);
        finished.insert(finished.end(), batch.finished().begin(), batch.finished().end());
    }
    // Environment 1 begins with episode 2, which ends a game after four steps; environment 0 needs three and four.
    REQUIRE(finished.size() == 2);
    CHECK(finished[0].environment == 1);
    CHECK(finished[0].length == 4);
    CHECK(finished[0].reward_sum == 21.0 + 22.0 + 23.0 + 24.0);
    CHECK(finished[1].environment == 0);
    CHECK(finished[1].length == 7);
    CHECK(finished[1].reward_sum == 11.0 + 12.0 + 13.0 + 21.0 + 22.0 + 23.0 + 24.0);
}

TEST_CASE("a reset in the middle of a game gives the game up, through a time limit too") {
    auto const check = [](auto make) {
        vector_environment batch(1, 1, make);
        buffers b(batch);
        batch.reset(b.observation_view());
        for (int step = 0; step < 4; ++step)
            b.step(batch); // the first part, of three steps, and one of the second
        CHECK(batch.finished().empty());
        batch.reset(b.observation_view());
        CHECK(b.observations == std::vector<float>{3, 0});
        for (int step = 0; step < 5 + 6; ++step) {
            CHECK(batch.finished().empty());
            b.step(batch);
        }
        REQUIRE(batch.finished().size() == 1); // episodes 3 and 4, all of both
        CHECK(batch.finished()[0].length == 5 + 6);
        CHECK(batch.finished()[0].reward_sum == 31 + 32 + 33 + 34 + 35 + 41 + 42 + 43 + 44 + 45 + 46);
    };
    check([](std::size_t) { return two_part_game{}; });
    check([](std::size_t) { return gmac::time_limit(two_part_game{}, 100); });
}

/// Every step finishes `steps so far` games, each a point worth more than the one before.
struct many_games : counting {
    std::vector<gmac::finished_episode> done{};
    double next = 1.0;

    gmac::transition step(int, gmac::random_stream&, std::span<float> observation) {
        ++steps;
        write(observation);
        for (std::uint64_t game = 0; game < steps; ++game)
            done.push_back({.reward_sum = next++, .length = 1});
        return {};
    }
    std::optional<gmac::finished_episode> take_finished() {
        if (done.empty())
            return std::nullopt;
        auto const first = done.front();
        done.erase(done.begin());
        return first;
    }
    void abandon() {}
};

TEST_CASE("all games that end within one step are reported, in their order") {
    vector_environment<many_games> batch(2, 1);
    buffers b(batch);
    batch.reset(b.observation_view());
    double next = 1.0;
    for (std::size_t step = 1; step <= 3; ++step) {
        b.step(batch);
        REQUIRE(batch.finished().size() == 2 * step);
        for (std::size_t i = 0; i < 2 * step; ++i) {
            CHECK(batch.finished()[i].environment == i / step);
            CHECK(batch.finished()[i].reward_sum == next + static_cast<double>(i % step));
        }
        next += static_cast<double>(step);
    }
    batch[1].done.push_back({.reward_sum = -1.0, .length = 1});
    batch.reset(b.observation_view()); // a game of before is not one of the new episode
    CHECK(batch.finished().empty());
    b.step(batch);
    CHECK(batch.finished().size() == 2);
}

TEST_CASE("a batch counts its changes: resets, steps and what is restored, not what is refused") {
    vector_environment<walk> batch(2, 1);
    gmac::clipped_rewards clipped(batch);
    buffers b(batch);
    auto last = batch.changes();
    auto const changed = [&] { return std::exchange(last, clipped.changes()) != clipped.changes(); };
    batch.reset(b.observation_view());
    CHECK(changed());
    b.step(batch);
    CHECK(changed());
    b.actions[0] = 2.0f;
    CHECK_FALSE(message_of([&] { b.step(batch); }).empty());
    batch.observe(b.observation_view());
    CHECK_FALSE(changed());
    gmac::testing::memory_archive saved;
    batch.persist(saved);
    CHECK_FALSE(changed());
    saved.rewind();
    batch.persist(saved);
    CHECK(changed());
    b.actions[0] = 0.0f;
    batch.reset(b.observation_view());
    CHECK(changed());
}

TEST_CASE("clipped rewards are clipped for the agent and whole in the reports") {
    auto counts = std::make_unique<vector_environment<counting>>(2, 1);
    gmac::clipped_rewards batch(std::move(counts), 11.75f);
    buffers b(batch);
    batch.reset(b.observation_view());
    b.actions = {0, 1};
    b.step(batch);
    CHECK(b.rewards == std::vector<float>{11.0f, 11.5f});
    b.step(batch);
    CHECK(b.rewards == std::vector<float>{11.75f, 11.75f});
    b.step(batch);
    REQUIRE(batch.finished().size() == 2);
    CHECK(batch.finished()[0].reward_sum == 11.0 + 12.0 + 13.0);
    CHECK(batch.finished()[1].reward_sum == 11.5 + 12.5 + 13.5);

    vector_environment<walk> walks(3, 4);
    gmac::clipped_rewards narrow(walks, 0.1f);
    buffers c(narrow);
    narrow.reset(c.observation_view());
    std::size_t below = 0, above = 0;
    for (int i = 0; i < 50; ++i) {
        c.step(narrow);
        for (float reward : c.rewards) {
            CHECK((reward >= -0.1f && reward <= 0.1f));
            below += reward == -0.1f ? 1 : 0;
            above += reward == 0.1f ? 1 : 0;
        }
    }
    CHECK((below > 10 && above > 10));
    CHECK(message_of([&] { gmac::clipped_rewards(walks, 0.0f); }) ==
          "clipped_rewards: the bound is 0, but must be positive");
}

} // namespace
