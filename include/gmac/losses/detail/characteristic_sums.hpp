// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_bits.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/special.hpp>
#include <gmac/distributions/folded_normal.hpp>
#include <gmac/losses/detail/damped_waves.hpp>
#include <gmac/losses/detail/mixture_sums.hpp>
#include <gmac/losses/detail/target_block.hpp>
#include <gmac/losses/detail/target_waves.hpp>
#include <gmac/losses/detail/wave_frame.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>

/// The mixture energy in float without pairs, from characteristic functions. For |d| ≤ P
///     |d| = P/2 − (4 P / π²) Σ_n cos(n π d / P) / n²,   n = 1, 3, 5, …,
/// the Fourier series of a triangular wave. So, with t = n π / P, for mixtures that are not wider than P
///     δ(U, V) = P/2 − (4 P / π²) Σ_n Re φ_U(t) φ_V(t)* / n²,   φ_V(t) = Σ_j v_j exp(i t ν_j − t² τ_j² / 2):
/// nothing is approximated but by where the series ends, and Gaussians end it soon. m particles and K components
/// take m + K waves a term instead of K m pairs, and the target's distance to itself comes with them.
namespace gmac::losses::detail {

/// Lanes of float, and particles that are Gaussians.
template <class V, class Targets>
inline constexpr bool has_characteristic_sums =
    lanes::is_batch<V> && std::same_as<lanes::scalar_of<V>, float> && spread_targets<Targets>;
inline constexpr std::size_t fewest_waves = 24;

/// The most terms of the series: with the target term, and without it, where pairs cost less.
inline constexpr std::size_t most_terms = 320;
inline constexpr std::size_t most_terms_of_cross = 32;

/// Of each term 1/n, and Σ 1/n² from it on.
struct term_numbers {
    std::array<float, most_terms> inverse{};
    std::array<float, most_terms + 1> rest{};

    constexpr term_numbers() noexcept {
        double left = std::numbers::pi * std::numbers::pi / 8.0;
        for (std::size_t k = 0; k <= most_terms; ++k) {
            double const inverse_n = 1.0 / static_cast<double>(2 * k + 1);
            rest[k] = static_cast<float>(left);
            left -= inverse_n * inverse_n;
            if (k < most_terms)
                inverse[k] = static_cast<float>(inverse_n);
        }
    }
};
inline constexpr term_numbers numbers_of_terms;

/// One component against the target.
template <class V>
struct component_series {
    damped_wave<V> wave;
    V distance = lanes::constant<V>(0.0);   ///< Σ (mass − Re φ_U φ_V*) / n²
    V slope = distance, density = distance; ///< Σ Im φ_U φ_V* / n, Σ Re φ_U φ_V*

    template <bool WithGradient>
    void add(target_waves<V> const& target, float const* inverse) noexcept {
        damped_wave<V> u = wave; // copies stay in registers
        V distances = distance, slopes = slope, densities = density;
        V const mass = target.mass();
        for (std::size_t term = 0; term < terms_in_step; ++term) {
            // φ_U = 1 − u and φ_V = mass − ψ
            V const re = target.real(term), im = target.imaginary(term);
            V const missing =
                lanes::mul_sub(u.imaginary, im, lanes::mul_sub(u.real, re, lanes::mul_add(mass, u.real, re)));
            distances = lanes::mul_add(missing, V(inverse[term] * inverse[term]), distances);
            if constexpr (WithGradient) {
                V const imaginary =
                    lanes::mul_sub(u.real, im, lanes::mul_add(u.imaginary, re, lanes::mul_sub(mass, u.imaginary, im)));
                slopes = lanes::mul_add(imaginary, V(inverse[term]), slopes);
                densities = densities + (mass - missing);
            }
            u.advance();
        }
        u.keep_normal();
        wave = u;
        distance = distances;
        slope = slopes;
        density = densities;
    }
};

/// The sums over the pairs of a prediction and a target, and of the target with itself, for one block of states.
template <class V, std::size_t K>
struct characteristic_sums {
    std::array<kernels::pair_sums<V>, K> cross;
    V target = lanes::constant<V>(0.0);
    bool has_cross = false, has_target = false;

    template <bool WithGradient, class Mixture, class Targets>
    void compute(Mixture const& mixture, target_block<V, Targets>& target_states, bool target_term) noexcept {
        wave_frame<V> frame;
        std::array<V, K> spreads;
        for (std::size_t i = 0; i < K; ++i) {
            spreads[i] = kernels::doubled_variance(mixture.deviations[i]);
            frame.narrowest = lanes::at_most(frame.narrowest, spreads[i]);
        }
        std::size_t const limit = target_term ? most_terms : most_terms_of_cross;
        target_waves<V> waves(target_states);
        particle_tile<V> tile;
        for (std::size_t start = 0; start < target_states.particles(); start += tile_size) {
            target_states.load(start, tile);
            waves.add(target_states, start, tile, frame);
            frame.bound_period(mixture.means, spreads);
            if (waves.scattered() || !ends_by(limit, frame))
                return;
        }
        frame.choose_period(mixture.means, spreads, waves);
        if (!ends_by(limit, frame))
            return;
        std::array<component_series<V>, K> components;
        for (std::size_t i = 0; i < K; ++i)
            components[i].wave = frame.wave(mixture.means[i], spreads[i]);
        waves.start(frame, target_term);
        sum<WithGradient>(mixture, frame, waves, components, target_term, limit);
    }

private:
    /// Do so many terms do, for all that is known of the widths?
    [[nodiscard]] static bool ends_by(std::size_t limit, wave_frame<V> const& frame) noexcept {
        V const n = lanes::constant<V>(static_cast<double>(2 * limit + 1));
        return frame.ends(n, lanes::exp(V(-n * n * frame.damping(frame.narrowest_particle))));
    }

    /// Are so large a product of two φ from term n on, which are damped by exp(−2 n² a) at least, and what follows negligible
    /// in the target's distance to itself: at most 1e-6 of the sum so far? Together they are 1 + 2 a n² times smaller than
    /// they would be without damping.
    [[nodiscard]] static bool pairs_end(V const& n, V const& product, V const& damping, V const& sum) noexcept {
        V const damped = lanes::at_most(lanes::constant<V>(100.0), V(n * n * damping));
        V const smaller = lanes::mul_add(lanes::constant<V>(2.0), damped, lanes::constant<V>(1.0));
        // All points at one place leave no sum, and a little is far below the rounding of the rest.
        V const allowed = n * lanes::mul_add(smaller * lanes::constant<V>(2e-6), sum, lanes::constant<V>(1e-9));
        return !lanes::any(!(product <= allowed));
    }

    template <bool WithGradient, class Mixture>
    void sum(Mixture const& mixture, wave_frame<V> const& frame, target_waves<V>& waves,
             std::array<component_series<V>, K>& components, bool target_term, std::size_t limit) noexcept {
        V const mass = waves.mass(), points = waves.points();
        V const own = mass * mass - points * points;
        V const damping = frame.damping(waves.narrowest());
        V const groups = lanes::constant<V>(static_cast<double>(waves.groups())); // that share the error
        V self = lanes::constant<V>(0.0);
        std::size_t terms = 0;
        bool more = true;
        while (more && terms < limit) {
            waves.next();
            float const* const inverse = &numbers_of_terms.inverse[terms];
            for (auto& component : components)
                component.template add<WithGradient>(waves, inverse);
            if (target_term)
                for (std::size_t term = 0; term < terms_in_step; ++term)
                    self = lanes::mul_add(waves.square_deficit(term), V(inverse[term] * inverse[term]), self);
            terms += terms_in_step;
            V const n = lanes::constant<V>(static_cast<double>(2 * terms + 1));
            auto const negligible = [&](V const& magnitude, V const& product) {
                return frame.ends(n, magnitude) && (!target_term || pairs_end(n, product, damping, self));
            };
            auto const ends = [&](V const& left) {
                return negligible(V(left + points), V(left * (left + points + points)));
            };
            more = !ends(waves.last()) || !ends(waves.rest()); // what is cheap comes first
            if (more) {
                V const others = groups * lanes::mul_add(mass, lanes::exp(V(-n * n * damping)), points);
                waves.drop([&](V const& left) { return negligible(V(groups * left), V(left * (others + others))); });
            }
        }
        has_target = target_term && !more;
        finish<WithGradient>(mixture, frame, components, V(numbers_of_terms.rest[terms]), mass);
        V const scale = frame.period * lanes::constant<V>(4.0 / (std::numbers::pi * std::numbers::pi));
        target = scale * lanes::mul_add(own, V(numbers_of_terms.rest[terms]), self);
    }

    template <bool WithGradient, class Mixture>
    void finish(Mixture const& mixture, wave_frame<V> const& frame,
                std::array<component_series<V>, K> const& components, V const& rest, V const& mass) noexcept {
        constexpr double pi = std::numbers::pi;
        V distance = lanes::constant<V>(0.0);
        for (std::size_t i = 0; i < K; ++i) {
            V const all = lanes::mul_add(mass, rest, components[i].distance);
            distance = lanes::mul_add(mixture.weights[i], all, distance);
            cross[i].distance = frame.period * lanes::constant<V>(4.0 / (pi * pi)) * all;
            if constexpr (WithGradient) {
                cross[i].slope = lanes::constant<V>(4.0 / pi) * components[i].slope;
                cross[i].density =
                    lanes::constant<V>(2.0 / kernels::inverse_sqrt_pi / pi) * frame.frequency * components[i].density;
            }
        }
        // Sums are rounded by little more than they are, but the number of a term makes it more: by 3e-8 P at most, where
        // all particles are alike.
        has_cross = !lanes::any(!(distance >= lanes::constant<V>(pi * pi / 512.0)));
        has_target = has_target && has_cross;
    }
};

} // namespace gmac::losses::detail
