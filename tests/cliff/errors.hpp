// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cliff/exact.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gmac::testing {

/// The standard error of the lower mean of so many returns of this law, the lowest first: its influence function is the
/// return's distance below the quantile, divided by the level (Trindade et al. 2007). At level 1 it is the mean's.
[[nodiscard]] inline double lower_mean_error(std::vector<examples::cliff::outcome> const& rising, double level,
                                             double count) {
    double quantile = 0.0, sum = 0.0;
    for (auto const& [value, probability] : rising) {
        if (sum < level)
            quantile = value;
        sum += probability;
    }
    double mean = 0.0, square = 0.0;
    for (auto const& [value, probability] : rising) {
        double const below = (std::max)(quantile - value, 0.0) / level;
        mean += probability * below;
        square += probability * below * below;
    }
    return std::sqrt((square - mean * mean) / count);
}

} // namespace gmac::testing
