// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/detail/atoms.hpp>
#include <gmac/losses/detail/projection.hpp>
#include <gmac/targets/particles.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace gmac::inline GMAC_ABI::losses {

/// The energy distance between the predicted probabilities p and the target's masses q at the atoms z, the mean over the
/// states, in closed form:
///     2 ∫ (F − G)² dx = 2 Σ_i (z_{i+1} − z_i) D_i²,   D_i = Σ_{j ≤ i} (p_j − q_j).
/// The masses are those of categorical_cross_entropy. Between two atoms they keep the mean of G, so this is the energy distance
/// to the particles themselves but for a term that does not depend on the prediction (docs/mathematics.md).
///
/// Outputs, targets and gradient: see categorical_cross_entropy.
struct categorical_energy {
    static constexpr std::string_view name = "categorical_energy";
    template <class T>
    using targets_type = targets::dirac_particles<T const>;
    template <class Head>
    static constexpr bool fits_head = categorical_head<Head>;

    /// Throws gmac::error as categorical_cross_entropy::value does.
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
    static void add(Grid const& grid, detail::target_tile<V> const& particles,
                    detail::lane_table<V, N>& masses) noexcept {
        detail::project(grid, particles, masses);
    }
    template <bool WithGradient, class Head, class Grid, class V, std::size_t N>
    [[nodiscard]] static V compare(Head const& head, Grid const& grid, std::array<V, N>& logits,
                                   detail::lane_table<V, N> const& masses) noexcept {
        auto const predicted = head.transform(logits);
        V difference = lanes::constant<V>(0.0);
        V loss = difference;
        for (std::size_t i = 0; i + 1 < N; ++i) {
            difference = difference + (predicted.probabilities[i] - masses[i]);
            logits[i] = V(grid.gaps[i] + grid.gaps[i]) * difference;
            loss = loss + logits[i] * difference;
        }
        if constexpr (WithGradient) {
            V slope = lanes::constant<V>(0.0); // with respect to p_i: 4 Σ_{k ≥ i} (z_{k+1} − z_k) D_k
            logits[N - 1] = slope;
            for (std::size_t i = N - 1; i-- > 0;) {
                slope = slope + (logits[i] + logits[i]);
                logits[i] = slope;
            }
            head.pull_back(predicted, logits);
        }
        return loss;
    }
};

} // namespace gmac::inline GMAC_ABI::losses
