// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/erf_table.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/pack.hpp>
#include <gmac/distributions/folded_normal.hpp>
#include <gmac/losses/detail/target_block.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <utility>

/// The parts of the mixture energy for one block of states. `Mixture` has arrays of K `weights`, `means` and
/// `deviations`, a lane vector each.
namespace gmac::losses::detail {

template <class Mixture>
inline constexpr std::size_t components_of = std::tuple_size_v<decltype(Mixture::weights)>;

/// How many particles go through the kernel side by side: as many as the registers hold.
template <class V>
inline constexpr std::size_t particles_in_step = 1;
template <class V>
    requires lanes::detail::is_avx512<V>
inline constexpr std::size_t particles_in_step<V> = 2;

/// One component of the prediction, as the inner loop wants it.
template <class V>
struct component {
    V mean, spread, h; ///< spread = 2 σ²; h = 1/√spread, used where the particles are points
};

template <bool WithGradient, bool Weighted, class V>
[[gnu::always_inline]] inline void add_terms_of(kernels::pair_sums<V>& sums, kernels::pair_terms<V> const& terms,
                                                V const& d, V const& q, particle_tile<V> const& tile,
                                                std::size_t j) noexcept {
    if constexpr (Weighted)
        kernels::add_terms<WithGradient>(sums, terms, d, q, tile.weights[j]);
    else
        kernels::add_terms<WithGradient>(sums, terms, d, q);
}
/// Particle j of the tile.
template <bool WithGradient, bool Weighted, bool Spread, class V>
[[gnu::always_inline]] inline void add_particle(kernels::pair_sums<V>& sums, component<V> const& u,
                                                particle_tile<V> const& tile, std::size_t j) noexcept {
    V const d = u.mean - tile.means[j];
    if constexpr (Spread) {
        V const q = u.spread + tile.spreads[j];
        add_terms_of<WithGradient, Weighted>(sums, kernels::pair(d, kernels::inverse_root(q)), d, q, tile, j);
    } else {
        add_terms_of<WithGradient, Weighted>(sums, kernels::pair(d, u.h), d, u.spread, tile, j);
    }
}
/// Particles j … j + N − 1, side by side.
template <std::size_t N, bool WithGradient, bool Weighted, bool Spread, class V>
[[gnu::always_inline]] inline void add_particles(kernels::pair_sums<V>& sums, component<V> const& u,
                                                 particle_tile<V> const& tile, std::size_t j) noexcept {
    auto const d =
        lanes::make_pack<N>([&](auto i) __attribute__((always_inline)) { return V(u.mean - tile.means[j + i]); });
    auto const q = lanes::make_pack<N>([&](auto i) __attribute__((always_inline)) {
        return Spread ? V(u.spread + tile.spreads[j + i]) : u.spread;
    });
    auto const terms = kernels::pair(d, Spread ? kernels::inverse_root(q) : lanes::pack<V, N>(u.h));
    [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
        (add_terms_of<WithGradient, Weighted>(sums, {terms.density.parts[I], terms.slope.parts[I]}, d.parts[I],
                                              q.parts[I], tile, j + I),
         ...);
    }
    (std::make_index_sequence<N>{});
}

/// One component against the particles of a tile from `start` on: the inner loop, where all the time goes. A function on
/// its own, so that the registers are its own.
template <bool WithGradient, bool Weighted, bool Spread, class V>
[[nodiscard, gnu::noinline]] kernels::pair_sums<V> sums_over_tile(component<V> const& u, particle_tile<V> const& tile,
                                                                  std::size_t start = 0) noexcept {
    constexpr std::size_t N = particles_in_step<V>;
    kernels::pair_sums<V> sums;
    component<V> const own = u; // a copy stays in registers
    std::size_t j = start;
    if constexpr (N > 1)
        for (; j + N <= tile.size; j += N)
            add_particles<N, WithGradient, Weighted, Spread>(sums, own, tile, j);
    for (; j < tile.size; ++j)
        add_particle<WithGradient, Weighted, Spread>(sums, own, tile, j);
    return sums;
}

/// Particles j … j + N − 1, whose arguments of the table of erf stand in x and h.
template <std::size_t N, bool WithGradient, bool Weighted, bool Spread, class V>
[[gnu::always_inline]] inline void add_looked_up(kernels::pair_sums<V>& sums, component<V> const& u,
                                                 particle_tile<V> const& tile, V const* x, V const* h,
                                                 std::size_t j) noexcept {
    auto const found =
        lanes::erf_by_table(lanes::make_pack<N>([&](auto i) __attribute__((always_inline)) { return x[j + i]; }));
    [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
        (add_terms_of<WithGradient, Weighted>(sums, {V(found.slope.parts[I] * h[j + I]), found.erf.parts[I]},
                                              V(u.mean - tile.means[j + I]),
                                              Spread ? V(u.spread + tile.spreads[j + I]) : u.spread, tile, j + I),
         ...);
    }
    (std::make_index_sequence<N>{});
}
/// The same by the table of erf. In two passes, since a pair is a longer chain of dependent operations than the machine can
/// overlap with the next ones.
template <bool WithGradient, bool Weighted, bool Spread, class V>
    requires lanes::looks_up_sixteen<V>
[[nodiscard, gnu::noinline]] kernels::pair_sums<V> sums_over_tile(component<V> const& u, particle_tile<V> const& tile,
                                                                  std::size_t start = 0) noexcept {
    constexpr std::size_t N = particles_in_step<V>;
    std::array<V, tile_size> x, h; // d h and h in steps of the table
    component<V> const own = u;
    V const scale = lanes::constant<V>(lanes::erf_step * lanes::erf_step);
    V const scaled = own.spread * scale, h_of_points = own.h * lanes::constant<V>(1.0 / lanes::erf_step);
    for (std::size_t j = start; j < tile.size; ++j) {
        h[j] = Spread ? kernels::inverse_root(lanes::mul_add(tile.spreads[j], scale, scaled)) : h_of_points;
        x[j] = V(own.mean - tile.means[j]) * h[j];
    }
    kernels::pair_sums<V> sums;
    std::size_t j = start;
    for (; j + N <= tile.size; j += N)
        add_looked_up<N, WithGradient, Weighted, Spread>(sums, own, tile, x.data(), h.data(), j);
    for (; j < tile.size; ++j)
        add_looked_up<1, WithGradient, Weighted, Spread>(sums, own, tile, x.data(), h.data(), j);
    V const factor = lanes::constant<V>(0.5 / kernels::inverse_sqrt_pi); // of exp(−d² h²) in the slope
    sums.spread = sums.spread * factor;
    sums.density = sums.density * factor;
    return sums;
}

/// For each component i of the prediction: Σ_j v_j e_ij over the target's particles j, and its derivatives. The sums over
/// tiles are added up, which rounds less than adding up all particles one by one.
template <bool WithGradient, class Mixture, class V, class Targets>
[[nodiscard]] auto cross_sums(Mixture const& mixture, target_block<V, Targets>& target) noexcept {
    constexpr std::size_t K = components_of<Mixture>;
    constexpr bool spread = target_block<V, Targets>::spread;
    std::array<kernels::pair_sums<V>, K> sums;
    std::array<component<V>, K> components;
    for (std::size_t i = 0; i < K; ++i) {
        V const variance = kernels::doubled_variance(mixture.deviations[i]);
        components[i] = {mixture.means[i], variance, spread ? variance : kernels::inverse_root(variance)};
    }
    particle_tile<V> tile;
    for (std::size_t start = 0; start < target.particles(); start += tile_size) {
        target.load(start, tile);
        for (std::size_t i = 0; i < K; ++i) {
            auto const of_tile = target.weighted() ? sums_over_tile<WithGradient, true, spread>(components[i], tile)
                                                   : sums_over_tile<WithGradient, false, spread>(components[i], tile);
            sums[i] = sums[i].template plus<WithGradient>(of_tile);
        }
    }
    if (!target.weighted()) {
        V const share = target.share();
        for (auto& sum : sums)
            sum = sum.template scaled<WithGradient>(share);
    }
    return sums;
}

/// For each component i of the prediction: Σ_k w_k e_ik over its components k, and its derivatives; `density` leaves out
/// k = i, whose share σ_i g_ii = 1/2 is exact also for σ_i = 0.
template <bool WithGradient, class Mixture>
[[nodiscard]] auto self_sums(Mixture const& mixture) noexcept {
    constexpr std::size_t K = components_of<Mixture>;
    using V = typename decltype(Mixture::weights)::value_type;
    std::array<kernels::pair_sums<V>, K> sums;
    std::array<V, K> spreads;
    V const two = lanes::constant<V>(2.0);
    for (std::size_t i = 0; i < K; ++i) {
        spreads[i] = kernels::doubled_variance(mixture.deviations[i]);
        sums[i].spread = two * mixture.weights[i] * mixture.deviations[i];
    }
    for (std::size_t i = 0; i < K; ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            V const d = mixture.means[i] - mixture.means[k];
            V const q = spreads[i] + spreads[k];
            auto const terms = kernels::pair(d, kernels::inverse_root(q));
            kernels::add_terms<WithGradient>(sums[i], terms, d, q, mixture.weights[k]);
            kernels::add_terms<WithGradient>(sums[k], {terms.density, V(-terms.slope)}, V(-d), q, mixture.weights[i]);
        }
    }
    return sums;
}

/// The gradient of Σ_i w_i (2 cross_i − self_i), times scale / 2, with respect to weights, means and deviations.
template <class Mixture, class Sums, class V>
[[nodiscard]] Mixture mixture_gradient(Mixture const& mixture, Sums const& cross, Sums const& self,
                                       V const& scale) noexcept {
    V const half = lanes::constant<V>(0.5);
    V const factor = lanes::constant<V>(2.0 * kernels::inverse_sqrt_pi);
    Mixture gradient;
    for (std::size_t i = 0; i < components_of<Mixture>; ++i) {
        V const weight = scale * mixture.weights[i];
        gradient.weights[i] = scale * (cross[i].expectation() - self[i].expectation());
        gradient.means[i] = weight * (cross[i].slope - self[i].slope);
        gradient.deviations[i] =
            weight * factor *
            (mixture.deviations[i] * (cross[i].density - self[i].density) - half * mixture.weights[i]);
    }
    return gradient;
}

} // namespace gmac::losses::detail
