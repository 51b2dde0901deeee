// SPDX-License-Identifier: Apache-2.0
// Stepping on several threads gives what one thread gives; exceptions come back; nothing is run twice or left out.
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"

#include "worlds.hpp"

#include <gmac/core/tbb_executor.hpp>
#include <gmac/environment/normalized.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using gmac::testing::message_of;

namespace {

using gmac::tbb_executor;
using gmac::vector_environment;
using gmac::testing::buffers;
using gmac::testing::walk;

TEST_CASE("every task runs once, for any number of tasks and threads") {
    for (std::size_t threads : {1u, 2u, 3u, 8u}) {
        tbb_executor executor(threads);
        CHECK(executor.concurrency() == threads);
        for (std::size_t count : {0u, 1u, 2u, 3u, 7u, 16u, 64u, 1000u}) {
            std::vector<int> runs(count, 0);
            executor.run(count, [&](std::size_t i) { runs[i] += 1; });
            CHECK(runs == std::vector<int>(count, 1));
        }
    }
}

TEST_CASE("two tasks do run at the same time on two threads") {
    tbb_executor executor(2);
    std::atomic<int> arrived{0};
    // Each of the two waits for the other; one thread alone would wait for ever, so it gives up in the end.
    std::atomic<int> met{0};
    executor.run(2, [&](std::size_t) {
        arrived.fetch_add(1);
        auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (arrived.load() < 2 && std::chrono::steady_clock::now() < until)
            std::this_thread::yield();
        if (arrived.load() == 2)
            met.fetch_add(1);
    });
    CHECK(met.load() == 2);
}

/// All that a batch gives in a number of steps, in one vector.
std::vector<float> recorded(gmac::environment_batch& batch, int steps) {
    buffers b(batch);
    batch.reset(b.observation_view());
    std::vector<float> all = b.observations;
    for (int step = 0; step < steps; ++step) {
        for (std::size_t i = 0; i < b.actions.size(); ++i)
            b.actions[i] = 0.01f * static_cast<float>((static_cast<std::size_t>(step) * 7 + i) % 40);
        b.step(batch);
        all.insert(all.end(), b.observations.begin(), b.observations.end());
        all.insert(all.end(), b.finals.begin(), b.finals.end());
        all.insert(all.end(), b.rewards.begin(), b.rewards.end());
        all.insert(all.end(), b.terminated.begin(), b.terminated.end());
        all.insert(all.end(), b.truncated.begin(), b.truncated.end());
        for (auto const& episode : batch.finished()) {
            all.push_back(static_cast<float>(episode.environment));
            all.push_back(static_cast<float>(episode.length));
            all.push_back(static_cast<float>(episode.reward_sum));
        }
    }
    return all;
}

TEST_CASE("a batch gives the same for any number of threads") {
    vector_environment<walk> serial(17, 3);
    std::vector<float> const wanted = recorded(serial, 200);
    vector_environment<walk> inner(17, 3);
    gmac::normalized_environments normal(inner);
    std::vector<float> const wanted_normal = recorded(normal, 200);
    CHECK(wanted != wanted_normal);
    for (std::size_t threads : {2u, 3u}) {
        tbb_executor executor(threads);
        vector_environment<walk> batch(17, 3, &executor);
        CHECK(recorded(batch, 200) == wanted);
        vector_environment threaded(
            17, 3, [](std::size_t) { return walk(); }, &executor);
        gmac::normalized_environments normalized(threaded);
        CHECK(recorded(normalized, 200) == wanted_normal);
    }
}

TEST_CASE("an exception of a task reaches the caller, and the executor works on") {
    tbb_executor executor(2);
    for (int repeat = 0; repeat < 50; ++repeat) {
        std::string const message = "task " + std::to_string(repeat % 16) + " failed";
        try {
            executor.run(16, [&](std::size_t i) {
                if (i == static_cast<std::size_t>(repeat % 16))
                    throw std::runtime_error(message);
            });
            FAIL("the exception was lost");
        } catch (std::runtime_error const& wrong) {
            CHECK(wrong.what() == message);
        }
        std::atomic<int> runs{0};
        executor.run(16, [&](std::size_t) { runs.fetch_add(1); });
        CHECK(runs.load() == 16);
    }
}

TEST_CASE("after an exception on another thread no further tasks are begun") {
    tbb_executor executor(2);
    auto const caller = std::this_thread::get_id();
    std::atomic<bool> thrown{false};
    std::atomic<std::size_t> runs{0};
    CHECK_THROWS_WITH(executor.run(1000,
                                   [&](std::size_t) {
                                       runs.fetch_add(1);
                                       if (std::this_thread::get_id() != caller) {
                                           thrown = true;
                                           throw std::runtime_error("on the other thread");
                                       }
                                       // The caller waits for the other thread's exception, then leaves it time to end.
                                       auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
                                       while (!thrown && std::chrono::steady_clock::now() < until)
                                           std::this_thread::yield();
                                       std::this_thread::sleep_for(std::chrono::milliseconds(2));
                                   }),
                      "on the other thread");
    CHECK(runs < 500); // the caller finishes its chunk of 62
}

TEST_CASE("errors of environments are the same on threads") {
    tbb_executor executor(3);
    using gmac::testing::faulty;
    for (int repeat = 0; repeat < 20; ++repeat) {
        vector_environment<faulty> batch(
            16, 1,
            [](std::size_t i) {
                return faulty{.kind = i >= 5 ? faulty::fault::reward : faulty::fault::none, .when = 2};
            },
            &executor);
        buffers b(batch);
        batch.reset(b.observation_view());
        b.step(batch);
        CHECK(message_of([&] { b.step(batch); }) ==
              "vector_environment: environment 5, step 2 of its episode: the reward is nan, but must be finite");
    }
}

TEST_CASE("run may be called from inside a task and from several threads") {
    tbb_executor executor(2);
    std::vector<int> runs(8 * 8, 0);
    executor.run(8, [&](std::size_t i) { executor.run(8, [&](std::size_t j) { runs[8 * i + j] += 1; }); });
    CHECK(runs == std::vector<int>(64, 1));

    std::vector<int> left(500, 0), right(500, 0);
    auto const work = [&](std::vector<int>& numbers) {
        for (int repeat = 0; repeat < 100; ++repeat)
            executor.run(numbers.size(), [&](std::size_t i) { numbers[i] += 1; });
    };
    std::thread other([&] { work(left); });
    work(right);
    other.join();
    CHECK(left == std::vector<int>(500, 100));
    CHECK(right == std::vector<int>(500, 100));
}

TEST_CASE("tasks see what the caller wrote, and the caller what the tasks wrote") {
    // For ThreadSanitizer: plain memory, changed in turn by the caller and by the tasks.
    tbb_executor executor(2);
    std::vector<std::uint64_t> numbers(64, 0);
    for (std::uint64_t round = 0; round < 500; ++round) {
        for (auto& number : numbers)
            number += round;
        executor.run(numbers.size(), [&](std::size_t i) { numbers[i] += i; });
    }
    for (std::size_t i = 0; i < numbers.size(); ++i)
        CHECK(numbers[i] == 500 * 499 / 2 + 500 * i);
}

TEST_CASE("a warm executor allocates nothing in a step") {
    tbb_executor executor(2);
    vector_environment<walk> batch(32, 2, &executor);
    buffers b(batch);
    batch.reset(b.observation_view());
    // TBB may fill its pools late, when a thread takes part for the first time; but not step by step.
    std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
    for (int window = 0; window < 20; ++window) {
        auto const count = gmac::testing::allocations_during([&] {
            for (int i = 0; i < 50; ++i)
                b.step(batch);
        });
        fewest = std::min(fewest, count);
    }
    CHECK(fewest == 0);
}

TEST_CASE("numbers of threads that make no sense are refused") {
    CHECK(message_of([] { tbb_executor(0); }) == "tbb_executor: threads is 0, but must be in [1, 4096]");
    CHECK(message_of([] { tbb_executor(5000); }) == "tbb_executor: threads is 5000, but must be in [1, 4096]");
}

} // namespace
