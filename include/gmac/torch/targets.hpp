// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/targets/exact_sr_lambda.hpp>
#include <gmac/targets/gae.hpp>
#include <gmac/targets/lambda_return.hpp>
#include <gmac/targets/rollout_view.hpp>
#include <gmac/targets/sr_lambda.hpp>
#include <gmac/torch/particles.hpp>
#include <gmac/torch/tensors.hpp>

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

/// The targets as functions of tensors: T steps of E environments, row t * E + e where steps and environments are one
/// dimension. All tensors are float, or all double, on the CPU, with any strides; results are new ones. Targets are
/// constants: values that require a gradient are refused, so detach them or compute them under torch::NoGradGuard. What
/// is refused throws gmac::error, as does all that the targets themselves refuse.
namespace gmac::inline GMAC_ABI::torch {

/// What the environments gave, [T, E] each; flags are of type bool or uint8, and none is set where they are left out.
struct rollout {
    at::Tensor rewards, terminated{}, truncated{};

    template <class T>
    [[nodiscard]] targets::rollout_view<T> views(std::string_view where) const {
        return {detail::matrix<T>(rewards, "rewards", where),
                detail::optional_matrix<std::uint8_t>(terminated, "terminated", where),
                detail::optional_matrix<std::uint8_t>(truncated, "truncated", where)};
    }
};

/// [T, E] each.
struct advantages_and_returns {
    at::Tensor advantages, returns;
};

namespace detail {

/// The values of x_0 … x_T, as one vector. Throws gmac::error unless they are [T + 1, E], or one number a state.
template <class T>
[[nodiscard]] at::Tensor values_in_order(at::Tensor const& values, targets::rollout_view<T> const& steps,
                                         std::string_view where) {
    require_readable<T>(values, "values", where, role::constant);
    bool const one_column = values.dim() == 2 && values.size(1) == 1 && steps.environments() != 1;
    if (values.dim() != 2 || one_column)
        return values; // one number a state, or refused later
    require(extent(values.size(0)) == steps.steps() + 1 && extent(values.size(1)) == steps.environments(),
            "{}: values is {} x {}, but must be {} x {}: one row more than rewards", where, values.size(0),
            values.size(1), steps.steps() + 1, steps.environments());
    return values.reshape({-1});
}

template <class T>
[[nodiscard]] vector_view<T const> finals(at::Tensor const& values, std::string_view where) {
    return values.defined() ? vector<T>(values, "final_values", where) : vector_view<T const>();
}

/// Makes targets of this size and calls fill(views of the rollout, of the source and of the targets).
template <class Source, class Size, class Fill>
[[nodiscard]] typename Source::particles make_particles(Source const& source, rollout const& steps,
                                                        std::string_view where, bool weighted, Size size, Fill fill) {
    constexpr bool gaussian = std::is_same_v<typename Source::particles, gaussian_particles>;
    return with_scalar_of(steps.rewards, "rewards", where, [&]<class T>(T) {
        auto const views = steps.views<T>(where);
        auto const distributions = source.template views<T>(where);
        std::size_t const columns = size(views.steps(), extent(source.locations().size(1)));
        auto const make = [&] { return new_matrix<T>(views.rows(), columns); };
        typename Source::particles made;
        if constexpr (gaussian) {
            made.means = make();
            made.deviations = make();
        } else {
            made.values = make();
        }
        if (weighted)
            made.weights = make();
        matrix_view<T> const weights = weighted ? to_write<T>(made.weights) : matrix_view<T>();
        if constexpr (gaussian)
            fill(views, distributions,
                 targets::gaussian_particles<T>{to_write<T>(made.means), to_write<T>(made.deviations), weights});
        else
            fill(views, distributions, targets::dirac_particles<T>{to_write<T>(made.values), weights});
        return made;
    });
}

/// What a head makes of its raw outputs [(T + 1) E + F, N]: Gaussian components, or equally likely points.
template <class Head>
[[nodiscard]] auto source_of(Head const& head, at::Tensor const& outputs, std::string_view where) {
    return with_scalar_of(outputs, "outputs", where, [&]<class T>(T) {
        auto const raw = matrix<T>(outputs, "outputs", where);
        if constexpr (requires { Head::components; }) {
            auto const make = [&] { return new_matrix<T>(raw.rows(), Head::components); };
            gaussian_source made{make(), make(), make()};
            head.distribution(raw, to_write<T>(made.weights), to_write<T>(made.means), to_write<T>(made.deviations));
            return made;
        } else {
            at::Tensor const points = new_matrix<T>(raw.rows(), head.support_size());
            head.support(raw, to_write<T>(points));
            return dirac_source{points, {}};
        }
    });
}

} // namespace detail

/// Generalised advantage estimates and λ-returns, [T, E] each, of `values` [T + 1, E] (or [(T + 1) E]) and `final_values`
/// [F], those of the final observations of the F truncated transitions in their order.
///
///     auto [advantages, returns] = gmac::torch::gae({rewards, terminated, truncated}, values, finals, {.lambda = 0.9});
[[nodiscard]] inline advantages_and_returns gae(rollout const& steps, at::Tensor const& values,
                                                at::Tensor const& final_values = {}, targets::gae const& rule = {}) {
    return detail::with_scalar_of(steps.rewards, "rewards", "gae", [&]<class T>(T) {
        auto const views = steps.views<T>("gae");
        at::Tensor const known = detail::values_in_order(values, views, "gae");
        advantages_and_returns made{detail::new_matrix<T>(views.steps(), views.environments()),
                                    detail::new_matrix<T>(views.steps(), views.environments())};
        rule(views, detail::vector<T>(known, "values", "gae"), detail::finals<T>(final_values, "gae"),
             detail::to_write<T>(made.advantages), detail::to_write<T>(made.returns));
        return made;
    });
}

/// λ-returns [T, E]; arguments as for gae.
[[nodiscard]] inline at::Tensor lambda_return(rollout const& steps, at::Tensor const& values,
                                              at::Tensor const& final_values = {},
                                              targets::lambda_return const& rule = {}) {
    return detail::with_scalar_of(steps.rewards, "rewards", "lambda_return", [&]<class T>(T) {
        auto const views = steps.views<T>("lambda_return");
        at::Tensor const known = detail::values_in_order(values, views, "lambda_return");
        at::Tensor made = detail::new_matrix<T>(views.steps(), views.environments());
        rule(views, detail::vector<T>(known, "values", "lambda_return"),
             detail::finals<T>(final_values, "lambda_return"), detail::to_write<T>(made));
        return made;
    });
}

/// m particles of the λ-return's distribution for each of the T E states, by sample replacement. `source` is a
/// gaussian_source, which gives gaussian_particles, or a dirac_source or sample_source, which give dirac_particles.
template <class Source>
    requires requires { typename Source::particles; }
[[nodiscard]] typename Source::particles sr_lambda(Source const& source, rollout const& steps, random_stream& random,
                                                   targets::sr_lambda const& rule = {}) {
    auto const size = [&](std::size_t, std::size_t) { return rule.particles; };
    return detail::make_particles(source, steps, "sr_lambda", false, size,
                                  [&](auto const& views, auto const& distributions, auto const& particles) {
                                      rule(views, distributions, random, particles);
                                  });
}

/// The same from the raw outputs [(T + 1) E + F, N] of a head: of the states x_0 … x_T, then of the final observations
/// of the F truncated transitions. With outputs [T + 1, E, N]: outputs.flatten(0, 1), and torch::cat with the finals.
template <class Head>
[[nodiscard]] auto sr_lambda(Head const& head, at::Tensor const& outputs, rollout const& steps, random_stream& random,
                             targets::sr_lambda const& rule = {}) {
    return sr_lambda(detail::source_of(head, outputs, "sr_lambda"), steps, random, rule);
}

/// The distribution that sr_lambda samples from, as a whole, with weights.
template <class Source>
    requires requires { typename Source::particles; }
[[nodiscard]] typename Source::particles exact_sr_lambda(Source const& source, rollout const& steps,
                                                         targets::exact_sr_lambda const& rule = {}) {
    constexpr bool gaussian = std::is_same_v<typename Source::particles, gaussian_particles>;
    auto const size = [&](std::size_t count, std::size_t columns) { return rule.capacity(count, columns, gaussian); };
    return detail::make_particles(source, steps, "exact_sr_lambda", true, size,
                                  [&](auto const& views, auto const& distributions, auto const& particles) {
                                      rule(views, distributions, particles);
                                  });
}

/// The same from the raw outputs of a head, as for sr_lambda.
template <class Head>
[[nodiscard]] auto exact_sr_lambda(Head const& head, at::Tensor const& outputs, rollout const& steps,
                                   targets::exact_sr_lambda const& rule = {}) {
    return exact_sr_lambda(detail::source_of(head, outputs, "exact_sr_lambda"), steps, rule);
}

} // namespace gmac::inline GMAC_ABI::torch
