// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_bits.hpp>
#include <gmac/core/lanes.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

/// Sorting of lane vectors, each lane for itself: bitonic networks (Batcher 1968; Knuth, The Art of Computer Programming,
/// volume 3, section 5.3.4) in the form whose comparators all put the smaller key first. Such a network leaves keys of −∞ at
/// its front and of +∞ at its end where they are, so lengths that are no power of two need no memory for the rest: its
/// comparators are skipped.
///
/// Keys may carry tags, which are moved along. With tags the result is a permutation of what was given, NaN or not.
namespace gmac::losses::detail {

/// Tags are lane vectors too: numbers that float holds exactly. For scalars that are no floating-point type, double.
template <class V>
using tag_of = std::conditional_t<std::floating_point<lanes::scalar_of<V>>, V, double>;

struct no_tags {};

/// The networks work on whole blocks.
inline constexpr std::size_t sorting_block = 8;
[[nodiscard]] constexpr std::size_t whole_blocks(std::size_t count) noexcept {
    return (count + sorting_block - 1) / sorting_block * sorting_block;
}

/// The smaller key comes first.
template <class V>
inline void exchange(V& first, V& second) noexcept {
    V const a = first;
    V const b = second;
    first = lanes::at_most(a, b);
    second = lanes::at_least(a, b);
}

template <class V, class Tag>
inline void exchange(V& first, V& second, Tag& first_tag, Tag& second_tag) noexcept {
    V const a = first;
    V const b = second;
    Tag const s = first_tag;
    Tag const t = second_tag;
    auto const swap = b < a;
    first = lanes::select(swap, b, a);
    second = lanes::select(swap, a, b);
    first_tag = lanes::select(swap, t, s);
    second_tag = lanes::select(swap, s, t);
}

/// Keys, with or without tags: what a network is applied to.
template <class V, class Tag>
struct sortable {
    V* keys;
    Tag* tags;

    [[nodiscard]] sortable from(std::size_t first) const noexcept {
        if constexpr (std::same_as<Tag, no_tags>)
            return {keys + first, nullptr};
        else
            return {keys + first, tags + first};
    }
    void compare(std::size_t i, std::size_t j) const noexcept {
        if constexpr (std::same_as<Tag, no_tags>)
            exchange(keys[i], keys[j]);
        else
            exchange(keys[i], keys[j], tags[i], tags[j]);
    }

    /// Applies a network to the block at `first`, in registers.
    template <auto& Network>
    void apply(std::size_t first) const noexcept {
        std::array<V, sorting_block> k;
        std::array<Tag, sorting_block> t;
        std::copy_n(keys + first, sorting_block, k.begin());
        if constexpr (!std::same_as<Tag, no_tags>)
            std::copy_n(tags + first, sorting_block, t.begin());
        compare_all<Network>(sortable{k.data(), t.data()}, std::make_index_sequence<Network.size()>());
        std::copy_n(k.begin(), sorting_block, keys + first);
        if constexpr (!std::same_as<Tag, no_tags>)
            std::copy_n(t.begin(), sorting_block, tags + first);
    }

private:
    // Inlined by force: a call would put the block back into memory.
    template <auto& Network, std::size_t... C>
    [[gnu::always_inline]] static void compare_all(sortable const& block, std::index_sequence<C...>) noexcept {
        (block.compare(Network[C][0], Network[C][1]), ...);
    }
};

using comparator = std::array<std::size_t, 2>;

/// Eight keys with 19 comparators (Batcher's odd-even merge sort).
inline constexpr std::array<comparator, 19> sorting_eight{{{0, 1},
                                                           {2, 3},
                                                           {4, 5},
                                                           {6, 7},
                                                           {0, 2},
                                                           {1, 3},
                                                           {4, 6},
                                                           {5, 7},
                                                           {1, 2},
                                                           {5, 6},
                                                           {0, 4},
                                                           {1, 5},
                                                           {2, 6},
                                                           {3, 7},
                                                           {2, 4},
                                                           {3, 5},
                                                           {1, 2},
                                                           {3, 4},
                                                           {5, 6}}};

/// The last three stages of a bitonic merge, which stay within a block.
inline constexpr std::array<comparator, 12> last_stages{
    {{0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 1}, {2, 3}, {4, 5}, {6, 7}}};

/// Merges the sorted halves of `width` elements (a power of two, at least two blocks), of which only those from `begin` to
/// `end` are in memory, at s; `begin` and `end` are whole blocks.
template <class V, class Tag>
inline void merge_halves(sortable<V, Tag> const& s, std::size_t width, std::size_t begin, std::size_t end) noexcept {
    for (std::size_t i = (std::max)(begin, width - end); i < width / 2; ++i)
        s.compare(i - begin, width - 1 - i - begin);
    for (std::size_t step = width / 4; step >= sorting_block; step /= 2)
        for (std::size_t first = begin / (2 * step) * (2 * step); first + step < end; first += 2 * step) {
            std::size_t const last = (std::min)(first + step, end - step);
            for (std::size_t i = (std::max)(first, begin); i < last; ++i)
                s.compare(i - begin, i + step - begin);
        }
    for (std::size_t first = begin; first < end; first += sorting_block)
        s.template apply<last_stages>(first - begin);
}

/// Sorts whole blocks.
template <class V, class Tag>
inline void sort(sortable<V, Tag> const& s, std::size_t count) noexcept {
    for (std::size_t first = 0; first < count; first += sorting_block)
        s.template apply<sorting_eight>(first);
    for (std::size_t width = 2 * sorting_block; width / 2 < count; width *= 2)
        for (std::size_t first = 0; first + width / 2 < count; first += width)
            merge_halves(s.from(first), width, 0, (std::min)(width, count - first));
}

/// Merges two sorted stretches, `first_count` and `second_count` elements one after the other, whole blocks both.
template <class V, class Tag>
inline void merge(sortable<V, Tag> const& s, std::size_t first_count, std::size_t second_count) noexcept {
    std::size_t const half = std::bit_ceil((std::max)(first_count, second_count));
    merge_halves(s, 2 * half, half - first_count, half + second_count);
}

/// 0, or NaN in the lanes in which a key is not finite: a sort may lose what is no number.
template <class V>
[[nodiscard]] V poison(V const* keys, std::size_t count) noexcept {
    V const zero = lanes::constant<V>(0.0);
    V sum = zero;
    for (std::size_t i = 0; i < count; ++i)
        sum = sum + keys[i] * zero;
    return sum;
}

} // namespace gmac::losses::detail
