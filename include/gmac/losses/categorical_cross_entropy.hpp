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

namespace detail {

/// − Σ q_i log p_i of masses q and p = softmax(l), and its gradient p Σ q − q in place of the logits. An atom without mass adds
/// nothing, whatever its logit is.
template <bool WithGradient, class Head, class V, std::size_t N>
[[nodiscard]] V cross_entropy(Head const& head, std::array<V, N>& logits, lane_table<V, N> const& masses) noexcept {
    auto const predicted = head.transform(logits);
    V const zero = lanes::constant<V>(0.0);
    V const half = lanes::constant<V>(0.5), half_largest = half * predicted.largest;
    V sum = zero, mass = zero;
    for (std::size_t i = 0; i < N; ++i) {
        mass = mass + masses[i];
        V const q = masses[i];
        V const half_gap = half_largest - half * logits[i]; // the gap of two logits may be larger than any number
        sum = sum + lanes::select(q == zero, zero, V((q + q) * half_gap));
    }
    if constexpr (WithGradient)
        for (std::size_t i = 0; i < N; ++i)
            logits[i] = predicted.probabilities[i] * mass - masses[i];
    return sum + mass * predicted.log_total;
}

} // namespace detail

/// The cross-entropy − Σ q_i log p_i between the predicted probabilities p and the target's masses q at the atoms, the mean over
/// the states, as in C51 (Bellemare et al. 2017, "A distributional perspective on reinforcement learning"). The mass of a
/// target particle goes to the two atoms beside it and keeps the mean, for atoms of any spacing; a particle beyond
/// the atoms counts as the last one.
///
/// Outputs are the logits [B, N] of heads::categorical<N>, targets are targets::dirac_particles [B, m], weighted or not,
/// and the gradient is [B, N]. A target that is not finite makes its state's loss NaN.
struct categorical_cross_entropy {
    static constexpr std::string_view name = "categorical_cross_entropy";
    template <class T>
    using targets_type = targets::dirac_particles<T const>;
    template <class Head>
    static constexpr bool fits_head = categorical_head<Head>;

    /// Throws gmac::error if the shapes do not fit, the batch or the targets are empty, the weights of a state are
    /// negative, not numbers or do not sum to one, or the head's atoms are refused.
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
    [[nodiscard]] static V compare(Head const& head, Grid const&, std::array<V, N>& logits,
                                   detail::lane_table<V, N> const& masses) noexcept {
        return detail::cross_entropy<WithGradient>(head, logits, masses);
    }
};

} // namespace gmac::inline GMAC_ABI::losses
