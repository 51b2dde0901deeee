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

#if defined(__SANITIZE_THREAD__)
#define GMAC_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GMAC_THREAD_SANITIZER 1
#endif
#endif
#if defined(GMAC_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

namespace gmac::inline GMAC_ABI {

/// Runs tasks on a fixed number of threads of TBB, the one that asks among them. Opt-in: needs libtbb (CMake:
/// gmac::tbb).
///
/// Each thread takes chunks of consecutive tasks until none is left, so a thread that wakes up late or has a slow task
/// is made up for by the others, and tasks of a microsecond are not swamped by the taking. When a task throws, no
/// further chunk is begun, and the exception reaches the caller of `run`; if several throw, the first one does.
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
            handover const shared(work);
            for (std::size_t i = 1; i < takers; ++i)
                group.run(taker{&work});
            group.run_and_wait(taker{&work});
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

    /// TBB orders the memory of the caller and the tasks, but inside a library that ThreadSanitizer does not see into.
    /// This tells it: what either side did before it came or went is seen by the other, and all else in a task may be a
    /// race.
    struct handover {
        explicit handover([[maybe_unused]] job& work) noexcept : work_(&work) { meet(); }
        ~handover() { meet(); }
        handover(handover const&) = delete;
        handover& operator=(handover const&) = delete;

    private:
        void meet() const noexcept {
#if defined(GMAC_THREAD_SANITIZER)
            __tsan_acquire(work_);
            __tsan_release(work_);
#endif
        }
        [[maybe_unused]] job* work_;
    };

    /// What TBB carries from thread to thread.
    struct taker {
        job* work;

        void operator()() const {
            handover const shared(*work);
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
};

} // namespace gmac::inline GMAC_ABI
