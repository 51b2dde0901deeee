// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/transpose.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/overlap.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/compatibility.hpp>
#include <gmac/losses/detail/lane_table.hpp>
#include <gmac/losses/detail/mean_over_states.hpp>
#include <gmac/losses/detail/number_type.hpp>
#include <gmac/losses/detail/sample_batch.hpp>
#include <gmac/targets/particles.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

/// What the losses on a grid of atoms share: what they accept, their checks, and the loop over the batch.
namespace gmac::inline GMAC_ABI::losses {

/// A head whose distribution is the softmax of its outputs on fixed atoms, as heads::categorical is.
template <class Head>
concept categorical_head = requires(Head const& head, std::array<float, Head::outputs>& gradient) {
    { head.template grid<float>().atoms[0] } -> std::convertible_to<float>;
    { head.transform(gradient).probabilities[0] } -> std::convertible_to<float>;
    { head.transform(gradient).log_total } -> std::convertible_to<float>;
    head.pull_back(head.transform(gradient), gradient);
};

namespace detail {

/// Some particles of the target of each state of a block, a state a lane.
inline constexpr std::size_t atoms_tile = 64;
template <class V>
struct target_tile {
    std::array<V, atoms_tile> points, weights;
    std::size_t size;
};

/// Blocks of more atoms than this are computed state by state, so that they do not fill the stack.
inline constexpr std::size_t most_atoms_in_lanes = 256;
template <class T, std::size_t N>
using lanes_on_atoms =
    typename std::conditional_t<(N > most_atoms_in_lanes), std::type_identity<T>, lanes::lane_for<T>>::type;

/// The masses of the targets of a block of states at the atoms. `loss.add(grid, particles, masses)` adds those of some particles.
template <class V, std::size_t N, class Loss, class Grid, class T>
void add_targets(Loss const& loss, Grid const& grid, targets::dirac_particles<T const> const& targets,
                 std::size_t first, std::size_t count, lane_table<V, N>& masses) {
    target_tile<V> tile;
    tile.weights.fill(lanes::constant<V>(1.0 / static_cast<double>(targets.particles())));
    masses.fill(T(0));
    for (std::size_t start = 0; start < targets.particles(); start += tile.size) {
        tile.size = (std::min)(atoms_tile, targets.particles() - start);
        lanes::read_columns(targets.values, first, start, tile.size, tile.points.data(), count);
        for (std::size_t j = 0; j < tile.size; ++j) // an infinite target is an error: NaN, not clipped
            tile.points[j] = tile.points[j] + V(tile.points[j] - tile.points[j]);
        if (targets.weighted())
            lanes::read_columns(targets.weights, first, start, tile.size, tile.weights.data(), count);
        loss.add(grid, tile, masses);
    }
}

template <class Loss>
void check_options(Loss const& loss) {
    if constexpr (requires { loss.check(); })
        loss.check();
}

/// The mean over the states of a loss on atoms, and its gradient. `loss.compare<WithGradient>(head, grid, logits, masses)`
/// gives the losses of a block, and puts the gradient in place of the logits.
template <class Lanes, bool WithGradient, class Loss, class Head, class Outputs, class Targets, class Gradient>
auto evaluate_on_atoms(Loss const& loss, Head const& head, Outputs& outputs, Targets const& targets,
                       Gradient const& gradient) {
    static_assert(are_dirac_particles<Targets> || !fits_head<Loss, Head>,
                  "this loss compares with samples: its targets are targets::dirac_particles");
    if constexpr (require_fit<Loss, Head>() && are_dirac_particles<Targets>) {
        constexpr std::size_t N = Head::outputs;
        auto const view = as_matrix(outputs);
        using T = typename decltype(view)::value_type;
        using V = std::conditional_t<std::is_void_v<Lanes>, lanes_on_atoms<T, N>, Lanes>;
        matrix_view<T const> const raw = view;
        auto const wanted = targets_as<T>(targets);
        require_shape(raw, raw.rows(), N, "outputs", Loss::name);
        require_samples(raw, wanted, Loss::name);
        matrix_view<T> to;
        if constexpr (WithGradient) {
            to = gradient_as<T>(gradient);
            require_gradient(to, raw, wanted, Loss::name);
        }
        check_options(loss);
        auto const grid = head.template grid<T>();
        V const share(T(1) / static_cast<T>(raw.rows()));
        return mean_over_states<V>(raw.rows(), [&](std::size_t first, std::size_t count) {
            lane_table<V, N> masses;
            add_targets(loss, grid, wanted, first, count, masses);
            std::array<V, N> logits;
            lanes::read_columns(raw, first, 0, N, logits.data(), count);
            V const losses = loss.template compare<WithGradient>(head, grid, logits, masses);
            if constexpr (WithGradient) {
                for (V& slope : logits)
                    slope = slope * share;
                lanes::write_columns(logits.data(), to, first, 0, N, count);
            }
            return losses;
        });
    } else {
        return 0.0;
    }
}

/// Targets → what they are on the atoms, masses [B, N].
template <class Loss, class Head, class Targets, class Masses>
void write_masses(Loss const& loss, Head const& head, Targets const& targets, Masses&& masses) {
    constexpr std::size_t N = Head::outputs;
    auto const to = as_matrix(masses);
    using T = typename decltype(to)::value_type;
    using V = lanes_on_atoms<T, N>;
    auto const wanted = targets_as<T>(targets);
    require_samples(matrix_view<T const>(to), wanted, Loss::name);
    require_shape(to, to.rows(), N, "the matrix of masses", Loss::name);
    require(!may_overlap(to, wanted.values) && !(wanted.weighted() && may_overlap(to, wanted.weights)),
            "{}: the masses overlap the targets in memory, but must have memory of their own", Loss::name);
    check_options(loss);
    auto const grid = head.template grid<T>();
    for (std::size_t first = 0; first < to.rows(); first += lanes::width_of<V>) {
        std::size_t const count = (std::min)(lanes::width_of<V>, to.rows() - first);
        lane_table<V, N> block;
        add_targets(loss, grid, wanted, first, count, block);
        for (std::size_t i = 0; i < N; ++i)
            lanes::store_rows(block[i], to, first, i, count);
    }
}

} // namespace detail

} // namespace gmac::inline GMAC_ABI::losses
