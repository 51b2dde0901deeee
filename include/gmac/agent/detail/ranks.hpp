// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/report.hpp>
#include <gmac/core/communicator.hpp>
#include <gmac/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <span>
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
