// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>
#include <gmac/core/transpose.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/detail/energy_sweep.hpp>
#include <gmac/losses/detail/sorting_network.hpp>
#include <gmac/targets/particles.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace gmac::losses::detail {

/// The tag of a sample is one more than its index. That of a target particle is minus its weight, or, for scalars that are no
/// floating-point type, minus one more than its index; without weights it is −1.
template <bool Weighted, class V>
[[nodiscard]] tag_of<V> target_tag([[maybe_unused]] V const& weight, [[maybe_unused]] std::size_t j) noexcept {
    if constexpr (!Weighted)
        return lanes::constant<tag_of<V>>(-1.0);
    else if constexpr (std::floating_point<lanes::scalar_of<V>>)
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

/// Gives the slopes of lane vectors to the samples that their tags name.
template <class V, class T>
class scatter_slopes {
public:
    scatter_slopes(matrix_view<T> const& gradient, std::size_t first, std::size_t count) noexcept
        : start_(gradient.empty() ? nullptr : &gradient(first, 0)),
          row_stride_(gradient.row_stride()),
          col_stride_(gradient.col_stride()),
          count_(count) {}

    void operator()(tag_of<V> const& tag, V const& slope) noexcept {
        if constexpr (lanes::width_of<V> == 1) {
            if (tag > tag_of<V>(0))
                start_[(static_cast<std::ptrdiff_t>(tag) - 1) * col_stride_] = slope;
        } else {
            // A lane at a target particle writes its last sample again, since a branch would be guessed wrong half of the
            // time; before there is one it writes to sample 0, whose turn is still to come.
            auto const is_sample = lanes::constant<V>(0.0) < tag;
            tag_ = lanes::select(is_sample, tag, tag_);
            slope_ = lanes::select(is_sample, slope, slope_);
            alignas(64) std::array<T, lanes::width_of<V>> tags, slopes;
            tag_.store_aligned(tags.data());
            slope_.store_aligned(slopes.data());
            auto const column = [&](std::size_t lane) {
                return static_cast<std::ptrdiff_t>(static_cast<std::int32_t>(tags[lane])) - 1;
            };
            if (count_ == lanes::width_of<V> && col_stride_ == 1) {
                T* row = start_;
#pragma GCC unroll 16
                for (std::size_t lane = 0; lane < lanes::width_of<V>; ++lane, row += row_stride_)
                    row[column(lane)] = slopes[lane];
            } else {
                for (std::size_t lane = 0; lane < count_; ++lane)
                    start_[static_cast<std::ptrdiff_t>(lane) * row_stride_ + column(lane) * col_stride_] = slopes[lane];
            }
        }
    }

private:
    T* start_;
    std::ptrdiff_t row_stride_, col_stride_;
    std::size_t count_;
    tag_of<V> tag_ = lanes::constant<tag_of<V>>(1.0);
    V slope_ = lanes::constant<V>(0.0);
};

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

    for (std::size_t i = 0; i < padding; ++i) {
        keys[i] = lanes::constant<V>(-std::numeric_limits<double>::infinity());
        tags[i] = lanes::constant<Tag>(0.0);
    }
    lanes::read_columns<V>(samples, first, 0, n, &keys[padding], count);
    for (std::size_t i = 0; i < n; ++i)
        tags[padding + i] = lanes::constant<Tag>(static_cast<double>(i + 1));
    lanes::read_columns<V>(targets.values, first, 0, m, &keys[middle], count);
    if constexpr (Weighted) {
        lanes::read_columns<V>(targets.weights, first, 0, m, scratch.data(), count);
        for (std::size_t j = 0; j < m; ++j)
            tags[middle + j] = target_tag<true, V>(scratch[j], j);
    } else {
        for (std::size_t j = 0; j < m; ++j)
            tags[middle + j] = target_tag<false, V>(scratch[0], j);
    }
    for (std::size_t i = middle + m; i < end; ++i) {
        keys[i] = lanes::constant<V>(std::numeric_limits<double>::infinity());
        tags[i] = lanes::constant<Tag>(0.0);
    }
    V const invalid = poison(&keys[padding], n + m);

    sort(sortable<V, Tag>{keys.data(), tags.data()}, middle);
    if constexpr (Weighted)
        sort(sortable<V, Tag>{&keys[middle], &tags[middle]}, end - middle);
    else
        sort(sortable<V, no_tags>{&keys[middle], nullptr}, end - middle);
    merge(sortable<V, Tag>{keys.data(), tags.data()}, middle, end - middle);

    Tag const no_tag = lanes::constant<Tag>(0.0);
    Tag const* const sorted_tags = &tags[padding];
    V const zero = lanes::constant<V>(0.0);
    V const one = lanes::constant<V>(1.0);
    V const equal = lanes::constant<V>(terms.target_weight);
    scatter_slopes<V, T> scatter(gradient, first, count);
    V const energy = sweep_energy<WithGradient, Weighted>(
        &keys[padding], n + m, scratch.data(), terms,
        [&](std::size_t p) { return lanes::select(no_tag < sorted_tags[p], one, zero); },
        [&](std::size_t p) { return tagged_weight<Weighted, V>(sorted_tags[p], equal, targets.weights, first); },
        [&](std::size_t p, V const& slope) { scatter(sorted_tags[p], V(slope + invalid)); });
    return energy + invalid;
}

} // namespace gmac::losses::detail
