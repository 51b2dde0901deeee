// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_bits.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/transpose.hpp>
#include <gmac/core/view.hpp>
#include <gmac/heads/quantile_outputs.hpp>
#include <gmac/losses/detail/sample_batch.hpp>
#include <gmac/targets/particles.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

/// Losses of quantile regression as sums over pairs of a predicted quantile θ and a target particle z, over a lane type V
/// whose lanes are states. With δ = z − θ the pair has the level a = |τ − 1{δ < 0}| and the loss a f(δ).
namespace gmac::losses::detail {

/// Sums over the particles for one quantile.
template <class V>
struct quantile_sums {
    V value = lanes::constant<V>(0.0); ///< Σ a f(δ)
    V slope = lanes::constant<V>(0.0); ///< Σ a g(δ), where g is f' up to a constant factor
};

/// A predicted quantile: θ and its levels τ (for particles above it) and 1 − τ (below).
template <class V>
struct leveled_quantile {
    V theta, above, below;

    /// a w; without weights w is not looked at.
    template <bool Weighted>
    [[nodiscard]] V level(V const& z, [[maybe_unused]] V const& weight) const noexcept {
        V const level = lanes::select(z < theta, below, above);
        if constexpr (Weighted)
            return level * weight;
        else
            return level;
    }
};

/// f = δ²/2 within κ, κ (|δ| − κ/2) beyond, which is κ times the Huber loss over κ; g = f'.
template <class V>
struct huber_pair {
    V kappa;
    V minus_kappa;

    explicit huber_pair(double threshold) noexcept
        : kappa(lanes::constant<V>(threshold)), minus_kappa(lanes::constant<V>(-threshold)) {}

    template <bool Weighted>
    void add(leveled_quantile<V> const& quantile, V const& z, V const& weight, quantile_sums<V>& sums) const noexcept {
        V const delta = z - quantile.theta;
        V const level = quantile.template level<Weighted>(z, weight);
        V const clamped = lanes::at_most(kappa, lanes::at_least(minus_kappa, delta));
        V const chord = lanes::mul_add(lanes::constant<V>(-0.5), clamped, delta);
        sums.slope = lanes::mul_add(level, clamped, sums.slope);
        sums.value = lanes::mul_add(level, V(clamped * chord), sums.value);
    }
};

/// f = |δ|, the limit of the Huber loss over κ for κ → 0; g = sign(δ), which is 0 at δ = 0. A NaN comes out in the value.
template <class V>
struct absolute_pair {
    template <bool Weighted>
    void add(leveled_quantile<V> const& quantile, V const& z, [[maybe_unused]] V const& weight,
             quantile_sums<V>& sums) const noexcept {
        V const zero = lanes::constant<V>(0.0);
        V slope = lanes::select(quantile.theta < z, quantile.above, zero) -
                  lanes::select(z < quantile.theta, quantile.below, zero);
        if constexpr (Weighted)
            slope = slope * weight;
        sums.slope = sums.slope + slope;
        sums.value = lanes::mul_add(slope, V(z - quantile.theta), sums.value);
    }
};

/// f = δ², g = δ = f' / 2.
template <class V>
struct squared_pair {
    template <bool Weighted>
    void add(leveled_quantile<V> const& quantile, V const& z, V const& weight, quantile_sums<V>& sums) const noexcept {
        V const delta = z - quantile.theta;
        V const weighted = quantile.template level<Weighted>(z, weight) * delta;
        sums.slope = sums.slope + weighted;
        sums.value = lanes::mul_add(weighted, delta, sums.value);
    }
};

/// `Count` neighbouring quantiles against some particles; several at once hide the latency of the sums.
template <std::size_t Count, bool Weighted, class V, class Pair>
inline void add_pairs(Pair const& pair, V const* quantiles, V const* fractions, V const* particles, V const* weights,
                      std::size_t particle_count, quantile_sums<V>* sums) noexcept {
    std::array<leveled_quantile<V>, Count> theta;
    std::array<quantile_sums<V>, Count> local;
#pragma GCC unroll 4
    for (std::size_t r = 0; r < Count; ++r) {
        theta[r] = {quantiles[r], fractions[r], lanes::constant<V>(1.0) - fractions[r]};
        local[r] = sums[r];
    }
    for (std::size_t j = 0; j < particle_count; ++j) {
        V const z = particles[j];
        V const weight = weights[Weighted ? j : 0];
#pragma GCC unroll 4
        for (std::size_t r = 0; r < Count; ++r)
            pair.template add<Weighted>(theta[r], z, weight, local[r]);
    }
#pragma GCC unroll 4
    for (std::size_t r = 0; r < Count; ++r)
        sums[r] = local[r];
}

/// The loss of one block of states by pairs: `value_factor` Σ_i Σ_j w_j a f(δ), and the gradient
/// `slope_factor` Σ_j w_j a g(δ). Works in tiles of fixed size, so any number of quantiles and particles will do.
template <bool WithGradient, bool Weighted, class V, class T, class Pair>
[[nodiscard]] V sum_quantile_pairs(Pair const& pair, quantile_outputs<T const> const& predicted,
                                   targets::dirac_particles<T const> const& targets, matrix_view<T> const& gradient,
                                   double value_factor, double slope_factor, std::size_t first, std::size_t count) {
    constexpr std::size_t tile = 64;
    alignas(64) std::array<V, tile> quantiles, fractions, particles;
    std::array<V, Weighted ? tile : 1> weights{};
    std::array<quantile_sums<V>, tile> sums;
    V total = lanes::constant<V>(0.0);
    std::size_t const n = predicted.quantiles();
    std::size_t const m = targets.particles();
    V taint = lanes::constant<V>(0.0);
    if constexpr (WithGradient)
        taint = taint_of<V>(targets.values, first, count);
    for (std::size_t i = 0; i < n; i += tile) {
        std::size_t const rows = (std::min)(tile, n - i);
        lanes::read_columns<V>(predicted.values, first, i, rows, quantiles.data(), count);
        lanes::read_columns<V>(predicted.fractions, first, i, rows, fractions.data(), count);
        std::fill_n(sums.begin(), rows, quantile_sums<V>{});
        for (std::size_t j = 0; j < m; j += tile) {
            std::size_t const cols = (std::min)(tile, m - j);
            if (i == 0 || m > tile) {
                lanes::read_columns<V>(targets.values, first, j, cols, particles.data(), count);
                if constexpr (Weighted)
                    lanes::read_columns<V>(targets.weights, first, j, cols, weights.data(), count);
            }
            std::size_t r = 0;
            for (; r + 4 <= rows; r += 4)
                add_pairs<4, Weighted>(pair, &quantiles[r], &fractions[r], particles.data(), weights.data(), cols,
                                       &sums[r]);
            for (; r < rows; ++r)
                add_pairs<1, Weighted>(pair, &quantiles[r], &fractions[r], particles.data(), weights.data(), cols,
                                       &sums[r]);
        }
        for (std::size_t r = 0; r < rows; ++r)
            total = total + sums[r].value;
        if constexpr (WithGradient) {
            V const zero = lanes::constant<V>(0.0);
            for (std::size_t r = 0; r < rows; ++r)
                quantiles[r] =
                    lanes::mul_add(quantiles[r], zero, V(sums[r].slope * lanes::constant<V>(slope_factor) + taint));
            lanes::write_columns<V>(quantiles.data(), gradient, first, i, rows, count);
        }
    }
    return total * lanes::constant<V>(value_factor);
}

/// The mean over the states by pairs: `value_factor` Σ_i Σ_j w_j a f(δ), and the gradient `slope_factor` Σ_j w_j a g(δ).
template <bool WithGradient, template <class> class Pair, class V, class T>
[[nodiscard]] T quantile_pairs(Pair<V> const& pair, quantile_outputs<T const> const& predicted,
                               targets::dirac_particles<T const> const& targets, matrix_view<T> const& gradient,
                               double value_factor, double slope_factor) {
    return mean_over_states<V, T>(predicted.rows(), [&](std::size_t first, std::size_t count) {
        return targets.weighted()
                   ? sum_quantile_pairs<WithGradient, true, V>(pair, predicted, targets, gradient, value_factor,
                                                               slope_factor, first, count)
                   : sum_quantile_pairs<WithGradient, false, V>(pair, predicted, targets, gradient, value_factor,
                                                                slope_factor, first, count);
    });
}

} // namespace gmac::losses::detail
