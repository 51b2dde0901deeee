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
#include <numeric>
#include <span>

/// Densities, distribution functions and quantiles of mixtures of normal components and points.
namespace gmac::inline GMAC_ABI::kernels {

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

/// (x − μ) / 2, which never overflows.
template <std::floating_point T>
[[nodiscard]] inline T half_distance(normal_component<T> const& c, T x) noexcept {
    return x / 2 - c.mean / 2;
}
/// (x − μ) / σ, for σ > 0.
template <std::floating_point T>
[[nodiscard]] inline T standard_score(normal_component<T> const& c, T x) noexcept {
    T const distance = x - c.mean;
    return std::isfinite(distance) ? distance / c.deviation : half_distance(c, x) / c.deviation * 2;
}

/// The logarithm of a component's part of the density, log(w φ((x − μ) / σ) / σ).
template <std::floating_point T>
[[nodiscard]] inline T log_density(normal_component<T> const& c, T x) noexcept {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    if (c.weight == T(0))
        return -infinity;
    if (c.deviation == T(0))
        return x == c.mean ? infinity : -infinity;
    T const z = standard_score(c, x);
    constexpr T half_log_two_pi = T(0.91893853320467274178);
    return std::log(c.weight) - std::log(c.deviation) - half_log_two_pi - T(0.5) * z * z;
}

template <std::floating_point T>
[[nodiscard]] T mixture_pdf(component_span<T> components, T x) noexcept {
    T sum = 0;
    for (auto const& c : components) {
        T const part = c.weight * (normal_pdf(standard_score(c, x)) / c.deviation);
        // Where a factor leaves the range the product need not.
        sum += c.deviation > T(0) && std::isnormal(part) ? part : std::exp(log_density(c, x));
    }
    return std::isnan(x) ? x : sum;
}

/// P(X ≤ x), and P(X < x) where `closed` is false.
template <std::floating_point T>
[[nodiscard]] T mixture_cdf(component_span<T> components, T x, bool closed = true) noexcept {
    T sum = 0;
    for (auto const& c : components) {
        if (c.deviation > T(0))
            sum += c.weight * normal_cdf(standard_score(c, x));
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
            sum += c.weight * normal_cdf(-standard_score(c, x));
        else if (c.mean > x)
            sum += c.weight;
    }
    return sum;
}

/// P(a < Z ≤ b) of the standard normal distribution, b − a = width > 0, relatively accurate however small it is.
template <std::floating_point T>
[[nodiscard]] inline T normal_probability(T a, T b, T width) noexcept {
    if (a > T(0))
        return normal_probability(-b, -a, width);
    if (b > T(0)) {
        constexpr T root_half = std::numbers::sqrt2_v<T> / 2;
        return (std::erf(b * root_half) - std::erf(a * root_half)) / 2;
    }
    T const middle = a + width / 2;
    if (width * (T(1) + std::abs(middle)) < T(0.05)) { // a difference would cancel: the integral of the Taylor series
        T const s = width * width;
        T const q = s * middle * middle;
        T const sum = (q - s) / 24 + (q * q - 6 * q * s + 3 * s * s) / 1920 +
                      (q * q * q - 15 * q * q * s + 45 * q * s * s - 15 * s * s * s) / 322560;
        return normal_pdf(middle) * width * (T(1) + sum);
    }
    return normal_cdf(b) - normal_cdf(a);
}

/// A place that divides the line. What lies at the place itself is on its left if it is closed, on its right otherwise.
template <std::floating_point T>
struct boundary {
    T location;
    bool closed = true;
};
/// The probability of what lies between two boundaries, relatively accurate however small it is.
template <std::floating_point T>
[[nodiscard]] T mixture_probability(component_span<T> components, boundary<T> low, boundary<T> high) noexcept {
    if (std::isnan(low.location) || std::isnan(high.location))
        return low.location + high.location;
    T sum = 0;
    for (auto const& c : components) {
        if (c.deviation == T(0)) {
            bool const above = low.closed ? c.mean > low.location : c.mean >= low.location;
            bool const below = high.closed ? c.mean <= high.location : c.mean < high.location;
            sum += above && below ? c.weight : T(0);
        } else if (low.location < high.location) {
            T const width = (high.location / 2 - low.location / 2) / c.deviation * 2;
            sum +=
                c.weight * normal_probability(standard_score(c, low.location), standard_score(c, high.location), width);
        }
    }
    return (std::min)(sum, T(1));
}

/// What a component adds to ½ E(x − X | the lowest p of the mixture) for the quantile x of p. Divided by p before it is
/// multiplied, so that nothing leaves the range.
template <std::floating_point T>
[[nodiscard]] inline T half_shortfall(normal_component<T> const& c, T x, T p) noexcept {
    auto const times_distance = [&](T factor) {
        T const distance = x - c.mean;
        return std::isfinite(distance) ? factor / 2 * distance : factor * half_distance(c, x);
    };
    if (c.deviation == T(0))
        return x > c.mean ? times_distance(c.weight / p) : T(0);
    T const z = standard_score(c, x);
    return times_distance(c.weight * normal_cdf(z) / p) + c.weight * normal_pdf(z) / p / 2 * c.deviation;
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
        T x = c.deviation > T(0) ? c.mean + c.deviation * normal_quantile : c.mean;
        if (!std::isfinite(x)) // if only a step to it is not
            x = (c.mean / 64 + c.deviation / 64 * normal_quantile) * 64;
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
    T x = std::midpoint(low, high);
    T previous_width = high - low;
    for (int step = 0; x > low && x < high; ++step) {
        T const excess = upper ? (T(1) - p) - mixture_tail(components, x) : mixture_cdf(components, x) - p;
        (excess < T(0) ? low : high) = x;
        T const density = mixture_pdf(components, x);
        T const newton = excess / density;
        bool const steep = std::isfinite(density) && density * (high - low) > 8 * epsilon * (upper ? T(1) - p : p);
        if (steep && std::abs(newton) <= epsilon * std::abs(x))
            return x;
        x -= newton;
        bool const slow = step % 4 == 3 && high - low > previous_width / 4;
        if (step % 4 == 3)
            previous_width = high - low;
        if (!(x > low && x < high) || slow)
            x = std::midpoint(low, high);
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
    constexpr T most = (std::numeric_limits<T>::max)();
    if (range.low < -most && mixture_cdf(components, -most) >= p)
        return -infinity;
    if (range.high > most && mixture_tail(components, most) > T(1) - p)
        return infinity;
    return solve_quantile(components, p, (std::max)(range.low, -most), (std::min)(range.high, most));
}

} // namespace gmac::inline GMAC_ABI::kernels
