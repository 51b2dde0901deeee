// SPDX-License-Identifier: Apache-2.0
// Each wrapper of an Atari game by itself, around a scripted emulator.
#include "support/catch.hpp"
#include "support/memory_archive.hpp"
#include "support/numbers.hpp"
#include "support/says.hpp"

#include "../../examples/environments/ale/frame_wrappers.hpp"
#include "../../examples/environments/ale/play_wrappers.hpp"
#include "scripted.hpp"

#include <gmac/core/random.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace scripted = gmac::testing::scripted;

namespace {

using namespace gmac::examples::ale;
using gmac::random_stream;
using gmac::transition;
using gmac::testing::says;
using scripted::reset_mark;
using log = std::vector<int>;

scripted::emulator with_script(std::map<int, scripted::event> script) {
    scripted::emulator machine;
    machine.script = std::move(script);
    return machine;
}

bool same(transition const& a, transition const& b) {
    return a.reward == b.reward && a.terminated == b.terminated && a.truncated == b.truncated;
}

TEST_CASE("a game without wrappers plays frame by frame") {
    scripted::emulator machine = with_script({{2, {.reward = 7, .lives = 2}}, {3, {.reward = -1, .over = true}}});
    emulated_game played(machine);
    random_stream random(1);
    played.reset(random);
    CHECK(same(played.step(3, random), {0.0, false, false}));
    CHECK(same(played.step(4, random), {7.0, false, false}));
    CHECK(played.machine().lives() == 2);
    CHECK(same(played.step(0, random), {-1.0, true, false}));
    CHECK(*machine.log == log{reset_mark, 3, 4, 0});
}

TEST_CASE("no-op starts: every number of frames from 1 to 30 is as likely") {
    scripted::emulator machine;
    noop_starts played(emulated_game{machine}, {.fewest = 1, .most = 30});
    random_stream random(5);
    std::vector<int> counts(31);
    constexpr int games = 6000;
    for (int i = 0; i < games; ++i) {
        machine.log->clear();
        played.reset(random);
        REQUIRE(machine.log->front() == reset_mark);
        REQUIRE(std::all_of(machine.log->begin() + 1, machine.log->end(), [](int action) { return action == noop; }));
        ++counts.at(machine.log->size() - 1);
    }
    CHECK(counts[0] == 0);
    counts.erase(counts.begin());
    CHECK(gmac::testing::chi_square(counts) <
          58.3); // a thousandth of the chi-squared distribution with 29 degrees of freedom lies above
}

TEST_CASE("no-op starts: a game that ends meanwhile is started anew, and the frames go on") {
    scripted::emulator machine = with_script({{4, {.over = true}}});
    noop_starts played(emulated_game{machine}, {.fewest = 6, .most = 6});
    random_stream random(1);
    played.reset(random);
    CHECK(*machine.log == log{reset_mark, 0, 0, 0, 0, reset_mark, 0, 0});
    CHECK(!played.machine().game_over());
}

TEST_CASE("no-op starts: fire may be the first of the frames, where the game has it") {
    scripted::emulator machine;
    random_stream random(1);
    noop_starts played(emulated_game{machine}, {.fewest = 3, .most = 3, .fire_first = true});
    played.reset(random);
    CHECK(*machine.log == log{reset_mark, fire, 0, 0});
    scripted::emulator without;
    without.set = {0, 3, 4};
    noop_starts other(emulated_game{without}, {.fewest = 3, .most = 3, .fire_first = true});
    other.reset(random);
    CHECK(*without.log == log{reset_mark, 0, 0, 0});
    // With no frame left fire is pressed all the same, as ALE's vector environment does.
    scripted::emulator none;
    noop_starts(emulated_game{none}, {.fewest = 0, .most = 0, .fire_first = true}).reset(random);
    CHECK(*none.log == log{reset_mark, fire});
    CHECK_THROWS_WITH(noop_starts(emulated_game{none}, {.fewest = 3, .most = 2}),
                      says("between 3 and 2 frames are none"));
}

TEST_CASE("sticky actions: a quarter of the frames repeat the action before, the first one none") {
    scripted::emulator machine;
    sticky_actions played(emulated_game{machine}, 0.25);
    random_stream random(3);
    int frames = 0, stuck = 0, first_stuck = 0;
    for (int i = 0; i < 2000; ++i) {
        played.reset(random);
        machine.log->clear();
        int last = noop;
        for (int action : {3, 4, 1, 3, 4, 1, 3, 4, 1, 3}) {
            played.step(action, random);
            int const done = machine.log->back();
            REQUIRE((done == action || done == last));
            stuck += done != action;
            first_stuck += done != action && frames % 10 == 0;
            last = done;
            ++frames;
        }
    }
    // Four standard deviations of a binomial share.
    CHECK(std::abs(stuck / 20000.0 - 0.25) < 4.0 * std::sqrt(0.25 * 0.75 / 20000.0));
    CHECK(std::abs(first_stuck / 2000.0 - 0.25) < 4.0 * std::sqrt(0.25 * 0.75 / 2000.0));
    CHECK_THROWS_WITH(sticky_actions(emulated_game{machine}, 1.0), says("at least 0 and below 1"));
}

TEST_CASE("sticky actions of probability zero draw no random number") {
    scripted::emulator machine;
    sticky_actions played(emulated_game{machine}, 0.0);
    random_stream random(3);
    played.reset(random);
    for (int action : {3, 4, 1})
        played.step(action, random);
    CHECK(random.position() == 0);
    CHECK(*machine.log == log{reset_mark, 3, 4, 1});
}

TEST_CASE("frame limit: the frame that reaches it is truncated, and the count begins anew with a game") {
    scripted::emulator machine = with_script({{5, {.over = true}}});
    frame_limit played(emulated_game{machine}, 3);
    random_stream random(1);
    for (int game = 0; game < 2; ++game) {
        played.reset(random);
        CHECK(same(played.step(0, random), {0.0, false, false}));
        CHECK(same(played.step(0, random), {0.0, false, false}));
        CHECK(same(played.step(0, random), {0.0, false, true}));
    }
    // A game that ends with its last frame was terminated.
    frame_limit exact(emulated_game{machine}, 5);
    exact.reset(random);
    for (int i = 0; i < 4; ++i)
        CHECK(same(exact.step(0, random), {0.0, false, false}));
    CHECK(same(exact.step(0, random), {0.0, true, false}));
}

TEST_CASE("frame limit: the frames of the start do not count") {
    scripted::emulator machine;
    frame_limit played(noop_starts(emulated_game{machine}, {.fewest = 9, .most = 9}), 10);
    random_stream random(1);
    played.reset(random);
    for (int i = 0; i < 9; ++i)
        CHECK(!played.step(0, random).truncated);
    CHECK(played.step(0, random).truncated);
}

TEST_CASE("frame skip: one action for four frames, their rewards added, the last two screens kept") {
    scripted::emulator machine = with_script({{1, {.reward = 1}}, {4, {.reward = 5}}, {5, {.reward = 2}}});
    frame_skip played(emulated_game{machine}, 4);
    random_stream random(1);
    played.reset(random);
    CHECK(std::ranges::equal(played.last_frames().previous, played.last_frames().latest));
    CHECK(same(played.step(3, random), {6.0, false, false}));
    CHECK(same(played.step(4, random), {2.0, false, false}));
    CHECK(*machine.log == log{reset_mark, 3, 3, 3, 3, 4, 4, 4, 4});
    auto const [previous, latest] = played.last_frames();
    for (std::size_t i = 0; i < latest.size(); ++i) {
        CHECK(previous[i] == scripted::emulator::pixel(1, 7, i));
        CHECK(latest[i] == scripted::emulator::pixel(1, 8, i));
    }
    CHECK_THROWS_WITH(frame_skip(emulated_game{machine}, 0), says("must have at least 1"));
}

TEST_CASE("frame skip: a game that ends early shows its last frame alone") {
    for (int end : {1, 2, 3, 4}) {
        scripted::emulator machine = with_script({{end, {.reward = 3, .over = true}}});
        frame_skip played(emulated_game{machine}, 4);
        random_stream random(1);
        played.reset(random);
        CHECK(same(played.step(3, random), {3.0, true, false}));
        CHECK(machine.log->size() == static_cast<std::size_t>(1 + end));
        auto const [previous, latest] = played.last_frames();
        CHECK(latest[2] == scripted::emulator::pixel(1, end, 2));
        CHECK(previous[2] == scripted::emulator::pixel(1, end == 4 ? 3 : end, 2));
    }
}

TEST_CASE("frame skip of one frame shows it alone") {
    scripted::emulator machine;
    frame_skip played(emulated_game{machine}, 1);
    random_stream random(1);
    played.reset(random);
    played.step(3, random);
    CHECK(played.last_frames().previous.data() == played.last_frames().latest.data());
    CHECK(played.last_frames().latest[1] == scripted::emulator::pixel(1, 1, 1));
}

TEST_CASE("score: a whole game counts, once") {
    scripted::emulator machine = with_script({{1, {.reward = 400}}, {3, {.reward = -30, .over = true}}});
    scored_game played(emulated_game{machine});
    random_stream random(1);
    for (int game = 0; game < 2; ++game) {
        played.reset(random);
        played.step(0, random);
        CHECK(played.score() == 400.0);
        played.step(0, random);
        CHECK(!played.take_finished());
        played.step(0, random);
        auto const finished = played.take_finished();
        REQUIRE(finished);
        CHECK(finished->reward_sum == 370.0);
        CHECK(finished->length == 3);
        CHECK(!played.take_finished());
    }
}

// Lives go from 3 to 2 in frame 2, up to 4 in frame 3, down to 3 in frame 5, to none in frame 6; over in frame 7.
std::map<int, scripted::event> lives_script() {
    return {{2, {.reward = 10, .lives = 2}},
            {3, {.lives = 4}},
            {5, {.reward = 1, .lives = 3}},
            {6, {.lives = 0}},
            {7, {.reward = 100, .lives = 0, .over = true}}};
}

TEST_CASE("episodic life: a lost life ends the episode, and the game goes on without an action") {
    scripted::emulator machine = with_script(lives_script());
    episodic_life played(scored_game(emulated_game{machine}), true);
    random_stream random(1);
    played.reset(random);
    CHECK(same(played.step(3, random), {0.0, false, false}));
    CHECK(same(played.step(3, random), {10.0, true, false}));
    CHECK(!played.take_finished());
    played.reset(random); // plays frame 3, which gives two lives
    CHECK(same(played.step(4, random), {0.0, false, false}));
    CHECK(same(played.step(4, random), {1.0, true, false}));
    played.reset(random); // plays frame 6, in which the last lives go
    CHECK(!played.take_finished());
    CHECK(same(played.step(1, random), {100.0, true, false}));
    CHECK(*machine.log == log{reset_mark, 3, 3, 0, 4, 4, 0, 1});
    auto const finished = played.take_finished();
    REQUIRE(finished);
    CHECK(finished->reward_sum == 111.0);
    CHECK(finished->length == 7); // the steps of the resets are the game's too
    played.reset(random);
    CHECK(machine.log->back() == reset_mark);
    CHECK(played.machine().lives() == 3);
}

TEST_CASE("episodic life: a game that was given up is followed by a new one") {
    scripted::emulator machine = with_script(lives_script());
    scored_game scored(emulated_game{machine});
    fire_on_reset played(episodic_life(std::move(scored), true), false);
    random_stream random(1);
    played.reset(random);
    played.step(3, random);
    CHECK(played.step(3, random).terminated); // a life, and 10 points
    played.reset(random);
    played.abandon();
    played.reset(random);
    CHECK(*machine.log == log{reset_mark, 3, 3, 0, reset_mark});
    CHECK(played.inner().inner().score() == 0.0);
    CHECK(!played.take_finished());
}

TEST_CASE("episodic life: losing the last life is left to the end of the game") {
    scripted::emulator machine = with_script({{1, {.lives = 0}}, {3, {.lives = 0, .over = true}}});
    episodic_life played(emulated_game{machine}, true);
    random_stream random(1);
    played.reset(random);
    CHECK(same(played.step(0, random), {0.0, false, false}));
    CHECK(same(played.step(0, random), {0.0, false, false}));
    CHECK(same(played.step(0, random), {0.0, true, false}));
}

TEST_CASE("episodic life: a game that ends in the step of a reset is started anew") {
    scripted::emulator machine = with_script({{1, {.lives = 2}}, {2, {.reward = 8, .lives = 2, .over = true}}});
    episodic_life played(scored_game(emulated_game{machine}), true);
    random_stream random(1);
    played.reset(random);
    CHECK(played.step(3, random).terminated);
    played.reset(random);
    CHECK(*machine.log == log{reset_mark, 3, 0, reset_mark});
    auto const finished = played.take_finished();
    REQUIRE(finished);
    CHECK(finished->reward_sum == 8.0);
}

TEST_CASE("episodic life: after a truncated game a new one begins, and switched off it does nothing") {
    scripted::emulator machine = with_script({{2, {.lives = 2}}});
    episodic_life played(frame_limit(emulated_game{machine}, 2), true);
    random_stream random(1);
    played.reset(random);
    played.step(0, random);
    CHECK(same(played.step(0, random), {0.0, false, true}));
    played.reset(random);
    CHECK(*machine.log == log{reset_mark, 0, 0, reset_mark});

    scripted::emulator other = with_script(lives_script());
    episodic_life off(emulated_game{other}, false);
    off.reset(random);
    for (int frame = 1; frame < 7; ++frame)
        CHECK(!off.step(0, random).terminated);
    off.reset(random); // in the middle of a game
    CHECK(other.log->back() == reset_mark);
}

TEST_CASE("fire on reset: fire and the action after it, after every reset, in games that wait for it") {
    scripted::emulator machine = with_script({{4, {.lives = 2}}});
    fire_on_reset played(episodic_life(emulated_game{machine}, true), true);
    random_stream random(1);
    played.reset(random);
    CHECK(*machine.log == log{reset_mark, 1, 3});
    played.step(4, random);
    CHECK(played.step(4, random).terminated);
    played.reset(random);
    CHECK(*machine.log == log{reset_mark, 1, 3, 4, 4, 0, 1, 3});

    scripted::emulator without;
    without.set = {0, 3, 4, 1};
    fire_on_reset not_second(emulated_game{without}, true);
    not_second.reset(random);
    CHECK(*without.log == log{reset_mark});
    scripted::emulator off;
    fire_on_reset disabled(emulated_game{off}, false);
    disabled.reset(random);
    CHECK(*off.log == log{reset_mark});
}

TEST_CASE("score: games that end one after the other are all kept, the first one first") {
    scripted::emulator machine = with_script({{1, {.reward = 3}}, {2, {.reward = 8, .over = true}}});
    fire_on_reset played(scored_game(emulated_game{machine}), true);
    random_stream random(1);
    played.reset(random); // both presses of fire, which end a game
    played.step(0, random);
    CHECK(played.step(0, random).terminated);
    played.reset(random);
    for (int game = 0; game < 3; ++game) {
        auto const finished = played.take_finished();
        REQUIRE(finished);
        CHECK(finished->reward_sum == 11.0);
        CHECK(finished->length == 2);
    }
    CHECK(!played.take_finished());
}

TEST_CASE("fire on reset: a game that ends meanwhile is started anew") {
    scripted::emulator machine = with_script({{1, {.over = true}}});
    fire_on_reset played(emulated_game{machine}, true);
    random_stream random(1);
    played.reset(random);
    CHECK(*machine.log == log{reset_mark, 1, reset_mark, 3, reset_mark});
}

} // namespace
