// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/communicator.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace gmac::inline GMAC_ABI::detail {

/// Of numbers that lie on several ranks.
struct shared_moments {
    double count = 0.0, mean = 0.0;
    double squares = 0.0; ///< the sum of the squared distances to the mean
};

/// The moments of some sets of numbers, of which each rank has a part: here set s has number(s, 0) … number(s, counts[s] − 1).
/// In two passes, as moments_of makes them. Collective; the same on each rank.
template <class Number>
[[nodiscard]] std::vector<shared_moments> shared_moments_of(communicator& ranks, std::span<std::size_t const> counts,
                                                            Number const& number) {
    std::vector<double> sums(2 * counts.size(), 0.0);
    for (std::size_t s = 0; s < counts.size(); ++s) {
        sums[2 * s] = static_cast<double>(counts[s]);
        for (std::size_t i = 0; i < counts[s]; ++i)
            sums[2 * s + 1] += number(s, i);
    }
    ranks.all_reduce(std::span<double>(sums));
    std::vector<shared_moments> all(counts.size());
    for (std::size_t s = 0; s < counts.size(); ++s)
        all[s] = {.count = sums[2 * s], .mean = sums[2 * s + 1] / sums[2 * s]};
    sums.assign(sums.size(), 0.0);
    for (std::size_t s = 0; s < counts.size(); ++s)
        for (std::size_t i = 0; i < counts[s]; ++i) {
            double const distance = number(s, i) - all[s].mean;
            sums[2 * s] += distance * distance;
            sums[2 * s + 1] += distance;
        }
    ranks.all_reduce(std::span<double>(sums));
    for (std::size_t s = 0; s < counts.size(); ++s)
        all[s].squares = sums[2 * s] - sums[2 * s + 1] * (sums[2 * s + 1] / all[s].count);
    return all;
}

} // namespace gmac::inline GMAC_ABI::detail
