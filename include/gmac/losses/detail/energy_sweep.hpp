// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_bits.hpp>
#include <gmac/core/lanes.hpp>

#include <cstddef>

/// The sample energy from sorted points. With the distribution functions F of the samples and G of the targets,
///     Σ_ij |x_i − y_j| / (N m) = ∫ F (1 − G) + G (1 − F),
/// so the energy is the sum over the gaps between neighbouring points of gap × q(F, G): nothing cancels, wherever the
/// points lie.
namespace gmac::losses::detail {

/// What a sample energy is made of:
///     q(F, G) = 2 (F (1 − G) + G (1 − F)) − 2 self F (1 − F) − 2 target G (1 − G)
///             = 2 (F − G)² + 2 (1 − self) F (1 − F) + 2 (1 − target) G (1 − G).
struct energy_terms {
    double self;          ///< 1, or N / (N − 1) for the U-statistic
    double target;        ///< the same for the targets, or 0 without their term
    double sample_weight; ///< 1 / N
    double target_weight; ///< 1 / m, if the targets have no weights
    double states;        ///< the gradient is over their number
};

/// A distribution function as it is swept up: without weights from the number of points below, which is exact, and with
/// them from their compensated sum (Kahan 1965).
template <bool Weighted, class V>
class swept_share {
public:
    explicit swept_share(double weight) noexcept : weight_(lanes::constant<V>(weight)) {}

    /// One point more, if `point` is 1 and not 0; returns the share of all points so far. `weight` is its weight.
    V add(V const& point, [[maybe_unused]] V const& weight) noexcept {
        if constexpr (Weighted) {
            V const more = weight * point - lost_;
            V const sum = total_ + more;
            lost_ = (sum - total_) - more;
            total_ = sum;
            return sum;
        } else {
            total_ = total_ + point;
            return total_ * weight_;
        }
    }

private:
    V weight_;
    V total_ = lanes::constant<V>(0.0);
    V lost_ = lanes::constant<V>(0.0);
};

/// Sweeps over the sorted `keys` once up, for the energy, and once down, for the gradient with respect to each point, had it
/// the weight 1 / N: `emit(p, slope)` with p from the last point to the first. `is_sample(p)` is 1 for a sample and 0 for a
/// target particle; `target_weight(p)` is asked for all points. `scratch` has room for `count` numbers; that at p is no longer needed
/// when `emit(p, slope)` is called.
template <bool WithGradient, bool Weighted, class V, class IsSample, class TargetWeight, class Emit>
[[nodiscard]] inline V sweep_energy(V const* keys, std::size_t count, V* scratch, energy_terms const& terms,
                                    IsSample&& is_sample, TargetWeight&& target_weight, Emit&& emit) {
    V const zero = lanes::constant<V>(0.0);
    V const one = lanes::constant<V>(1.0);
    V const self = lanes::constant<V>(terms.self);
    V const self_spread = lanes::constant<V>(1.0 - terms.self);
    V const target_spread = lanes::constant<V>(1.0 - terms.target);

    swept_share<false, V> samples(terms.sample_weight);
    swept_share<Weighted, V> targets(terms.target_weight);
    V difference = zero; // G − self F
    V before = zero;     // the same below all points that share a place
    V energy = zero;
    for (std::size_t p = 0; p < count; ++p) {
        if constexpr (WithGradient) {
            before = lanes::select(keys[p] == keys[p > 0 ? p - 1 : 0], before, difference);
            scratch[p] = before;
        }
        V const sample = is_sample(p);
        V const f = samples.add(sample, one);
        V const below = targets.add(V(one - sample), V(target_weight(p)));
        if constexpr (WithGradient)
            difference = lanes::mul_sub(self, f, below);
        V const gap = keys[p + 1 < count ? p + 1 : p] - keys[p];
        V const apart = below - f;
        V const targets_only = lanes::mul_add(target_spread, lanes::mul_sub(below, below, below), V(apart * apart));
        V const height = lanes::mul_add(self_spread, lanes::mul_sub(f, f, f), targets_only);
        energy = lanes::mul_add(gap, height, energy);
    }
    if constexpr (WithGradient) {
        V const scale = lanes::constant<V>(2.0 * terms.sample_weight / terms.states);
        V const offset = lanes::constant<V>(terms.self - 1.0);
        V after = difference;
        V next = difference; // `before` of the point after p
        for (std::size_t p = count; p-- > 0;) {
            if (p + 1 < count)
                after = lanes::select(keys[p] == keys[p + 1], after, next);
            next = scratch[p];
            emit(p, V(scale * (next + after + offset)));
        }
    }
    return energy + energy;
}

} // namespace gmac::losses::detail
