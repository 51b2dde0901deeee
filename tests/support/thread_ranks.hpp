// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/communicator.hpp>
#include <gmac/distributed/communicator.hpp>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace gmac::testing {

/// To be locked by ranks that check: Catch2 counts in one thread at a time.
[[nodiscard]] inline std::mutex& one_checks() {
    static std::mutex only;
    return only;
}

/// Ranks that are threads of this process, by the plainest means: everyone shows what it has, and reads what all show.
class thread_ranks {
public:
    /// Calls body(communicator) on as many threads and returns when all are done. One that throws must not leave others
    /// waiting; the first exception is thrown here.
    static void run(std::size_t count, std::function<void(communicator&)> const& body) {
        thread_ranks all(count);
        std::vector<std::exception_ptr> problems(count);
        std::vector<std::thread> threads;
        for (std::size_t rank = 0; rank < count; ++rank)
            threads.emplace_back([&, rank] {
                one mine(all, rank);
                try {
                    body(mine);
                } catch (...) {
                    problems[rank] = std::current_exception();
                }
            });
        for (std::thread& thread : threads)
            thread.join();
        for (auto const& problem : problems)
            if (problem)
                std::rethrow_exception(problem);
    }

private:
    explicit thread_ranks(std::size_t count) : shown_(count), barrier_(static_cast<std::ptrdiff_t>(count)) {}

    class one final : public distributed::basic_communicator {
    public:
        one(thread_ranks& all, std::size_t rank) : all_(all), rank_(rank) {}
        [[nodiscard]] std::size_t rank() const noexcept override { return rank_; }
        [[nodiscard]] std::size_t size() const noexcept override { return all_.shown_.size(); }
        void all_reduce(std::span<float> values) override { add(values); }
        void all_reduce(std::span<double> values) override { add(values); }
        void broadcast(std::span<std::byte> bytes) override {
            auto const shown = all_gather(bytes);
            std::copy(shown[0].begin(), shown[0].end(), bytes.begin());
        }
        using basic_communicator::all_gather;
        [[nodiscard]] std::vector<std::vector<std::byte>> all_gather(std::span<std::byte const> mine) override {
            all_.shown_[rank_] = mine;
            all_.barrier_.arrive_and_wait();
            std::vector<std::vector<std::byte>> copies;
            for (auto const& shown : all_.shown_)
                copies.emplace_back(shown.begin(), shown.end());
            all_.barrier_.arrive_and_wait();
            return copies;
        }
        [[nodiscard]] std::vector<std::vector<std::byte>> gather(std::span<std::byte const> mine) override {
            auto shown = all_gather(mine);
            return rank_ == 0 ? shown : std::vector<std::vector<std::byte>>();
        }

    private:
        template <class T>
        void add(std::span<T> values) {
            auto const shown = all_gather(std::as_bytes(values));
            std::fill(values.begin(), values.end(), T(0));
            for (auto const& bytes : shown)
                for (std::size_t i = 0; i < values.size(); ++i)
                    values[i] += reinterpret_cast<T const*>(bytes.data())[i];
        }
        thread_ranks& all_;
        std::size_t rank_;
    };

    std::vector<std::span<std::byte const>> shown_;
    std::barrier<> barrier_;
};

} // namespace gmac::testing
