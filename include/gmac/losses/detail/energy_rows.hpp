// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/detail/energy_sweep.hpp>
#include <gmac/losses/detail/radix_sort.hpp>
#include <gmac/targets/particles.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace gmac::losses::detail {

/// Memory for `energy_of_row`: `points` of both kinds, `samples` of them predicted.
template <class T>
struct row_memory {
    row_buffers<T> points;
    T* slopes; ///< one more than the samples
};

/// The same on the stack, for as many points as it has room for.
template <class T, std::size_t Points>
struct row_stack {
    std::array<T, Points> keys, more_keys;
    std::array<std::uint32_t, Points> tags, more_tags;
    std::array<T, Points + 1> slopes;

    [[nodiscard]] row_memory<T> memory() noexcept {
        return {{{keys.data(), more_keys.data()}, {tags.data(), more_tags.data()}}, slopes.data()};
    }
};

/// The energy of one state, in O((n + m) log(n + m)) at most: its samples and target particles are sorted together.
template <bool WithGradient, bool Weighted, class T>
[[nodiscard]] T energy_of_row(vector_view<T const> const& samples, vector_view<T const> const& particles,
                              vector_view<T const> const& weights, vector_view<T> const& gradient,
                              energy_terms const& terms, row_memory<T> const& memory) noexcept {
    std::size_t const n = samples.size();
    std::size_t const m = particles.size();
    T* const unsorted = memory.points.keys[0];
    T sum(0);
    for (std::size_t i = 0; i < n; ++i)
        sum += (unsorted[i] = samples[i]) * T(0);
    for (std::size_t j = 0; j < m; ++j)
        sum += (unsorted[n + j] = particles[j]) * T(0);
    if (!(sum == T(0))) { // a point is not finite
        if constexpr (WithGradient)
            for (std::size_t i = 0; i < n; ++i)
                gradient[i] = std::numeric_limits<T>::quiet_NaN();
        return std::numeric_limits<T>::quiet_NaN();
    }
    for (std::size_t p = 0; p < n + m; ++p)
        memory.points.tags[0][p] = static_cast<std::uint32_t>(p);

    std::size_t const place = sort_row(memory.points, n + m);
    std::uint32_t const* const tags = memory.points.tags[place];
    auto const first_particle = static_cast<std::uint32_t>(n);
    T const equal = static_cast<T>(terms.target_weight);
    T* const slopes = memory.slopes;
    T const energy = sweep_energy<WithGradient, Weighted>(
        memory.points.keys[place], n + m, memory.points.keys[1 - place], terms,
        // The sign of the difference, as a number and not as a condition, which would be guessed wrong half of the time.
        [&](std::size_t p) { return static_cast<T>(static_cast<std::int32_t>((tags[p] - first_particle) >> 31u)); },
        [&](std::size_t p) {
            if constexpr (Weighted)
                return weights[tags[p] < first_particle ? 0u : tags[p] - first_particle];
            else
                return equal;
        },
        // The last of the slopes is for target particles: a branch would be guessed wrong half of the time.
        [&](std::size_t p, T slope) { slopes[(std::min)(tags[p], first_particle)] = slope; });
    if constexpr (WithGradient)
        for (std::size_t i = 0; i < n; ++i)
            gradient[i] = slopes[i];
    return energy;
}

} // namespace gmac::losses::detail
