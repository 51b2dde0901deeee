// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_bits.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/special.hpp>
#include <gmac/losses/detail/damped_waves.hpp>
#include <gmac/losses/detail/target_block.hpp>

#include <cstddef>
#include <limits>
#include <numbers>

namespace gmac::losses::detail {

/// Where particles and components lie; spread = 2 σ².
template <class V>
struct wave_frame {
    V lowest = lanes::constant<V>(std::numeric_limits<double>::infinity()); ///< of all means
    V highest = -lowest;
    V widest = lanes::constant<V>(0.0), narrowest = lowest; ///< of the components
    V widest_particle = widest, narrowest_particle = lowest;
    V finite = widest;                     ///< 0, or NaN if a component's mean is not finite
    V centre = widest;                     ///< of the particles: where waves fall short of nothing
    V period = lowest, frequency = widest; ///< P and π / P

    void add_component(V const& mean, V const& spread) noexcept {
        lowest = lanes::at_most(lowest, mean);
        highest = lanes::at_least(highest, mean);
        widest = lanes::at_least(widest, spread);
        narrowest = lanes::at_most(narrowest, spread);
        finite = lanes::mul_add(mean, lanes::constant<V>(0.0), finite);
    }
    void add_particles(particle_tile<V> const& tile) noexcept {
        for (std::size_t j = 0; j < tile.size; ++j) {
            lowest = lanes::at_most(lowest, tile.means[j]);
            highest = lanes::at_least(highest, tile.means[j]);
            widest_particle = lanes::at_least(widest_particle, tile.spreads[j]);
            narrowest_particle = lanes::at_most(narrowest_particle, tile.spreads[j]);
        }
    }
    /// The wave turns back at P, where erfc((P − |d|) / √(2 (σ² + τ²))) is less than 1e-6.
    void choose_period() noexcept {
        V const spread = widest_particle + lanes::at_least(widest, widest_particle);
        period = (highest - lowest) + lanes::constant<V>(3.5) * lanes::sqrt(spread) +
                 lanes::mul_add(centre, lanes::constant<V>(0.0), finite);
        frequency = lanes::constant<V>(std::numbers::pi) / period;
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
};

} // namespace gmac::losses::detail
