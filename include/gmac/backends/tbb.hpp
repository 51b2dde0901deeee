// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/executor.hpp>

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>

namespace gmac {

/// Runs tasks on a fixed number of threads of TBB, the one that asks among them. Opt-in: needs libtbb (CMake: gmac::tbb).
///
/// Each thread takes chunks of consecutive tasks until none is left, so a thread that wakes up late or has a slow task
/// is made up for by the others, and tasks of a microsecond are not swamped by the taking. When a task throws, no further
/// chunk is begun, and the exception reaches the caller of `run`; if several throw, the first one does.
///
/// `run` may be called by several threads and from inside a task. It allocates nothing once TBB has warmed up.
class tbb_executor final : public executor {
public:
    /// Throws gmac::error unless `threads` is in [1, 4096].
    explicit tbb_executor(std::size_t threads) : threads_(checked(threads)), arena_(static_cast<int>(threads)) {
        // By itself TBB starts no more threads than the machine has cores.
        if (threads > static_cast<std::size_t>((std::max)(1, tbb::info::default_concurrency())))
            more_threads_.emplace(tbb::global_control::max_allowed_parallelism, threads);
    }

    [[nodiscard]] std::size_t concurrency() const noexcept override { return threads_; }

    void run(std::size_t count, task_ref task) override {
        std::size_t const takers = (std::min)(threads_, count);
        if (takers <= 1) {
            for (std::size_t i = 0; i < count; ++i)
                task(i);
            return;
        }
        job work{task, count, (std::max)(std::size_t(1), count / (takers * chunks_per_thread))};
        arena_.execute([&] {
            tbb::task_group group;
            handover const shared(handovers_);
            for (std::size_t i = 1; i < takers; ++i)
                group.run(taker{this, &work});
            group.run_and_wait(taker{this, &work});
        });
    }

private:
    static constexpr std::size_t chunks_per_thread = 8;

    struct job {
        task_ref task;
        std::size_t count;
        std::size_t chunk;
        std::atomic<std::size_t> next{0};

        void take_chunks() {
            last_chunk const stop{*this};
            for (std::size_t first = next.fetch_add(chunk); first < count; first = next.fetch_add(chunk)) {
                std::size_t const end = (std::min)(first + chunk, count);
                for (std::size_t i = first; i < end; ++i)
                    task(i);
            }
        }
    };

    /// Leaves nothing to take, also when a task threw.
    struct last_chunk {
        job& work;
        ~last_chunk() { work.next.store(work.count); }
    };

    /// TBB orders the memory of caller and tasks, but inside a library that ThreadSanitizer does not see into. A counter
    /// that both sides change on entry and exit shows it the order, so that it can find the races of the tasks themselves.
    struct handover {
        explicit handover(std::atomic<std::size_t>& counter) noexcept : counter_(counter) { counter_.fetch_add(1); }
        ~handover() { counter_.fetch_add(1); }
        handover(handover const&) = delete;
        handover& operator=(handover const&) = delete;

    private:
        std::atomic<std::size_t>& counter_;
    };

    /// What TBB carries from thread to thread: two pointers.
    struct taker {
        tbb_executor* self;
        job* work;

        void operator()() const {
            handover const shared(self->handovers_);
            work->take_chunks();
        }
    };

    [[nodiscard]] static std::size_t checked(std::size_t threads) {
        require(threads >= 1 && threads <= 4096, "tbb_executor: threads is {}, but must be in [1, 4096]", threads);
        return threads;
    }

    std::size_t threads_;
    std::optional<tbb::global_control> more_threads_;
    tbb::task_arena arena_; // starts when it is first used
    std::atomic<std::size_t> handovers_{0};
};

} // namespace gmac
