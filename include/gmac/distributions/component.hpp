// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/abi.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace gmac::inline GMAC_ABI {

/// One component of a mixture of normal distributions, in this order everywhere. A standard deviation of 0 is a point.
template <std::floating_point T>
struct normal_component {
    T weight, mean, deviation;
};

/// A distribution that is a mixture of normal components and points: `size()` and `component(i)`.
template <class D>
concept component_mixture = requires(D const& distribution, std::size_t i) {
    typename D::value_type;
    { distribution.size() } -> std::convertible_to<std::size_t>;
    { distribution.component(i) } -> std::convertible_to<normal_component<typename D::value_type>>;
};

/// All probability at one value.
template <std::floating_point T>
struct point_mass {
    using value_type = T;
    T value;

    [[nodiscard]] static constexpr std::size_t size() noexcept { return 1; }
    [[nodiscard]] constexpr normal_component<T> component(std::size_t /*index*/) const noexcept {
        return {T(1), value, T(0)};
    }
};
template <std::floating_point T>
point_mass(T) -> point_mass<T>;

namespace kernels {

/// By how much the weights of a mixture may miss the sum of one where they enter.
template <class T>
inline constexpr double weight_tolerance = std::same_as<T, float> ? 3.5e-4 : 1e-6;

/// What is computed by many roundings that add up is computed in double for float.
template <std::floating_point T>
using wide = std::conditional_t<std::same_as<T, float>, double, T>;
template <std::floating_point T>
[[nodiscard]] constexpr normal_component<wide<T>> widened(normal_component<T> const& c) noexcept {
    return {static_cast<wide<T>>(c.weight), static_cast<wide<T>>(c.mean), static_cast<wide<T>>(c.deviation)};
}

} // namespace kernels

} // namespace gmac::inline GMAC_ABI
