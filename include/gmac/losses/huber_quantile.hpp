// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>
#include <gmac/heads/quantile_outputs.hpp>
#include <gmac/losses/detail/mean_over_states.hpp>
#include <gmac/losses/detail/sample_batch.hpp>
#include <gmac/losses/detail/sample_pairs.hpp>
#include <gmac/losses/detail/sorted_rows.hpp>
#include <gmac/targets/particles.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <string_view>

namespace gmac::inline GMAC_ABI::losses {

namespace detail {

/// f = L_κ(δ), g = f'; the levels are over κ.
template <class V>
struct huber_pair {
    V kappa, minus_kappa;

    explicit huber_pair(double threshold) noexcept
        : kappa(lanes::constant<V>(threshold)), minus_kappa(lanes::constant<V>(-threshold)) {}

    template <bool Weighted>
    void add(leveled_number<V> const& quantile, V const& z, V const& weight, level_sums<V>& sums) const noexcept {
        V const delta = z - quantile.theta;
        V const clamped = lanes::at_most(kappa, lanes::at_least(minus_kappa, delta));
        V const slope = quantile.template level<Weighted>(z, weight) * clamped;
        sums.slope = sums.slope + slope;
        sums.value = lanes::mul_add(slope, lanes::mul_add(lanes::constant<V>(-0.5), clamped, delta), sums.value);
    }
};

} // namespace detail

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

    /// Throws gmac::error if the shapes do not fit, the batch or the targets are empty, κ is negative or not finite, a
    /// fraction is not in [0, 1], or the weights of a state are negative, not numbers or do not sum to one.
    template <class Head, class Outputs, class Targets>
    [[nodiscard]] auto value(Head const& head, Outputs&& outputs, Targets const& targets) const {
        return detail::evaluate_quantiles<void, false>(*this, head, outputs, targets, detail::no_gradient{});
    }

    /// Also writes the gradient with respect to the raw outputs, in the same pass. Throws too if the gradient overlaps
    /// an argument in memory.
    template <class Head, class Outputs, class Targets, class Gradient>
    auto value_and_gradient(Head const& head, Outputs&& outputs, Targets const& targets, Gradient&& gradient) const {
        return detail::evaluate_quantiles<void, true>(*this, head, outputs, targets, as_matrix(gradient));
    }

    /// The same with a lane type of the caller's choice, whose scalar is that of the views.
    template <class V, class Head, class Outputs, class Targets, class Gradient>
    auto value_and_gradient_in_lanes(Head const& head, Outputs&& outputs, Targets const& targets,
                                     Gradient&& gradient) const {
        return detail::evaluate_quantiles<V, true>(*this, head, outputs, targets, as_matrix(gradient));
    }

    void check() const {
        require(kappa >= 0.0 && std::isfinite(kappa),
                "huber_quantile: kappa is {}, but must be finite and not negative", kappa);
    }

    static constexpr int degree = 1;
    [[nodiscard]] huber_quantile in_unit(double unit) const noexcept { return {.kappa = kappa * unit}; }
    /// The mean over the states, after the checks; part of the protocol with detail::evaluate_quantiles.
    template <bool WithGradient, class V, class T>
    [[nodiscard]] T mean(quantile_outputs<T const> const& predicted, targets::dirac_particles<T const> const& targets,
                         matrix_view<T> const& gradient) const {
        double const weight = targets.weighted() ? 1.0 : 1.0 / static_cast<double>(targets.particles());
        double const slope_weight = -weight / static_cast<double>(predicted.rows());
        // Below this, 1/κ leaves the range of T.
        double const threshold = kappa < static_cast<double>((std::numeric_limits<T>::min)()) ? 0.0 : kappa;
        if constexpr (std::floating_point<T>)
            if (detail::rows_suit_quantiles<V>(predicted.quantiles(), targets.particles()))
                return by_rows<WithGradient>(predicted, targets, gradient, threshold, weight, slope_weight);
        if (threshold == 0.0)
            return detail::quantile_pairs<WithGradient>(detail::absolute_pair<V>{}, predicted, targets, gradient,
                                                        {.level = 1.0, .value = weight, .slope = slope_weight});
        return detail::quantile_pairs<WithGradient>(detail::huber_pair<V>{kappa}, predicted, targets, gradient,
                                                    {.level = 1.0 / kappa, .value = weight, .slope = slope_weight});
    }

private:
    // Not inlined, so that only calls that sort take so much of the stack.
    template <bool WithGradient, class T>
    [[gnu::noinline]] static T by_rows(quantile_outputs<T const> const& predicted,
                                       targets::dirac_particles<T const> const& targets, matrix_view<T> const& gradient,
                                       double threshold, double weight, double slope_weight) {
        detail::sorted_places order;
        return detail::mean_over_states<T>(predicted.rows(), [&](std::size_t state, std::size_t) {
            return detail::quantiles_of_row<WithGradient>(predicted.values.row(state), predicted.fractions.row(state),
                                                          targets.values.row(state),
                                                          detail::row_of(targets.weights, state),
                                                          detail::row_of(gradient, state), threshold, weight,
                                                          slope_weight, order);
        });
    }
};

} // namespace gmac::inline GMAC_ABI::losses
