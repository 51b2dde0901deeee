// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>
#include <gmac/heads/quantile_outputs.hpp>
#include <gmac/losses/detail/sample_batch.hpp>
#include <gmac/losses/detail/sample_pairs.hpp>
#include <gmac/targets/particles.hpp>

#include <cstddef>
#include <string_view>

namespace gmac::inline GMAC_ABI::losses {

namespace detail {

/// f = δ², g = δ = f' / 2.
template <class V>
struct squared_pair {
    template <bool Weighted>
    void add(leveled_number<V> const& expectile, V const& z, V const& weight, level_sums<V>& sums) const noexcept {
        V const delta = z - expectile.theta;
        V const slope = expectile.template level<Weighted>(z, weight) * delta;
        sums.slope = sums.slope + slope;
        sums.value = lanes::mul_add(slope, delta, sums.value);
    }
};

} // namespace detail

/// Expectile regression (Newey and Powell 1987; Rowland et al. 2019): with δ = target − prediction,
///     |τ − 1{δ < 0}| δ²
/// (with no factor ½), summed over the predictions, averaged over the target particles (with their weights, if they have
/// any) and averaged over the states. Its minimiser is the τ-expectile of the target, for τ = ½ the mean; an expectile is
/// not a quantile, so samples must be imputed from it (gmac/imputation).
///
/// Outputs are those of heads::dirac [B, N] or gmac::quantile_outputs, targets are targets::dirac_particles [B, m] with any
/// m, and the gradient is [B, N].
struct expectile {
    static constexpr std::string_view name = "expectile";
    template <class T>
    using targets_type = targets::dirac_particles<T const>;
    template <class Head>
    static constexpr bool fits_head = quantile_head<Head>;

    /// Throws gmac::error if the shapes do not fit, the batch or the targets are empty, a fraction is not in [0, 1], or the
    /// weights of a state are negative, not numbers or do not sum to one.
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

    void check() const noexcept {}

    static constexpr int degree = 2;
    [[nodiscard]] expectile in_unit(double) const noexcept { return {}; }
    /// The mean over the states, after the checks; part of the protocol with detail::evaluate_quantiles.
    template <bool WithGradient, class V, class T>
    [[nodiscard]] T mean(quantile_outputs<T const> const& predicted, targets::dirac_particles<T const> const& targets,
                         matrix_view<T> const& gradient) const {
        double const weight = targets.weighted() ? 1.0 : 1.0 / static_cast<double>(targets.particles());
        return detail::quantile_pairs<WithGradient>(detail::squared_pair<V>{}, predicted, targets, gradient,
                                                    {.level = 1.0,
                                                     .value = weight,
                                                     .slope = -2.0 * weight / static_cast<double>(predicted.rows())});
    }
};

} // namespace gmac::inline GMAC_ABI::losses
