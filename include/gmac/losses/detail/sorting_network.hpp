// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_arithmetic.hpp>
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
/// Keys may carry tags, which are moved along; the tags are a permutation of what was given even if keys are NaN.
namespace gmac::inline GMAC_ABI::losses::detail {

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
[[gnu::always_inline]] inline void exchange(V& first, V& second) noexcept {
    V const a = first;
    V const b = second;
    first = lanes::at_most(a, b);
    second = lanes::at_least(a, b);
}

template <class V, class Tag>
[[gnu::always_inline]] inline void exchange(V& first, V& second, Tag& first_tag, Tag& second_tag) noexcept {
    V const a = first;
    V const b = second;
    Tag const s = first_tag;
    Tag const t = second_tag;
    auto const swap = b < a;
    if constexpr (lanes::width_of<V> == 1) {
        first = swap ? b : a;
        second = swap ? a : b;
    } else { // these wait for no comparison
        first = lanes::at_most(a, b);
        second = lanes::at_least(a, b);
    }
    first_tag = lanes::select(swap, t, s);
    second_tag = lanes::select(swap, s, t);
}

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

/// The last stages of a bitonic merge, which put `Size` elements in order; `Mirrored`: the first stage too, of which the
/// halves are both in order.
template <std::size_t Size, bool Mirrored>
inline constexpr auto merging = [] {
    std::array<comparator, Size / 2 * (std::bit_width(Size) - 1)> network{};
    std::size_t c = 0;
    for (std::size_t distance = Size / 2; distance > 0; distance /= 2)
        for (std::size_t i = 0; i < Size; ++i)
            if ((i & distance) == 0)
                network[c++] = {i, Mirrored && distance == Size / 2 ? Size - 1 - i : i + distance};
    return network;
}();
template <auto& Network>
inline constexpr std::size_t size_of =
    (*std::max_element(Network.begin(), Network.end(),
                       [](comparator const& a, comparator const& b) { return a[1] < b[1]; }))[1] +
    1;

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
    [[gnu::always_inline]] void compare(std::size_t i, std::size_t j) const noexcept {
        if constexpr (std::same_as<Tag, no_tags>)
            exchange(keys[i], keys[j]);
        else
            exchange(keys[i], keys[j], tags[i], tags[j]);
    }

    /// Applies a network in registers: to elements `step` apart, one half of them from `first` on and the other from `second` on.
    template <auto& Network, class Step>
    [[gnu::always_inline]] void apply(std::size_t first, std::size_t second, Step step) const noexcept {
        constexpr std::size_t size = size_of<Network>;
        std::array<V, size> k;
        std::array<Tag, size> t;
        load(k, keys + first, keys + second, step);
        if constexpr (!std::same_as<Tag, no_tags>)
            load(t, tags + first, tags + second, step);
        compare_all<Network>(sortable{k.data(), t.data()}, std::make_index_sequence<Network.size()>());
        store(k, keys + first, keys + second, step);
        if constexpr (!std::same_as<Tag, no_tags>)
            store(t, tags + first, tags + second, step);
    }

private:
    template <std::size_t Size, class U, class Step>
    [[gnu::always_inline]] static void load(std::array<U, Size>& to, U const* low, U const* high, Step step) noexcept {
#pragma GCC unroll 4
        for (std::size_t i = 0; i < Size / 2; ++i) {
            to[i] = low[i * step];
            to[Size / 2 + i] = high[i * step];
        }
    }
    template <std::size_t Size, class U, class Step>
    [[gnu::always_inline]] static void store(std::array<U, Size> const& from, U* low, U* high, Step step) noexcept {
#pragma GCC unroll 4
        for (std::size_t i = 0; i < Size / 2; ++i)
            low[i * step] = from[i];
#pragma GCC unroll 4
        for (std::size_t i = 0; i < Size / 2; ++i)
            high[i * step] = from[Size / 2 + i];
    }

    // Inlined by force: a call would put the block back into memory.
    template <auto& Network, std::size_t... C>
    [[gnu::always_inline]] static void compare_all(sortable const& block, std::index_sequence<C...>) noexcept {
        (block.compare(Network[C][0], Network[C][1]), ...);
    }
};

/// A network for elements of which only those from `begin` to `end` are in memory, at s; the others stay where they are. Places
/// are those of `sortable::apply`.
template <auto& Network, class V, class Tag>
[[gnu::noinline]] void apply_within(sortable<V, Tag> s, std::size_t begin, std::size_t end, std::size_t first,
                                    std::size_t second, std::size_t step) noexcept {
    constexpr std::size_t half = size_of<Network> / 2;
    for (auto const& [i, j] : Network) {
        std::size_t const a = i < half ? first + i * step : second + (i - half) * step;
        std::size_t const b = j < half ? first + j * step : second + (j - half) * step;
        if (a >= begin && b < end)
            s.compare(a - begin, b - begin);
    }
}

/// Stages of a bitonic merge that compare elements `step` or more apart, for all stretches of `Size` × `step` elements. (For
/// common steps this is a number of the compiler's, since so many addresses would not fit into the registers.)
template <std::size_t Size, bool Mirrored, class V, class Tag, class Step>
[[gnu::always_inline]] inline void merge_stages(sortable<V, Tag> s, std::size_t begin, std::size_t end,
                                                Step step) noexcept {
    constexpr std::size_t half = Size / 2;
    constexpr auto& network = merging<Size, Mirrored>;
    std::size_t const part = Size * step;
    for (std::size_t first = begin / part * part; first < end; first += part) {
        for (std::size_t i = 0; i < step; ++i) {
            std::size_t const low = first + i;
            std::size_t const high = first + half * step + (Mirrored ? step - 1 - i : i);
            if (low >= begin && high + (half - 1) * step < end)
                s.template apply<network>(low - begin, high - begin, step);
            else if constexpr (Size > 2)
                apply_within<network>(s, begin, end, low, high, step);
        }
    }
}

/// Merges the sorted halves of all stretches of `width` elements (a power of two, at least two blocks), of which only those from
/// `begin` to `end` are in memory, at s; `begin` and `end` are whole blocks. Three stages at a time, so that the elements stay in registers
/// meanwhile; before them the rest.
template <class V, class Tag>
[[gnu::always_inline]] inline void merge_halves(sortable<V, Tag> s, std::size_t width, std::size_t begin,
                                                std::size_t end) noexcept {
    using block = std::integral_constant<std::size_t, sorting_block>;
    std::size_t step = 1;
    while (step * sorting_block < width)
        step *= sorting_block;
    if (step == width / 2)
        merge_stages<2, true>(s, begin, end, step);
    else if (step == width / 4)
        merge_stages<4, true>(s, begin, end, step);
    else if (step == sorting_block)
        merge_stages<8, true>(s, begin, end, block());
    else
        merge_stages<8, true>(s, begin, end, step);
    for (step /= sorting_block; step > sorting_block; step /= sorting_block)
        merge_stages<8, false>(s, begin, end, step);
    if (step == sorting_block)
        merge_stages<8, false>(s, begin, end, block());
    merge_stages<8, false>(s, begin, end, std::integral_constant<std::size_t, 1>());
}

/// Sorts whole blocks.
template <class V, class Tag>
[[gnu::noinline]] void sort(sortable<V, Tag> s, std::size_t count) noexcept {
    for (std::size_t first = 0; first < count; first += sorting_block)
        s.template apply<sorting_eight>(first, first + sorting_block / 2, std::integral_constant<std::size_t, 1>());
    for (std::size_t width = 2 * sorting_block; width / 2 < count; width *= 2) {
        std::size_t const rest = count % width;
        merge_halves(s, width, 0, rest > width / 2 ? count : count - rest);
    }
}

/// Merges two sorted stretches, `first_count` and `second_count` elements one after the other, whole blocks both.
template <class V, class Tag>
[[gnu::noinline]] void merge(sortable<V, Tag> s, std::size_t first_count, std::size_t second_count) noexcept {
    std::size_t const half = std::bit_ceil((std::max)(first_count, second_count));
    merge_halves(s, 2 * half, half - first_count, half + second_count);
}

} // namespace gmac::inline GMAC_ABI::losses::detail
