// SPDX-License-Identifier: Apache-2.0
// Whole environments: the presets, observations, scores, and runs that go on from a checkpoint.
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"
#include "support/says.hpp"

#include "../../examples/environments/ale/atari.hpp"
#include "scripted.hpp"

#include <gmac/environment/clipped_rewards.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace scripted = gmac::testing::scripted;

namespace {

using namespace gmac::examples::ale;
using scripted::reset_mark;
using scripted::three_lives;
using log = std::vector<int>;
using image = std::vector<std::uint8_t>;

/// What the agent should see of two frames of one game, from the definitions, in real numbers.
double expected_pixel(scripted::emulator const& machine, int previous, int latest, std::size_t row,
                      std::size_t column) {
    double sum = 0.0;
    constexpr double tall = 210.0 / 84.0, wide = 160.0 / 84.0;
    auto const overlap = [](std::size_t pixel, std::size_t shown, double scale) {
        auto const from = static_cast<double>(pixel), to = static_cast<double>(shown) * scale;
        return std::min(from + 1.0, to + scale) - std::max(from, to);
    };
    for (std::size_t y = 0; y < 210; ++y) {
        double const height = overlap(y, row, tall);
        for (std::size_t x = 0; height > 0.0 && x < 160; ++x) {
            double const width = overlap(x, column, wide);
            if (width <= 0.0)
                continue;
            auto const colour = [&](int frame) {
                return machine.colours()[scripted::emulator::pixel(machine.game(), frame, y * 160 + x) / 2];
            };
            auto const channel = [&](unsigned shift) {
                return std::max(colour(previous) >> shift & 255u, colour(latest) >> shift & 255u);
            };
            sum += height * width * std::round(0.299 * channel(16) + 0.587 * channel(8) + 0.114 * channel(0));
        }
    }
    return sum / (tall * wide);
}

TEST_CASE("an observation is the maximum of the last two frames, grey, 84 x 84") {
    atari world(three_lives(), paper_preprocessing());
    gmac::random_stream random(3);
    image seen(world.observation_size());
    world.reset(random, seen);
    world.step(2, random, seen);
    int const frame = world.machine().frame();
    for (std::size_t i = 0; i < seen.size(); i += 97)
        REQUIRE(std::abs(seen[i] - expected_pixel(world.machine(), frame - 1, frame, i / 84, i % 84)) < 1.02);
}

TEST_CASE("preset paper: one to thirty frames, fire and the action after it, four frames a step, a life an episode") {
    auto machine = three_lives();
    auto const told = machine.log;
    atari world(std::move(machine), paper_preprocessing());
    CHECK(world.action_space().count == 4);
    CHECK(world.history() == gmac::observation_history{4, gmac::history_padding::first});
    gmac::random_stream random(3);
    image seen(world.observation_size());
    world.reset(random, seen);
    std::size_t const starts = static_cast<std::size_t>(world.machine().frame()) - 8;
    CHECK(starts >= 1);
    CHECK(starts <= 30);
    log expected{reset_mark};
    expected.insert(expected.end(), starts, 0);
    expected.insert(expected.end(), {1, 1, 1, 1, 3, 3, 3, 3});
    CHECK(*told == expected);

    told->clear();
    std::vector<double> rewards;
    int lives = 0, steps = 0;
    while (!world.take_finished()) {
        auto const given = world.step(3, random, seen);
        rewards.push_back(given.reward);
        ++steps;
        if (given.terminated && !world.machine().game_over()) {
            ++lives;
            world.reset(random, seen);
            // After a life: four frames without an action, then fire and the action after it, four frames each.
            CHECK(log(told->end() - 12, told->end()) == log{0, 0, 0, 0, 1, 1, 1, 1, 3, 3, 3, 3});
        }
        CHECK(!given.truncated);
        REQUIRE(steps < 30);
    }
    CHECK(lives == 2);
    CHECK(world.machine().frame() == 100);
}

TEST_CASE("preset paper: the score of a whole game is reported, and learned rewards are clipped") {
    gmac::vector_environment<atari<scripted::emulator>> games(2, 9, [](std::size_t) {
        return atari(three_lives(), paper_preprocessing());
    });
    gmac::basic_clipped_rewards<std::uint8_t> batch(games);
    image seen(2 * 84 * 84);
    std::vector<float> actions{0, 1}, rewards(2);
    std::vector<std::uint8_t> terminated(2), truncated(2);
    gmac::matrix_view<std::uint8_t> const view(seen.data(), 2, 84 * 84);
    batch.reset(view);
    std::vector<double> scores;
    int ends = 0;
    for (int step = 0; step < 200; ++step) {
        batch.step({actions.data(), 2, 1}, {view, {}, rewards, terminated, truncated});
        ends += terminated[0] + terminated[1];
        for (float const reward : rewards)
            CHECK((reward == -1.0f || reward == 0.0f || reward == 1.0f));
        for (auto const& episode : batch.finished())
            scores.push_back(episode.reward_sum);
    }
    REQUIRE(scores.size() > 8);
    CHECK(ends > 2 * static_cast<int>(scores.size()));
    // All points of a game, those of the frames that other wrappers played included; the start may have had some.
    for (double const score : scores)
        CHECK((score == 24.0 || score == 17.0));
}

TEST_CASE("preset machado2018: a quarter of the frames stick, five a step, and no life is an episode") {
    auto const rules = machado2018_preprocessing();
    CHECK(rules.sticky == 0.25);
    CHECK(rules.full_action_set);
    auto machine = three_lives();
    auto const told = machine.log;
    atari world(std::move(machine), rules);
    gmac::random_stream random(3);
    image seen(world.observation_size());
    world.reset(random, seen);
    CHECK(*told == log{reset_mark});
    int steps = 0;
    for (bool ended = false; !ended; ++steps) {
        auto const given = world.step(steps % 4, random, seen);
        ended = given.terminated;
        CHECK(!given.truncated);
    }
    CHECK(steps == 20); // one hundred frames
    CHECK(world.take_finished()->reward_sum == 24.0);

    auto endless = three_lives();
    endless.script.clear();
    atari long_game(std::move(endless), rules);
    long_game.reset(random, seen);
    for (steps = 1; !long_game.step(0, random, seen).truncated;)
        ++steps;
    CHECK(steps == 18'000 / 5);
}

TEST_CASE("preset ale_vector: fire, up to twenty-nine frames, no signal of a life, zeros before the first frame") {
    auto const rules = ale_vector_preprocessing();
    gmac::random_stream random(3);
    image seen(84 * 84);
    std::vector<int> starts(30);
    for (int i = 0; i < 500; ++i) {
        auto machine = three_lives();
        auto const told = machine.log;
        atari world(std::move(machine), rules);
        world.reset(random, seen);
        REQUIRE((*told)[1] == fire);
        REQUIRE(std::all_of(told->begin() + 2, told->end(), [](int action) { return action == noop; }));
        ++starts.at(told->size() - 2);
        if (i > 0)
            continue;
        CHECK(world.history() == gmac::observation_history{4, gmac::history_padding::zeros});
        bool ended = false;
        while (!ended)
            ended = world.step(0, random, seen).terminated;
        CHECK(world.machine().frame() == 100);
    }
    // Fire is one of n = 0 … 29 frames: no frame after it for n = 0 and 1, then one to twenty-eight.
    CHECK(starts[0] > 15);
    CHECK(*std::max_element(starts.begin() + 1, starts.end()) < 40);
    CHECK(*std::min_element(starts.begin(), starts.begin() + 29) > 0);
    CHECK(starts[29] == 0);
}

TEST_CASE("presets go by their names") {
    CHECK(preprocessing_named("paper").episodic_life);
    CHECK(preprocessing_named("machado2018").skip == 5);
    CHECK(preprocessing_named("ale_vector").starts.fire_first);
    CHECK_THROWS_WITH(preprocessing_named("mine"), gmac::testing::says("known are paper, machado2018, ale_vector"));
}

TEST_CASE("games that were stored go on bit for bit, at any step") {
    auto rules = paper_preprocessing();
    rules.sticky = 0.25;
    rules.frame_limit = 80;
    using batch = gmac::vector_environment<atari<scripted::emulator>>;
    auto const make = [&] {
        return std::make_unique<batch>(3, 5, [&](std::size_t) { return atari(three_lives(), rules); });
    };
    struct memory {
        image seen = image(3 * 84 * 84), finals = image(3 * 84 * 84);
        std::vector<float> actions = std::vector<float>(3), rewards = std::vector<float>(3);
        std::vector<std::uint8_t> terminated = std::vector<std::uint8_t>(3), truncated = terminated;
        std::vector<double> scores;
        bool operator==(memory const&) const = default;

        void step(batch& games, int number) {
            for (std::size_t i = 0; i < 3; ++i)
                actions[i] = static_cast<float>((static_cast<std::size_t>(number) * 7 + i) % 4);
            gmac::matrix_view<std::uint8_t> const view(seen.data(), 3, 84 * 84);
            games.step({actions.data(), 3, 1}, {view, {finals.data(), 3, 84 * 84}, rewards, terminated, truncated});
            for (auto const& episode : games.finished())
                scores.push_back(episode.reward_sum);
        }
    };
    auto games = make();
    memory now;
    games->reset({now.seen.data(), 3, 84 * 84});
    int ends = 0;
    for (int step = 0; step < 60; ++step) {
        gmac::testing::memory_archive saved;
        games->persist(saved);
        saved.rewind();
        auto others = make();
        others->persist(saved);
        memory then = now;
        for (int ahead = step; ahead < step + 3; ++ahead)
            then.step(*others, ahead);
        memory check = now;
        {
            gmac::testing::memory_archive again;
            games->persist(again);
            again.rewind();
            for (int ahead = step; ahead < step + 3; ++ahead)
                check.step(*games, ahead);
            games->persist(again); // back to where it was
        }
        REQUIRE(check == then);
        now.step(*games, step);
        ends += now.terminated[0] + now.truncated[0];
    }
    CHECK(ends > 4);
    CHECK(now.scores.size() > 4);
}

TEST_CASE("a batch that is reset in the middle of a game begins a new one, whose score is its own") {
    auto rules = paper_preprocessing();
    rules.starts = {.fewest = 0, .most = 0};
    using game = atari<scripted::emulator>;
    gmac::vector_environment<game> games(1, 9, [&](std::size_t) { return game(three_lives(), rules); });
    image seen(84 * 84);
    std::vector<float> actions(1), rewards(1);
    std::vector<std::uint8_t> terminated(1), truncated(1);
    gmac::matrix_view<std::uint8_t> const view(seen.data(), 1, 84 * 84);
    auto const step = [&] { games.step({actions.data(), 1, 1}, {view, {}, rewards, terminated, truncated}); };
    games.reset(view);
    while (terminated[0] == 0)
        step(); // up to the first life, with 7 points
    step();
    CHECK(games[0].machine().game() == 1);
    games.reset(view);
    CHECK(games[0].machine().game() == 2);
    while (games.finished().empty())
        step();
    CHECK(games.finished()[0].reward_sum == 7.0 - 3.0 + 20.0);
    CHECK(games.finished()[0].length == 25); // 100 frames
    CHECK(games[0].machine().game() == 3);
}

TEST_CASE("two games that end within one step are two scores") {
    preprocessing rules{.starts = {.fewest = 0, .most = 0}, .skip = 1, .episodic_life = false};
    using game = atari<scripted::emulator>;
    auto machine = three_lives();
    machine.script = {{1, {.reward = 3}}, {2, {.reward = 8, .over = true}}};
    gmac::vector_environment<game> games(1, 9, [&](std::size_t) { return game(machine, rules); });
    image seen(84 * 84);
    std::vector<float> actions(1), rewards(1);
    std::vector<std::uint8_t> terminated(1), truncated(1);
    gmac::matrix_view<std::uint8_t> const view(seen.data(), 1, 84 * 84);
    games.reset(view); // which presses fire twice, and so ends a game
    CHECK(games.finished().size() == 1);
    games.step({actions.data(), 1, 1}, {view, {}, rewards, terminated, truncated});
    CHECK(games.finished().empty());
    games.step({actions.data(), 1, 1}, {view, {}, rewards, terminated, truncated});
    REQUIRE(games.finished().size() == 2);
    for (auto const& finished : games.finished()) {
        CHECK(finished.reward_sum == 11.0);
        CHECK(finished.length == 2);
    }
}

TEST_CASE("a step of a game allocates nothing") {
    atari world(three_lives(), paper_preprocessing());
    world.machine().log->reserve(100'000); // the script's own
    gmac::random_stream random(3);
    image seen(84 * 84);
    world.reset(random, seen);
    std::size_t const count = gmac::testing::allocations_during([&] {
        for (int i = 0; i < 200; ++i) {
            auto const given = world.step(0, random, seen);
            if (given.terminated || given.truncated)
                world.reset(random, seen);
            while (world.take_finished())
                continue;
        }
    });
    CHECK(count == 0);
}

} // namespace
