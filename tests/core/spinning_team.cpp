// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <gmac/core/detail/spinning_team.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

/// As many threads as there are tasks, or one that does them in their order or from the last one on.
class many final : public gmac::executor {
public:
    enum class how { at_once, in_order, backwards };
    explicit many(std::size_t threads, how one) : threads_(threads), how_(one) {}
    [[nodiscard]] std::size_t concurrency() const noexcept override { return threads_; }
    void run(std::size_t count, gmac::task_ref task) override {
        if (how_ != how::at_once) {
            for (std::size_t i = 0; i < count; ++i)
                task(how_ == how::in_order ? i : count - 1 - i);
            return;
        }
        std::exception_ptr failure;
        std::atomic_flag failed = ATOMIC_FLAG_INIT;
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < count; ++i)
            threads.emplace_back([&, i] {
                try {
                    task(i);
                } catch (...) {
                    if (!failed.test_and_set())
                        failure = std::current_exception();
                }
            });
        for (std::thread& one : threads)
            one.join();
        if (failure)
            std::rethrow_exception(failure);
    }

private:
    std::size_t threads_;
    how how_;
};

/// A thread that waits inside of a task is given another one, as TBB does.
class stealing final : public gmac::executor {
public:
    [[nodiscard]] std::size_t concurrency() const noexcept override { return 3; }
    void run(std::size_t count, gmac::task_ref task) override {
        pending_ = &task;
        std::thread other([&] { task(1); });
        task(0);
        other.join();
        steal();
        CHECK(count == 3);
    }
    void steal() {
        if (!stolen_.test_and_set())
            (*pending_)(2);
    }

private:
    gmac::task_ref const* pending_ = nullptr;
    std::atomic_flag stolen_ = ATOMIC_FLAG_INIT;
};

} // namespace

TEST_CASE("a team does not wait for a thread that was given another part in it meanwhile") {
    stealing tasks;
    std::atomic<int> ran = 0;
    gmac::detail::work_in_team(tasks, 3, [&](gmac::executor& team) {
        for (int round = 0; round < 10; ++round)
            team.run(3, [&](std::size_t) {
                tasks.steal();
                ++ran;
            });
    });
    CHECK(ran == 30);
}

TEST_CASE("a team runs each task of each round once, before the next one begins") {
    for (auto const how : {many::how::at_once, many::how::in_order, many::how::backwards})
        for (std::size_t const threads : {1u, 2u, 3u, 5u}) {
            CAPTURE(static_cast<int>(how), threads);
            many tasks(threads, how);
            std::vector<std::size_t> ran(7, 0);
            std::size_t rounds = 0, wrong = 0;
            gmac::detail::work_in_team(tasks, 4, [&](gmac::executor& team) {
                CHECK(team.concurrency() == (threads == 1 ? 1 : std::min<std::size_t>(threads, 4)));
                for (; rounds < 3000; ++rounds) {
                    std::size_t const count = rounds % 8;              // nothing to do, too
                    team.run(count, [&](std::size_t i) { ++ran[i]; }); // a race if two did it at once
                    for (std::size_t i = 0; i < ran.size(); ++i)
                        wrong += ran[i] != rounds / 8 * (7 - i) + (count > i ? count - i : 0);
                }
            });
            CHECK(rounds == 3000);
            CHECK(wrong == 0);
        }
}

TEST_CASE("what a task of a team throws comes to whom runs it, and the team goes on") {
    for (auto const how : {many::how::at_once, many::how::in_order}) {
        many tasks(3, how);
        std::atomic<int> ran = 0;
        std::string told;
        gmac::detail::work_in_team(tasks, 3, [&](gmac::executor& team) {
            for (int round = 0; round < 100; ++round)
                try {
                    team.run(3, [&](std::size_t i) {
                        ++ran;
                        if (i == 1 && round % 2 == 0)
                            throw std::runtime_error("one");
                    });
                } catch (std::runtime_error const& caught) {
                    told += caught.what();
                }
        });
        CHECK(ran == 300);
        CHECK(told.size() == 50 * 3);
        CHECK_THROWS_WITH(gmac::detail::work_in_team(tasks, 3,
                                                     [](gmac::executor& team) {
                                                         team.run(2, [](std::size_t) {});
                                                         throw std::runtime_error("the leader");
                                                     }),
                          "the leader");
    }
}

TEST_CASE("a team runs more tasks than it can count one after the other") {
    many tasks(2, many::how::at_once);
    std::size_t const count = (std::size_t(1) << 20u) + 5;
    std::vector<unsigned char> ran(count, 0);
    gmac::detail::work_in_team(tasks, count,
                               [&](gmac::executor& team) { team.run(count, [&](std::size_t i) { ++ran[i]; }); });
    CHECK(std::all_of(ran.begin(), ran.end(), [](unsigned char n) { return n == 1; }));
}
