// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/distributions/component.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <numbers>
#include <type_traits>

namespace gmac::inline GMAC_ABI {

namespace detail {

template <component_mixture U, component_mixture V>
using common_value = std::common_type_t<typename U::value_type, typename V::value_type>;

/// ¼ E|N(d, s²)| of the difference of two components, with d = μ − ν and s² = σ² + τ²; see folded_normal.hpp. A quarter
/// never overflows, and s² is not made.
template <class T>
[[nodiscard]] T quarter_difference(normal_component<T> const& a, normal_component<T> const& b) noexcept {
    T const d = a.mean / 4 - b.mean / 4;
    T const s = std::hypot(a.deviation / 4, b.deviation / 4);
    if (s == T(0))
        return std::abs(d);
    T const z = d / s * (std::numbers::sqrt2_v<T> / 2);
    return s * (std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>)*std::exp(-z * z) + d * std::erf(z);
}

/// ¼ δ(U, V) = ¼ E|X − Y| for independent X ~ U, Y ~ V.
template <class T, component_mixture U, component_mixture V>
[[nodiscard]] T quarter_difference_of(U const& u, V const& v) noexcept {
    auto const component = [](auto const& c) {
        return normal_component<T>{static_cast<T>(c.weight), static_cast<T>(c.mean), static_cast<T>(c.deviation)};
    };
    T sum = 0;
    for (std::size_t i = 0; i < u.size(); ++i) {
        auto const left = component(u.component(i));
        T part = 0;
        for (std::size_t j = 0; j < v.size(); ++j) {
            auto const right = component(v.component(j));
            part += right.weight * quarter_difference(left, right);
        }
        sum += left.weight * part;
    }
    return sum;
}

/// ¼ (2 δ(U, V) − δ(U, U) − δ(V, V)), which is never negative (rounding is cut off).
template <class T, component_mixture U, component_mixture V>
[[nodiscard]] T quarter_energy(U const& u, V const& v) noexcept {
    T const cross = quarter_difference_of<T>(u, v);
    T const quarter = (cross - quarter_difference_of<T>(u, u)) + (cross - quarter_difference_of<T>(v, v));
    return quarter < T(0) ? T(0) : quarter; // a NaN stays
}

} // namespace detail

/// The energy distance 2 E|X − Y| − E|X − X'| − E|Y − Y'| = 2 ∫ (F_U − F_V)² dx, in closed form. It is never negative,
/// zero only for equal distributions, and energy(aU + b, aV + b) = |a| energy(U, V). In units of the variable.
template <component_mixture U, component_mixture V>
[[nodiscard]] auto energy(U const& u, V const& v) noexcept {
    return 4 * detail::quarter_energy<detail::common_value<U, V>>(u, v);
}

/// The Cramér distance ∫ (F_U − F_V)² dx: half of the energy distance.
template <component_mixture U, component_mixture V>
[[nodiscard]] auto cramer(U const& u, V const& v) noexcept {
    return 2 * detail::quarter_energy<detail::common_value<U, V>>(u, v);
}

/// The continuous ranked probability score ∫ (F_U(y) − 1{y ≥ x})² dy of the forecast U for the outcome x: half of the
/// energy distance to the point x.
template <component_mixture U>
[[nodiscard]] auto crps(U const& u, typename U::value_type outcome) noexcept {
    return cramer(u, point_mass<typename U::value_type>{outcome});
}

} // namespace gmac::inline GMAC_ABI
