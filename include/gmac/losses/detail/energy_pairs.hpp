// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/transpose.hpp>
#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/detail/sample_pairs.hpp>
#include <gmac/targets/particles.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace gmac::inline GMAC_ABI::losses::detail {

/// What a sample energy is made of.
struct energy_terms {
    double self;          ///< 1, or N / (N − 1) for the U-statistic
    double target;        ///< the same for the targets, or 0 without their term
    double sample_weight; ///< 1 / N
    double target_weight; ///< 1 / m, if the targets have no weights
    double states;        ///< the gradient is over their number
};

/// What the sorted ways are made of. With the distribution functions F of the samples and G of the targets,
/// Σ_ij |x_i − y_j| / (N m) = ∫ F (1 − G) + G (1 − F), so the energy is the sum over the gaps between neighbouring points of
/// gap × 2 height, where nothing cancels wherever the points lie:
///     height = (F − G)² + (1 − self) F (1 − F) + (1 − target) G (1 − G).
template <class V>
[[nodiscard, gnu::always_inline]] inline V energy_height(energy_terms const& terms, V const& f, V const& g) noexcept {
    V const apart = g - f;
    V const of_targets =
        lanes::mul_add(lanes::constant<V>(1.0 - terms.target), lanes::mul_sub(g, g, g), V(apart * apart));
    return lanes::mul_add(lanes::constant<V>(1.0 - terms.self), lanes::mul_sub(f, f, f), of_targets);
}

/// Σ_jl v_j v_l |y_j − y_l|.
template <bool Weighted, class V, class T>
[[nodiscard]] V sum_target_distances(targets::dirac_particles<T const> const& targets, std::size_t first,
                                     std::size_t count) noexcept {
    std::array<V, pair_tile> points, weights;
    std::array<leveled_number<V>, pair_tile> numbers;
    std::array<level_sums<V>, pair_tile> sums;
    V const one = lanes::constant<V>(1.0);
    V total = lanes::constant<V>(0.0);
    for (std::size_t j = 0; j < targets.particles(); j += pair_tile) {
        std::size_t const rows = (std::min)(pair_tile, targets.particles() - j);
        lanes::read_columns<V>(targets.values, first, j, rows, points.data(), count);
        if constexpr (Weighted)
            lanes::read_columns<V>(targets.weights, first, j, rows, weights.data(), count);
        for (std::size_t r = 0; r < rows; ++r) {
            numbers[r] = {points[r], one, one};
            sums[r] = {};
        }
        add_all_pairs<Weighted>(absolute_pair<V>{}, numbers.data(), rows, targets.values, targets.weights, first, count,
                                sums.data());
        for (std::size_t r = 0; r < rows; ++r) {
            if constexpr (Weighted)
                total = lanes::mul_add(weights[r], sums[r].value, total);
            else
                total = total + sums[r].value;
        }
    }
    return total;
}

/// The sample energy of one block of states by pairs, as it is written.
template <bool WithGradient, bool Weighted, class V, class T>
[[nodiscard]] V energy_pairs(matrix_view<T const> const& samples, targets::dirac_particles<T const> const& targets,
                             matrix_view<T> const& gradient, energy_terms const& terms, std::size_t first,
                             std::size_t count) noexcept {
    double const cross_factor = 2.0 * terms.sample_weight * (Weighted ? 1.0 : terms.target_weight);
    double const self_factor = terms.self * terms.sample_weight * terms.sample_weight;
    std::array<V, pair_tile> x;
    std::array<leveled_number<V>, pair_tile> numbers;
    std::array<level_sums<V>, pair_tile> cross, self;
    V const one = lanes::constant<V>(1.0);
    V cross_total = lanes::constant<V>(0.0);
    V self_total = cross_total;
    for (std::size_t i = 0; i < samples.cols(); i += pair_tile) {
        std::size_t const rows = (std::min)(pair_tile, samples.cols() - i);
        lanes::read_columns<V>(samples, first, i, rows, x.data(), count);
        for (std::size_t r = 0; r < rows; ++r) {
            numbers[r] = {x[r], one, one};
            cross[r] = self[r] = {};
        }
        add_all_pairs<Weighted>(absolute_pair<V>{}, numbers.data(), rows, targets.values, targets.weights, first, count,
                                cross.data());
        add_all_pairs<false>(absolute_pair<V>{}, numbers.data(), rows, samples, samples, first, count, self.data());
        for (std::size_t r = 0; r < rows; ++r) {
            cross_total = cross_total + cross[r].value;
            self_total = self_total + self[r].value;
        }
        if constexpr (WithGradient) {
            V const cross_slope = lanes::constant<V>(cross_factor / terms.states);
            V const self_slope = lanes::constant<V>(2.0 * self_factor / terms.states);
            for (std::size_t r = 0; r < rows; ++r)
                x[r] = self[r].slope * self_slope - cross[r].slope * cross_slope;
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

} // namespace gmac::inline GMAC_ABI::losses::detail
