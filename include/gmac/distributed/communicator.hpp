// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/report.hpp>
#include <gmac/core/communicator.hpp>
#include <gmac/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace gmac::inline GMAC_ABI::distributed {

/// What agents ask of their ranks, made of `all_reduce` and `all_gather`. A communicator of one's own derives from it and has
/// `rank`, `size`, `all_reduce` of both number types, `broadcast`, `all_gather` and `gather` of bytes; it says
/// `using basic_communicator::all_gather;`. Here and not in the agent, so that those who train alone do not compile it.
class basic_communicator : public communicator {
public:
    using communicator::all_gather;

    [[nodiscard]] std::vector<double> all_gather(std::span<double const> mine) final {
        std::vector<double> all;
        for (auto const& bytes : all_gather(std::as_bytes(mine))) {
            require(bytes.size() == mine.size_bytes(),
                    "communicator: another rank gives {} bytes of numbers, this one {}", bytes.size(),
                    mine.size_bytes());
            append(all, bytes);
        }
        return all;
    }

    [[nodiscard]] std::vector<shared_moments> moments_of(std::span<std::size_t const> counts,
                                                         std::span<double const> numbers) final {
        std::vector<double> sums(2 * counts.size(), 0.0);
        for_each_set(counts, numbers, [&](std::size_t s, std::span<double const> set) {
            sums[2 * s] = static_cast<double>(set.size());
            for (double const number : set)
                sums[2 * s + 1] += number;
        });
        all_reduce(std::span<double>(sums));
        std::vector<shared_moments> all(counts.size());
        for (std::size_t s = 0; s < counts.size(); ++s)
            all[s] = {.count = sums[2 * s], .mean = sums[2 * s] > 0.0 ? sums[2 * s + 1] / sums[2 * s] : 0.0};
        sums.assign(sums.size(), 0.0);
        for_each_set(counts, numbers, [&](std::size_t s, std::span<double const> set) {
            for (double const number : set) {
                double const distance = number - all[s].mean;
                sums[2 * s] += distance * distance;
                sums[2 * s + 1] += distance;
            }
        });
        all_reduce(std::span<double>(sums));
        for (std::size_t s = 0; s < counts.size(); ++s)
            all[s].squares =
                all[s].count > 0.0 ? sums[2 * s] - sums[2 * s + 1] * (sums[2 * s + 1] / all[s].count) : 0.0;
        return all;
    }

    void collect(std::vector<timed_episode>& ended) final {
        std::vector<timed_episode> all;
        for (auto const& bytes : all_gather(std::as_bytes(std::span(ended))))
            append(all, bytes);
        std::stable_sort(all.begin(), all.end(),
                         [](timed_episode const& a, timed_episode const& b) { return a.frames < b.frames; });
        ended = std::move(all);
    }

    void require_same(char const* who, std::span<shared_number const> numbers) final {
        std::vector<std::uint64_t> here;
        for (shared_number const& one : numbers)
            here.push_back(one.value);
        std::vector<std::vector<std::uint64_t>> all;
        for (auto const& bytes : all_gather(std::as_bytes(std::span(here))))
            append(all.emplace_back(), bytes);
        for (std::size_t r = 1; r < all.size(); ++r)
            require(all[r].size() == all[0].size(),
                    "{}: rank {} gives {} numbers and rank 0 {}, but must be the same on all ranks", who, r,
                    all[r].size(), all[0].size());
        for (std::size_t r = 1; r < all.size(); ++r)
            for (std::size_t i = 0; i < here.size(); ++i)
                require(all[r][i] == all[0][i],
                        "{}: the {} is {} on rank {} and {} on rank 0, but must be the same on all ranks", who,
                        numbers[i].name, all[r][i], r, all[0][i]);
    }

    [[nodiscard]] std::string those_at_fault(bool here) final {
        std::byte const mine{static_cast<unsigned char>(here ? 1 : 0)};
        std::string names;
        std::size_t rank = 0;
        for (auto const& other : all_gather(std::span<std::byte const>(&mine, 1))) {
            if (other.front() != std::byte{0})
                names += (names.empty() ? "" : ", ") + std::to_string(rank);
            ++rank;
        }
        return names.empty() ? "; they are on each rank, but their sum is not" : "; they are not on rank " + names;
    }

private:
    template <class T>
    static void append(std::vector<T>& to, std::vector<std::byte> const& bytes) {
        static_assert(std::is_trivially_copyable_v<T>);
        std::size_t const before = to.size();
        to.resize(before + bytes.size() / sizeof(T));
        if (!bytes.empty())
            std::memcpy(to.data() + before, bytes.data(), bytes.size());
    }
    template <class Each>
    static void for_each_set(std::span<std::size_t const> counts, std::span<double const> numbers, Each const& each) {
        std::size_t first = 0;
        for (std::size_t s = 0; s < counts.size(); first += counts[s], ++s)
            each(s, numbers.subspan(first, counts[s]));
    }
};

} // namespace gmac::inline GMAC_ABI::distributed
