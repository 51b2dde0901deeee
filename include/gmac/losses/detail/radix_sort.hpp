// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace gmac::losses::detail {

/// The number inside of a scalar: of gmac::counted what `value()` gives.
template <class T>
[[nodiscard]] constexpr T bare(T const& number) noexcept {
    return number;
}
template <class T>
    requires requires(T const& number) { number.value(); }
[[nodiscard]] constexpr auto bare(T const& number) noexcept {
    return number.value();
}

/// Scalars whose bits can be sorted.
template <class T>
concept radix_sortable = requires(T const& number) {
    { bare(number) } -> std::same_as<float>;
} || requires(T const& number) {
    { bare(number) } -> std::same_as<double>;
};

/// Two places each for the keys of `sort_row` and for their tags, which say where a key came from.
template <class T>
struct row_buffers {
    std::array<T*, 2> keys;
    std::array<std::uint32_t*, 2> tags;
};

/// The bits of a number as an unsigned integer of the same order: −∞ first, then −0, +0 and +∞; a NaN at either end.
template <radix_sortable T>
[[nodiscard]] constexpr auto ordered_bits(T const& number) noexcept {
    auto const inside = bare(number);
    using word = std::conditional_t<sizeof(inside) == 4, std::uint32_t, std::uint64_t>;
    constexpr word sign = word(1) << (8 * sizeof(word) - 1);
    auto const bits = std::bit_cast<word>(inside);
    return (bits & sign) != 0 ? word(~bits) : word(bits | sign);
}

/// Sorts `count` keys of one state and their tags from place 0, digit by digit with the last first (Knuth, The Art of
/// Computer Programming, volume 3, section 5.2.5): O(count), and no branch that depends on the keys. Says in which place
/// they lie afterwards. It is a permutation whatever the keys are.
template <radix_sortable T>
[[nodiscard]] std::size_t sort_row(row_buffers<T> const& buffers, std::size_t count) noexcept {
    constexpr std::size_t digit_bits = 11;
    constexpr std::size_t digits = (8 * sizeof(bare(T{})) + digit_bits - 1) / digit_bits;
    constexpr std::size_t values = std::size_t(1) << digit_bits;
    constexpr auto digit = [](T const& key, std::size_t d) {
        return static_cast<std::size_t>(ordered_bits(key) >> (digit_bits * d)) & (values - 1);
    };
    if (count == 0)
        return 0;

    std::array<std::array<std::uint32_t, values>, digits> places{};
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t d = 0; d < digits; ++d)
            ++places[d][digit(buffers.keys[0][i], d)];

    std::size_t place = 0;
    for (std::size_t d = 0; d < digits; ++d) {
        T const* const keys = buffers.keys[place];
        std::uint32_t const* const tags = buffers.tags[place];
        T* const keys_to = buffers.keys[1 - place];
        std::uint32_t* const tags_to = buffers.tags[1 - place];
        auto& next = places[d];
        if (next[digit(keys[0], d)] == count)
            continue; // the same digit everywhere
        std::uint32_t before = 0;
        for (std::uint32_t& entry : next)
            before += std::exchange(entry, before);
        for (std::size_t i = 0; i < count; ++i) {
            std::uint32_t const to = next[digit(keys[i], d)]++;
            keys_to[to] = keys[i];
            tags_to[to] = tags[i];
        }
        place = 1 - place;
    }
    return place;
}

} // namespace gmac::losses::detail
