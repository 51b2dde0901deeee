// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/communicator.hpp>
#include <gmac/distributed/communicator.hpp>

#include <chrono>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace gmac::bench {

/// What was said to others.
struct traffic {
    double seconds = 0.0; ///< the waiting for slower ranks is in it
    std::size_t calls = 0, bytes = 0;
};

/// Another communicator, whose calls are counted.
class timed_ranks final : public distributed::basic_communicator {
public:
    explicit timed_ranks(communicator& inner) : inner_(inner) {}
    [[nodiscard]] std::size_t rank() const noexcept override { return inner_.rank(); }
    [[nodiscard]] std::size_t size() const noexcept override { return inner_.size(); }
    void all_reduce(std::span<float> values) override {
        counted(sums, values.size_bytes(), [&] { inner_.all_reduce(values); });
    }
    void all_reduce(std::span<double> values) override {
        // The first two of an update are of the explained variance, before anything is learned.
        counted(sums_of_numbers_++ < 2 ? of_values : sums, values.size_bytes(), [&] { inner_.all_reduce(values); });
    }
    void broadcast(std::span<std::byte> bytes) override {
        counted(others, bytes.size(), [&] { inner_.broadcast(bytes); });
    }
    using basic_communicator::all_gather;
    [[nodiscard]] std::vector<std::vector<std::byte>> all_gather(std::span<std::byte const> mine) override {
        std::vector<std::vector<std::byte>> all;
        counted(others, mine.size(), [&] { all = inner_.all_gather(mine); });
        return all;
    }
    [[nodiscard]] std::vector<std::vector<std::byte>> gather(std::span<std::byte const> mine) override {
        std::vector<std::vector<std::byte>> all;
        counted(others, mine.size(), [&] { all = inner_.gather(mine); });
        return all;
    }

    void begin_update() { sums_of_numbers_ = 0; }

    traffic sums;      ///< while it is learned
    traffic of_values; ///< before: the explained variance
    traffic others;    ///< and before that: running statistics, episodes

private:
    template <class Call>
    static void counted(traffic& to, std::size_t bytes, Call const& call) {
        auto const start = std::chrono::steady_clock::now();
        call();
        to.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        ++to.calls;
        to.bytes += bytes;
    }
    communicator& inner_;
    std::size_t sums_of_numbers_ = 0;
};

} // namespace gmac::bench
