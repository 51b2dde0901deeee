// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/executor.hpp>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>
#include <utility>

namespace gmac::inline GMAC_ABI::detail {

/// Threads that stay together over many short rounds of tasks: between two rounds they wait in a loop, since to wake one takes
/// as long as a small minibatch does. Whoever of them comes takes part, and nobody is waited for who has not begun: so it also
/// works on an executor that runs one task after the other.
class spinning_team final : public executor {
public:
    explicit spinning_team(std::size_t size) noexcept : size_(size) {}

    [[nodiscard]] std::size_t concurrency() const noexcept override { return size_; }

    /// Called by the one who leads.
    void run(std::size_t count, task_ref task) override {
        if (count == 1 || count > most) {
            for (std::size_t i = 0; i < count; ++i)
                task(i);
            return;
        }
        task_.store(&task, std::memory_order_relaxed);
        done_.store(0, std::memory_order_relaxed);
        std::uint64_t const round = (claims_.load(std::memory_order_relaxed) >> 40u) + 1;
        claims_.store(round << 40u | std::uint64_t(count) << 20u, std::memory_order_release);
        while (take_one()) {
        }
        for (unsigned turn = 0; done_.load(std::memory_order_acquire) != count; ++turn)
            wait(turn);
        if (failed_.test(std::memory_order_relaxed)) {
            failed_.clear(std::memory_order_relaxed);
            std::rethrow_exception(std::exchange(failure_, nullptr));
        }
    }

    /// The first who comes leads: does `work`, which calls `run`. The others help until that is done.
    template <class Work>
    void join(Work& work) {
        bool const leads = !led_.exchange(true, std::memory_order_acq_rel);
        if (!leads && in_team) // of a thread that waits inside of a task, for which the others wait
            return;
        staying const here{std::exchange(in_team, true)};
        if (leads) {
            ending const end{ended_};
            work(static_cast<executor&>(*this));
            return;
        }
        for (unsigned turn = 0; !ended_.load(std::memory_order_acquire); ++turn)
            if (take_one())
                turn = 0;
            else
                wait(turn);
    }

private:
    static constexpr std::uint64_t most = (std::uint64_t(1) << 20u) - 1;

    static inline thread_local bool in_team = false; // whether this thread is

    struct staying {
        bool before;
        ~staying() { in_team = before; }
    };
    struct ending {
        std::atomic<bool>& ended;
        ~ending() { ended.store(true, std::memory_order_release); }
    };

    /// Runs a task of the present round, if one is left.
    bool take_one() noexcept {
        std::uint64_t claims = claims_.load(std::memory_order_acquire);
        do
            if ((claims & most) == (claims >> 20u & most))
                return false;
        while (!claims_.compare_exchange_weak(claims, claims + 1, std::memory_order_acq_rel));
        // The round does not end before this task has.
        call(*task_.load(std::memory_order_relaxed), claims & most);
        done_.fetch_add(1, std::memory_order_release);
        return true;
    }
    void call(task_ref const& task, std::size_t index) noexcept {
#if defined(__cpp_exceptions)
        try {
            task(index);
        } catch (...) {
            if (!failed_.test_and_set(std::memory_order_relaxed))
                failure_ = std::current_exception();
        }
#else
        task(index);
#endif
    }
    /// Not for ever: others may need the core.
    static void wait(unsigned turn) noexcept {
        if (turn > 2000)
            std::this_thread::yield();
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }

    std::size_t size_;
    std::atomic<bool> led_{false}, ended_{false};
    std::atomic_flag failed_ = ATOMIC_FLAG_INIT; // in the present round
    std::exception_ptr failure_;                 // the first one
    std::atomic<task_ref const*> task_{nullptr};
    std::atomic<std::size_t> done_{0}; // tasks of the round
    // Of the round, from the highest bits on: its number in 24, how many tasks it has in 20, how many are taken in 20.
    std::atomic<std::uint64_t> claims_{0};
};

/// Calls work(executor) on one of the threads of `tasks`, not always the calling one, with an executor that runs rounds of tasks
/// on up to `parts` of them.
template <std::invocable<executor&> Work>
void work_in_team(executor& tasks, std::size_t parts, Work&& work) {
    std::size_t const size = (std::min)(parts, tasks.concurrency());
    if (size < 2) {
        work(tasks);
        return;
    }
    spinning_team team(size);
    tasks.run(size, [&](std::size_t) { team.join(work); });
}

} // namespace gmac::inline GMAC_ABI::detail
