// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/overlap.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/compatibility.hpp>
#include <gmac/losses/detail/mean_over_states.hpp>
#include <gmac/losses/detail/mixture_sums.hpp>
#include <gmac/losses/detail/mixture_unit.hpp>
#include <gmac/losses/detail/number_type.hpp>
#include <gmac/losses/detail/target_block.hpp>
#include <gmac/targets/particles.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <string_view>

namespace gmac::inline GMAC_ABI::losses {

/// A head whose distribution is a Gaussian mixture: `parameters<V>` has `weights`, `means` and `deviations`.
template <class Head>
concept gaussian_mixture_head = requires(Head const& head, std::array<float, Head::outputs> const& raw) {
    { head.transform(raw).weights[0] } -> std::convertible_to<float>;
    { head.transform(raw).means[0] } -> std::convertible_to<float>;
    { head.transform(raw).deviations[0] } -> std::convertible_to<float>;
    { Head::components } -> std::convertible_to<std::size_t>;
};

namespace detail {

template <class T>
void take_particles(targets::gaussian_particles<T> const&);
template <class T>
void take_particles(targets::dirac_particles<T> const&);
/// These, or what derives from them.
template <class Targets>
concept particles = requires(Targets const& targets) { detail::take_particles(targets); };

} // namespace detail

/// The energy distance between the predicted Gaussian mixture U and the target V, in closed form (GMAC in the
/// paper, with its slips put right):
///     2 δ(U, V) − δ(U, U) [− δ(V, V)],   δ(U, V) = Σ_ij w_i v_j E|N(μ_i − ν_j, σ_i² + τ_j²)|,
/// the mean over the states. The last term does not depend on the prediction and is left out unless `target_term` is set;
/// without it the loss has the same gradient and may be negative or positive.
///
/// Outputs are [B, 3K] of a Gaussian-mixture head. Targets are targets::gaussian_particles or targets::dirac_particles
/// with B rows, weighted or not; a deviation of exactly zero is a point mass. The gradient is [B, 3K]. Cost: K m pairs
/// a state, and K (K − 1) / 2 more; the target term adds m (m − 1) / 2.
/// Deviations whose variance is no normal number, below 7.8e-20 in float and 1.1e-154 in double, count as zero. A state whose
/// sums overflow, with deviations above 1e19 in float, is done again in a larger unit, in which what is 1e38 times smaller
/// than its largest number counts as zero.
struct gaussian_mixture_energy {
    static constexpr std::string_view name = "gaussian_mixture_energy";
    template <class T>
    using targets_type = targets::gaussian_particles<T const>;
    template <class Head>
    static constexpr bool fits_head = gaussian_mixture_head<Head>;

    /// An agent clips the norm of its gradient at this unless its options say otherwise; the authors have 5 here.
    static constexpr double max_gradient_norm = 5.0;

    bool target_term = false;

    /// Throws gmac::error if the shapes do not fit, the batch or the targets are empty, a deviation or weight of the
    /// target is negative or NaN, or the weights of a state do not sum to one.
    template <class Head, class Outputs, class Targets>
    [[nodiscard]] auto value(Head const& head, Outputs&& outputs, Targets const& targets) const {
        auto const raw = as_matrix(outputs);
        using T = typename decltype(raw)::value_type;
        return evaluate<lanes::lane_for_t<T>, false, T>(head, raw, particles_as<T>(targets), {});
    }

    /// Also writes the gradient with respect to the raw outputs, in the same pass. It may be written over the outputs;
    /// any other overlap with an argument throws.
    template <class Head, class Outputs, class Targets, class Gradient>
    auto value_and_gradient(Head const& head, Outputs&& outputs, Targets const& targets, Gradient&& gradient) const {
        auto const raw = as_matrix(outputs);
        using T = typename decltype(raw)::value_type;
        return value_and_gradient_in_lanes<lanes::lane_for_t<T>>(head, raw, particles_as<T>(targets),
                                                                 detail::gradient_as<T>(as_matrix(gradient)));
    }

    /// The same with a lane type of the caller's choice, whose scalar is that of the views.
    template <class V, class Head, class T, class Targets>
    auto value_and_gradient_in_lanes(Head const& head, matrix_view<T> outputs, Targets const& targets,
                                     matrix_view<lanes::scalar_of<V>> gradient) const {
        return evaluate<V, true, lanes::scalar_of<V>>(head, outputs, targets, gradient);
    }

    /// A head that does not fit is refused at compile time, in one sentence.
    template <class Head, class Outputs, class Targets>
        requires(!fits_head<Head>)
    double value(Head const&, Outputs&&, Targets const&) const {
        return require_fit<gaussian_mixture_energy, Head>();
    }
    template <class Head, class Outputs, class Targets, class Gradient>
        requires(!fits_head<Head>)
    double value_and_gradient(Head const&, Outputs&&, Targets const&, Gradient&&) const {
        return require_fit<gaussian_mixture_energy, Head>();
    }
    template <class V, class Head, class Outputs, class Targets, class Gradient>
        requires(!fits_head<Head>)
    double value_and_gradient_in_lanes(Head const&, Outputs&&, Targets const&, Gradient&&) const {
        return require_fit<gaussian_mixture_energy, Head>();
    }

private:
    /// Targets as views of T. What are no particles stops the compilation with one sentence.
    template <class T, class Targets>
    static constexpr auto particles_as(Targets const& targets) noexcept {
        static_assert(detail::particles<Targets>,
                      "gaussian_mixture_energy compares distributions: its targets are targets::gaussian_particles or "
                      "targets::dirac_particles");
        if constexpr (detail::particles<Targets>)
            return detail::targets_as<T>(targets);
        else
            return targets::gaussian_particles<T const>();
    }

    template <class V, bool WithGradient, class T, class Head, class Targets>
    T evaluate(Head const& head, matrix_view<T const> outputs, Targets const& targets, matrix_view<T> gradient) const {
        require(outputs.rows() > 0, "gaussian_mixture_energy: the batch is empty, but must have at least one state");
        require_shape(outputs, outputs.rows(), Head::outputs, "outputs", name);
        targets::require_targets(targets, outputs.rows(), name);
        if constexpr (WithGradient) {
            require_shape(gradient, outputs.rows(), Head::outputs, "the gradient", name);
            require(
                same_elements(gradient, outputs) || !may_overlap(gradient, outputs),
                "gaussian_mixture_energy: the gradient overlaps the outputs, but must be apart from them or the same");
            detail::for_each_part(targets, [&](auto const& part, std::string_view what) {
                require(!may_overlap(gradient, part), "gaussian_mixture_energy: the gradient overlaps the target's {}",
                        what);
            });
        }
        if constexpr (requires { head.check(); })
            head.check();
        return detail::mean_over_states<V>(outputs.rows(), [&](std::size_t first, std::size_t count) {
            return block<V, WithGradient>(head, outputs, targets, gradient, first, count);
        });
    }

    /// The loss of one block of states, a lane each, and its gradient.
    template <class V, bool WithGradient, class T, class Head, class Targets>
    V block(Head const& head, matrix_view<T const> outputs, Targets const& targets, matrix_view<T> gradient,
            std::size_t first, std::size_t count) const {
        std::array<V, Head::outputs> raw;
        for (std::size_t j = 0; j < Head::outputs; ++j)
            raw[j] = lanes::load_rows<V>(outputs, first, j, count);
        auto const mixture = head.transform(raw);
        detail::target_block<V, Targets> target(targets, first, count);
        V const scale(T(2) / static_cast<T>(outputs.rows()));
        auto slope = mixture; // the gradient with respect to weights, means and deviations
        auto const evaluate = [&](auto const& prediction, auto& to) {
            return energy<WithGradient>(prediction, target, scale, to);
        };
        V loss = evaluate(mixture, slope);
        if constexpr (std::floating_point<T>)
            if (lanes::any(!(lanes::abs(loss) <= V((std::numeric_limits<T>::max)())))) [[unlikely]]
                loss = detail::in_larger_unit(mixture, target, slope, evaluate);
        if constexpr (WithGradient) {
            std::array<V, Head::outputs> raw_gradient;
            head.pull_back(raw, mixture, slope, raw_gradient);
            for (std::size_t j = 0; j < Head::outputs; ++j)
                lanes::store_rows(raw_gradient[j], gradient, first, j, count);
        }
        return loss;
    }

    /// 2 δ(U, V) − δ(U, U) [− δ(V, V)] and scale / 2 times its gradient.
    template <bool WithGradient, class Mixture, class V, class Targets>
    [[gnu::noinline]] V energy(Mixture const& mixture, detail::target_block<V, Targets>& target, V const& scale,
                               Mixture& slope) const {
        auto const cross = detail::cross_sums<WithGradient>(mixture, target);
        target.check(name);
        auto const self = detail::self_sums<WithGradient>(mixture);
        V const two = lanes::constant<V>(2.0);
        V loss = lanes::constant<V>(0.0);
        for (std::size_t i = 0; i < detail::components_of<Mixture>; ++i)
            loss = loss + mixture.weights[i] * (two * cross[i].expectation() - self[i].expectation());
        if (target_term)
            loss = loss - detail::target_distance(target);
        if constexpr (WithGradient)
            slope = detail::mixture_gradient(mixture, cross, self, scale);
        return loss;
    }
};

} // namespace gmac::inline GMAC_ABI::losses
