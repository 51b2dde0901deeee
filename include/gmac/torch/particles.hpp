// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>
#include <gmac/targets/particles.hpp>
#include <gmac/targets/sources.hpp>
#include <gmac/torch/tensors.hpp>

#include <ATen/core/Tensor.h>

#include <string_view>

/// Tensors that belong together, as gmac/targets has views that belong together. `views` reads them where they lie, and
/// throws gmac::error, naming `where`, for a tensor that cannot be read.
namespace gmac::inline GMAC_ABI::torch {

/// What clipped_squared_error learns from, [B] or [B, 1] each.
struct clipped_returns {
    at::Tensor returns, old_values;

    template <class T>
    struct views_type {
        vector_view<T const> returns, old_values;
    };
    template <class T>
    [[nodiscard]] views_type<T> views(std::string_view where) const {
        return {detail::vector<T>(returns, "returns", where), detail::vector<T>(old_values, "old_values", where)};
    }
};

/// One target distribution a row: m point masses, [B, m]. Weights that are left out mean 1/m each; otherwise those of a
/// row are not negative and sum to one.
struct dirac_particles {
    at::Tensor values, weights{};

    /// Some of the rows, by a tensor of their numbers: a minibatch.
    [[nodiscard]] dirac_particles index_select(at::Tensor const& rows) const {
        return {values.index_select(0, rows), weights.defined() ? weights.index_select(0, rows) : weights};
    }
    template <class T>
    [[nodiscard]] targets::dirac_particles<T const> views(std::string_view where) const {
        return {detail::matrix<T>(values, "values", where), detail::optional_matrix<T>(weights, "weights", where)};
    }
};

/// One target distribution a row: m normal components, [B, m]. A standard deviation of exactly zero is a point mass.
/// Weights as for dirac_particles.
struct gaussian_particles {
    at::Tensor means, deviations, weights{};

    /// Some of the rows, by a tensor of their numbers: a minibatch.
    [[nodiscard]] gaussian_particles index_select(at::Tensor const& rows) const {
        return {means.index_select(0, rows), deviations.index_select(0, rows),
                weights.defined() ? weights.index_select(0, rows) : weights};
    }
    template <class T>
    [[nodiscard]] targets::gaussian_particles<T const> views(std::string_view where) const {
        return {detail::matrix<T>(means, "means", where), detail::matrix<T>(deviations, "deviations", where),
                detail::optional_matrix<T>(weights, "weights", where)};
    }
};

/// The value distributions of all states of a rollout as Gaussian mixtures, [(T + 1) E + F, K] each; the rows are those of
/// targets::gaussian_source.
struct gaussian_source {
    at::Tensor weights, means, deviations;

    using particles = gaussian_particles;
    template <class T>
    [[nodiscard]] targets::gaussian_source<T> views(std::string_view where) const {
        return {detail::matrix<T>(weights, "weights", where), detail::matrix<T>(means, "means", where),
                detail::matrix<T>(deviations, "deviations", where)};
    }
    [[nodiscard]] at::Tensor const& locations() const noexcept { return means; }
};

/// The same as point masses, [(T + 1) E + F, N]: quantiles at fixed fractions. Without weights all are equally likely.
struct dirac_source {
    at::Tensor values, weights{};

    using particles = dirac_particles;
    template <class T>
    [[nodiscard]] targets::dirac_source<T> views(std::string_view where) const {
        return {detail::matrix<T>(values, "values", where), detail::optional_matrix<T>(weights, "weights", where)};
    }
    [[nodiscard]] at::Tensor const& locations() const noexcept { return values; }
};

/// The same as independent samples, [(T + 1) E + F, N]: quantiles at random fractions.
struct sample_source {
    at::Tensor values;

    using particles = dirac_particles;
    template <class T>
    [[nodiscard]] targets::sample_source<T> views(std::string_view where) const {
        return {detail::matrix<T>(values, "values", where)};
    }
    [[nodiscard]] at::Tensor const& locations() const noexcept { return values; }
};

} // namespace gmac::inline GMAC_ABI::torch
