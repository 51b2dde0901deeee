// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

namespace gmac::examples::train {

/// A part of a value distribution; a deviation of 0 is a point mass.
struct density_component {
    double weight = 1.0;
    double mean = 0.0;
    double deviation = 0.0;
};

/// The value distribution of one state of an episode. Give either components or samples of equal weight. All numbers
/// are in the environment's reward units: multiply by the scale if rewards were normalised.
struct value_panel {
    std::uint64_t step = 0;
    double return_to_go = 0.0; ///< what the episode brought from this state on, discounted; NaN if that is not known
    std::vector<density_component> components{};
    std::vector<double> samples{};
};

/// Of the panel's distribution, whose weights sum to one.
[[nodiscard]] inline double mean_of(value_panel const& panel) {
    double sum = 0.0;
    for (auto const& one : panel.components)
        sum += one.weight * one.mean;
    for (double const sample : panel.samples)
        sum += sample / static_cast<double>(panel.samples.size());
    return sum;
}

namespace detail {

inline constexpr double epsilon = std::numeric_limits<double>::epsilon();

/// The components as they are, or a Gaussian around each sample: Silverman's rule of thumb, with the deviation.
[[nodiscard]] inline std::vector<density_component> components_of(value_panel const& panel) {
    gmac::require(panel.components.empty() != panel.samples.empty(),
                  "value densities: the panel of step {} must have either components or samples", panel.step);
    for (auto const& one : panel.components)
        gmac::require(one.weight >= 0.0 && std::isfinite(one.weight) && std::isfinite(one.mean) &&
                          one.deviation >= 0.0 && std::isfinite(one.deviation),
                      "value densities: step {} has the component (weight {}, mean {}, deviation {}), but weight and "
                      "deviation must not be negative and all must be finite",
                      panel.step, one.weight, one.mean, one.deviation);
    std::vector<density_component> result = panel.components;
    if (!panel.samples.empty()) {
        auto const count = static_cast<double>(panel.samples.size());
        double mean = 0.0;
        for (double const sample : panel.samples) {
            gmac::require(std::isfinite(sample), "value densities: step {} has the sample {}, but all must be finite",
                          panel.step, sample);
            mean += sample / count;
        }
        double variance = 0.0;
        for (double const sample : panel.samples)
            variance += (sample - mean) * (sample - mean) / count;
        double const bandwidth = 1.06 * std::sqrt(variance) * std::pow(count, -0.2);
        for (double const sample : panel.samples)
            result.push_back({1.0 / count, sample, bandwidth});
    }
    // What is narrower than the gap between two numbers can only be drawn as a point.
    for (auto& one : result)
        if (one.deviation < (std::max)(epsilon * std::abs(one.mean), std::numeric_limits<double>::min() / epsilon))
            one.deviation = 0.0;
    return result;
}

[[nodiscard]] inline double density_at(std::vector<density_component> const& components, double x) {
    double sum = 0.0;
    for (auto const& [weight, mean, deviation] : components)
        if (deviation > 0.0) {
            double const z = (x - mean) / deviation;
            sum += weight / (deviation * std::sqrt(2.0 * std::numbers::pi)) * std::exp(-0.5 * z * z);
        }
    return sum;
}

/// The probability of all that is not above x.
[[nodiscard]] inline double probability_up_to(std::vector<density_component> const& components, double x) {
    double sum = 0.0;
    for (auto const& [weight, mean, deviation] : components)
        sum += deviation > 0.0 ? weight * 0.5 * std::erfc((mean - x) / (deviation * std::numbers::sqrt2))
                               : (x >= mean ? weight : 0.0);
    return sum;
}

/// The least x whose cumulative probability reaches `probability`, to a thousandth of the distribution's width.
[[nodiscard]] inline double quantile(std::vector<density_component> const& components, double probability) {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (auto const& one : components) {
        low = (std::min)(low, one.mean - 6.0 * one.deviation);
        high = (std::max)(high, one.mean + 6.0 * one.deviation);
    }
    for (int i = 0; i < 30; ++i) {
        double const x = 0.5 * (low + high);
        (probability_up_to(components, x) < probability ? low : high) = x;
    }
    return high;
}

} // namespace detail

} // namespace gmac::examples::train
