// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/transpose.hpp>
#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>
#include <gmac/heads/quantile_outputs.hpp>
#include <gmac/losses/detail/mean_over_states.hpp>
#include <gmac/targets/particles.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

/// Sums over pairs of a predicted number θ and a point z, over a lane type V whose lanes are states. With δ = z − θ a pair adds
/// a f(δ), where a is one level above θ and another below it. Tiles have a fixed size, so any number of either will do.
namespace gmac::inline GMAC_ABI::losses::detail {

/// A predicted number and its levels.
template <class V>
struct leveled_number {
    V theta, above, below;

    /// The level of a point, times its weight; without weights that is not looked at.
    template <bool Weighted>
    [[nodiscard]] V level(V const& z, [[maybe_unused]] V const& weight) const noexcept {
        V const level = lanes::select(z < theta, below, above);
        if constexpr (Weighted)
            return level * weight;
        else
            return level;
    }
};

/// Sums over the points for one predicted number.
template <class V>
struct level_sums {
    V value = lanes::constant<V>(0.0); ///< Σ a f(δ)
    V slope = lanes::constant<V>(0.0); ///< Σ a g(δ), where g is f' up to a constant factor
};

/// f = |δ|; g = sign(δ), which is 0 at δ = 0.
template <class V>
struct absolute_pair {
    template <bool Weighted>
    void add(leveled_number<V> const& number, V const& z, [[maybe_unused]] V const& weight,
             level_sums<V>& sums) const noexcept {
        V const zero = lanes::constant<V>(0.0);
        V slope =
            lanes::select(number.theta < z, number.above, zero) - lanes::select(z < number.theta, number.below, zero);
        if constexpr (Weighted)
            slope = slope * weight;
        sums.slope = sums.slope + slope;
        sums.value = lanes::mul_add(slope, V(z - number.theta), sums.value);
    }
};

inline constexpr std::size_t pair_tile = 64;

/// `Count` neighbouring numbers against some points; several at once hide the latency of the sums.
template <std::size_t Count, bool Weighted, class V, class Pair>
inline void add_pairs(Pair const& pair, leveled_number<V> const* numbers, V const* points, V const* weights,
                      std::size_t point_count, level_sums<V>* sums) noexcept {
    std::array<leveled_number<V>, Count> number;
    std::array<level_sums<V>, Count> local;
#pragma GCC unroll 4
    for (std::size_t r = 0; r < Count; ++r) {
        number[r] = numbers[r];
        local[r] = sums[r];
    }
    for (std::size_t j = 0; j < point_count; ++j) {
        V const z = points[j];
        V const weight = weights[Weighted ? j : 0];
#pragma GCC unroll 4
        for (std::size_t r = 0; r < Count; ++r)
            pair.template add<Weighted>(number[r], z, weight, local[r]);
    }
#pragma GCC unroll 4
    for (std::size_t r = 0; r < Count; ++r)
        sums[r] = local[r];
}

/// A tile of numbers against all points of their states. The sign of a difference, which slopes are made of, would hide what
/// is not finite.
template <bool Weighted, class V, class T, class Pair>
inline void add_all_pairs(Pair const& pair, leveled_number<V> const* numbers, std::size_t number_count,
                          matrix_view<T const> const& points, matrix_view<T const> const& weights, std::size_t first,
                          std::size_t count, level_sums<V>* sums) noexcept {
    std::array<V, pair_tile> tile;
    std::array<V, Weighted ? pair_tile : 1> tile_weights{};
    V taint = lanes::constant<V>(0.0);
    for (std::size_t j = 0; j < points.cols(); j += pair_tile) {
        std::size_t const cols = (std::min)(pair_tile, points.cols() - j);
        lanes::read_columns<V>(points, first, j, cols, tile.data(), count);
        if constexpr (Weighted)
            lanes::read_columns<V>(weights, first, j, cols, tile_weights.data(), count);
        taint = taint + lanes::taint(tile.data(), cols);
        std::size_t r = 0;
        for (; r + 4 <= number_count; r += 4)
            add_pairs<4, Weighted>(pair, &numbers[r], tile.data(), tile_weights.data(), cols, &sums[r]);
        for (; r < number_count; ++r)
            add_pairs<1, Weighted>(pair, &numbers[r], tile.data(), tile_weights.data(), cols, &sums[r]);
    }
    for (std::size_t r = 0; r < number_count; ++r)
        sums[r].slope = sums[r].slope + (taint + lanes::taint(&numbers[r].theta, 1));
}

/// What the pairs of a quantile loss are summed up to.
struct quantile_factors {
    double level; ///< of τ and 1 − τ
    double value; ///< of Σ_i Σ_j w_j a f(δ)
    double slope; ///< of Σ_j w_j a g(δ), which is the gradient
};

/// The loss of one block of states by pairs, with the levels τ for points above a quantile and 1 − τ below it.
template <bool WithGradient, bool Weighted, class V, class T, class Pair>
[[nodiscard]] V quantile_block(Pair const& pair, quantile_outputs<T const> const& predicted,
                               targets::dirac_particles<T const> const& targets, matrix_view<T> const& gradient,
                               quantile_factors const& factors, std::size_t first, std::size_t count) {
    alignas(64) std::array<V, pair_tile> values, fractions;
    std::array<leveled_number<V>, pair_tile> numbers;
    std::array<level_sums<V>, pair_tile> sums;
    V const whole = lanes::constant<V>(factors.level);
    V total = lanes::constant<V>(0.0);
    for (std::size_t i = 0; i < predicted.quantiles(); i += pair_tile) {
        std::size_t const rows = (std::min)(pair_tile, predicted.quantiles() - i);
        lanes::read_columns<V>(predicted.values, first, i, rows, values.data(), count);
        lanes::read_columns<V>(predicted.fractions, first, i, rows, fractions.data(), count);
        for (std::size_t r = 0; r < rows; ++r) {
            V const above = fractions[r] * whole;
            numbers[r] = {values[r], above, whole - above};
            sums[r] = {};
        }
        add_all_pairs<Weighted>(pair, numbers.data(), rows, targets.values, targets.weights, first, count, sums.data());
        for (std::size_t r = 0; r < rows; ++r)
            total = total + sums[r].value;
        if constexpr (WithGradient) {
            for (std::size_t r = 0; r < rows; ++r)
                values[r] = sums[r].slope * lanes::constant<V>(factors.slope);
            lanes::write_columns<V>(values.data(), gradient, first, i, rows, count);
        }
    }
    return total * lanes::constant<V>(factors.value);
}

/// The mean over the states of a quantile loss by pairs.
template <bool WithGradient, template <class> class Pair, class V, class T>
[[nodiscard]] T quantile_pairs(Pair<V> const& pair, quantile_outputs<T const> const& predicted,
                               targets::dirac_particles<T const> const& targets, matrix_view<T> const& gradient,
                               quantile_factors const& factors) {
    return mean_over_states<V>(predicted.rows(), [&](std::size_t first, std::size_t count) {
        return targets.weighted()
                   ? quantile_block<WithGradient, true, V>(pair, predicted, targets, gradient, factors, first, count)
                   : quantile_block<WithGradient, false, V>(pair, predicted, targets, gradient, factors, first, count);
    });
}

} // namespace gmac::inline GMAC_ABI::losses::detail
