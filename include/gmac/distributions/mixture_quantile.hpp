// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/random.hpp>
#include <gmac/distributions/component.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <span>

/// Densities, distribution functions and quantiles of mixtures of normal components and points.
namespace gmac::kernels {

template <std::floating_point T>
using component_span = std::span<normal_component<T> const>;

/// φ(z) and Φ(z) of the standard normal distribution.
template <std::floating_point T>
[[nodiscard]] inline T normal_pdf(T z) noexcept {
    return std::numbers::inv_sqrtpi_v<T> * (std::numbers::sqrt2_v<T> / 2) * std::exp(-T(0.5) * z * z);
}
template <std::floating_point T>
[[nodiscard]] inline T normal_cdf(T z) noexcept {
    return T(0.5) * std::erfc(-z * (std::numbers::sqrt2_v<T> / 2));
}

template <std::floating_point T>
[[nodiscard]] T mixture_pdf(component_span<T> components, T x) noexcept {
    T sum = 0;
    for (auto const& c : components) {
        if (c.weight == T(0))
            continue;
        if (c.deviation > T(0))
            sum += c.weight * (normal_pdf((x - c.mean) / c.deviation) / c.deviation);
        else if (x == c.mean)
            sum = std::numeric_limits<T>::infinity();
    }
    return std::isnan(x) ? x : sum;
}

/// P(X ≤ x), and P(X < x) where `closed` is false.
template <std::floating_point T>
[[nodiscard]] T mixture_cdf(component_span<T> components, T x, bool closed = true) noexcept {
    T sum = 0;
    for (auto const& c : components) {
        if (c.deviation > T(0))
            sum += c.weight * normal_cdf((x - c.mean) / c.deviation);
        else if (c.mean < x || (closed && c.mean == x))
            sum += c.weight;
    }
    return std::isnan(x) ? x : (std::min)(sum, T(1));
}

/// P(X > x), accurate where it is small.
template <std::floating_point T>
[[nodiscard]] T mixture_tail(component_span<T> components, T x) noexcept {
    T sum = 0;
    for (auto const& c : components) {
        if (c.deviation > T(0))
            sum += c.weight * normal_cdf((c.mean - x) / c.deviation);
        else if (c.mean > x)
            sum += c.weight;
    }
    return sum;
}

/// E max(x − X, 0) of one component.
template <std::floating_point T>
[[nodiscard]] inline T expected_shortfall(normal_component<T> const& c, T x) noexcept {
    if (c.deviation == T(0))
        return x > c.mean ? x - c.mean : T(0);
    T const z = (x - c.mean) / c.deviation;
    return (x - c.mean) * normal_cdf(z) + c.deviation * normal_pdf(z);
}

/// The smallest and the largest value that the components of positive weight give for this standard normal quantile.
template <std::floating_point T>
struct value_range {
    T low = std::numeric_limits<T>::infinity();
    T high = -std::numeric_limits<T>::infinity();
};
template <std::floating_point T>
[[nodiscard]] value_range<T> component_quantiles(component_span<T> components, T normal_quantile) noexcept {
    value_range<T> range;
    for (auto const& c : components) {
        if (c.weight == T(0))
            continue;
        T const x = c.deviation > T(0) ? c.mean + c.deviation * normal_quantile : c.mean;
        range.low = (std::min)(range.low, x);
        range.high = (std::max)(range.high, x);
    }
    return range;
}

/// The smallest x in [low, high] with P(X ≤ x) ≥ p, by Newton's steps inside a bracket that only shrinks; a step that
/// leaves it, or that gains too little, is replaced by a bisection. Far modes and tiny deviations cost steps, not
/// accuracy.
template <std::floating_point T>
[[nodiscard]] T solve_quantile(component_span<T> components, T p, T low, T high) noexcept {
    constexpr T epsilon = std::numeric_limits<T>::epsilon();
    bool const upper = p > T(0.5); // compare the upper tails there, which keeps their relative accuracy
    T x = low + (high - low) / 2;
    T previous_width = high - low;
    for (int step = 0; x > low && x < high; ++step) {
        T const excess = upper ? (T(1) - p) - mixture_tail(components, x) : mixture_cdf(components, x) - p;
        (excess < T(0) ? low : high) = x;
        T const density = mixture_pdf(components, x);
        T const newton = excess / density;
        bool const steep = density * (high - low) > 8 * epsilon * (upper ? T(1) - p : p);
        if (steep && std::abs(newton) <= epsilon * std::abs(x))
            return x;
        x -= newton;
        bool const slow = step % 4 == 3 && high - low > previous_width / 4;
        if (step % 4 == 3)
            previous_width = high - low;
        if (!(x > low && x < high) || slow)
            x = low + (high - low) / 2;
    }
    return high;
}

/// The smallest x with P(X ≤ x) ≥ p, for p in [0, 1].
template <std::floating_point T>
[[nodiscard]] T mixture_quantile(component_span<T> components, T p) noexcept {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    if (p == T(0))
        return component_quantiles(components, -infinity).low;
    if (p == T(1))
        return component_quantiles(components, infinity).high;
    // A jump over p at a point is exact and needs no search.
    for (auto const& c : components)
        if (c.deviation == T(0) && c.weight > T(0) && mixture_cdf(components, c.mean, false) < p &&
            p <= mixture_cdf(components, c.mean))
            return c.mean;
    value_range<T> const range = component_quantiles(components, standard_normal_quantile(p));
    return solve_quantile(components, p, range.low, range.high);
}

} // namespace gmac::kernels
