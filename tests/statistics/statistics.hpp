// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/random.hpp>
#include <gmac/statistics/statistic.hpp>

#include "support/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

/// The statistics by their definition, in double.
namespace gmac::testing {

[[nodiscard]] inline std::vector<statistic> all_statistics() {
    using namespace statistics;
    return {mean(),
            cvar(1.0),
            cvar(0.5),
            cvar(0.1),
            cvar(0.01),
            upper_cvar(0.25),
            upper_cvar(0.02),
            wang(-0.75),
            wang(0.0),
            wang(1.5),
            wang(-3.0),
            wang(3.0),
            power(-2.0),
            power(0.0),
            power(4.0),
            power(-20.0),
            power(20.0),
            mean_minus_deviations(0.5),
            mean_minus_deviations(-1.0),
            quantile(0.52),
            quantile(0.06)};
}

/// g(u), where `above` is 1 − u.
[[nodiscard]] inline double distortion(statistic const& of, double u, double above) {
    double const p = of.parameter;
    switch (of.kind) {
    case statistic_kind::cvar:
        return u < p ? u / p : 1.0;
    case statistic_kind::upper_cvar:
        return above < p ? 1.0 - above / p : 0.0;
    case statistic_kind::wang:
        if (u <= 0.0 || above <= 0.0)
            return u <= 0.0 ? 0.0 : 1.0;
        return standard_normal_cdf((u < above ? standard_normal_quantile(u) : -standard_normal_quantile(above)) - p);
    case statistic_kind::power:
        return p < 0.0 ? 1.0 - std::pow(above, 1.0 - p) : std::pow(u, 1.0 + p);
    case statistic_kind::quantile:
        return u < p ? 0.0 : 1.0;
    case statistic_kind::mean:
    case statistic_kind::mean_minus_deviations:
        break;
    }
    return u;
}
/// g'(u)
[[nodiscard]] inline double distortion_density(statistic const& of, double u, double above) {
    double const p = of.parameter;
    switch (of.kind) {
    case statistic_kind::wang: {
        if (u <= 0.0 || above <= 0.0)
            return 0.0;
        double const z = u < above ? standard_normal_quantile(u) : -standard_normal_quantile(above);
        return std::exp(p * z - 0.5 * p * p);
    }
    case statistic_kind::power:
        return p < 0.0 ? (1.0 - p) * std::pow(above, -p) : (1.0 + p) * std::pow(u, p);
    default:
        return 1.0;
    }
}

/// The statistic of points with weights.
[[nodiscard]] inline double of_points(statistic const& of, std::vector<double> const& points,
                                      std::vector<double> const& weights) {
    double mean = 0.0, variance = 0.0;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < points.size(); ++i) {
        mean += weights[i] * points[i];
        order.push_back(i);
    }
    if (of.kind == statistic_kind::mean_minus_deviations) {
        for (std::size_t i = 0; i < points.size(); ++i)
            variance += weights[i] * (points[i] - mean) * (points[i] - mean);
        return mean - of.parameter * std::sqrt(variance);
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
    double sum = 0.0, below = 0.0, before = 0.0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        below += weights[order[i]];
        double above = 0.0;
        for (std::size_t j = i + 1; j < order.size(); ++j)
            above += weights[order[j]];
        double const here = i + 1 == order.size() ? 1.0 : distortion(of, below, above);
        sum += (here - before) * points[order[i]];
        before = here;
    }
    return sum;
}

} // namespace gmac::testing
