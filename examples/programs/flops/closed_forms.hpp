// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/counted.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

/// The operations of one state's loss in closed form; `gradient` asks for the value and the gradient together. What
/// count_losses.hpp counts must equal them.
namespace gmac::flops::closed {

using count = std::uint64_t;

[[nodiscard]] inline operation_counts squared_error(bool gradient) {
    return {.additions = 2, .multiplications = gradient ? 3u : 2u};
}
[[nodiscard]] inline operation_counts clipped_squared_error(bool gradient) {
    return {.additions = 6, .multiplications = gradient ? 4u : 3u, .comparisons = 6};
}

/// Are N numbers and m points finite? Points are looked at once for each 64 numbers, and added up 64 at a time.
[[nodiscard]] inline operation_counts taint(count n, count m) {
    count const tiles = (n + 63) / 64;
    return {.additions = 3 * n + (m + (m + 63) / 64) * tiles, .multiplications = n + m * tiles};
}

/// A loss over all N m pairs of a quantile and a particle: `a`, `b` and `c` additions, multiplications and comparisons a
/// pair. For each quantile its two levels, its part of the sum, two comparisons and an addition that check τ, and one product
/// for the gradient.
[[nodiscard]] inline operation_counts quantile_pairs(count a, count b, count c, count n, count m, bool gradient) {
    return taint(n, m) + operation_counts{.additions = a * n * m + 3 * n + 1,
                                          .multiplications = b * n * m + n + 1 + (gradient ? n : 0),
                                          .comparisons = c * n * m + 2 * n};
}
[[nodiscard]] inline operation_counts huber_quantile(count n, count m, bool gradient) {
    return quantile_pairs(4, 3, 3, n, m, gradient);
}
/// Huber's κ = 0.
[[nodiscard]] inline operation_counts pinball(count n, count m, bool gradient) {
    return quantile_pairs(4, 1, 2, n, m, gradient);
}
[[nodiscard]] inline operation_counts expectile(count n, count m, bool gradient) {
    return quantile_pairs(3, 2, 1, n, m, gradient);
}

/// The sample energy by pairs: N m of samples and particles, N² of samples and, with the target term, m² of particles.
[[nodiscard]] inline operation_counts sample_energy_pairs(count n, count m, bool target_term, bool gradient) {
    count const pairs = n * m + n * n;
    operation_counts result =
        taint(n, m) + taint(n, n) +
        operation_counts{.additions = 4 * pairs + 2 * n + 2, .multiplications = pairs + 2, .comparisons = 2 * pairs};
    if (target_term)
        result =
            result + taint(m, m) +
            operation_counts{.additions = 4 * m * m + m + 1, .multiplications = m * m + 1, .comparisons = 2 * m * m};
    if (gradient)
        result = result + operation_counts{.additions = n, .multiplications = 2 * n};
    return result;
}

/// Comparators of the network that sorts n = 2^k ≥ 8 keys: 19 for eight, then bitonic merges.
[[nodiscard]] inline count sorting_comparators(count n) {
    count sum = 19 * n / 8;
    for (count width = 16; width <= n; width *= 2)
        sum += n / 2 * static_cast<count>(std::bit_width(width) - 1);
    return sum;
}
/// The sample energy by sorting, for N = m = 2^k ≥ 8, with or without the target term. Comparators of the samples compare
/// once, of the particles twice (a minimum and a maximum). What is computed from ranks alone, which are whole numbers and
/// no counted<T>, is not in it: with the gradient 9 additions and 8 multiplications a point.
[[nodiscard]] inline operation_counts sample_energy_sorted(count n, bool gradient) {
    count const points = 2 * n;
    count const merge = n * static_cast<count>(std::bit_width(points) - 1);
    return {.additions = (gradient ? 6 : 3) * points + 3,
            .multiplications = (gradient ? 3 : 2) * points,
            .comparisons = 3 * sorting_comparators(n) + merge + (gradient ? 2 * points - 1 : 0)};
}

/// What δ(V, V) of m ≥ 2 Gaussian particles adds: m (m − 1) / 2 pairs. The rest comes from working in tiles of 64.
[[nodiscard]] inline operation_counts target_term(count m) {
    count const pairs = m * (m - 1) / 2;
    count tiles = 0, loaded = 0, rows = 0;
    for (count first = 0; first < m; first += 64, ++tiles) {
        count const size = m - first < 64 ? m - first : 64;
        loaded += size * (tiles + 1);
        rows += size * (1 + (m - first - size + 63) / 64);
    }
    count const expectations = rows - tiles; // a tile's last particle has no partner after it
    return {.additions = 4 * pairs + expectations + rows + m + 2,
            .multiplications = 5 * pairs + 2 * loaded + expectations + 2 * m + 2,
            .divisions = pairs,
            .comparisons = pairs + loaded,
            .square_roots = pairs,
            .exponentials = pairs,
            .error_functions = pairs};
}

/// The mixture energy of K components and m Gaussian particles: K m pairs, K (K − 1) / 2 more, softmax, softplus, and with
/// the gradient their pull-back; every 64 particles are added up by themselves. One pair is one square root, one division, one exponential and one error function.
[[nodiscard]] inline operation_counts mixture_energy(count k, count m, bool with_target_term, bool gradient) {
    count const cross = k * m;
    count const self = k * (k - 1) / 2;
    count const tiles = k * ((m + 63) / 64);
    operation_counts result{.additions = 4 * cross + 2 * tiles + 8 * k + 6 * self,
                            .multiplications = 5 * cross + 2 * m + 14 * k + 11 * self,
                            .divisions = cross + 1 + self,
                            .comparisons = cross + m + 3 * k + self,
                            .square_roots = cross + k + self,
                            .exponentials = cross + 2 * k + self,
                            .logarithms = k,
                            .error_functions = cross + self};
    if (with_target_term)
        result = result + target_term(m);
    if (gradient)
        result = result + operation_counts{.additions = 2 * cross + 2 * tiles + 11 * k - 1 + 4 * self,
                                           .multiplications = 17 * k,
                                           .divisions = 2 * k,
                                           .comparisons = 5 * k,
                                           .exponentials = k,
                                           .logarithms = k};
    return result;
}

} // namespace gmac::flops::closed
