// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>
#include <gmac/losses/detail/erf_table.hpp>
#include <gmac/losses/detail/folded_normal.hpp>
#include <gmac/losses/detail/target_block.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <tuple>

/// The sums over pairs that the mixture energy is made of, for one block of states, a lane each. `Mixture` has arrays of K
/// `weights`, `means` and `deviations`, a lane vector each.
namespace gmac::inline GMAC_ABI::losses::detail {

template <class Mixture>
inline constexpr std::size_t components_of = std::tuple_size_v<decltype(Mixture::weights)>;

/// One component against the particles of a tile from `start` on: the inner loop, where all the time goes. A function on
/// its own, so that the registers are its own. `Points`: the particles are point masses.
template <bool WithGradient, bool Weighted, bool Points, class V>
[[nodiscard, gnu::noinline]] kernels::pair_sums<V> sums_over_tile(V const& mean, V const& doubled_variance,
                                                                  particle_tile<V> const& tile,
                                                                  std::size_t start = 0) noexcept {
    if constexpr (looks_up_sixteen<V>)
        return sums_by_table<WithGradient, Weighted, Points>(mean, doubled_variance, tile, start);
    kernels::pair_sums<V> sums;
    V const own_mean = mean, own_variance = doubled_variance; // copies stay in registers
    V const root_of_points = Points ? kernels::inverse_root(own_variance) : own_variance;
    for (std::size_t j = start; j < tile.size; ++j) {
        V const d = own_mean - tile.means[j];
        V const q = Points ? own_variance : own_variance + tile.doubled_variances[j];
        auto const terms = kernels::pair(d, Points ? root_of_points : kernels::inverse_root(q));
        if constexpr (Weighted)
            kernels::add_terms<WithGradient>(sums, terms, d, q, tile.weights[j]);
        else
            kernels::add_terms<WithGradient>(sums, terms, d, q);
    }
    return sums;
}

/// For each component i of the prediction: Σ_j v_j e_ij over the target's particles j, and its derivatives. The sums over
/// tiles are added up, which rounds less than adding up all particles one by one.
template <bool WithGradient, class Mixture, class V, class Targets>
[[nodiscard]] auto cross_sums(Mixture const& mixture, target_block<V, Targets>& target) noexcept {
    constexpr bool points = !gaussian_targets<Targets>;
    constexpr std::size_t K = components_of<Mixture>;
    std::array<kernels::pair_sums<V>, K> sums;
    std::array<V, K> variances;
    for (std::size_t i = 0; i < K; ++i)
        variances[i] = kernels::doubled_variance(mixture.deviations[i]);
    particle_tile<V> tile;
    for (std::size_t start = 0; start < target.particles(); start += tile_size) {
        target.load(start, tile);
        for (std::size_t i = 0; i < K; ++i) {
            auto const of_tile =
                target.weighted() ? sums_over_tile<WithGradient, true, points>(mixture.means[i], variances[i], tile)
                                  : sums_over_tile<WithGradient, false, points>(mixture.means[i], variances[i], tile);
            sums[i] = sums[i].template plus<WithGradient>(of_tile);
        }
    }
    if (!target.weighted())
        for (auto& sum : sums)
            sum = sum.template scaled<WithGradient>(target.share());
    return sums;
}

/// For each component i of the prediction: Σ_k w_k e_ik over its components k, and its derivatives; `density` leaves out
/// k = i, whose share σ_i g_ii is 1/2, and 0 for σ_i = 0.
template <bool WithGradient, class Mixture>
[[nodiscard]] auto self_sums(Mixture const& mixture) noexcept {
    constexpr std::size_t K = components_of<Mixture>;
    using V = typename decltype(Mixture::weights)::value_type;
    std::array<kernels::pair_sums<V>, K> sums;
    std::array<V, K> variances;
    V const two = lanes::constant<V>(2.0);
    for (std::size_t i = 0; i < K; ++i) {
        variances[i] = kernels::doubled_variance(mixture.deviations[i]);
        sums[i].exponentials = two * mixture.weights[i] * mixture.deviations[i];
    }
    for (std::size_t i = 0; i < K; ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            V const d = mixture.means[i] - mixture.means[k];
            V const q = variances[i] + variances[k];
            auto const terms = kernels::pair(d, kernels::inverse_root(q));
            kernels::add_terms<WithGradient>(sums[i], terms, d, q, mixture.weights[k]);
            kernels::add_terms<WithGradient>(sums[k], {terms.density, V(-terms.slope)}, V(-d), q, mixture.weights[i]);
        }
    }
    return sums;
}

/// δ(V, V) = Σ_jl v_j v_l E|N(ν_j − ν_l, τ_j² + τ_l²)| of the target with itself, each pair computed once.
template <class V, class Targets>
[[nodiscard]] V target_distance(target_block<V, Targets>& target) noexcept {
    constexpr bool points = !gaussian_targets<Targets>;
    V sum = lanes::constant<V>(0.0);
    particle_tile<V> left, right;
    auto const add_row = [&](std::size_t j, particle_tile<V> const& others, std::size_t start) {
        V const variance = points ? lanes::constant<V>(0.0) : left.doubled_variances[j];
        auto const row = target.weighted()
                             ? sums_over_tile<false, true, points>(left.means[j], variance, others, start)
                             : sums_over_tile<false, false, points>(left.means[j], variance, others, start);
        sum = sum + (target.weighted() ? left.weights[j] * row.expectation() : row.expectation());
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

/// The gradient of Σ_i w_i (2 cross_i − self_i), times scale / 2, with respect to weights, means and deviations. That with
/// respect to a deviation is 0 where it is 0, the middle of the slopes of |σ|, or so small that its square is no normal number.
template <class Mixture, class Sums, class V>
[[nodiscard]] Mixture mixture_gradient(Mixture const& mixture, Sums const& cross, Sums const& self,
                                       V const& scale) noexcept {
    V const zero = lanes::constant<V>(0.0), half = lanes::constant<V>(0.5);
    V const tiny = lanes::constant<V>(std::same_as<lanes::scalar_of<V>, float> ? 0x1.7p-64 : 0x1.7p-512);
    V const factor = lanes::constant<V>(2.0 * kernels::inverse_sqrt_pi);
    Mixture gradient;
    for (std::size_t i = 0; i < components_of<Mixture>; ++i) {
        V const weight = scale * mixture.weights[i];
        V const of_deviation = mixture.deviations[i] * (cross[i].density - self[i].density) - half * mixture.weights[i];
        gradient.weights[i] = scale * (cross[i].expectation() - self[i].expectation());
        gradient.means[i] = weight * (cross[i].slope - self[i].slope);
        gradient.deviations[i] = weight * factor * lanes::select(mixture.deviations[i] <= tiny, zero, of_deviation);
    }
    return gradient;
}

} // namespace gmac::inline GMAC_ABI::losses::detail
