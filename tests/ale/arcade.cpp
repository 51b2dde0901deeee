// SPDX-License-Identifier: Apache-2.0
// The real emulator. Its games need a ROM: Tetris, whose ROM comes with the sources of the Arcade Learning Environment.
#include "support/catch.hpp"
#include "support/memory_archive.hpp"
#include "support/says.hpp"
#include "support/scratch_folder.hpp"

#include "ale/arcade.hpp"
#include "ale/atari.hpp"

#include <gmac/core/random.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using namespace gmac::examples::ale;
using gmac::testing::says;
using gmac::testing::scratch_folder;
using gmac::testing::spit;
using image = std::vector<std::uint8_t>;

/// The ROM that the test was configured with, by -DGMAC_ALE_TETRIS=FILE.
fs::path tetris() {
    return GMAC_ALE_TETRIS;
}

TEST_CASE("a ROM that is missing, unreadable or no ROM is refused, and the program goes on") {
    scratch_folder const folder;
    CHECK_THROWS_WITH(find_rom("pong", {}, {}), says("give its file by --rom FILE"));
    CHECK_THROWS_WITH(find_rom("pong", folder.path / "pong.bin", {}), says("there is no ROM"));
    CHECK_THROWS_WITH(find_rom("pong", folder.path, {}), says("is not a file"));
    CHECK_THROWS_WITH(find_rom("pong", {}, folder.path / "none"), says("there is no folder of ROMs"));
    CHECK_THROWS_WITH(find_rom("pong", {}, folder.path), says("none of its files is a ROM"));
    spit(folder.path / "pong.bin", std::string(4096, 'x'));
    CHECK_THROWS_WITH(find_rom("pong", folder.path / "pong.bin", {}), says("is not a ROM that the Arcade Learning"));
    CHECK_THROWS_WITH(find_rom("pong", {}, folder.path), says("is not a ROM that the Arcade Learning"));
    CHECK_THROWS_WITH(arcade(folder.path / "pong.bin", {}), says("is not a ROM that the Arcade Learning"));
    spit(folder.path / "empty.bin", "");
    CHECK_THROWS_WITH(find_rom("empty", folder.path / "empty.bin", {}), says("is not a ROM that the Arcade Learning"));
}

TEST_CASE("a ROM is known by what is in it, and one of another game is named") {
    if (tetris().empty())
        return;
    scratch_folder const folder;
    fs::copy_file(tetris(), folder.path / "a_game.bin");
    CHECK(find_rom("tetris", {}, folder.path) == folder.path / "a_game.bin");
    CHECK_THROWS_WITH(find_rom("pong", folder.path / "a_game.bin", {}), says("is the ROM of tetris, not of pong"));
    CHECK_THROWS_WITH(find_rom("pong", {}, folder.path), says("it has those of tetris"));
    fs::copy_file(tetris(), folder.path / "tetris.bin");
    CHECK(find_rom("tetris", {}, folder.path) == folder.path / "tetris.bin");
}

TEST_CASE("Tetris: screen, actions, modes and difficulties") {
    if (tetris().empty())
        return;
    arcade machine(tetris(), {});
    CHECK(machine.rows() == 210);
    CHECK(machine.columns() == 160);
    CHECK(std::ranges::equal(machine.actions(), std::vector{0, 1, 3, 4, 5}));
    CHECK(arcade(tetris(), {.full_action_set = true}).actions().size() == 18);
    CHECK_THROWS_WITH(arcade(tetris(), {.mode = 77}), says("has no mode 77, only 0"));
    CHECK_THROWS_WITH(arcade(tetris(), {.mode = {}, .difficulty = 9}), says("has no difficulty 9, only 0"));
    machine.reset();
    CHECK(!machine.game_over());
    image const first(machine.screen().begin(), machine.screen().end());
    for (int frame = 0; frame < 60; ++frame)
        machine.act(5);
    CHECK(!std::ranges::equal(machine.screen(), first));
    CHECK(std::ranges::all_of(machine.screen(), [](std::uint8_t pixel) { return pixel % 2 == 0; }));
}

/// Screens, rewards, lives and ends of some frames with random actions; a game that ends is followed by another.
struct course {
    std::vector<image> screens;
    std::vector<int> numbers;
    bool operator==(course const&) const = default;
};

course play(arcade& machine, gmac::random_stream random, int frames) {
    course result;
    for (int frame = 0; frame < frames; ++frame) {
        result.numbers.push_back(
            machine.act(machine.actions()[random.below(static_cast<std::uint32_t>(machine.actions().size()))]));
        result.screens.emplace_back(machine.screen().begin(), machine.screen().end());
        result.numbers.push_back(machine.lives());
        result.numbers.push_back(machine.game_over() ? 1 : 0);
        if (machine.game_over())
            machine.reset();
    }
    return result;
}

TEST_CASE("Tetris: a machine that is restored goes on bit for bit, in another machine too") {
    if (tetris().empty())
        return;
    arcade machine(tetris(), {});
    machine.reset();
    for (int stop = 0; stop < 4; ++stop) {
        play(machine, gmac::random_stream(7, static_cast<std::uint64_t>(stop)), 137 + 700 * stop);
        gmac::testing::memory_archive saved;
        machine.persist(saved);
        saved.rewind();
        course const expected = play(machine, gmac::random_stream(8), 400);
        arcade other(tetris(), {});
        play(other, gmac::random_stream(9), 50);
        other.persist(saved);
        CHECK(play(other, gmac::random_stream(8), 400) == expected);
        machine.persist(saved);
        CHECK(play(machine, gmac::random_stream(8), 400) == expected);
    }
}

TEST_CASE("Tetris: two environments with one stream are the same, and a game is scored") {
    if (tetris().empty())
        return;
    atari a(arcade(tetris(), {}), paper_preprocessing()), b(arcade(tetris(), {}), paper_preprocessing());
    gmac::random_stream first(1), second(1);
    image seen_a(84 * 84), seen_b(84 * 84);
    a.reset(first, seen_a);
    b.reset(second, seen_b);
    int games = 0;
    for (int step = 0; step < 1500; ++step) {
        int const action = static_cast<int>(first.below(5));
        REQUIRE(static_cast<int>(second.below(5)) == action);
        auto const given = a.step(action, first, seen_a);
        auto const same = b.step(action, second, seen_b);
        REQUIRE(seen_a == seen_b);
        REQUIRE(given.terminated == same.terminated);
        if (given.terminated || given.truncated) {
            if (auto const game = a.take_finished()) {
                ++games;
                CHECK(game->reward_sum >= 0.0);
                CHECK(game->length > 100);
            }
            a.reset(first, seen_a);
            b.reset(second, seen_b);
        }
    }
    CHECK(games > 0);
}

} // namespace
