// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/heads/implicit_quantile.hpp>
#include <gmac/heads/quantile_outputs.hpp>
#include <gmac/heads/scalar.hpp>
#include <gmac/losses/expectile.hpp>
#include <gmac/losses/gaussian_mixture_energy.hpp>
#include <gmac/losses/huber_quantile.hpp>
#include <gmac/losses/sample_energy.hpp>
#include <gmac/losses/squared_error.hpp>
#include <gmac/torch/detail/known_gradient.hpp>
#include <gmac/torch/particles.hpp>
#include <gmac/torch/tensors.hpp>

#include <ATen/core/Tensor.h>
#include <ATen/ops/scalar_tensor.h>

#include <concepts>
#include <cstddef>

/// The losses as functions of tensors:
///
///     at::Tensor loss = gmac::torch::gaussian_mixture_energy(head, outputs, {means, deviations});
///     loss.backward();
///
/// Each returns the mean over the B states, a tensor without dimensions (multiply by B for the sum), and computes the
/// gradient with respect to the outputs in the same pass. Outputs and targets are read where they lie, with any strides;
/// they are all float or all double, on the CPU. Targets are constants: one that requires a gradient is refused, and so is
/// a second derivative. Nothing is broadcast. What is refused throws gmac::error, as does all that the loss itself refuses.
namespace gmac::inline GMAC_ABI::torch {

namespace detail {

/// The loss of `predicted`, which are views of `outputs`, against views of targets.
template <class T, class Loss, class Head, class Predicted, class Targets>
[[nodiscard]] at::Tensor differentiable(Loss const& loss, Head const& head, at::Tensor const& outputs,
                                        Predicted const& predicted, Targets const& targets) {
    auto const number = [](T value) { return at::scalar_tensor(value, at::TensorOptions().dtype(type_of<T>)); };
    at::Tensor value, gradient;
    if (outputs.requires_grad() && at::GradMode::is_enabled()) {
        gradient = new_matrix<T>(extent(outputs.size(0)), outputs.dim() == 2 ? extent(outputs.size(1)) : 1);
        value = number(loss.value_and_gradient(head, predicted, targets, to_write<T>(gradient)));
        gradient = gradient.view(outputs.sizes());
    } else {
        value = number(loss.value(head, predicted, targets));
    }
    return known_gradient::apply(outputs, &value, &gradient);
}

template <class T>
[[nodiscard]] auto views_of(at::Tensor const& returns, std::string_view where) {
    return vector<T>(returns, "returns", where);
}
template <class T, class Targets>
[[nodiscard]] auto views_of(Targets const& targets, std::string_view where) {
    return targets.template views<T>(where);
}

/// Fractions [B, N], or [N] for all states alike.
template <class T>
[[nodiscard]] matrix_view<T const> fractions_of(at::Tensor const& fractions, std::size_t rows, std::string_view where) {
    return fractions.defined() && fractions.dim() == 1
               ? shared_fractions(vector<T>(fractions, "fractions", where), rows)
               : matrix<T>(fractions, "fractions", where);
}

template <class Loss>
[[nodiscard]] at::Tensor of_quantiles(Loss const& loss, at::Tensor const& quantiles, at::Tensor const& fractions,
                                      dirac_particles const& targets) {
    return with_scalar_of(quantiles, "quantiles", Loss::name, [&]<class T>(T) {
        auto const values = matrix<T>(quantiles, "quantiles", Loss::name, role::differentiable);
        heads::implicit_quantile const head{.samples_per_state = values.cols()};
        quantile_outputs<T const> const predicted{values, fractions_of<T>(fractions, values.rows(), Loss::name)};
        return differentiable<T>(loss, head, quantiles, predicted, targets.views<T>(Loss::name));
    });
}

template <class Loss, class Targets>
[[nodiscard]] at::Tensor of_values(Loss const& loss, at::Tensor const& values, Targets const& targets) {
    return with_scalar_of(values, "values", Loss::name, [&]<class T>(T) {
        return differentiable<T>(loss, heads::scalar(), values,
                                 column<T>(values, "values", Loss::name, role::differentiable),
                                 views_of<T>(targets, Loss::name));
    });
}

} // namespace detail

/// Any loss on a head whose outputs are columns, those of a user among them: outputs [B, N] → the mean loss. `targets` is
/// what the loss learns from: a tensor of returns [B], clipped_returns, dirac_particles or gaussian_particles.
template <class Loss, class Head, class Targets>
[[nodiscard]] at::Tensor mean_loss(Loss const& loss, Head const& head, at::Tensor const& outputs,
                                   Targets const& targets) {
    return detail::with_scalar_of(outputs, "outputs", Loss::name, [&]<class T>(T) {
        auto const raw = detail::matrix<T>(outputs, "outputs", Loss::name, detail::role::differentiable);
        return detail::differentiable<T>(loss, head, outputs, raw, detail::views_of<T>(targets, Loss::name));
    });
}

/// ½ (v − R)²: values and returns, [B] or [B, 1] each.
[[nodiscard]] inline at::Tensor squared_error(at::Tensor const& values, at::Tensor const& returns,
                                              losses::squared_error const& loss = {}) {
    return detail::of_values(loss, values, returns);
}

/// PPO's clipped value loss: values, returns and the values at the time of the rollout, [B] or [B, 1] each.
///
///     gmac::torch::clipped_squared_error(values, {returns, old_values}, {.clip = 0.2});
[[nodiscard]] inline at::Tensor clipped_squared_error(at::Tensor const& values, clipped_returns const& targets,
                                                      losses::clipped_squared_error const& loss = {}) {
    return detail::of_values(loss, values, targets);
}

/// Quantile regression with the Huber loss: quantiles [B, N], their fractions [B, N] or (the same for all states) [N],
/// particles [B, m]. QR-DQN has the fractions (torch::arange(N) + 0.5) / N.
///
///     gmac::torch::huber_quantile(quantiles, fractions, {particles}, {.kappa = 1.0});
[[nodiscard]] inline at::Tensor huber_quantile(at::Tensor const& quantiles, at::Tensor const& fractions,
                                               dirac_particles const& targets,
                                               losses::huber_quantile const& loss = {}) {
    return detail::of_quantiles(loss, quantiles, fractions, targets);
}

/// Expectile regression: shapes as for huber_quantile.
[[nodiscard]] inline at::Tensor expectile(at::Tensor const& expectiles, at::Tensor const& fractions,
                                          dirac_particles const& targets, losses::expectile const& loss = {}) {
    return detail::of_quantiles(loss, expectiles, fractions, targets);
}

/// The energy distance between samples [B, N] and particles [B, m].
///
///     gmac::torch::sample_energy(samples, {particles}, {.target_term = true});
[[nodiscard]] inline at::Tensor sample_energy(at::Tensor const& samples, dirac_particles const& targets,
                                              losses::sample_energy const& loss = {}) {
    return detail::with_scalar_of(samples, "samples", loss.name, [&]<class T>(T) {
        auto const values = detail::matrix<T>(samples, "samples", loss.name, detail::role::differentiable);
        heads::implicit_quantile const head{.samples_per_state = values.cols()};
        return detail::differentiable<T>(loss, head, samples, quantile_outputs<T const>{values, {}},
                                         targets.views<T>(loss.name));
    });
}

/// The energy distance between a Gaussian mixture and normal components in closed form: raw outputs [B, 3K] of the head,
/// components [B, m].
///
///     gmac::heads::gaussian_mixture<5> const head{.scale = 1.0, .floor = 0.0};
///     gmac::torch::gaussian_mixture_energy(head, outputs, {means, deviations}, {.target_term = true});
template <std::size_t K>
[[nodiscard]] at::Tensor gaussian_mixture_energy(heads::gaussian_mixture<K> const& head, at::Tensor const& outputs,
                                                 gaussian_particles const& targets,
                                                 losses::gaussian_mixture_energy const& loss = {}) {
    return mean_loss(loss, head, outputs, targets);
}

} // namespace gmac::inline GMAC_ABI::torch
