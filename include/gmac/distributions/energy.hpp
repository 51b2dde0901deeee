// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/distributions/component.hpp>
#include <gmac/distributions/folded_normal.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace gmac {

namespace detail {

template <component_mixture U, component_mixture V>
using common_value = std::common_type_t<typename U::value_type, typename V::value_type>;

/// δ(U, V) = E|X − Y| for independent X ~ U, Y ~ V: Σ_ij w_i v_j E|N(μ_i − ν_j, σ_i² + τ_j²)|.
template <class T, component_mixture U, component_mixture V>
[[nodiscard]] T expected_difference(U const& u, V const& v) noexcept {
    T sum = 0;
    for (std::size_t i = 0; i < u.size(); ++i) {
        auto const left = u.component(i);
        T const left_variance = kernels::doubled_variance(static_cast<T>(left.deviation));
        kernels::pair_sums<T> pairs;
        for (std::size_t j = 0; j < v.size(); ++j) {
            auto const right = v.component(j);
            T const d = static_cast<T>(left.mean) - static_cast<T>(right.mean);
            T const q = left_variance + kernels::doubled_variance(static_cast<T>(right.deviation));
            kernels::add_pair<false>(pairs, d, q, kernels::inverse_root(q), static_cast<T>(right.weight));
        }
        sum += static_cast<T>(left.weight) * pairs.expectation();
    }
    return sum;
}

} // namespace detail

/// The energy distance 2 E|X − Y| − E|X − X'| − E|Y − Y'| = 2 ∫ (F_U − F_V)² dx, in closed form. It is never negative
/// (rounding is cut off), zero only for equal distributions, and energy(aU + b, aV + b) = |a| energy(U, V).
/// In units of the variable. Computed with the formulas of losses::gaussian_mixture_energy.
template <component_mixture U, component_mixture V>
[[nodiscard]] auto energy(U const& u, V const& v) noexcept {
    using T = detail::common_value<U, V>;
    T const cross = detail::expected_difference<T>(u, v);
    T const difference =
        (cross - detail::expected_difference<T>(u, u)) + (cross - detail::expected_difference<T>(v, v));
    return difference < T(0) ? T(0) : difference; // a NaN stays
}

/// The Cramér distance ∫ (F_U − F_V)² dx: half of the energy distance.
template <component_mixture U, component_mixture V>
[[nodiscard]] auto cramer(U const& u, V const& v) noexcept {
    return energy(u, v) / 2;
}

/// The continuous ranked probability score ∫ (F_U(y) − 1{y ≥ x})² dy of the forecast U for the outcome x: half of the
/// energy distance to the point x.
template <component_mixture U>
[[nodiscard]] auto crps(U const& u, typename U::value_type outcome) noexcept {
    return cramer(u, point_mass<typename U::value_type>{outcome});
}

} // namespace gmac
