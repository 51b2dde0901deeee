// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>
#include <gmac/losses/detail/atoms.hpp>
#include <gmac/losses/detail/lane_table.hpp>

#include <cstddef>

namespace gmac::inline GMAC_ABI::losses::detail {

/// Divides the mass of each particle x between the two atoms beside it, z ≤ x ≤ z', so that their mean is x: the share of z' is
/// (x − z) / (z' − z), 0 or 1 beyond the ends (Bellemare et al. 2017, equation 7).
template <class V, class Grid, std::size_t N>
void project(Grid const& grid, target_tile<V> const& particles, lane_table<V, N>& masses) noexcept {
    V const zero = lanes::constant<V>(0.0);
    V const one = lanes::constant<V>(1.0);
    V const last = lanes::constant<V>(static_cast<double>(N - 2));
    lane_table<index_of<V>, atoms_tile> lower;
    lane_table<V, atoms_tile> below, above; // at first z and 1 / (z' − z)
    for (std::size_t j = 0; j < particles.size; ++j) {
        V const place = nearest(V(grid.place(particles.points[j]) - lanes::constant<V>(0.5)));
        lower.set(j, to_index(V(lanes::select(place >= zero, lanes::at_most(last, place), zero))));
    }
    for (std::size_t j = 0; j < particles.size; ++j)
#pragma GCC unroll 4
        for (std::size_t lane = 0; lane < lanes::width_of<V>; ++lane) {
            below(j, lane) = grid.atoms[lower(j, lane)];
            above(j, lane) = grid.inverse_gaps[lower(j, lane)];
        }
    for (std::size_t j = 0; j < particles.size; ++j) {
        V const share = lanes::at_least(zero, lanes::at_most(one, V((particles.points[j] - below[j]) * above[j])));
        above.set(j, V(particles.weights[j] * share));
        below.set(j, V(particles.weights[j] - above[j]));
    }
    for (std::size_t j = 0; j < particles.size; ++j)
#pragma GCC unroll 4
        for (std::size_t lane = 0; lane < lanes::width_of<V>; ++lane) {
            std::size_t const atom = lower(j, lane);
            masses(atom, lane) += below(j, lane);
            masses(atom + 1, lane) += above(j, lane);
        }
}

} // namespace gmac::inline GMAC_ABI::losses::detail
