// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_bits.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/special.hpp>
#include <gmac/losses/detail/damped_waves.hpp>
#include <gmac/losses/detail/target_block.hpp>
#include <gmac/losses/detail/wave_frame.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace gmac::losses::detail {

/// The characteristic function of the targets of one block of states. Point masses do not end the series; if all points of
/// a state are at one place, as SR(λ) makes them at the end of an episode, the distance to themselves is known to be zero.
template <class V>
class target_waves {
public:
    template <class Targets>
    explicit target_waves(target_block<V, Targets> const& target) noexcept
        : amplitudes_differ_(target.weighted()), mass_(lanes::constant<V>(target.weighted() ? 0.0 : 1.0)) {
        sums_.count = target.particles();
    }

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
        order();
        for (std::size_t j = 0; j < sums_.count; ++j) {
            damped_wave<V>& wave = sums_.waves[j];
            wave = frame.wave(wave.real, wave.imaginary, wave.loss);
        }
        V const at = lanes::select(points_ > lanes::constant<V>(0.0), first_point_, frame.lowest);
        point_ = frame.wave(at, lanes::constant<V>(0.0), points_);
    }
    /// Goes to the next terms.
    void next() noexcept {
        sums_.next();
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
    [[nodiscard]] V rest() const noexcept { return sums_.rest(); }
    /// How many groups of waves are left, and how the last ones leave: see wave_sums::drop.
    [[nodiscard]] std::size_t groups() const noexcept { return (sums_.count + waves_in_sum - 1) / waves_in_sum; }
    template <class Negligible>
    void drop(Negligible&& negligible) noexcept {
        sums_.drop(negligible);
    }
    /// The spread of the narrowest that is not a point.
    [[nodiscard]] V const& narrowest() const noexcept { return narrowest_; }
    [[nodiscard]] V const& points() const noexcept { return points_; }
    [[nodiscard]] V const& mass() const noexcept { return mass_; }

private:
    void add_points(std::size_t start, std::size_t size) noexcept {
        amplitudes_differ_ = true;
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

    /// The widest particles, whose waves end first, come last, or nearly so: each lane goes by itself through the first
    /// passes of a comb sort (Knuth, The Art of Computer Programming, volume 3, exercise 5.2.1-34).
    void order() noexcept {
        for (std::size_t gap = sums_.count / 2; gap >= shortest_gap; gap = gap * 5 / 8)
            for (std::size_t j = 0; j + gap < sums_.count; ++j)
                narrower_first(sums_.waves[j], sums_.waves[j + gap]);
    }
    void narrower_first(damped_wave<V>& first, damped_wave<V>& second) noexcept {
        auto const swap = second.imaginary < first.imaginary;
        auto const exchange = [&swap](V& a, V& b) {
            V const x = a, y = b;
            a = lanes::select(swap, y, x);
            b = lanes::select(swap, x, y);
        };
        exchange(first.real, second.real);
        exchange(first.imaginary, second.imaginary);
        if (amplitudes_differ_)
            exchange(first.loss, second.loss);
    }
    static constexpr std::size_t shortest_gap = waves_in_sum / 2;

    bool amplitudes_differ_;
    V mass_, points_ = lanes::constant<V>(0.0);
    V first_point_ = lanes::constant<V>(std::numeric_limits<double>::infinity()), last_point_ = -first_point_;
    V narrowest_ = first_point_;
    damped_wave<V> point_;
    std::array<V, terms_in_step> points_real_, points_imaginary_;
    wave_sums<V> sums_;
};

} // namespace gmac::losses::detail
