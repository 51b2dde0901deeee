// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/detail/quantile_pairs.hpp>
#include <gmac/losses/detail/quantile_rows.hpp>
#include <gmac/losses/detail/sample_batch.hpp>
#include <gmac/losses/detail/sample_plan.hpp>
#include <gmac/losses/sample_algorithm.hpp>
#include <gmac/losses/sample_workspace.hpp>
#include <gmac/targets/particles.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <string_view>

namespace gmac::losses {

/// Quantile regression with the Huber loss (Dabney et al. 2018, equation 10; IQAC in the paper): with
/// δ = target − prediction,
///     ρ(δ) = |τ − 1{δ < 0}| L_κ(δ) / κ,   L_κ(δ) = δ²/2 for |δ| ≤ κ, κ (|δ| − κ/2) beyond,
/// summed over the predicted quantiles, averaged over the target particles (with their weights, if they have any) and
/// averaged over the states. κ = 0 is the pinball loss |τ − 1{δ < 0}| |δ| of quantile regression; its gradient at
/// δ = 0, where there are many, is 0.
///
/// Outputs are those of heads::dirac [B, N] or gmac::quantile_outputs, targets are targets::dirac_particles [B, m] with any
/// m, and the gradient is [B, N].
struct huber_quantile {
    static constexpr std::string_view name = "huber_quantile";
    template <class T>
    using targets_type = targets::dirac_particles<T const>;
    template <class Head>
    static constexpr bool fits_head = quantile_head<Head>;

    double kappa = 1.0; ///< in units of the return
    sample_algorithm algorithm = sample_algorithm::automatic;

    /// Throws gmac::error if the shapes do not fit, the batch or the targets are empty, κ is negative or not finite, a
    /// fraction is not in [0, 1], or the weights of a state are negative, not numbers or do not sum to one.
    template <class Head, class Outputs, class Targets>
    [[nodiscard]] auto value(Head const& head, Outputs&& outputs, Targets const& targets) const {
        detail::no_workspace none;
        return detail::evaluate_quantiles<void, false>(*this, head, outputs, targets, detail::no_gradient{}, none);
    }
    /// The same with memory for more particles than the stack has room for.
    template <class Head, class Outputs, class Targets, class T>
    [[nodiscard]] auto value(Head const& head, Outputs&& outputs, Targets const& targets,
                             sample_workspace<T>& workspace) const {
        return detail::evaluate_quantiles<void, false>(*this, head, outputs, targets, detail::no_gradient{}, workspace);
    }

    /// Also writes the gradient with respect to the raw outputs, in the same pass. Throws too if the gradient overlaps
    /// an argument in memory.
    template <class Head, class Outputs, class Targets, class Gradient>
    auto value_and_gradient(Head const& head, Outputs&& outputs, Targets const& targets, Gradient&& gradient) const {
        detail::no_workspace none;
        return detail::evaluate_quantiles<void, true>(*this, head, outputs, targets, as_matrix(gradient), none);
    }
    template <class Head, class Outputs, class Targets, class Gradient, class T>
    auto value_and_gradient(Head const& head, Outputs&& outputs, Targets const& targets, Gradient&& gradient,
                            sample_workspace<T>& workspace) const {
        return detail::evaluate_quantiles<void, true>(*this, head, outputs, targets, as_matrix(gradient), workspace);
    }

    /// The same with a lane type of the caller's choice, whose scalar is that of the views.
    template <class V, class Head, class Outputs, class Targets, class Gradient>
    auto value_and_gradient_in_lanes(Head const& head, Outputs&& outputs, Targets const& targets,
                                     Gradient&& gradient) const {
        detail::no_workspace none;
        return detail::evaluate_quantiles<V, true>(*this, head, outputs, targets, as_matrix(gradient), none);
    }

    void check() const {
        require(kappa >= 0.0 && std::isfinite(kappa),
                "huber_quantile: kappa is {}, but must be finite and not negative", kappa);
    }

    /// The mean over the states, after the checks; part of the protocol with detail::evaluate_quantiles.
    template <bool WithGradient, class V, class T, class Workspace>
    [[nodiscard]] T mean(quantile_outputs<T const> const& predicted, targets::dirac_particles<T const> const& targets,
                         matrix_view<T> const& gradient, [[maybe_unused]] Workspace& workspace) const {
        constexpr bool has_workspace = !std::same_as<Workspace, detail::no_workspace>;
        bool fits = false;
        if constexpr (has_workspace)
            fits = workspace.fits(predicted.quantiles(), targets.particles());
        auto const kernel =
            detail::plan_quantiles<V>(algorithm, predicted.quantiles(), targets.particles(), fits, name);

        double const weight = targets.weighted() ? 1.0 : 1.0 / static_cast<double>(targets.particles());
        double const states = static_cast<double>(predicted.rows());
        // Below this, products of κ and δ leave the range of T before κ could be told from zero beside δ.
        constexpr double negligible = std::same_as<T, float> ? 1e-31 : 1e-292;
        double const threshold = kappa < negligible ? 0.0 : kappa;
        if constexpr (detail::radix_sortable<T>) {
            if (kernel == detail::sample_kernel::rows) {
                if constexpr (has_workspace)
                    if (fits)
                        return by_rows<WithGradient>(predicted, targets, gradient, threshold, weight,
                                                     workspace.for_quantiles());
                return on_stack<WithGradient>(predicted, targets, gradient, threshold, weight);
            }
        }
        if (threshold == 0.0)
            return detail::quantile_pairs<WithGradient>(detail::absolute_pair<V>{}, predicted, targets, gradient,
                                                        weight, -weight / states);
        return detail::quantile_pairs<WithGradient>(detail::huber_pair<V>{kappa}, predicted, targets, gradient,
                                                    weight / kappa, -weight / kappa / states);
    }

private:
    // Not inlined, so that only calls that sort take so much of the stack.
    template <bool WithGradient, class T>
    [[gnu::noinline]] static T on_stack(quantile_outputs<T const> const& predicted,
                                        targets::dirac_particles<T const> const& targets,
                                        matrix_view<T> const& gradient, double threshold, double weight) {
        detail::quantile_stack<T, detail::most_particles_on_stack> stack;
        return by_rows<WithGradient>(predicted, targets, gradient, threshold, weight, stack.memory());
    }

    template <bool WithGradient, class T>
    static T by_rows(quantile_outputs<T const> const& predicted, targets::dirac_particles<T const> const& targets,
                     matrix_view<T> const& gradient, double threshold, double weight,
                     detail::quantile_memory<T> const& memory) {
        double const slope_factor = weight / static_cast<double>(predicted.rows());
        return detail::mean_over_states<T, T>(predicted.rows(), [&](std::size_t state, std::size_t) {
            return detail::quantiles_of_row<WithGradient>(predicted.values.row(state), predicted.fractions.row(state),
                                                          targets.values.row(state),
                                                          detail::row_of(targets.weights, state),
                                                          detail::row_of(gradient, state), threshold, weight,
                                                          slope_factor, memory);
        });
    }
};

} // namespace gmac::losses
