// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

/// Summaries of a few returns, with intervals that say how far to trust them (Agarwal et al. 2021, "Deep reinforcement
/// learning at the edge of the statistical precipice").
namespace gmac::examples::train {

[[nodiscard]] inline double mean(std::span<double const> values) noexcept {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The quantile at `probability` in [0, 1] of values in rising order, linear between them (definition 7 of Hyndman and
/// Fan 1996, as NumPy and R have it).
[[nodiscard]] inline double quantile_of_sorted(std::span<double const> sorted, double probability) noexcept {
    double const place = probability * static_cast<double>(sorted.size() - 1);
    auto const below = static_cast<std::size_t>(place);
    double const part = place - static_cast<double>(below);
    return part == 0.0 ? sorted[below] : sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

/// The mean of values in rising order without the lowest and the highest quarter, each of floor(n / 4) values.
[[nodiscard]] inline double interquartile_mean_of_sorted(std::span<double const> sorted) noexcept {
    std::size_t const quarter = sorted.size() / 4;
    return mean(sorted.subspan(quarter, sorted.size() - 2 * quarter));
}

struct bootstrap {
    double level = 0.95;            ///< coverage, in (0, 1)
    std::size_t resamples = 10'000; ///< at least 1
    std::uint64_t seed = 0;
};

/// An estimate, and the percentile bootstrap interval around it.
struct estimate {
    double value = 0.0, low = 0.0, high = 0.0;
};

struct summary {
    estimate mean, median, interquartile_mean;
    double minimum = 0.0, maximum = 0.0;
};

/// Estimates from independent values of one distribution. An interval is that of the statistic over resamples of the
/// values with replacement, between its quantiles at (1 ∓ level) / 2: the percentile bootstrap (Efron 1979). The three
/// intervals are made of the same resamples. Throws gmac::error if there is no value, for one that is NaN, or for options out of range.
[[nodiscard]] inline summary summarize(std::span<double const> values, bootstrap const& options = {}) {
    require(!values.empty(), "summarize: there is no value");
    for (std::size_t i = 0; i < values.size(); ++i) // which have no order
        require(!std::isnan(values[i]), "summarize: value {} is not a number", i);
    require(options.level > 0.0 && options.level < 1.0, "bootstrap: the level is {}, but must be between 0 and 1",
            options.level);
    require(options.resamples > 0, "bootstrap: there are 0 resamples, but must be at least 1");
    auto const statistics = [](std::span<double> sample) {
        std::ranges::sort(sample);
        return std::array{mean(sample), quantile_of_sorted(sample, 0.5), interquartile_mean_of_sorted(sample)};
    };
    std::vector<double> sorted(values.begin(), values.end());
    auto const found = statistics(sorted);

    std::vector<double> resample(values.size());
    std::array<std::vector<double>, found.size()> replicates;
    random_stream random(options.seed, 0);
    for (std::size_t i = 0; i < options.resamples; ++i) {
        for (double& value : resample)
            value = sorted[random.below(static_cast<std::uint32_t>(sorted.size()))];
        auto const replicate = statistics(resample);
        for (std::size_t k = 0; k < replicate.size(); ++k)
            replicates[k].push_back(replicate[k]);
    }
    std::array<estimate, found.size()> estimates;
    double const tail = 0.5 * (1.0 - options.level);
    for (std::size_t k = 0; k < found.size(); ++k) {
        std::ranges::sort(replicates[k]);
        estimates[k] = {found[k], quantile_of_sorted(replicates[k], tail),
                        quantile_of_sorted(replicates[k], 1.0 - tail)};
    }
    return {estimates[0], estimates[1], estimates[2], sorted.front(), sorted.back()};
}

} // namespace gmac::examples::train
