// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace gmac::testing {

/// The zero of the Huber loss's slope, by bisection: nothing of the library's own solver.
[[nodiscard]] inline double huber_quantile_by_bisection(std::span<double const> samples, double fraction,
                                                        double kappa) {
    double low = *std::min_element(samples.begin(), samples.end());
    double high = *std::max_element(samples.begin(), samples.end());
    for (int halving = 0; halving < 100; ++halving) {
        double const middle = 0.5 * (low + high);
        double slope = 0.0;
        for (double const sample : samples) {
            double const step = std::max(-kappa, std::min(kappa, sample - middle));
            slope += (sample < middle ? 1.0 - fraction : fraction) * step;
        }
        (slope > 0.0 ? low : high) = middle;
    }
    return 0.5 * (low + high);
}

[[nodiscard]] inline std::vector<double> huber_quantiles_by_bisection(std::span<double const> samples,
                                                                      std::size_t count, double kappa) {
    std::vector<double> quantiles;
    for (double const fraction : midpoints(count))
        quantiles.push_back(huber_quantile_by_bisection(samples, fraction, kappa));
    return quantiles;
}

} // namespace gmac::testing
