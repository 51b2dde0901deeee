// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/special.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/categorical_cross_entropy.hpp>
#include <gmac/losses/detail/atoms.hpp>
#include <gmac/targets/particles.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <string_view>

namespace gmac::inline GMAC_ABI::losses {

/// The cross-entropy − Σ q_i log p_i between the predicted probabilities p and a Gaussian histogram q of the target, the mean
/// over the states: HL-Gauss (Imani and White 2018, "Improving regression performance with distributional losses";
/// Farebrother et al. 2024, "Stop regressing: training value functions via classification for scalable deep RL").
///
/// An atom is the middle of a bin as wide as the atoms lie apart. A target particle x gives each bin the probability that N(x, σ²)
/// has in it, divided by that of all bins; a particle beyond the atoms counts as the last one. Where the atoms are
/// evenly spaced in symlog, so are the bins, and x and σ are taken there.
///
/// Outputs, targets and gradient: see categorical_cross_entropy.
struct hl_gauss {
    static constexpr std::string_view name = "hl_gauss";
    template <class T>
    using targets_type = targets::dirac_particles<T const>;
    template <class Head>
    static constexpr bool fits_head = categorical_head<Head>;

    double deviation = 0.75; ///< σ, in widths of a bin

    /// Throws gmac::error unless the deviation is in [1e-30, 1e30], whose inverse is a number of any type. `value` and its
    /// like call it.
    void check() const {
        require(deviation >= 1e-30 && deviation <= 1e30, "hl_gauss: deviation is {}, but must be from 1e-30 to 1e+30",
                deviation);
    }

    /// Throws gmac::error as categorical_cross_entropy::value does, and if the deviation is refused.
    template <class Head, class Outputs, class Targets>
    [[nodiscard]] auto value(Head const& head, Outputs&& outputs, Targets const& targets) const {
        return detail::evaluate_on_atoms<void, false>(*this, head, outputs, targets, detail::no_gradient{});
    }

    /// Also writes the gradient with respect to the logits, in the same pass. Throws too if the gradient overlaps an
    /// argument in memory.
    template <class Head, class Outputs, class Targets, class Gradient>
    auto value_and_gradient(Head const& head, Outputs&& outputs, Targets const& targets, Gradient&& gradient) const {
        return detail::evaluate_on_atoms<void, true>(*this, head, outputs, targets, as_matrix(gradient));
    }

    /// The same with a lane type of the caller's choice, whose scalar is that of the views.
    template <class V, class Head, class Outputs, class Targets, class Gradient>
    auto value_and_gradient_in_lanes(Head const& head, Outputs&& outputs, Targets const& targets,
                                     Gradient&& gradient) const {
        return detail::evaluate_on_atoms<V, true>(*this, head, outputs, targets, as_matrix(gradient));
    }

    /// The masses q that the targets [B, m] have at the head's atoms: [B, N], whose rows sum to one. Throws as `value` does.
    template <class Head, class Targets, class Masses>
    void target_masses(Head const& head, Targets const& targets, Masses&& masses) const {
        detail::write_masses(*this, head, targets, masses);
    }

    // What detail/atoms.hpp makes these of, for a block of states in lanes.
    template <class Grid, class V, std::size_t N>
    void add(Grid const& grid, detail::target_tile<V> const& particles,
             detail::lane_table<V, N>& masses) const noexcept {
        std::size_t const bins = bins_in_reach<lanes::scalar_of<V>>(N);
        V const zero = lanes::constant<V>(0.0);
        std::size_t const before = bins / 2; // of the bins in reach
        V const half_of_bins = lanes::constant<V>(static_cast<double>(before));
        V const most = lanes::constant<V>(static_cast<double>(N - bins));
        V const scale = lanes::constant<V>(1.0 / (std::numbers::sqrt2 * deviation));
        for (std::size_t j = 0; j < particles.size; ++j) {
            V const place = grid.place(particles.points[j]);
            V const wanted = detail::nearest(V(place - half_of_bins));
            V const first = lanes::select(wanted >= zero, lanes::at_most(most, wanted), zero); // bin in reach
            auto const twice_below = [&](std::size_t i) { // 2 P(below bin first + i) − 1
                V const edge = first + lanes::constant<V>(static_cast<double>(i) - 0.5);
                return lanes::erf(V((edge - place) * scale));
            };
            V lower = twice_below(0);
            V const factor = particles.weights[j] / (twice_below(bins) - lower);
            detail::lane_table<detail::index_of<V>, 1> bin_of;
            bin_of.set(0, detail::to_index(first));
            detail::lane_table<V, 1> mass;
            for (std::size_t i = 0; i < bins; ++i) {
                V const upper = twice_below(i + 1);
                mass.set(0, V(factor * (upper - lower)));
                lower = upper;
                for (std::size_t lane = 0; lane < lanes::width_of<V>; ++lane)
                    masses(bin_of(0, lane) + i, lane) += mass(0, lane);
            }
        }
    }
    template <bool WithGradient, class Head, class Grid, class V, std::size_t N>
    [[nodiscard]] static V compare(Head const& head, Grid const&, std::array<V, N>& logits,
                                   detail::lane_table<V, N> const& masses) noexcept {
        return detail::cross_entropy<WithGradient>(head, logits, masses);
    }

private:
    /// How many bins a particle is given to: those so many σ away have less than T can tell from zero.
    template <class T>
    [[nodiscard]] std::size_t bins_in_reach(std::size_t all) const noexcept {
        double const reach = 2.0 * std::ceil((std::numeric_limits<T>::digits == 24 ? 5.7 : 8.5) * deviation) + 3.0;
        return reach < static_cast<double>(all) ? static_cast<std::size_t>(reach) : all;
    }
};

} // namespace gmac::inline GMAC_ABI::losses
