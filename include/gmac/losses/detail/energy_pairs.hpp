// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_bits.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/transpose.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/detail/energy_sweep.hpp>
#include <gmac/losses/detail/sample_batch.hpp>
#include <gmac/targets/particles.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

/// The sample energy as sums over pairs, over a lane type V whose lanes are states.
namespace gmac::losses::detail {

/// Sums over some points for one sample.
template <class V>
struct distance_sums {
    V distance = lanes::constant<V>(0.0); ///< Σ v |x − y|
    V sign = lanes::constant<V>(0.0);     ///< Σ v sign(x − y)
};

/// `Count` neighbouring samples against some points.
template <std::size_t Count, bool WithGradient, bool Weighted, class V>
inline void add_distances(V const* samples, V const* points, V const* weights, std::size_t point_count,
                          distance_sums<V>* sums) noexcept {
    V const zero = lanes::constant<V>(0.0);
    V const one = lanes::constant<V>(1.0);
    std::array<V, Count> x;
    std::array<distance_sums<V>, Count> local;
#pragma GCC unroll 4
    for (std::size_t r = 0; r < Count; ++r) {
        x[r] = samples[r];
        local[r] = sums[r];
    }
    for (std::size_t j = 0; j < point_count; ++j) {
        V const y = points[j];
        V const weight = Weighted ? weights[j] : one;
#pragma GCC unroll 4
        for (std::size_t r = 0; r < Count; ++r) {
            V const distance = lanes::abs(V(x[r] - y));
            if constexpr (Weighted)
                local[r].distance = lanes::mul_add(weight, distance, local[r].distance);
            else
                local[r].distance = local[r].distance + distance;
            if constexpr (WithGradient) {
                V const above = local[r].sign + lanes::select(y < x[r], weight, zero);
                local[r].sign = above - lanes::select(x[r] < y, weight, zero);
            }
        }
    }
#pragma GCC unroll 4
    for (std::size_t r = 0; r < Count; ++r)
        sums[r] = local[r];
}

/// All of a tile of samples against all points of a matrix.
template <bool WithGradient, bool Weighted, std::size_t Tile, class V, class T>
inline void add_all_distances(V const* samples, std::size_t sample_count, matrix_view<T const> const& points,
                              matrix_view<T const> const& weights, std::size_t first, std::size_t count,
                              distance_sums<V>* sums) noexcept {
    std::array<V, Tile> tile, tile_weights;
    for (std::size_t j = 0; j < points.cols(); j += Tile) {
        std::size_t const cols = (std::min)(Tile, points.cols() - j);
        lanes::read_columns<V>(points, first, j, cols, tile.data(), count);
        if constexpr (Weighted)
            lanes::read_columns<V>(weights, first, j, cols, tile_weights.data(), count);
        std::size_t r = 0;
        for (; r + 4 <= sample_count; r += 4)
            add_distances<4, WithGradient, Weighted>(&samples[r], tile.data(), tile_weights.data(), cols, &sums[r]);
        for (; r < sample_count; ++r)
            add_distances<1, WithGradient, Weighted>(&samples[r], tile.data(), tile_weights.data(), cols, &sums[r]);
    }
}

/// Σ_jl v_j v_l |y_j − y_l|.
template <bool Weighted, class V, class T>
[[nodiscard]] V sum_target_distances(targets::dirac_particles<T const> const& targets, std::size_t first,
                                     std::size_t count) noexcept {
    constexpr std::size_t tile = 32;
    std::array<V, tile> points, weights;
    std::array<distance_sums<V>, tile> sums;
    V total = lanes::constant<V>(0.0);
    for (std::size_t j = 0; j < targets.particles(); j += tile) {
        std::size_t const cols = (std::min)(tile, targets.particles() - j);
        lanes::read_columns<V>(targets.values, first, j, cols, points.data(), count);
        if constexpr (Weighted)
            lanes::read_columns<V>(targets.weights, first, j, cols, weights.data(), count);
        std::fill_n(sums.begin(), cols, distance_sums<V>{});
        add_all_distances<false, Weighted, tile>(points.data(), cols, targets.values, targets.weights, first, count,
                                                 sums.data());
        for (std::size_t r = 0; r < cols; ++r) {
            if constexpr (Weighted)
                total = lanes::mul_add(weights[r], sums[r].distance, total);
            else
                total = total + sums[r].distance;
        }
    }
    return total;
}

/// The energy of one block of states by pairs. Works in tiles of fixed size, so any number of samples will do.
template <bool WithGradient, bool Weighted, class V, class T>
[[nodiscard]] V energy_pairs(matrix_view<T const> const& samples, targets::dirac_particles<T const> const& targets,
                             matrix_view<T> const& gradient, energy_terms const& terms, std::size_t first,
                             std::size_t count) noexcept {
    constexpr std::size_t tile = 32;
    double const cross_factor = 2.0 * terms.sample_weight * (Weighted ? 1.0 : terms.target_weight);
    double const self_factor = terms.self * terms.sample_weight * terms.sample_weight;
    std::array<V, tile> x;
    std::array<distance_sums<V>, tile> cross, self;
    V cross_total = lanes::constant<V>(0.0);
    V self_total = lanes::constant<V>(0.0);
    V taint = lanes::constant<V>(0.0);
    if constexpr (WithGradient)
        taint = taint_of<V>(samples, first, count) + taint_of<V>(targets.values, first, count);
    for (std::size_t i = 0; i < samples.cols(); i += tile) {
        std::size_t const rows = (std::min)(tile, samples.cols() - i);
        lanes::read_columns<V>(samples, first, i, rows, x.data(), count);
        std::fill_n(cross.begin(), rows, distance_sums<V>{});
        std::fill_n(self.begin(), rows, distance_sums<V>{});
        add_all_distances<WithGradient, Weighted, tile>(x.data(), rows, targets.values, targets.weights, first, count,
                                                        cross.data());
        add_all_distances<WithGradient, false, tile>(x.data(), rows, samples, samples, first, count, self.data());
        for (std::size_t r = 0; r < rows; ++r) {
            cross_total = cross_total + cross[r].distance;
            self_total = self_total + self[r].distance;
        }
        if constexpr (WithGradient) {
            V const cross_slope = lanes::constant<V>(cross_factor / terms.states);
            V const self_slope = lanes::constant<V>(2.0 * self_factor / terms.states);
            for (std::size_t r = 0; r < rows; ++r)
                x[r] = (cross[r].sign * cross_slope - self[r].sign * self_slope) + taint;
            lanes::write_columns<V>(x.data(), gradient, first, i, rows, count);
        }
    }
    V energy = cross_total * lanes::constant<V>(cross_factor) - self_total * lanes::constant<V>(self_factor);
    if (terms.target != 0.0) {
        double const factor = terms.target * (Weighted ? 1.0 : terms.target_weight * terms.target_weight);
        energy = energy - sum_target_distances<Weighted, V>(targets, first, count) * lanes::constant<V>(factor);
    }
    return energy;
}

} // namespace gmac::losses::detail
