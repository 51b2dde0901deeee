// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_bits.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/special.hpp>
#include <gmac/losses/detail/damped_waves.hpp>
#include <gmac/losses/detail/target_block.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <numbers>

namespace gmac::losses::detail {

/// Where particles and components lie; spread = 2 σ².
template <class V>
struct wave_frame {
    V lowest = lanes::constant<V>(std::numeric_limits<double>::infinity()); ///< of the particles' means
    V highest = -lowest;
    V narrowest = lowest; ///< of the components
    V widest_particle = lanes::constant<V>(0.0), narrowest_particle = lowest;
    V centre = widest_particle;                     ///< of the particles: where waves fall short of nothing
    V period = widest_particle, frequency = period; ///< P and π / P

    void add_particles(particle_tile<V> const& tile) noexcept {
        for (std::size_t j = 0; j < tile.size; ++j) {
            lowest = lanes::at_most(lowest, tile.means[j]);
            highest = lanes::at_least(highest, tile.means[j]);
            widest_particle = lanes::at_least(widest_particle, tile.spreads[j]);
            narrowest_particle = lanes::at_most(narrowest_particle, tile.spreads[j]);
        }
    }
    /// After some particles: what P is at least.
    template <std::size_t K>
    void bound_period(std::array<V, K> const& means, std::array<V, K> const& spreads) noexcept {
        V const tails = tail() * lanes::sqrt(V(narrowest_particle + narrowest_particle));
        set_period(V(highest - lowest + tails), means, spreads, narrowest_particle);
    }
    /// After all particles: P is such that erfc((P − |d|) / √(2 (σ² + τ²))) is less than 1e-6 for all pairs whose distance
    /// is wanted. Among particles by √(s + t) ≤ (s + t) / 2 c + c / 2, where c = √(2 × the widest).
    template <std::size_t K, class Waves>
    void choose_period(std::array<V, K> const& means, std::array<V, K> const& spreads, Waves const& waves) noexcept {
        V const half_tail = lanes::constant<V>(0.5) * tail();
        V const c = lanes::sqrt(V(widest_particle + widest_particle));
        V const width = waves.width(V(half_tail / lanes::at_least(c, lanes::constant<V>(1e-18))));
        set_period(lanes::mul_add(half_tail, c, width), means, spreads, widest_particle);
    }
    /// a of the wave of a Gaussian.
    [[nodiscard]] V damping(V const& spread) const noexcept {
        return spread * frequency * (frequency * lanes::constant<V>(0.25));
    }
    /// Is what follows term n negligible in all sums over pairs, where |φ_V| is at most so large? Of the value and its
    /// derivatives, s ∂e/∂s² of the narrowest component changes most, by less than 1e-6.
    [[nodiscard]] bool ends(V const& n, V const& magnitude) const noexcept {
        V const a = damping(narrowest);
        V const left = magnitude * lanes::exp(V(-n * n * a));
        V const both = a + damping(narrowest_particle);
        // false for NaN
        return !lanes::any(!(left <= lanes::constant<V>(1e-6 * std::numbers::pi) * n * lanes::sqrt(V(both + both))));
    }
    [[nodiscard]] damped_wave<V> wave(V const& mean, V const& spread) const noexcept {
        return damped_wave<V>::first(V(mean - centre) * frequency, damping(spread));
    }

private:
    [[nodiscard]] static V tail() noexcept { return lanes::constant<V>(3.5); }
    /// The width of the particles and, if all are so wide as `particle`, what each component needs.
    template <std::size_t K>
    void set_period(V const& width, std::array<V, K> const& means, std::array<V, K> const& spreads,
                    V const& particle) noexcept {
        period = width;
        for (std::size_t i = 0; i < K; ++i) {
            V const farthest = lanes::at_least(V(highest - means[i]), V(means[i] - lowest));
            period = lanes::at_least(period, lanes::mul_add(tail(), lanes::sqrt(V(spreads[i] + particle)), farthest));
        }
        for (V const& mean : means)
            period = lanes::mul_add(mean, lanes::constant<V>(0.0), period); // NaN if one is not finite
        period = lanes::mul_add(centre, lanes::constant<V>(0.0), period);
        frequency = lanes::constant<V>(std::numbers::pi) / period;
    }
};

} // namespace gmac::losses::detail
