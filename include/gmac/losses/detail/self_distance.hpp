// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_bits.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/pack.hpp>
#include <gmac/core/special.hpp>
#include <gmac/core/transpose.hpp>
#include <gmac/core/view.hpp>
#include <gmac/distributions/folded_normal.hpp>
#include <gmac/losses/detail/mixture_sums.hpp>
#include <gmac/losses/detail/sorting_network.hpp>
#include <gmac/losses/detail/target_block.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>

/// δ(V, V) = Σ_jl v_j v_l E|N(ν_j − ν_l, τ_j² + τ_l²)| of the target with itself, for one block of states.
namespace gmac::losses::detail {

/// Σ_l v_l E|N(ν_j − ν_l, τ_j² + τ_l²)| over the particles l of `others` from `start` on, for particle j of `tile`; the
/// weights are left out where they are uniform.
template <class V, class Targets>
[[nodiscard]] V expected_distance_to(target_block<V, Targets> const& target, particle_tile<V> const& tile,
                                     std::size_t j, particle_tile<V> const& others, std::size_t start) noexcept {
    if constexpr (target_block<V, Targets>::spread) {
        component<V> const particle{tile.means[j], tile.spreads[j], tile.spreads[j]};
        auto const sums = target.weighted() ? sums_over_tile<false, true, true>(particle, others, start)
                                            : sums_over_tile<false, false, true>(particle, others, start);
        return sums.expectation();
    } else {
        V sum = lanes::constant<V>(0.0);
        for (std::size_t l = start; l < others.size; ++l) {
            V const distance = lanes::abs(V(tile.means[j] - others.means[l]));
            sum = sum + (target.weighted() ? others.weights[l] * distance : distance);
        }
        return sum;
    }
}

/// Every pair, computed once.
template <class V, class Targets>
[[nodiscard]] V self_distance_by_pairs(target_block<V, Targets>& target) noexcept {
    V sum = lanes::constant<V>(0.0);
    particle_tile<V> left, right;
    auto const add_row = [&](std::size_t j, particle_tile<V> const& others, std::size_t start) {
        V const row = expected_distance_to(target, left, j, others, start);
        sum = sum + (target.weighted() ? left.weights[j] * row : row);
    };
    for (std::size_t i = 0; i < target.particles(); i += tile_size) {
        target.load(i, left);
        for (std::size_t j = 0; j < left.size; ++j)
            add_row(j, left, j + 1);
        for (std::size_t k = i + tile_size; k < target.particles(); k += tile_size) {
            target.load(k, right);
            for (std::size_t j = 0; j < left.size; ++j)
                add_row(j, right, 0);
        }
    }
    V const share = target.weighted() ? lanes::constant<V>(1.0) : target.share() * target.share();
    return lanes::constant<V>(2.0) * sum * share + target.diagonal();
}

/// The fewest particles for which sorting pays, and the most that are sorted on the stack.
inline constexpr std::size_t fewest_sorted_particles = 24;
inline constexpr std::size_t most_sorted_particles = 256;

/// The particles of one block of states, sorted by their means in every lane for itself.
template <class V, class Targets>
class sorted_target {
public:
    using scalar = lanes::scalar_of<V>;
    static constexpr bool spread = target_block<V, Targets>::spread;

    explicit sorted_target(target_block<V, Targets>& target) noexcept : size_(target.particles()) {
        particle_tile<V> tile;
        for (std::size_t start = 0; start < size_; start += tile_size) {
            target.load(start, tile);
            std::copy_n(tile.means.begin(), tile.size, &means_[start]);
            if constexpr (spread)
                std::copy_n(tile.spreads.begin(), tile.size, &spreads_[start]);
        }
        invalid_ = poison(means_.data(), size_);
        std::size_t const whole = whole_blocks(size_);
        std::fill(&means_[size_], means_.data() + whole, lanes::constant<V>(std::numeric_limits<double>::infinity()));
        if constexpr (spread) {
            std::fill(&spreads_[size_], spreads_.data() + whole, lanes::constant<V>(0.0));
            sort(sortable<V, V>{means_.data(), spreads_.data()}, whole);
        } else {
            sort(sortable<V, no_tags>{means_.data(), nullptr}, whole);
        }
    }

    /// Σ_{j<l} (ν_l − ν_j), NaN if a mean is not finite: particle j lies above j others and below the rest. Relative to the
    /// median all terms have one sign.
    [[nodiscard]] V distances() const noexcept {
        V sum = invalid_;
        V const median = means_[size_ / 2];
        for (std::size_t j = 0; j < size_; ++j)
            sum = lanes::mul_add(lanes::constant<V>(2.0 * static_cast<double>(j) + 1.0 - static_cast<double>(size_)),
                                 V(means_[j] - median), sum);
        return sum;
    }

    /// Σ_j E|N(0, 2 τ_j²)|
    [[nodiscard]] V diagonal() const noexcept {
        V sum = lanes::constant<V>(0.0);
        for (std::size_t j = 0; j < size_; ++j)
            sum = sum + lanes::sqrt(spreads_[j]);
        return sum * lanes::constant<V>(std::numbers::sqrt2 * kernels::inverse_sqrt_pi);
    }

    /// Σ_{j<l} E|N(ν_j − ν_l, τ_j² + τ_l²)| − |ν_j − ν_l|. Now the lanes are particles of one state: how far its near pairs
    /// reach is its own.
    [[nodiscard]] V excesses() const noexcept {
        constexpr std::size_t width = lanes::width_of<V>;
        V widest = lanes::constant<V>(0.0);
        for (std::size_t j = 0; j < size_; ++j)
            widest = lanes::at_least(widest, spreads_[j]);
        alignas(64) std::array<scalar, width> widest_of, sums;
        widest.store_aligned(widest_of.data());
        alignas(64) std::array<scalar, width * row_length> means, spreads;
        lanes::write_columns(means_.data(), matrix_view<scalar>(means.data(), width, row_length), 0, 0,
                             whole_blocks(size_));
        lanes::write_columns(spreads_.data(), matrix_view<scalar>(spreads.data(), width, row_length), 0, 0,
                             whole_blocks(size_));
        for (std::size_t state = 0; state < width; ++state) {
            scalar* const means_of = &means[state * row_length];
            scalar* const spreads_of = &spreads[state * row_length];
            // Points so far away that they add nothing.
            std::fill(means_of + size_, means_of + row_length, (std::numeric_limits<scalar>::max)());
            std::fill(spreads_of + size_, spreads_of + row_length, scalar(0));
            sums[state] = excess_of_row(means_of, spreads_of, widest_of[state]);
        }
        return V::load_aligned(sums.data());
    }

private:
    /// Pairs that go through the kernel side by side: as many as the registers hold.
    static constexpr std::size_t in_step = std::same_as<scalar, float> ? 2 : 1;
    static constexpr std::size_t row_length = most_sorted_particles + 2 * lanes::width_of<V>;

    /// Pairs (j, j + k) for k = 1, 2, … and a vector of particles j, until all of them are so far apart that
    /// ierfc is negligible.
    [[nodiscard]] scalar excess_of_row(scalar const* means, scalar const* spreads, scalar widest) const noexcept {
        using pack = lanes::pack<V, in_step>;
        V total = lanes::constant<V>(0.0);
        for (std::size_t j = 0; j < size_; j += lanes::width_of<V>) {
            V const mean = V::load_unaligned(means + j);
            V const spread_of = V::load_unaligned(spreads + j);
            V const limit = lanes::mul_add(lanes::constant<V>(lanes::negligible_ierfc<scalar>),
                                           lanes::sqrt(V(spread_of + V(widest))), mean);
            V farthest = mean;
            pack sum(lanes::constant<V>(0.0));
            // Deviations whose squares overflow put the limit at infinity: then the end of the row stops the loop.
            for (std::size_t l = j + 1; l < size_ && lanes::any(farthest < limit); l += in_step) {
                auto const d = lanes::make_pack<in_step>([&](auto i) __attribute__((always_inline)) {
                    return V(V::load_unaligned(means + l + i) - mean);
                });
                auto const q = lanes::make_pack<in_step>([&](auto i) __attribute__((always_inline)) {
                    return V(V::load_unaligned(spreads + l + i) + spread_of);
                });
                pack const h = kernels::inverse_root(q);
                sum = lanes::mul_add(q * h, lanes::ierfc(d * h), sum);
                farthest = V::load_unaligned(means + l + in_step - 1);
            }
            for (V const& part : sum.parts) // sums of sums round less
                total = total + part;
        }
        return lanes::sum_lanes(total);
    }

    std::size_t size_;
    V invalid_;
    std::array<V, most_sorted_particles> means_, spreads_;
};

/// Without weights: what all pairs are apart comes from the order of the means in O(m log m) steps, and only near pairs, whose
/// expectation exceeds that, are computed. Points are never near.
template <class V, class Targets>
[[nodiscard]] V sorted_self_distance(target_block<V, Targets>& target) noexcept {
    sorted_target<V, Targets> const sorted(target);
    V sum = lanes::constant<V>(2.0) * sorted.distances();
    if constexpr (sorted_target<V, Targets>::spread)
        sum = sum + lanes::constant<V>(2.0) * sorted.excesses() + sorted.diagonal();
    return sum * target.share() * target.share();
}

/// δ(V, V) of a target that is known to be one of distributions.
template <class V, class Targets>
[[nodiscard]] V self_distance(target_block<V, Targets>& target) noexcept {
    if constexpr (lanes::is_batch<V>) {
        std::size_t const m = target.particles();
        if (!target.weighted() && m >= fewest_sorted_particles && m <= most_sorted_particles)
            return sorted_self_distance(target);
    }
    return self_distance_by_pairs(target);
}

} // namespace gmac::losses::detail
