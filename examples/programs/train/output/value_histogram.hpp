// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "value_panel.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gmac::examples::train {

/// The probability of each of some buckets of equal width. Bucket i is above limits[i − 1], the first one above `low`, and
/// not above limits[i].
struct value_histogram {
    double low = 0.0;
    std::vector<double> limits, masses;
    double mean = 0.0, mean_square = 0.0; ///< of the whole distribution
};

/// The mixture of the panels' distributions, each of the same weight, samples as points. Throws gmac::error for numbers that
/// are not finite.
[[nodiscard]] inline std::vector<density_component> mixture_of(std::span<value_panel const> panels) {
    std::vector<density_component> mixture;
    auto const count = static_cast<double>(panels.size());
    for (auto const& panel : panels) {
        for (auto const& [weight, mean, deviation] : panel.components)
            mixture.push_back({weight / count, mean, deviation});
        for (double const sample : panel.samples)
            mixture.push_back({1.0 / (count * static_cast<double>(panel.samples.size())), sample, 0.0});
    }
    for (auto const& [weight, mean, deviation] : mixture)
        gmac::
            require(weight >= 0.0 && deviation >= 0.0 && std::isfinite(weight + mean + deviation),
                    "the agent expects a return of weight {}, mean {} and deviation {}, but all must be finite, weight "
                    "and deviation not negative",
                    weight, mean, deviation);
    return mixture;
}

/// Of a distribution whose weights sum to one. The buckets leave out less than a thousandth on either side.
[[nodiscard]] inline value_histogram histogram_of(std::vector<density_component> const& components,
                                                  std::size_t buckets) {
    gmac::require(!components.empty() && buckets > 0, "a histogram needs a distribution and a bucket");
    double const first = detail::quantile(components, 0.001), last = detail::quantile(components, 0.999);
    // At least a few numbers of type double must lie in each of them.
    double const closest =
        16.0 * static_cast<double>(buckets) * detail::epsilon * (std::max)(std::abs(first), std::abs(last));
    double const margin = (std::max)(last > first ? 0.02 * (last - first) : 0.5, closest);
    value_histogram made{.low = first - margin, .limits = {}, .masses = {}};
    double const width = last + margin - made.low;
    double below = detail::probability_up_to(components, made.low);
    for (std::size_t i = 1; i <= buckets; ++i) {
        made.limits.push_back(made.low + width * static_cast<double>(i) / static_cast<double>(buckets));
        double const up_to = detail::probability_up_to(components, made.limits.back());
        made.masses.push_back((std::max)(up_to - below, 0.0));
        below = up_to;
    }
    for (auto const& [weight, mean, deviation] : components) {
        made.mean += weight * mean;
        made.mean_square += weight * (mean * mean + deviation * deviation);
    }
    return made;
}

/// What is written of the values of a few states: a histogram of all of them together, and of every fourth one by itself.
[[nodiscard]] inline std::vector<std::pair<std::string, value_histogram>> histograms_of(
    std::span<value_panel const> panels) {
    constexpr std::size_t buckets = 64;
    std::vector<std::pair<std::string, value_histogram>> made;
    made.emplace_back("value_density/all_states", histogram_of(mixture_of(panels), buckets));
    for (std::size_t i = 0; i < panels.size(); i += 4)
        made.emplace_back(fmt::format("value_density/state_{}", i + 1),
                          histogram_of(mixture_of(panels.subspan(i, 1)), buckets));
    return made;
}

} // namespace gmac::examples::train
