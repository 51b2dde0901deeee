// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

/// Loops over a flat range in SIMD registers. The elements that do not fill a register go through one that is padded, so
/// every element is computed by the same instructions wherever it lies, and gives the same bits.
namespace gmac::nn::detail {

/// `count` ≤ width elements; the other lanes are `fill`.
template <class V>
[[nodiscard, gnu::always_inline]] inline V load_pack(lanes::scalar_of<V> const* data, std::size_t count,
                                                     lanes::scalar_of<V> fill = 0) noexcept {
    if constexpr (lanes::width_of<V> == 1) {
        return *data;
    } else {
        if (count >= lanes::width_of<V>)
            return V::load_unaligned(data);
        alignas(64) std::array<lanes::scalar_of<V>, lanes::width_of<V>> lane;
        lane.fill(fill);
        std::copy_n(data, count, lane.data());
        return V::load_aligned(lane.data());
    }
}

/// The first `count` ≤ width lanes.
template <class V>
[[gnu::always_inline]] inline void store_pack(V const& value, lanes::scalar_of<V>* data, std::size_t count) noexcept {
    if constexpr (lanes::width_of<V> == 1) {
        *data = value;
    } else {
        if (count >= lanes::width_of<V>) {
            value.store_unaligned(data);
            return;
        }
        alignas(64) std::array<lanes::scalar_of<V>, lanes::width_of<V>> lane;
        value.store_aligned(lane.data());
        std::copy_n(lane.data(), count, data);
    }
}

/// body(first, count) for each register of V that covers 0 … size − 1; count is the width, as a constant of its own type,
/// but at the end: so a generic body is compiled once without the padding and once with it.
template <class V, class Body>
[[gnu::always_inline]] inline void for_each_pack(std::size_t size, Body&& body) {
    constexpr std::size_t width = lanes::width_of<V>;
    std::size_t i = 0;
    for (; i + width <= size; i += width)
        body(i, std::integral_constant<std::size_t, width>{});
    if (i < size)
        body(i, size - i);
}

} // namespace gmac::nn::detail
