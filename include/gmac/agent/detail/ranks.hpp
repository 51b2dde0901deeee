// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/report.hpp>
#include <gmac/core/communicator.hpp>
#include <gmac/core/detail/moments.hpp>
#include <gmac/core/detail/shared_moments.hpp>
#include <gmac/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace gmac::inline GMAC_ABI::detail {

struct named_number {
    char const* name;
    std::uint64_t value;
};

/// Throws gmac::error on every rank unless all have the same numbers. Collective.
inline void require_same_on_all_ranks(communicator& ranks, char const* who,
                                      std::initializer_list<named_number> numbers) {
    std::vector<std::uint64_t> here;
    for (named_number const& one : numbers)
        here.push_back(one.value);
    auto const all = ranks.all_gather(std::as_bytes(std::span(here)));
    for (std::size_t rank = 1; rank < all.size(); ++rank)
        for (std::size_t i = 0; i < here.size() && all[rank].size() == all[0].size(); ++i) {
            std::uint64_t first = 0, other = 0;
            std::memcpy(&first, all[0].data() + i * sizeof first, sizeof first);
            std::memcpy(&other, all[rank].data() + i * sizeof other, sizeof other);
            require(first == other, "{}: the {} is {} on rank {} and {} on rank 0, but must be the same on all ranks",
                    who, numbers.begin()[i].name, other, rank, first);
        }
}

/// Writes the sums over all ranks. Collective.
inline void add_over(communicator& ranks, std::span<double* const> numbers) {
    std::vector<double> values;
    for (double const* const number : numbers)
        values.push_back(*number);
    ranks.all_reduce(std::span<double>(values));
    for (std::size_t i = 0; i < numbers.size(); ++i)
        *numbers[i] = values[i];
}

/// targets::normalize of the part of some numbers that lies here.
template <class T>
void normalize_by(shared_moments const& all, std::span<T> numbers) noexcept {
    bool const constant = only_rounding<T>(all.squares / all.count, std::abs(all.mean));
    double const deviation = std::sqrt(all.squares / (all.count - 1.0));
    for (T& one : numbers)
        one = constant ? T(0) : static_cast<T>((static_cast<double>(one) - all.mean) / deviation);
}

/// The end of a message about numbers that are not finite, by the ranks on which they are not. Collective.
[[nodiscard]] inline std::string those_at_fault(communicator& ranks, bool here) {
    std::byte const mine{static_cast<unsigned char>(here ? 1 : 0)};
    std::string names;
    std::size_t rank = 0;
    for (auto const& other : ranks.all_gather({&mine, 1})) {
        if (other.front() != std::byte{0})
            names += (names.empty() ? "" : ", ") + std::to_string(rank);
        ++rank;
    }
    return names.empty() ? "; they are on each rank, but their sum is not" : "; they are not on rank " + names;
}

/// What ended on each rank, in the order in which it ended, and then of ranks. Collective.
[[nodiscard]] inline std::vector<timed_episode> episodes_of_all_ranks(communicator& ranks,
                                                                      std::span<timed_episode const> here) {
    static_assert(std::is_trivially_copyable_v<timed_episode>);
    std::vector<timed_episode> all;
    for (auto const& bytes : ranks.all_gather(std::as_bytes(here))) {
        std::size_t const before = all.size();
        all.resize(before + bytes.size() / sizeof(timed_episode));
        if (!bytes.empty())
            std::memcpy(all.data() + before, bytes.data(), bytes.size());
    }
    std::stable_sort(all.begin(), all.end(),
                     [](timed_episode const& a, timed_episode const& b) { return a.frames < b.frames; });
    return all;
}

} // namespace gmac::inline GMAC_ABI::detail
