// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/compatibility.hpp>
#include <gmac/losses/detail/energy_lanes.hpp>
#include <gmac/losses/detail/energy_pairs.hpp>
#include <gmac/losses/detail/mean_over_states.hpp>
#include <gmac/losses/detail/number_type.hpp>
#include <gmac/losses/detail/sample_batch.hpp>
#include <gmac/losses/detail/smaller_unit.hpp>
#include <gmac/losses/detail/sorted_rows.hpp>
#include <gmac/targets/particles.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace gmac::inline GMAC_ABI::losses {

/// Which estimate of the energy distance between two distributions samples stand for.
enum class energy_statistic {
    v, ///< all pairs, a sample with itself too: the energy distance of the empirical distributions, never negative
    u  ///< no sample with itself: the unbiased estimate, which may be negative
};

/// The energy distance between N samples x of the prediction and m target particles y (IQAC-E in the paper),
///     2/(N m) Σ_ij |x_i − y_j| − 1/N² Σ_ik |x_i − x_k| [− 1/m² Σ_jl |y_j − y_l|],
/// the mean over the states. Weights of the targets take the place of 1/m. With the U-statistic the sums of samples with
/// themselves have 1/(N (N − 1)) and 1/(m (m − 1)) in place of 1/N² and 1/m². The last term does not depend on the prediction
/// and is left out unless `target_term` is set.
/// Where two points are equal, |x − y| has slope 0: the middle of its subgradients.
///
/// Outputs are those of heads::dirac [B, N] or gmac::quantile_outputs, targets are targets::dirac_particles [B, m] with any
/// m, and the gradient is [B, N].
struct sample_energy {
    static constexpr std::string_view name = "sample_energy";
    template <class T>
    using targets_type = targets::dirac_particles<T const>;
    template <class Head>
    static constexpr bool fits_head = sample_head<Head>;

    energy_statistic statistic = energy_statistic::v;
    bool target_term = false;

    /// Throws gmac::error if the shapes do not fit, the batch or the targets are empty, the weights of a state are
    /// negative, not numbers or do not sum to one, or the U-statistic has fewer than two samples (or, if their term is
    /// asked for, fewer than two target particles or weights).
    template <class Head, class Outputs, class Targets>
    [[nodiscard]] auto value(Head const& head, Outputs&& outputs, Targets const& targets) const {
        return evaluate<void, false>(head, outputs, targets, detail::no_gradient{});
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
        static_assert(detail::are_dirac_particles<Targets> || !fits_head<Head>,
                      "sample_energy compares samples: its targets are targets::dirac_particles");
        if constexpr (gmac::detail::tensor<Outputs>) {
            auto const view = as_matrix(outputs);
            return evaluate<Lanes, WithGradient>(head, view, targets, gradient);
        } else if constexpr (require_fit<sample_energy, Head>() && detail::are_dirac_particles<Targets>) {
            auto const samples = head.samples(outputs);
            using T = typename decltype(samples)::value_type;
            using V = std::conditional_t<std::is_void_v<Lanes>, lanes::lane_for_t<T>, Lanes>;
            auto const wanted = detail::targets_as<T>(targets);
            detail::require_samples(samples, wanted, name);
            matrix_view<T> to;
            if constexpr (WithGradient) {
                to = detail::gradient_as<T>(gradient);
                detail::require_gradient(to, samples, wanted, name);
            }
            return detail::without_overflow<
                WithGradient, 1>(samples, wanted, to,
                                 [this]<bool Gradients>(matrix_view<T const> const& x, auto const& particles, double,
                                                        matrix_view<T> const& slopes) {
                                     return particles.weighted()
                                                ? this->template mean<V, Gradients, true>(x, particles, slopes)
                                                : this->template mean<V, Gradients, false>(x, particles, slopes);
                                 });
        } else {
            return 0.0;
        }
    }

    template <class V, bool WithGradient, bool Weighted, class T>
    T mean(matrix_view<T const> const& samples, targets::dirac_particles<T const> const& targets,
           matrix_view<T> const& gradient) const {
        std::size_t const n = samples.cols(), m = targets.particles();
        detail::energy_terms const terms = make_terms(samples.rows(), n, m, Weighted);
        if (detail::lanes_suit_energy(n, m))
            return in_lanes<V, WithGradient, Weighted>(samples, targets, gradient, terms);
        if constexpr (std::floating_point<T>)
            if (detail::rows_suit_energy<V>(n, m))
                return by_rows<WithGradient>(samples, targets, gradient, terms);
        return detail::mean_over_states<V>(samples.rows(), [&](std::size_t first, std::size_t count) {
            return detail::energy_pairs<WithGradient, Weighted, V>(samples, targets, gradient, terms, first, count);
        });
    }

    [[nodiscard]] detail::energy_terms make_terms(std::size_t states, std::size_t samples, std::size_t particles,
                                                  bool weighted) const {
        bool const unbiased = statistic == energy_statistic::u;
        require(!unbiased || samples > 1,
                "sample_energy: the U-statistic needs at least two samples, but the head gives one");
        require(!unbiased || !target_term || particles > 1,
                "sample_energy: the U-statistic of the targets needs at least two particles, but there is one");
        require(!unbiased || !target_term || !weighted,
                "sample_energy: the U-statistic of the targets needs particles without weights");
        auto const n = static_cast<double>(samples);
        auto const m = static_cast<double>(particles);
        return {.self = unbiased ? n / (n - 1.0) : 1.0,
                .target = !target_term ? 0.0
                          : unbiased   ? m / (m - 1.0)
                                       : 1.0,
                .sample_weight = 1.0 / n,
                .target_weight = 1.0 / m,
                .states = static_cast<double>(states)};
    }

    // These two are not inlined, so that only calls that sort take so much of the stack.
    template <class V, bool WithGradient, bool Weighted, class T>
    [[gnu::noinline]] static T in_lanes(matrix_view<T const> const& samples,
                                        targets::dirac_particles<T const> const& targets,
                                        matrix_view<T> const& gradient, detail::energy_terms const& terms) {
        return detail::mean_over_states<V>(samples.rows(), [&](std::size_t first, std::size_t count) {
            return detail::energy_in_lanes<WithGradient, Weighted, V>(samples, targets, gradient, terms, first, count);
        });
    }
    template <bool WithGradient, class T>
    [[gnu::noinline]] static T by_rows(matrix_view<T const> const& samples,
                                       targets::dirac_particles<T const> const& targets, matrix_view<T> const& gradient,
                                       detail::energy_terms const& terms) {
        detail::sorted_places order;
        return detail::mean_over_states<T>(samples.rows(), [&](std::size_t state, std::size_t) {
            return detail::energy_of_row<WithGradient>(samples.row(state), targets.values.row(state),
                                                       detail::row_of(targets.weights, state),
                                                       detail::row_of(gradient, state), terms, order);
        });
    }
};

} // namespace gmac::inline GMAC_ABI::losses
