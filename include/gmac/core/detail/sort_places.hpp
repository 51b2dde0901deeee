// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/bit_cast.hpp>
#include <gmac/core/view.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>

namespace gmac::inline GMAC_ABI::detail {

/// The bits of a number as an unsigned integer of the same order; a NaN at either end.
template <std::floating_point T>
[[nodiscard]] constexpr auto ordered_bits(T number) noexcept {
    using word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr word sign = word(1) << (8 * sizeof(word) - 1);
    auto const bits = gmac::detail::bit_cast<word>(number);
    return (bits & sign) != 0 ? word(~bits) : word(bits | sign);
}

/// The places of numbers in ascending order, byte by byte with the last first (Knuth, The Art of Computer Programming, volume
/// 3, section 5.2.5): no branch depends on the numbers.
template <std::floating_point T>
void sort_places(vector_view<T const> const& numbers, std::uint16_t* places, std::uint16_t* spare) noexcept {
    std::iota(places, places + numbers.size(), std::uint16_t(0));
    for (std::size_t byte = 0; byte < sizeof(T); ++byte) { // an even number of times, so they end where they began
        auto const digit = [&](std::size_t i) {
            return static_cast<std::size_t>(ordered_bits(numbers[i]) >> (8 * byte)) & 0xffu;
        };
        std::array<std::uint16_t, 256> next{};
        for (std::size_t i = 0; i < numbers.size(); ++i)
            ++next[digit(i)];
        std::exclusive_scan(next.begin(), next.end(), next.begin(), std::uint16_t(0));
        for (std::size_t i = 0; i < numbers.size(); ++i)
            spare[next[digit(places[i])]++] = places[i];
        std::swap(places, spare);
    }
}

} // namespace gmac::inline GMAC_ABI::detail
