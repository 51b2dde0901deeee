// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/catch.hpp"

#include <gmac/core/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gmac::testing {

/// The largest difference between two vectors of one size, whose numbers must be finite.
template <class T>
[[nodiscard]] double largest_difference(std::vector<T> const& a, std::vector<T> const& b) {
    REQUIRE(a.size() == b.size());
    double largest = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        REQUIRE(std::isfinite(a[i]));
        REQUIRE(std::isfinite(b[i]));
        largest = (std::max)(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    }
    return largest;
}

/// The middles of `count` equal parts of [0, 1].
[[nodiscard]] inline std::vector<double> midpoints(std::size_t count) {
    std::vector<double> result;
    for (std::size_t i = 0; i < count; ++i)
        result.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(count));
    return result;
}

/// One stream for each environment.
[[nodiscard]] inline std::vector<random_stream> streams_for(std::size_t count, std::uint64_t seed = 99) {
    std::vector<random_stream> streams;
    for (std::size_t i = 0; i < count; ++i)
        streams.emplace_back(seed, i);
    return streams;
}

/// √n times the largest difference between the empirical distribution function and a continuous `cdf`; above 1.95 once in
/// a thousand times, above 3.28 once in 1e9 (Massart 1990).
template <class T, class Cdf>
[[nodiscard]] double kolmogorov(std::vector<T> values, Cdf&& cdf) {
    std::sort(values.begin(), values.end());
    auto const n = static_cast<double>(values.size());
    double largest = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        double const p = cdf(static_cast<double>(values[i]));
        largest = (std::max)({largest, p - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - p});
    }
    return std::sqrt(n) * largest;
}

[[nodiscard]] inline double standard_normal_cdf(double x) {
    return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

/// Pearson's χ² of counts with these probabilities; without them all are equally likely.
[[nodiscard]] inline double chi_square(std::vector<int> const& counts, std::vector<double> const& probabilities = {}) {
    double total = 0.0;
    for (int const count : counts)
        total += count;
    double sum = 0.0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        double const expected =
            probabilities.empty() ? total / static_cast<double>(counts.size()) : total * probabilities[i];
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return sum;
}

} // namespace gmac::testing
