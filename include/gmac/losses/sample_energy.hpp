// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/detail/energy_pairs.hpp>
#include <gmac/losses/detail/sample_batch.hpp>
#include <gmac/losses/sample_algorithm.hpp>
#include <gmac/targets/kind.hpp>
#include <gmac/targets/particles.hpp>

#include <cstddef>
#include <string_view>
#include <type_traits>

namespace gmac::losses {

/// Which estimate of the energy distance between two distributions samples stand for.
enum class energy_statistic {
    v, ///< all pairs, a sample with itself too: the energy distance of the empirical distributions, never negative
    u  ///< no sample with itself: the unbiased estimate, which may be negative
};

/// The energy distance between N samples x of the prediction and m target particles y (Section 3.2 of the paper),
///     2/(N m) Σ_ij |x_i − y_j| − 1/N² Σ_ik |x_i − x_k| [− 1/m² Σ_jl |y_j − y_l|],
/// the mean over the states. Weights of the targets take the place of 1/m. With the U-statistic the sums of samples with
/// themselves have 1/(N (N − 1)) instead of 1/N², and 1 − Σ_j v_j² more under the weights of the targets (for equal weights
/// 1/(m (m − 1))). The last term does not depend on the prediction and is left out unless `target_term` is set.
/// Where two points are equal, |x − y| has slope 0: the middle of its subgradients.
///
/// Outputs are those of heads::dirac [B, N] or gmac::quantile_outputs, targets are targets::dirac_particles [B, m] with any
/// m, and the gradient is [B, N].
struct sample_energy {
    static constexpr std::string_view name = "sample_energy";
    static constexpr targets::kind target = targets::kind::dirac_particles;

    energy_statistic statistic = energy_statistic::v;
    bool target_term = false;
    sample_algorithm algorithm = sample_algorithm::automatic;

    /// Throws gmac::error if the shapes do not fit, the batch or the targets are empty, the weights of a state are
    /// negative, not numbers or do not sum to one, or the U-statistic has fewer than two samples (or target particles, if
    /// their term is asked for).
    template <class Head, class Outputs, class Targets>
    [[nodiscard]] auto value(Head const& head, Outputs&& outputs, Targets const& targets) const {
        return evaluate<void, false>(head, outputs, targets, nullptr);
    }

    /// Also writes the gradient with respect to the raw outputs, in the same pass. Throws too if the gradient overlaps
    /// an argument in memory.
    template <class Head, class Outputs, class Targets, class Gradient>
    auto value_and_gradient(Head const& head, Outputs&& outputs, Targets const& targets, Gradient&& gradient) const {
        return evaluate<void, true>(head, outputs, targets, as_matrix(gradient));
    }

    /// The same with a lane type of the caller's choice, whose scalar is that of the views.
    template <class V, class Head, class Outputs, class Targets, class Gradient>
    auto value_and_gradient_in_lanes(Head const& head, Outputs&& outputs, Targets const& targets,
                                     Gradient&& gradient) const {
        return evaluate<V, true>(head, outputs, targets, as_matrix(gradient));
    }

private:
    template <class Lanes, bool WithGradient, class Head, class Outputs, class Targets, class Gradient>
    auto evaluate(Head const& head, Outputs& outputs, Targets const& targets, Gradient const& gradient) const {
        static_assert(sample_head<Head>, "sample_energy compares samples, which the head does not give: it fits heads::dirac "
                                         "and heads::implicit_quantile; use a loss that fits the head");
        static_assert(detail::are_dirac_particles<Targets>,
                      "sample_energy compares samples: its targets are targets::dirac_particles");
        if constexpr (sample_head<Head> && detail::are_dirac_particles<Targets>) {
            auto const samples = head.samples(outputs);
            using T = typename decltype(samples)::value_type;
            using V = std::conditional_t<std::is_void_v<Lanes>, lanes::lane_for_t<T>, Lanes>;
            targets::dirac_particles<T const> const wanted = targets;
            detail::require_samples(samples, wanted, name);
            matrix_view<T> to;
            if constexpr (WithGradient) {
                to = gradient;
                detail::require_gradient(to, samples, wanted, name);
            }
            return wanted.weighted() ? sum<V, WithGradient, true>(samples, wanted, to)
                                     : sum<V, WithGradient, false>(samples, wanted, to);
        } else {
            return 0.0;
        }
    }

    template <class V, bool WithGradient, bool Weighted, class T>
    T sum(matrix_view<T const> const& samples, targets::dirac_particles<T const> const& targets,
          matrix_view<T> const& gradient) const {
        auto const factors = terms(samples, targets);
        return detail::mean_over_states<V, T>(samples.rows(), [&](std::size_t first, std::size_t count) {
            return detail::energy_pairs<WithGradient, Weighted, V>(samples, targets, gradient, factors, first, count);
        });
    }

    template <class T>
    [[nodiscard]] detail::energy_factors terms(matrix_view<T const> const& samples,
                                               targets::dirac_particles<T const> const& targets) const {
        auto const n = static_cast<double>(samples.cols());
        auto const m = static_cast<double>(targets.particles());
        bool const unbiased = statistic == energy_statistic::u;
        require(!unbiased || samples.cols() > 1, "sample_energy: the U-statistic needs at least two samples, but there is "
                                                 "one");
        require(!unbiased || !target_term || targets.particles() > 1,
                "sample_energy: the U-statistic of the targets needs at least two particles, but there is one");
        double const self_pairs = n * (unbiased ? n - 1.0 : n);
        double const target_pairs = targets.weighted() ? 1.0 : m * (unbiased ? m - 1.0 : m);
        return {2.0 / (targets.weighted() ? n : n * m), 1.0 / self_pairs, target_term ? 1.0 / target_pairs : 0.0,
                static_cast<double>(samples.rows())};
    }
};

} // namespace gmac::losses
