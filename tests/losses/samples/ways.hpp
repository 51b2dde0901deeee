// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/huber_quantile.hpp>
#include <gmac/losses/sample_energy.hpp>
#include <gmac/targets/particles.hpp>

#include <array>
#include <cstddef>

/// The losses between samples, each in every way in which the library computes it, whichever is the quickest at its size.
namespace gmac::testing {

enum class way { pairs, lanes, rows };
inline constexpr std::array all_ways{way::pairs, way::lanes, way::rows};

namespace by_way {

template <bool WithGradient, class T>
T energy(way how, losses::sample_energy const& loss, matrix_view<T const> const& samples,
         targets::dirac_particles<T const> const& targets, matrix_view<T> const& gradient) {
    namespace kernels = losses::detail;
    using V = lanes::lane_for_t<T>;
    auto const n = static_cast<double>(samples.cols()), m = static_cast<double>(targets.particles());
    bool const unbiased = loss.statistic == losses::energy_statistic::u;
    kernels::energy_terms const terms{.self = unbiased ? n / (n - 1.0) : 1.0,
                                      .target = !loss.target_term ? 0.0
                                                : unbiased        ? m / (m - 1.0)
                                                                  : 1.0,
                                      .sample_weight = 1.0 / n,
                                      .target_weight = 1.0 / m,
                                      .states = static_cast<double>(samples.rows())};
    if (how == way::rows) {
        static kernels::sorted_places order;
        return kernels::mean_over_states<T>(samples.rows(), [&](std::size_t state, std::size_t) {
            return kernels::energy_of_row<WithGradient>(samples.row(state), targets.values.row(state),
                                                        kernels::row_of(targets.weights, state),
                                                        kernels::row_of(gradient, state), terms, order);
        });
    }
    return kernels::mean_over_states<V>(samples.rows(), [&](std::size_t first, std::size_t count) {
        if (how == way::pairs)
            return targets.weighted()
                       ? kernels::energy_pairs<WithGradient, true, V>(samples, targets, gradient, terms, first, count)
                       : kernels::energy_pairs<WithGradient, false, V>(samples, targets, gradient, terms, first, count);
        return targets.weighted()
                   ? kernels::energy_in_lanes<WithGradient, true, V>(samples, targets, gradient, terms, first, count)
                   : kernels::energy_in_lanes<WithGradient, false, V>(samples, targets, gradient, terms, first, count);
    });
}

template <bool WithGradient, class T>
T huber(way how, double kappa, quantile_outputs<T const> const& predicted,
        targets::dirac_particles<T const> const& targets, matrix_view<T> const& gradient) {
    namespace kernels = losses::detail;
    using V = lanes::lane_for_t<T>;
    double const weight = targets.weighted() ? 1.0 : 1.0 / static_cast<double>(targets.particles());
    double const slope = -weight / static_cast<double>(predicted.rows());
    if (how == way::rows) {
        static kernels::sorted_places order;
        return kernels::mean_over_states<T>(predicted.rows(), [&](std::size_t state, std::size_t) {
            return kernels::quantiles_of_row<WithGradient>(predicted.values.row(state), predicted.fractions.row(state),
                                                           targets.values.row(state),
                                                           kernels::row_of(targets.weights, state),
                                                           kernels::row_of(gradient, state), kappa, weight, slope,
                                                           order);
        });
    }
    if (kappa == 0.0)
        return kernels::quantile_pairs<WithGradient>(kernels::absolute_pair<V>{}, predicted, targets, gradient,
                                                     {1.0, weight, slope});
    return kernels::quantile_pairs<WithGradient>(kernels::huber_pair<V>{kappa}, predicted, targets, gradient,
                                                 {1.0 / kappa, weight, slope});
}

} // namespace by_way

/// losses::sample_energy in one of the three ways.
struct energy_by {
    way how;
    losses::sample_energy loss{};

    template <class Head, class Outputs, class T>
    [[nodiscard]] auto value(Head const& head, Outputs const& outputs,
                             targets::dirac_particles<T> const& targets) const {
        using S = typename targets::dirac_particles<T>::value_type;
        return by_way::energy<false, S>(how, loss, head.samples(outputs), targets, {});
    }
    template <class Head, class Outputs, class T, class Gradient>
    auto value_and_gradient(Head const& head, Outputs const& outputs, targets::dirac_particles<T> const& targets,
                            Gradient&& gradient) const {
        using S = typename targets::dirac_particles<T>::value_type;
        return by_way::energy<true, S>(how, loss, head.samples(outputs), targets, as_matrix(gradient));
    }
};

/// losses::huber_quantile by pairs or by rows.
struct huber_by {
    way how;
    double kappa = 1.0;

    template <class Head, class Outputs, class T>
    [[nodiscard]] auto value(Head const& head, Outputs const& outputs,
                             targets::dirac_particles<T> const& targets) const {
        using S = typename targets::dirac_particles<T>::value_type;
        return by_way::huber<false, S>(how, kappa, head.quantiles(outputs), targets, {});
    }
    template <class Head, class Outputs, class T, class Gradient>
    auto value_and_gradient(Head const& head, Outputs const& outputs, targets::dirac_particles<T> const& targets,
                            Gradient&& gradient) const {
        using S = typename targets::dirac_particles<T>::value_type;
        return by_way::huber<true, S>(how, kappa, head.quantiles(outputs), targets, as_matrix(gradient));
    }
};

} // namespace gmac::testing
