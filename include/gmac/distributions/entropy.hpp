// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/distributions/component.hpp>
#include <gmac/distributions/detail/mixture_quantile.hpp>
#include <gmac/distributions/gaussian_mixture.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <vector>

/// The differential entropy −∫ f log f of a mixture of normal components, in nats. It has no closed form. A point of positive
/// weight makes it −∞.
namespace gmac::inline GMAC_ABI {

/// Two numbers between which an entropy lies.
template <std::floating_point T>
struct entropy_range {
    T lower, upper;
};

/// The mean of samples, and its standard error: their deviation by the root of their number.
template <std::floating_point T>
struct estimated_entropy {
    T value, standard_error;
};

namespace detail {

template <std::floating_point T>
[[nodiscard]] bool has_point(gaussian_mixture<T> const& mixture) noexcept {
    auto const components = mixture.components();
    return std::any_of(components.begin(), components.end(),
                       [](auto const& c) { return c.weight > T(0) && c.deviation == T(0); });
}

/// −Σ_i w_i log Σ_j w_j exp(log_affinity(i, j)).
template <std::floating_point R, class LogAffinity>
[[nodiscard]] R surprise(std::vector<normal_component<R>> const& components, LogAffinity&& log_affinity) {
    R result = 0;
    for (auto const& a : components) {
        R largest = -std::numeric_limits<R>::infinity();
        for (auto const& b : components)
            largest = (std::max)(largest, log_affinity(a, b));
        R sum = 0;
        for (auto const& b : components)
            sum += b.weight * std::exp(log_affinity(a, b) - largest);
        result -= a.weight * (largest + std::log(sum));
    }
    return result;
}

/// The logarithm of the deviation of a mixture, whose square may be no number.
template <std::floating_point R>
[[nodiscard]] R log_deviation(std::vector<normal_component<R>> const& components) {
    R half_mean = 0;
    for (auto const& c : components)
        half_mean += c.weight * (c.mean / 2);
    R largest = (std::numeric_limits<R>::min)();
    for (auto const& c : components)
        largest = (std::max)({largest, c.deviation / 2, std::abs(c.mean / 2 - half_mean)});
    R sum = 0;
    for (auto const& c : components) {
        R const deviation = c.deviation / largest / 2;
        R const distance = (c.mean / 2 - half_mean) / largest;
        sum += c.weight * (deviation * deviation + distance * distance);
    }
    return std::numbers::ln2_v<R> + std::log(largest) + std::log(sum) / 2;
}

} // namespace detail

/// Bounds of the entropy in closed form, from the pairs of components. With the entropies h_i = ½ log(2πe σ_i²) of the components
/// they are, whichever is closer,
///   - below, −Σ w_i log Σ w_j N(μ_i; μ_j, σ_i² + σ_j²), by Jensen's inequality (Huber et al. 2008, "On entropy approximation for
///     Gaussian mixture random vectors"), and Σ w_i (h_i − log Σ w_j BC_ij) with the Bhattacharyya coefficients
///     BC_ij = ∫ √(f_i f_j) (Kolchinsky and Tracey 2017, "Estimating mixture entropy with pairwise distances");
///   - above, Σ w_i (h_i − log Σ w_j exp(−KL_ij)) with the divergences KL_ij = ∫ f_i log(f_i / f_j) (the same), which is never above
///     the Σ w_i (h_i − log w_i) of Huber et al., and the entropy of the normal distribution of the same variance.
/// For one component, and for components far from each other, both are the entropy.
template <std::floating_point T>
[[nodiscard]] entropy_range<T> entropy_bounds(gaussian_mixture<T> const& mixture) {
    using R = kernels::wide<T>;
    if (detail::has_point(mixture))
        return {-std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity()};
    std::vector<normal_component<R>> components;
    for (auto const& c : mixture.components())
        if (c.weight > T(0))
            components.push_back(kernels::widened(c));
    using component = normal_component<R> const&;
    auto const score = [](component a, component b, R deviation) {
        return kernels::standard_score(normal_component<R>{R(1), b.mean, deviation}, a.mean);
    };
    R const jensen = detail::surprise(components, [](component a, component b) {
        R const deviation = std::hypot(a.deviation, b.deviation);
        return kernels::log_density(normal_component<R>{R(1), b.mean, deviation}, a.mean);
    });
    // √(2σ_iσ_j / s²) exp(−(μ_i − μ_j)² / 4s²) with s² = σ_i² + σ_j².
    R const coefficients = detail::surprise(components, [&](component a, component b) {
        R const deviation = std::hypot(a.deviation, b.deviation);
        R const z = score(a, b, deviation);
        return (std::numbers::ln2_v<R> + std::log(a.deviation / deviation) + std::log(b.deviation / deviation)) / 2 -
               z * z / 4;
    });
    // log(σ_j / σ_i) + (σ_i² + (μ_i − μ_j)²) / 2σ_j² − ½
    R const divergences = detail::surprise(components, [&](component a, component b) {
        R const ratio = a.deviation / b.deviation;
        R const z = score(a, b, b.deviation);
        R const spread = ratio * ratio + z * z;
        return std::isinf(spread) ? -spread : std::log(ratio) - (spread - R(1)) / 2;
    });
    R const half_log_two_pi_e = (std::log(2 * std::numbers::pi_v<R>) + 1) / 2;
    R own = half_log_two_pi_e;
    for (auto const& c : components)
        own += c.weight * std::log(c.deviation);
    R const upper = (std::min)(own + divergences, half_log_two_pi_e + detail::log_deviation(components));
    R const lower = (std::max)(own + coefficients, jensen);
    return {static_cast<T>((std::min)(lower, upper)), static_cast<T>(upper)};
}

/// The mean of −log f over independent samples of the mixture. Throws gmac::error unless there are two samples at least.
template <std::floating_point T>
[[nodiscard]] estimated_entropy<T> entropy_estimate(gaussian_mixture<T> const& mixture, random_stream& random,
                                                    std::size_t samples) {
    using R = kernels::wide<T>;
    require(samples >= 2, "entropy_estimate: samples is {}, but must be 2 at least", samples);
    if (detail::has_point(mixture))
        return {-std::numeric_limits<T>::infinity(), T(0)};
    R mean = 0;
    R squares = 0; // of the distances to the mean
    for (std::size_t i = 0; i < samples; ++i) {
        R const value = -static_cast<R>(mixture.log_pdf(mixture.sample(random)));
        R const distance = value - mean;
        mean += distance / static_cast<R>(i + 1);
        squares += distance * (value - mean);
    }
    auto const count = static_cast<R>(samples);
    return {static_cast<T>(mean), static_cast<T>(std::sqrt(squares / (count * (count - 1))))};
}

} // namespace gmac::inline GMAC_ABI
