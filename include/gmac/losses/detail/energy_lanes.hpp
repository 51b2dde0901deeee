// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_bits.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/transpose.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/detail/energy_sweep.hpp>
#include <gmac/losses/detail/sorting_network.hpp>
#include <gmac/targets/particles.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace gmac::losses::detail {

/// The tag of a sample is positive, and its last bits say where its lanes are in an array of lane vectors; that of a target
/// particle is minus its weight, or, for scalars that are no floating-point type, minus one more than its index. Without weights
/// it is minus the tag of a sample after the last.
template <class V>
[[nodiscard]] tag_of<V> sample_tag(std::size_t i) noexcept {
    using S = lanes::scalar_of<tag_of<V>>;
    return lanes::constant<tag_of<V>>(lanes::detail::layout<S>::round + static_cast<double>(i * lanes::width_of<V>));
}
template <class V>
[[nodiscard]] tag_of<V> weight_tag([[maybe_unused]] V const& weight, [[maybe_unused]] std::size_t j) noexcept {
    if constexpr (std::floating_point<lanes::scalar_of<V>>)
        return lanes::constant<V>(0.0) - weight;
    else
        return -(static_cast<double>(j) + 1.0);
}
template <bool Weighted, class V, class T>
[[nodiscard]] V tagged_weight([[maybe_unused]] tag_of<V> const& tag, [[maybe_unused]] V const& equal,
                              [[maybe_unused]] matrix_view<T const> const& weights,
                              [[maybe_unused]] std::size_t state) {
    if constexpr (!Weighted)
        return equal;
    else if constexpr (std::floating_point<lanes::scalar_of<V>>)
        return lanes::constant<V>(0.0) - tag;
    else
        return tag < 0.0 ? weights(state, static_cast<std::size_t>(-tag) - 1) : equal;
}

/// Puts each lane where its tag says, in `to`.
template <class V>
[[gnu::noinline]] void put_back(tag_of<V> const* tags, V const* values, std::size_t count, V* to) noexcept {
    using S = lanes::scalar_of<tag_of<V>>;
    auto const place = [](S const& tag) {
        return static_cast<std::size_t>(static_cast<std::uint16_t>(std::bit_cast<lanes::detail::unsigned_of<S>>(tag)));
    };
    if constexpr (lanes::width_of<V> == 1) {
        for (std::size_t p = 0; p < count; ++p)
            to[place(tags[p])] = values[p];
    } else {
        // From memory to memory: to take vectors apart would cost several times as much.
        auto const* from = reinterpret_cast<std::byte const*>(values);
        auto const* from_tags = reinterpret_cast<std::byte const*>(tags);
        auto* const bytes = reinterpret_cast<std::byte*>(to);
        for (std::size_t p = 0; p < count; ++p, from += sizeof(V), from_tags += sizeof(V)) {
#pragma GCC unroll 16
            for (std::size_t lane = 0; lane < lanes::width_of<V>; ++lane) {
                S tag, value;
                std::memcpy(&tag, from_tags + lane * sizeof(S), sizeof(S));
                std::memcpy(&value, from + lane * sizeof(S), sizeof(S));
                std::memcpy(bytes + (place(tag) + lane) * sizeof(S), &value, sizeof(S));
            }
        }
    }
}

/// The most points of both kinds that `energy_in_lanes` takes, in whole blocks.
inline constexpr std::size_t most_points_in_lanes = 1024;

/// The energy of one block of states, whose lanes are sorted side by side on the stack.
template <bool WithGradient, bool Weighted, class V, class T>
[[nodiscard]] V energy_in_lanes(matrix_view<T const> const& samples, targets::dirac_particles<T const> const& targets,
                                matrix_view<T> const& gradient, energy_terms const& terms, std::size_t first,
                                std::size_t count) noexcept {
    using Tag = tag_of<V>;
    std::array<V, most_points_in_lanes> keys, scratch;
    std::array<Tag, most_points_in_lanes> tags;
    std::size_t const n = samples.cols();
    std::size_t const m = targets.particles();
    std::size_t const padding = whole_blocks(n) - n; // before the samples; after the particles it is the rest
    std::size_t const middle = padding + n;
    std::size_t const end = middle + whole_blocks(m);

    Tag const after_samples = sample_tag<V>(n);
    Tag const no_tag = lanes::constant<Tag>(0.0);
    Tag const no_sample = no_tag - after_samples;

    for (std::size_t i = 0; i < padding; ++i) {
        keys[i] = lanes::constant<V>(-std::numeric_limits<double>::infinity());
        tags[i] = no_tag;
    }
    lanes::read_columns<V>(samples, first, 0, n, &keys[padding], count);
    for (std::size_t i = 0; i < n; ++i)
        tags[padding + i] = sample_tag<V>(i);
    lanes::read_columns<V>(targets.values, first, 0, m, &keys[middle], count);
    if constexpr (Weighted) {
        lanes::read_columns<V>(targets.weights, first, 0, m, scratch.data(), count);
        for (std::size_t j = 0; j < m; ++j)
            tags[middle + j] = weight_tag<V>(scratch[j], j);
    } else {
        for (std::size_t j = 0; j < m; ++j)
            tags[middle + j] = no_sample;
    }
    for (std::size_t i = middle + m; i < end; ++i) {
        keys[i] = lanes::constant<V>(std::numeric_limits<double>::infinity());
        tags[i] = no_tag;
    }
    V const invalid = poison(&keys[padding], n + m);

    sort(sortable<V, Tag>{keys.data(), tags.data()}, middle);
    if constexpr (Weighted)
        sort(sortable<V, Tag>{&keys[middle], &tags[middle]}, end - middle);
    else
        sort(sortable<V, no_tags>{&keys[middle], nullptr}, end - middle);
    merge(sortable<V, Tag>{keys.data(), tags.data()}, middle, end - middle);

    Tag* const sorted_tags = &tags[padding];
    V const zero = lanes::constant<V>(0.0);
    V const one = lanes::constant<V>(1.0);
    V const equal = lanes::constant<V>(terms.target_weight);
    V const energy = sweep_energy<WithGradient, Weighted>(
        &keys[padding], n + m, scratch.data(), terms,
        [&](std::size_t p) { return lanes::select(no_tag < sorted_tags[p], one, zero); },
        [&](std::size_t p) { return tagged_weight<Weighted, V>(sorted_tags[p], equal, targets.weights, first); },
        [&](std::size_t p, V const& slope) {
            scratch[p] = slope + invalid;
            if constexpr (Weighted)
                sorted_tags[p] = lanes::select(no_tag < sorted_tags[p], sorted_tags[p], after_samples);
        });
    if constexpr (WithGradient) {
        std::fill_n(keys.begin(), n, invalid); // in its lanes a tag may have changed places with padding
        put_back<V>(sorted_tags, scratch.data(), n + m, keys.data());
        lanes::write_columns<V>(keys.data(), gradient, first, 0, n, count);
    }
    return energy + invalid;
}

} // namespace gmac::losses::detail
