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

/// The characteristic function φ of the targets of one block of states, by what it falls short of its value at 0:
/// ψ = Σ v − φ. Point masses do not end the series; if all points of a state are at one place, as SR(λ) makes them at the
/// end of an episode, the distance to themselves is known to be zero.
template <class V>
class target_waves {
public:
    template <class Targets>
    explicit target_waves(target_block<V, Targets> const& target) noexcept
        : mass_(lanes::constant<V>(target.weighted() ? 0.0 : 1.0)) {
        sums_.weighted = target.weighted();
        sums_.share = target.share();
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
            V const weight = target.weighted() ? tile.weights[j] : sums_.share;
            sums_.weights[start + j] = weight;
            frame.centre = lanes::mul_add(weight, wave.real, frame.centre);
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

    /// Of all particles, if each is as wide as twice its spread times `tilt`.
    [[nodiscard]] V width(V const& tilt) const noexcept {
        V low = lanes::constant<V>(std::numeric_limits<double>::infinity()), high = -low;
        for (std::size_t j = 0; j < sums_.count; ++j) {
            V const mean = sums_.waves[j].real, side = tilt * sums_.waves[j].imaginary;
            low = lanes::at_most(low, V(mean - side));
            high = lanes::at_least(high, V(mean + side));
        }
        return high - low;
    }

    /// Are there points at several places?
    [[nodiscard]] bool scattered() const noexcept { return lanes::any(first_point_ < last_point_); }

    /// Makes the waves; where there will be many terms, so that those that end early can leave.
    void start(wave_frame<V> const& frame, bool many_terms) noexcept {
        if (many_terms)
            order();
        gaussians_ = sums_.weighted ? lanes::constant<V>(0.0) : mass_;
        if (sums_.weighted)
            for (std::size_t j = 0; j < sums_.count; ++j)
                gaussians_ = gaussians_ + sums_.weights[j];
        for (std::size_t j = 0; j < sums_.count; ++j) {
            damped_wave<V>& wave = sums_.waves[j];
            wave = frame.wave(wave.real, wave.imaginary);
        }
        V const at = lanes::select(points_ > lanes::constant<V>(0.0), first_point_, frame.lowest);
        point_ = frame.wave(at, lanes::constant<V>(0.0));
    }
    /// Goes to the next terms.
    void next() noexcept {
        sums_.next();
        for (std::size_t term = 0; term < terms_in_step; ++term) {
            points_real_[term] = points_ * point_.real;
            points_imaginary_[term] = points_ * point_.imaginary;
            point_.advance();
        }
    }
    /// ψ at one of these terms.
    [[nodiscard]] V real(std::size_t term) const noexcept { return sums_.real[term] + points_real_[term]; }
    [[nodiscard]] V imaginary(std::size_t term) const noexcept {
        return sums_.imaginary[term] + points_imaginary_[term];
    }
    /// By how much |φ|² falls short of (Σ v)². The points by themselves do not: |φ| of points at one place is constant.
    [[nodiscard]] V square_deficit(std::size_t term) const noexcept {
        V const re = sums_.real[term], im = sums_.imaginary[term];
        V const both_points = points_real_[term] + points_real_[term];
        V const first = lanes::mul_add(V(mass_ + mass_), re, V(gaussians_ * both_points));
        return first - lanes::mul_add(re, V(re + both_points), V(im * (imaginary(term) + points_imaginary_[term])));
    }
    /// |φ| without the points at the last of these terms, and what it is at most from here on.
    [[nodiscard]] V last() const noexcept {
        return lanes::at_least(V(lanes::abs(V(gaussians_ - sums_.real.back()))), V(lanes::abs(sums_.imaginary.back())));
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
        sums_.weighted = true;
        V const zero = lanes::constant<V>(0.0);
        for (std::size_t j = start; j < start + size; ++j) {
            damped_wave<V>& wave = sums_.waves[j];
            auto const point = wave.imaginary == zero;
            first_point_ = lanes::select(point, lanes::at_most(first_point_, wave.real), first_point_);
            last_point_ = lanes::select(point, lanes::at_least(last_point_, wave.real), last_point_);
            narrowest_ = lanes::select(point, narrowest_, lanes::at_most(narrowest_, wave.imaginary));
            points_ = points_ + lanes::select(point, sums_.weights[j], zero);
            sums_.weights[j] = lanes::select(point, zero, sums_.weights[j]);
        }
    }

    /// The widest particles, whose waves end first, come last, or nearly so: each lane goes by itself through the first
    /// passes of a comb sort (Knuth, The Art of Computer Programming, volume 3, exercise 5.2.1-34).
    void order() noexcept {
        for (std::size_t gap = sums_.count / 2; gap >= shortest_gap; gap = gap * 5 / 8)
            for (std::size_t start = 0; start < gap; ++start)
                if (sums_.weighted)
                    order_chain<true>(start, gap);
                else
                    order_chain<false>(start, gap);
    }
    /// One pass over every gap-th particle; the widest so far stays in registers.
    template <bool Weighted>
    void order_chain(std::size_t start, std::size_t gap) noexcept {
        V mean = sums_.waves[start].real, spread = sums_.waves[start].imaginary;
        V weight = Weighted ? sums_.weights[start] : spread;
        std::size_t j = start;
        for (; j + gap < sums_.count; j += gap) {
            V const next = sums_.waves[j + gap].imaginary;
            auto const swap = next < spread;
            exchange(swap, mean, sums_.waves[j + gap].real, sums_.waves[j].real);
            if constexpr (Weighted)
                exchange(swap, weight, sums_.weights[j + gap], sums_.weights[j]);
            exchange(swap, spread, next, sums_.waves[j].imaginary);
        }
        sums_.waves[j].real = mean;
        sums_.waves[j].imaginary = spread;
        if constexpr (Weighted)
            sums_.weights[j] = weight;
    }
    /// Of `held` and `next`, one goes to `to` and the other is held: where `swap` holds, `held`.
    template <class Mask>
    static void exchange(Mask const& swap, V& held, V const& next, V& to) noexcept {
        V const x = held, y = next;
        to = lanes::select(swap, y, x);
        held = lanes::select(swap, x, y);
    }
    static constexpr std::size_t shortest_gap = waves_in_sum / 2;

    V mass_;                                                      ///< Σ v
    V gaussians_ = lanes::constant<V>(0.0), points_ = gaussians_; ///< Σ v of either
    V first_point_ = lanes::constant<V>(std::numeric_limits<double>::infinity()), last_point_ = -first_point_;
    V narrowest_ = first_point_;
    damped_wave<V> point_;
    std::array<V, terms_in_step> points_real_, points_imaginary_;
    wave_sums<V> sums_;
};

} // namespace gmac::losses::detail
