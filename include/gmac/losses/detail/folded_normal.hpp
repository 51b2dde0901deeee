// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>
#include <gmac/core/special.hpp>

#include <concepts>
#include <numbers>

/// The one formula behind every energy distance of Gaussian mixtures, over a lane type V.
///
/// With d the difference of two means, s² the sum of the two variances and q = 2 s²,
///     e(d, s²) = E|N(d, s²)| = s √(2/π) exp(−d²/2s²) + d erf(d / (s √2)) = q g / √π + d erf(d h),
/// where h = 1/√q and g = h exp(−d² h²); and then
///     ∂e/∂d = erf(d h),   ∂e/∂(s²) = exp(−d²/2s²) / (s √(2π)) = g / √π.
/// (The paper's appendix prints the second term with the wrong sign and without 1/s.)
namespace gmac::inline GMAC_ABI::kernels {

inline constexpr double inverse_sqrt_pi = std::numbers::inv_sqrtpi;

/// Twice the variance of a component.
template <class V>
[[nodiscard]] constexpr V doubled_variance(V const& deviation) noexcept {
    return lanes::constant<V>(2.0) * deviation * deviation;
}

/// Sums over pairs with weights v, of which the expectation and its derivatives are made.
template <class V>
struct pair_sums {
    V exponentials = lanes::constant<V>(0.0); ///< Σ v q g
    V distance = lanes::constant<V>(0.0);     ///< Σ v d erf(d h)
    V slope = lanes::constant<V>(0.0);        ///< Σ v erf(d h)
    V density = lanes::constant<V>(0.0);      ///< Σ v g

    /// Σ v e(d, s²)
    [[nodiscard]] constexpr V expectation() const noexcept {
        return exponentials * lanes::constant<V>(inverse_sqrt_pi) + distance;
    }

    /// All sums times a number.
    template <bool WithDerivatives>
    [[nodiscard]] constexpr pair_sums scaled(V const& factor) const noexcept {
        if constexpr (WithDerivatives)
            return {exponentials * factor, distance * factor, slope * factor, density * factor};
        else
            return {exponentials * factor, distance * factor};
    }
    template <bool WithDerivatives>
    [[nodiscard]] constexpr pair_sums plus(pair_sums const& other) const noexcept {
        if constexpr (WithDerivatives)
            return {exponentials + other.exponentials, distance + other.distance, slope + other.slope,
                    density + other.density};
        else
            return {exponentials + other.exponentials, distance + other.distance};
    }
};

/// What one pair contributes.
template <class V>
struct pair_terms {
    V density; ///< g
    V slope;   ///< erf(d h)
};

/// `h` is inverse_root(q).
template <class V>
[[nodiscard, gnu::always_inline]] inline pair_terms<V> pair(V const& d, V const& h) noexcept {
    auto const [exponential, error] = lanes::exp_erf(V(d * h));
    return {exponential * h, error};
}

/// h = 1/√q for the doubled variance q ≥ 0 of a pair. For two point masses, q = 0, it is a finite number so large that
/// d h is far beyond the tail of the normal distribution unless d = 0 (or |d| < 1e-32 in float, 1e-290 in double): then
/// e = |d|, ∂e/∂d = sign(d) and q g = 0 come out exactly, with no constant added under the root. It leaves room for
/// sums of 2^16 of them.
template <class V>
[[nodiscard, gnu::always_inline]] inline V inverse_root(V const& q) noexcept {
    constexpr double cap = std::same_as<lanes::scalar_of<V>, float> ? 0x1p108 : 0x1p970;
    return lanes::inverse_sqrt(q, lanes::constant<V>(cap));
}

/// Adds one pair of weight 1; without derivatives `slope` and `density` are left alone.
template <bool WithDerivatives, class V>
[[gnu::always_inline]] inline void add_terms(pair_sums<V>& sums, pair_terms<V> const& terms, V const& d,
                                             V const& q) noexcept {
    sums.exponentials = lanes::mul_add(q, terms.density, sums.exponentials);
    sums.distance = lanes::mul_add(d, terms.slope, sums.distance);
    if constexpr (WithDerivatives) {
        sums.slope = sums.slope + terms.slope;
        sums.density = sums.density + terms.density;
    }
}
/// Adds one pair with a weight.
template <bool WithDerivatives, class V>
[[gnu::always_inline]] inline void add_terms(pair_sums<V>& sums, pair_terms<V> const& terms, V const& d, V const& q,
                                             V const& weight) noexcept {
    add_terms<WithDerivatives>(sums, {V(weight * terms.density), V(weight * terms.slope)}, d, q);
}

} // namespace gmac::inline GMAC_ABI::kernels
