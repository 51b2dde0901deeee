// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/special.hpp>
#include <gmac/statistics/statistic.hpp>

/// Distortions of probabilities, over a lane type.
namespace gmac::inline GMAC_ABI::statistics::detail {

/// A probability and what is left of one, each accurate where it is small.
template <class V>
struct share {
    V below, above;
};

/// Φ⁻¹ of a probability.
template <class V>
[[nodiscard]] V normal_quantile(share<V> const& u) noexcept {
    auto const lower = u.below < u.above;
    V const size = lanes::normal_quantile(lanes::select(lower, u.below, u.above));
    return lanes::select(lower, size, V(-size));
}

/// g(u) for u in [0, 1], so that the statistic is ∫ F⁻¹(u) dg(u). Not for mean_minus_deviations, which is none of these.
template <class V>
[[nodiscard]] V distorted(statistic_kind kind, V const& parameter, share<V> const& u) noexcept {
    V const zero = lanes::constant<V>(0.0);
    V const one = lanes::constant<V>(1.0);
    switch (kind) {
    case statistic_kind::cvar:
        return lanes::at_most(one, V(u.below / parameter));
    case statistic_kind::upper_cvar:
        return lanes::at_least(zero, V(one - u.above / parameter));
    case statistic_kind::wang:
        return lanes::normal_at(V(normal_quantile(u) - parameter)).below;
    case statistic_kind::power: {
        auto const averse = parameter < zero;
        V const base = lanes::select(averse, u.above, u.below);
        V const result = lanes::exp(V((one + lanes::abs(parameter)) * lanes::log(base)));
        return lanes::select(averse, V(one - result), result);
    }
    case statistic_kind::quantile:
        return lanes::select(u.below < parameter, zero, one);
    case statistic_kind::mean:
    case statistic_kind::mean_minus_deviations:
        break;
    }
    return u.below;
}

/// g'(u)
template <class V>
[[nodiscard]] V distortion_slope(statistic_kind kind, V const& parameter, share<V> const& u) noexcept {
    V const zero = lanes::constant<V>(0.0);
    V const one = lanes::constant<V>(1.0);
    switch (kind) {
    case statistic_kind::cvar:
        return lanes::select(u.below < parameter, V(one / parameter), zero);
    case statistic_kind::upper_cvar:
        return lanes::select(u.above < parameter, V(one / parameter), zero);
    case statistic_kind::wang: {
        V const most = lanes::constant<V>(13.0); // no density is left there
        V const z = lanes::at_least(V(-most), lanes::at_most(most, normal_quantile(u)));
        return lanes::exp(V(parameter * (z - lanes::constant<V>(0.5) * parameter)));
    }
    case statistic_kind::power: {
        V const size = lanes::abs(parameter);
        V const base = lanes::select(parameter < zero, u.above, u.below);
        return lanes::select(size > zero, V((one + size) * lanes::exp(V(size * lanes::log(base)))), one);
    }
    case statistic_kind::quantile:
        return zero;
    case statistic_kind::mean:
    case statistic_kind::mean_minus_deviations:
        break;
    }
    return one;
}

} // namespace gmac::inline GMAC_ABI::statistics::detail
