// SPDX-License-Identifier: Apache-2.0
// Environments of programs in processes of their own: the numbers that come over, and what goes wrong.
#include "environment/worlds.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"
#include "support/scratch_folder.hpp"

#include <gmac/environment/plugin/environments.hpp>

#include <fmt/format.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace gmac;
using gmac::testing::buffers;
using gmac::testing::memory_archive;
using gmac::testing::message_of;

std::string refused(std::string const& file, std::string const& options = {}) {
    return message_of([&] { return plugin_environments(file, 2, 1, options), 0; });
}

/// What steps of zeros say at last.
std::string failure_of(std::string const& kind) {
    plugin_environments worlds(GMAC_WORLDS, 2, 1, kind);
    buffers b(worlds);
    worlds.reset(b.observation_view());
    return message_of([&] {
        for (int i = 0; i < 10; ++i)
            b.step(worlds);
        return 0;
    });
}

} // namespace

TEST_CASE("observations, actions, rewards and ends come over from another process", "[plugin]") {
    plugin_environments worlds(GMAC_WORLDS, 3, 7, "counting");
    CHECK(worlds.name() == "Counting");
    CHECK(worlds.observation_size() == 3);
    CHECK(std::get<discrete>(worlds.action_space()).count == 3);
    CHECK(worlds.action_masks().rows() == 0);
    CHECK_FALSE(worlds.checkpointable());
    buffers b(worlds);
    worlds.reset(b.observation_view());
    // Seed 7 of a million and three: each environment counts on from there.
    CHECK(b.observations == std::vector<float>{21, 0, 0, 22, 0, 0, 23, 0, 0});
    b.actions = {0, 1, 2};
    for (int step = 1; step < 4; ++step) {
        b.step(worlds);
        auto const s = static_cast<float>(step);
        CHECK(b.observations == std::vector<float>{21, s, 0, 22, s, s, 23, s, 2 * s});
        CHECK(b.rewards == std::vector<float>{0, 1, 2});
        CHECK(b.truncated == std::vector<std::uint8_t>{0, 0, 0});
        CHECK(worlds.finished().empty());
    }
    b.step(worlds);
    CHECK(b.finals == std::vector<float>{21, 4, 0, 22, 4, 4, 23, 4, 8});
    CHECK(b.observations == std::vector<float>{22, 0, 0, 23, 0, 0, 24, 0, 0});
    CHECK(b.terminated == std::vector<std::uint8_t>{0, 0, 1});
    CHECK(b.truncated == std::vector<std::uint8_t>{1, 1, 0});
    REQUIRE(worlds.finished().size() == 3);
    CHECK(worlds.finished()[2].reward_sum == 8.0);
    CHECK(worlds.finished()[2].length == 4);
    memory_archive state;
    worlds.persist(state); // says that they cannot be restored
}

TEST_CASE("bounds, shapes and masks come over", "[plugin]") {
    plugin_environments worlds(GMAC_WORLDS, 2, 1, "box");
    auto const& space = std::get<box>(worlds.action_space());
    CHECK(space.low == std::vector<float>{-1, -2, -3, -4});
    CHECK(space.high == std::vector<float>{1, 2, 3, 4});
    buffers b(worlds);
    worlds.reset(b.observation_view());
    b.actions = {0.25f, -1, 2, 3, 1, 1, -1, -1};
    b.step(worlds);
    CHECK(b.observations == b.actions);
    CHECK(b.rewards == std::vector<float>{-0.75f, 2});

    plugin_environments masked(GMAC_WORLDS, 2, 1, "masks");
    buffers c(masked);
    masked.reset(c.observation_view());
    REQUIRE(masked.action_masks().cols() == 3);
    c.actions = {0, 2};
    c.step(masked);
    CHECK(masked.action_masks()(0, 0) == 0);
    CHECK(masked.action_masks()(0, 2) == 1);
    CHECK(masked.action_masks()(1, 2) == 0);
    CHECK(message_of([&] { return c.step(masked), 0; }) ==
          std::string(GMAC_WORLDS) +
              ": environment 0, step 2 of its episode: the action is 0, which action_mask forbids there");
}

TEST_CASE("drawings come over, however many numbers they have", "[plugin]") {
    CHECK_FALSE(plugin_environments(GMAC_WORLDS, 1, 1, "counting").draw(0));
    plugin_environments worlds(GMAC_WORLDS, 2, 1, "drawn");
    buffers b(worlds);
    worlds.reset(b.observation_view());
    b.step(worlds);
    auto const drawn = worlds.draw(1);
    REQUIRE(drawn);
    CHECK(std::array{drawn->left, drawn->right, drawn->bottom, drawn->top, drawn->seconds} ==
          std::array{0.0f, 8.0f, -1.0f, 1.0f, 0.5f});
    REQUIRE(drawn->lines.size() == 2);
    CHECK(drawn->lines[0].colour == 0);
    CHECK(drawn->lines[0].points == std::vector<std::array<float, 2>>{{0.0f, 0.0f}, {8.0f, 0.0f}});
    CHECK(drawn->lines[1].colour == 3);
    CHECK(drawn->lines[1].points == std::vector<std::array<float, 2>>(600, {1.0f, 0.25f}));
    b.step(worlds);
    CHECK(message_of([&] { return worlds.draw(1); }) ==
          std::string(GMAC_WORLDS) +
              ": environment 1: the drawing must begin with its window, the left, right, lower and "
              "upper end, and the seconds of a step");
}

TEST_CASE("a stored state of another process goes on as it was", "[plugin]") {
    plugin_environments worlds(GMAC_CORRIDOR_PY, 5, 3);
    REQUIRE(worlds.checkpointable());
    buffers b(worlds);
    worlds.reset(b.observation_view());
    random_stream random(8);
    auto const act = [&] {
        for (float& action : b.actions)
            action = static_cast<float>(random.below(2));
    };
    for (int i = 0; i < 70; ++i, act())
        b.step(worlds);
    memory_archive state;
    worlds.persist(state);
    auto const position = random;
    auto const go_on = [&](plugin_environments& some) {
        random = position;
        std::vector<float> seen;
        for (int i = 0; i < 100; ++i) {
            act();
            b.step(some);
            seen.insert(seen.end(), b.observations.begin(), b.observations.end());
            seen.insert(seen.end(), b.rewards.begin(), b.rewards.end());
        }
        return seen;
    };
    auto const expected = go_on(worlds);
    plugin_environments others(GMAC_CORRIDOR_PY, 5, 99);
    state.rewind();
    others.persist(state);
    CHECK(go_on(others) == expected);
    plugin_environments fewer(GMAC_CORRIDOR_PY, 4, 3);
    state.rewind();
    CHECK_FALSE(message_of([&] { return fewer.persist(state), 0; }).empty());
}

TEST_CASE("a program that damages the memory damages nothing else", "[plugin]") {
    plugin_environments worlds(GMAC_WORLDS, 3, 7, "damaging");
    buffers b(worlds);
    worlds.reset(b.observation_view());
    b.actions = {0, 1, 2};
    for (int step = 1; step < 4; ++step) {
        b.step(worlds);
        auto const s = static_cast<float>(step);
        CHECK(b.observations == std::vector<float>{21, s, 0, 22, s, s, 23, s, 2 * s});
    }
    memory_archive state;
    // Three sizes of eight bytes, and three states of five.
    CHECK(message_of([&] { return worlds.persist(state), 0; }) ==
          std::string(GMAC_WORLDS) + ": the states cannot be stored: it says that it wrote 39 bytes, but there are 0");
}

TEST_CASE("a program ends with who has started it, however that ends", "[plugin]") {
    testing::scratch_folder const folder;
    auto const script = folder.path / "begins another.sh", number = folder.path / "number";
    // A shell that waits for Python, whose number it writes.
    std::ofstream(script) << fmt::format("#!/bin/sh\n'{}' & echo $! >'{}'; wait\n", GMAC_CORRIDOR_PY, number.string());
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    auto const runs = [&] {
        pid_t id = 0;
        std::ifstream(number) >> id;
        REQUIRE(id > 0);
        std::string line; // number (name) state …, if it is not gone
        std::getline(std::ifstream(fmt::format("/proc/{}/stat", id)), line);
        auto const name_end = line.rfind(')');
        return name_end != std::string::npos && line.substr(name_end + 2, 1) != "Z";
    };
    auto const ends = [&] {
        for (int turn = 0; runs() && turn < 1000; ++turn)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return !runs();
    };
    {
        plugin_environments const worlds(script, 1, 1);
        CHECK(runs());
    }
    CHECK(ends());

    pid_t const child = ::fork();
    if (child == 0) {
        plugin_environments const worlds(script, 1, 1);
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    CHECK(ends());
}

TEST_CASE("a program runs, and its end is seen, whatever its parent has done with streams and signals", "[plugin]") {
    pid_t const child = ::fork();
    if (child == 0) {
        ::close(STDIN_FILENO);
        ::signal(SIGCHLD, SIG_IGN);
        plugin_environments worlds(GMAC_WORLDS, 3, 7);
        buffers b(worlds);
        worlds.reset(b.observation_view());
        bool const runs = b.observations[3] == 22.0f;
        bool const is_seen = refused("/bin/true").starts_with("/bin/true ended before it described");
        ::_exit((runs ? 0 : 1) + (is_seen ? 0 : 2));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
}

TEST_CASE("what goes wrong in another process is told with its file", "[plugin]") {
    std::string const worlds = GMAC_WORLDS;
    CHECK(failure_of("raise").starts_with(worlds + ": step failed: ValueError: the wheel is off (File "));
    CHECK(failure_of("exit") == worlds + ": step failed: its process ended with exit status 3");
    CHECK(failure_of("cut").starts_with(worlds + ": step failed: PermissionError: "));
    CHECK(failure_of("short").starts_with(
        worlds + ": step failed: ValueError: an observation has 2 numbers, but observation_space has 3 (File "));
    CHECK(failure_of("nan") ==
          worlds + ": environment 0, step 3 of its episode: observation element 1 is nan, but must be finite");
    CHECK(refused(worlds, "unknown")
              .starts_with(worlds + ": there is no environment: ValueError: there is no such kind (File "));
    CHECK(refused(worlds, std::string(5000, 'x')) ==
          worlds + ": the options have 5000 bytes, but may have 2047 at most");
    CHECK(refused("/bin/true") ==
          "/bin/true ended with exit status 0 before it described its environment (gmac/environment/process.h)");
    CHECK(refused("/nowhere/pole.py") == "there is no file /nowhere/pole.py");

    testing::scratch_folder const folder;
    auto const file = folder.path / "no program.py";
    std::ofstream(file) << "print('hello')\n";
    CHECK(refused(file.string()) == fmt::format("cannot start {}: Permission denied; it must be a program that may be "
                                                "executed (chmod +x)",
                                                file.string()));
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    CHECK(refused(file.string()) == fmt::format("cannot start {}: Exec format error; a script must begin with a line "
                                                "such as #!/usr/bin/env python3",
                                                file.string()));
}
