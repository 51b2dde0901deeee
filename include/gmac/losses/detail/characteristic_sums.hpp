// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_bits.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/special.hpp>
#include <gmac/distributions/folded_normal.hpp>
#include <gmac/losses/detail/damped_waves.hpp>
#include <gmac/losses/detail/mixture_sums.hpp>
#include <gmac/losses/detail/target_block.hpp>

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

/// Where particles and components lie; spread = 2 σ².
template <class V>
struct wave_frame {
    V lowest = lanes::constant<V>(std::numeric_limits<double>::infinity()); ///< of all means
    V highest = -lowest;
    V widest = lanes::constant<V>(0.0), narrowest = lowest; ///< of the components
    V widest_particle = widest, narrowest_particle = lowest;
    V finite = widest;                     ///< or NaN
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
            finite = lanes::mul_add(tile.means[j], lanes::constant<V>(0.0), finite);
        }
    }
    /// The wave turns back at P, where erfc((P − |d|) / √(2 (σ² + τ²))) is less than 1e-6.
    void choose_period() noexcept {
        V const spread = widest_particle + lanes::at_least(widest, widest_particle);
        period = (highest - lowest) + lanes::constant<V>(3.5) * lanes::sqrt(spread) + finite;
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
    [[nodiscard]] damped_wave<V> wave(V const& mean, V const& spread, V const& amplitude) const noexcept {
        V const centre = lowest + lanes::constant<V>(0.5) * (highest - lowest);
        return damped_wave<V>::first(V(mean - centre) * frequency, damping(spread), amplitude);
    }
};

/// The characteristic function of the targets of one block of states. Point masses do not end the series; if all points of
/// a state are at one place, as SR(λ) makes them at the end of an episode, the distance to themselves is known to be zero.
template <class V>
class target_waves {
public:
    template <class Targets>
    explicit target_waves(target_block<V, Targets> const& target) noexcept
        : count_(target.particles()), mass_(lanes::constant<V>(target.weighted() ? 0.0 : 1.0)) {}

    /// Some more particles.
    template <class Targets>
    void add(target_block<V, Targets> const& target, std::size_t start, particle_tile<V> const& tile,
             wave_frame<V>& frame) noexcept {
        for (std::size_t j = 0; j < tile.size; ++j) {
            damped_wave<V>& wave = sums_.waves[start + j]; // holds what it will be made from
            wave.real = tile.means[j];
            wave.imaginary = tile.spreads[j];
            wave.loss = target.weighted() ? tile.weights[j] : target.share();
        }
        frame.add_particles(tile);
        if (target.weighted())
            for (std::size_t j = 0; j < tile.size; ++j)
                mass_ = mass_ + tile.weights[j];
        if (lanes::any(frame.narrowest_particle == lanes::constant<V>(0.0)))
            add_points(start, tile.size);
        else
            narrowest_ = frame.narrowest_particle;
    }

    /// Are there points at several places?
    [[nodiscard]] bool scattered() const noexcept { return lanes::any(first_point_ < last_point_); }

    void start(wave_frame<V> const& frame) noexcept {
        for (std::size_t j = 0; j < count_; ++j) {
            damped_wave<V>& wave = sums_.waves[j];
            wave = frame.wave(wave.real, wave.imaginary, wave.loss);
        }
        V const at = lanes::select(points_ > lanes::constant<V>(0.0), first_point_, frame.lowest);
        point_ = frame.wave(at, lanes::constant<V>(0.0), points_);
    }
    /// Goes to the next terms.
    void next() noexcept {
        sums_.next(count_);
        for (std::size_t term = 0; term < terms_in_step; ++term) {
            points_real_[term] = point_.real;
            points_imaginary_[term] = point_.imaginary;
            point_.advance();
        }
    }
    /// φ at one of these terms.
    [[nodiscard]] V real(std::size_t term) const noexcept { return sums_.real[term] + points_real_[term]; }
    [[nodiscard]] V imaginary(std::size_t term) const noexcept {
        return sums_.imaginary[term] + points_imaginary_[term];
    }
    /// |φ|² without that of the points with themselves.
    [[nodiscard]] V square(std::size_t term) const noexcept {
        return sums_.real[term] * (real(term) + points_real_[term]) +
               sums_.imaginary[term] * (imaginary(term) + points_imaginary_[term]);
    }
    /// |φ| without the points at the last of these terms, and what it is at most from here on.
    [[nodiscard]] V last() const noexcept {
        return lanes::at_least(V(lanes::abs(sums_.real.back())), V(lanes::abs(sums_.imaginary.back())));
    }
    [[nodiscard]] V rest() const noexcept { return sums_.rest(count_); }
    /// The spread of the narrowest that is not a point.
    [[nodiscard]] V const& narrowest() const noexcept { return narrowest_; }
    [[nodiscard]] V const& points() const noexcept { return points_; }
    [[nodiscard]] V const& mass() const noexcept { return mass_; }

private:
    void add_points(std::size_t start, std::size_t size) noexcept {
        V const zero = lanes::constant<V>(0.0);
        for (std::size_t j = start; j < start + size; ++j) {
            damped_wave<V>& wave = sums_.waves[j];
            auto const point = wave.imaginary == zero;
            first_point_ = lanes::select(point, lanes::at_most(first_point_, wave.real), first_point_);
            last_point_ = lanes::select(point, lanes::at_least(last_point_, wave.real), last_point_);
            narrowest_ = lanes::select(point, narrowest_, lanes::at_most(narrowest_, wave.imaginary));
            points_ = points_ + lanes::select(point, wave.loss, zero);
            wave.loss = lanes::select(point, zero, wave.loss);
        }
    }

    std::size_t count_;
    V mass_, points_ = lanes::constant<V>(0.0);
    V first_point_ = lanes::constant<V>(std::numeric_limits<double>::infinity()), last_point_ = -first_point_;
    V narrowest_ = first_point_;
    damped_wave<V> point_;
    std::array<V, terms_in_step> points_real_, points_imaginary_;
    wave_sums<V> sums_;
};

/// Lanes of float, and particles that are Gaussians.
template <class V, class Targets>
inline constexpr bool has_characteristic_sums =
    lanes::is_batch<V> && std::same_as<lanes::scalar_of<V>, float> && spread_targets<Targets>;
inline constexpr std::size_t fewest_waves = 24;

/// The most terms of the series: with the target term, and without it, where pairs cost less.
inline constexpr std::size_t most_terms = 160;
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
        component_series sums = *this; // copies stay in registers
        V const mass = target.mass();
        for (std::size_t term = 0; term < terms_in_step; ++term) {
            V const re = target.real(term), im = target.imaginary(term);
            V const real = lanes::mul_add(sums.wave.real, re, V(sums.wave.imaginary * im));
            sums.distance = lanes::mul_add(V(mass - real), V(inverse[term] * inverse[term]), sums.distance);
            if constexpr (WithGradient) {
                V const imaginary = lanes::mul_sub(sums.wave.real, im, V(sums.wave.imaginary * re));
                sums.slope = lanes::mul_add(imaginary, V(inverse[term]), sums.slope);
                sums.density = sums.density + real;
            }
            sums.wave.advance();
        }
        *this = sums;
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
            frame.add_component(mixture.means[i], spreads[i]);
        }
        std::size_t const limit = target_term ? most_terms : most_terms_of_cross;
        target_waves<V> waves(target_states);
        particle_tile<V> tile;
        for (std::size_t start = 0; start < target_states.particles(); start += tile_size) {
            target_states.load(start, tile);
            waves.add(target_states, start, tile, frame);
            frame.choose_period(); // it only grows
            if (waves.scattered() || !ends_by(limit, frame))
                return;
        }
        std::array<component_series<V>, K> components;
        for (std::size_t i = 0; i < K; ++i)
            components[i].wave = frame.wave(mixture.means[i], spreads[i], lanes::constant<V>(1.0));
        waves.start(frame);
        sum<WithGradient>(mixture, frame, waves, components, target_term, limit);
    }

private:
    /// Do so many terms do, for all that is known of the widths?
    [[nodiscard]] static bool ends_by(std::size_t limit, wave_frame<V> const& frame) noexcept {
        V const n = lanes::constant<V>(static_cast<double>(2 * limit + 1));
        return frame.ends(n, lanes::exp(V(-n * n * frame.damping(frame.narrowest_particle))));
    }

    /// Is what follows term n negligible in the target's distance to itself: at most 1e-6 of the sum so far? Where |φ|² has
    /// been damped by exp(−2 a n²), what follows is smaller by 1 / (1 + 2 a n²) again.
    [[nodiscard]] static bool target_ends(V const& n, V const& rest, V const& points, V const& damped,
                                          V const& sum) noexcept {
        V const smaller = lanes::mul_add(lanes::constant<V>(2.0), lanes::at_most(lanes::constant<V>(100.0), damped),
                                         lanes::constant<V>(1.0));
        // All points at one place leave no sum, and a little is far below the rounding of the rest.
        V const allowed = n * lanes::mul_add(smaller * lanes::constant<V>(2e-6), sum, lanes::constant<V>(1e-9));
        return !lanes::any(!(rest * (rest + points + points) <= allowed));
    }

    template <bool WithGradient, class Mixture>
    void sum(Mixture const& mixture, wave_frame<V> const& frame, target_waves<V>& waves,
             std::array<component_series<V>, K>& components, bool target_term, std::size_t limit) noexcept {
        V const mass = waves.mass(), points = waves.points();
        V const own = mass * mass - points * points;
        V self = lanes::constant<V>(0.0);
        auto const target_done = [&](V const& n, V const& left) {
            return target_ends(n, left, points, V(n * n * frame.damping(waves.narrowest())), self);
        };
        std::size_t terms = 0;
        for (bool more = true; more && terms < limit;) {
            waves.next();
            float const* const inverse = &numbers_of_terms.inverse[terms];
            for (auto& component : components)
                component.template add<WithGradient>(waves, inverse);
            if (target_term)
                for (std::size_t term = 0; term < terms_in_step; ++term)
                    self = lanes::mul_add(V(own - waves.square(term)), V(inverse[term] * inverse[term]), self);
            terms += terms_in_step;
            V const n = lanes::constant<V>(static_cast<double>(2 * terms + 1));
            // What is cheap comes first.
            more = !frame.ends(n, V(waves.last() + points)) || (target_term && !target_done(n, waves.last()));
            if (!more) {
                V const rest = waves.rest();
                has_target = target_term && target_done(n, rest);
                more = !frame.ends(n, V(rest + points)) || (target_term && !has_target);
            }
        }
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
        // Sums are rounded relative to P: about 1e-7 P, at most 3e-6 of the distance.
        has_cross = !lanes::any(!(distance >= lanes::constant<V>(pi * pi / 128.0)));
        has_target = has_target && has_cross;
    }
};

} // namespace gmac::losses::detail
