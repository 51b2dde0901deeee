// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace gmac::inline GMAC_ABI::targets {

/// A head from which SR(λ) draws Dirac particles: it gives P points of each state's distribution, [B, P], which are equally
/// likely, or have their weights beside them.
template <class Head, class T>
concept gives_weighted_points =
    requires(Head const& head, matrix_view<T const> outputs, matrix_view<T> points, matrix_view<T> weights) {
        { head.support_size() } -> std::convertible_to<std::size_t>;
        head.support(outputs, points, weights);
    };
template <class Head, class T>
concept gives_points =
    gives_weighted_points<Head, T> || requires(Head const& head, matrix_view<T const> outputs, matrix_view<T> points) {
        { head.support_size() } -> std::convertible_to<std::size_t>;
        head.support(outputs, points);
    };

/// A head from which SR(λ) draws Gaussian particles: it gives the K components of each state's distribution, [B, K] each.
template <class Head, class T>
concept gives_components = requires(Head const& head, matrix_view<T const> outputs, matrix_view<T> part) {
    { Head::components } -> std::convertible_to<std::size_t>;
    head.distribution(outputs, part, part, part);
};

/// One target distribution a row: m point masses, shapes [B, m]. Empty weights mean 1/m each; otherwise the weights
/// of a row are not negative and sum to one.
template <class T>
struct dirac_particles {
    using value_type = std::remove_const_t<T>;

    /// Makes these targets of a rollout, for an agent: gmac/targets/makers.hpp.
    template <class Head>
    class maker;
    template <class Head>
    static constexpr bool can_be_made_from = gives_points<Head, value_type>;
    template <class Head>
    static consteval void require_head() {
        static_assert(can_be_made_from<Head>,
                      "this loss learns from Dirac particles, for which an actor_critic needs the members "
                      "support_size() and support(outputs, points) of the head: see docs/extending.md");
    }

    matrix_view<T> values{};
    matrix_view<T> weights{};

    [[nodiscard]] constexpr std::size_t rows() const noexcept { return values.rows(); }
    [[nodiscard]] constexpr std::size_t particles() const noexcept { return values.cols(); }
    [[nodiscard]] constexpr bool weighted() const noexcept { return weights.data() != nullptr; }

    /// Some consecutive states of the batch.
    [[nodiscard]] constexpr dirac_particles middle_rows(std::size_t first, std::size_t count) const noexcept {
        return {values.middle_rows(first, count), weighted() ? weights.middle_rows(first, count) : weights};
    }
    /// Some of the particles of all states.
    [[nodiscard]] constexpr dirac_particles middle_cols(std::size_t first, std::size_t count) const noexcept {
        return {values.middle_cols(first, count), weighted() ? weights.middle_cols(first, count) : weights};
    }

    constexpr operator dirac_particles<T const>() const noexcept
        requires(!std::same_as<T, T const>)
    {
        return {values, weights};
    }
};

template <gmac::detail::matrix_like... Parts>
dirac_particles(Parts&&...) -> dirac_particles<gmac::detail::matrix_element<Parts...>>;

/// One target distribution a row: m normal components, shapes [B, m]. A standard deviation of exactly zero is a point
/// mass. Empty weights mean 1/m each; otherwise the weights of a row are not negative and sum to one.
template <class T>
struct gaussian_particles {
    using value_type = std::remove_const_t<T>;

    /// Makes these targets of a rollout, for an agent: gmac/targets/makers.hpp.
    template <class Head>
    class maker;
    template <class Head>
    static constexpr bool can_be_made_from = gives_components<Head, value_type>;
    template <class Head>
    static consteval void require_head() {
        static_assert(can_be_made_from<Head>,
                      "this loss learns from Gaussian particles, for which an actor_critic needs the "
                      "members components and distribution(outputs, weights, means, deviations) of the "
                      "head: see docs/extending.md");
    }

    matrix_view<T> means{};
    matrix_view<T> deviations{};
    matrix_view<T> weights{};

    [[nodiscard]] constexpr std::size_t rows() const noexcept { return means.rows(); }
    [[nodiscard]] constexpr std::size_t particles() const noexcept { return means.cols(); }
    [[nodiscard]] constexpr bool weighted() const noexcept { return weights.data() != nullptr; }

    /// Some consecutive states of the batch.
    [[nodiscard]] constexpr gaussian_particles middle_rows(std::size_t first, std::size_t count) const noexcept {
        return {means.middle_rows(first, count), deviations.middle_rows(first, count),
                weighted() ? weights.middle_rows(first, count) : weights};
    }
    /// Some of the particles of all states.
    [[nodiscard]] constexpr gaussian_particles middle_cols(std::size_t first, std::size_t count) const noexcept {
        return {means.middle_cols(first, count), deviations.middle_cols(first, count),
                weighted() ? weights.middle_cols(first, count) : weights};
    }

    constexpr operator gaussian_particles<T const>() const noexcept
        requires(!std::same_as<T, T const>)
    {
        return {means, deviations, weights};
    }
};

template <gmac::detail::matrix_like... Parts>
gaussian_particles(Parts&&...) -> gaussian_particles<gmac::detail::matrix_element<Parts...>>;

/// Throws gmac::error unless the parts of the targets have one shape with `rows` rows and at least one particle.
template <class T>
constexpr void require_targets(dirac_particles<T> const& targets, std::size_t rows, std::string_view where) {
    require(targets.particles() > 0, "{}: the targets have no particles", where);
    require_shape(targets.values, rows, targets.particles(), "the matrix of target values", where);
    if (targets.weighted())
        require_shape(targets.weights, rows, targets.particles(), "the matrix of target weights", where);
}
template <class T>
constexpr void require_targets(gaussian_particles<T> const& targets, std::size_t rows, std::string_view where) {
    require(targets.particles() > 0, "{}: the targets have no particles", where);
    require_shape(targets.means, rows, targets.particles(), "the matrix of target means", where);
    require_shape(targets.deviations, rows, targets.particles(), "the matrix of target deviations", where);
    if (targets.weighted())
        require_shape(targets.weights, rows, targets.particles(), "the matrix of target weights", where);
}

namespace detail {

template <class T>
[[nodiscard]] constexpr matrix_view<T> const& locations_of(dirac_particles<T> const& targets) noexcept {
    return targets.values;
}
template <class T>
[[nodiscard]] constexpr matrix_view<T> const& locations_of(gaussian_particles<T> const& targets) noexcept {
    return targets.means;
}
/// Of point masses a matrix of the same shape, not to be used.
template <class T>
[[nodiscard]] constexpr matrix_view<T> const& deviations_of(dirac_particles<T> const& targets) noexcept {
    return targets.values;
}
template <class T>
[[nodiscard]] constexpr matrix_view<T> const& deviations_of(gaussian_particles<T> const& targets) noexcept {
    return targets.deviations;
}

} // namespace detail

} // namespace gmac::inline GMAC_ABI::targets
