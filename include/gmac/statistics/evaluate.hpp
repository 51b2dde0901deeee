// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/result.hpp>
#include <gmac/core/detail/transpose.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/overlap.hpp>
#include <gmac/core/view.hpp>
#include <gmac/heads/categorical.hpp>
#include <gmac/heads/dirac.hpp>
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/heads/implicit_quantile.hpp>
#include <gmac/heads/quantile_outputs.hpp>
#include <gmac/heads/scalar.hpp>
#include <gmac/statistics/detail/atoms.hpp>
#include <gmac/statistics/detail/mixture.hpp>
#include <gmac/statistics/detail/points.hpp>
#include <gmac/statistics/statistic.hpp>
#include <gmac/statistics/statistic_range.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

/// Statistics of the distributions that a head predicts, for a batch.
namespace gmac::inline GMAC_ABI::statistics {

namespace detail {

/// One parameter for all states, or one for each.
template <class T>
struct parameters {
    statistic_kind kind;
    T constant;
    vector_view<T const> of_states;

    template <class V>
    [[nodiscard]] V at(std::size_t first, std::size_t count) const noexcept {
        return of_states.empty() ? V(constant) : lanes::load_rows<V>(as_column(of_states), first, 0, count);
    }
    [[nodiscard]] double at(std::size_t state) const noexcept {
        return static_cast<double>(of_states.empty() ? constant : of_states[state]);
    }
};

template <bool WithGradient, std::size_t K, class T>
void of_states(heads::gaussian_mixture<K> const& head, matrix_view<T const> const& outputs, parameters<T> const& with,
               vector_view<T> const& values, matrix_view<T> const& gradient) {
    using V = lanes::lane_for_t<T>;
    constexpr std::size_t columns = 3 * K;
    head.check();
    require_shape(outputs, values.size(), columns, "outputs", "gaussian_mixture head");
    for (std::size_t first = 0; first < outputs.rows(); first += lanes::width_of<V>) {
        std::size_t const count = (std::min)(lanes::width_of<V>, outputs.rows() - first);
        std::array<V, columns> raw;
        lanes::read_columns(outputs, first, 0, columns, raw.data(), count);
        auto const predicted = head.transform(raw);
        auto const result =
            value_of<WithGradient>(with.kind, with.template at<V>(first, count),
                                   mixture<V, K>{predicted.weights, predicted.means, predicted.deviations});
        lanes::store_rows(result.value, as_column(values), first, 0, count);
        if constexpr (WithGradient) {
            std::array<V, columns> slope;
            head.pull_back(raw, predicted, {result.gradient.weights, result.gradient.means, result.gradient.deviations},
                           slope);
            lanes::write_columns(slope.data(), gradient, first, 0, columns, count);
        }
    }
}

template <bool WithGradient, std::size_t N, class T>
void of_states(heads::categorical<N> const& head, matrix_view<T const> const& outputs, parameters<T> const& with,
               vector_view<T> const& values, matrix_view<T> const& gradient) {
    using V = lanes::lane_for_t<T>;
    require_shape(outputs, values.size(), N, "outputs", "categorical head");
    auto const atoms = head.template grid<T>().atoms;
    for (std::size_t first = 0; first < outputs.rows(); first += lanes::width_of<V>) {
        std::size_t const count = (std::min)(lanes::width_of<V>, outputs.rows() - first);
        std::array<V, N> raw;
        lanes::read_columns(outputs, first, 0, N, raw.data(), count);
        auto const predicted = head.transform(raw);
        auto result =
            value_of<WithGradient>(with.kind, with.template at<V>(first, count), atoms, predicted.probabilities);
        lanes::store_rows(result.value, as_column(values), first, 0, count);
        if constexpr (WithGradient) {
            head.pull_back(predicted, result.gradient);
            lanes::write_columns(result.gradient.data(), gradient, first, 0, N, count);
        }
    }
}

template <bool WithGradient, class Head, class Outputs, class T>
    requires requires(Head const& head, Outputs const& outputs) { head.samples(outputs); }
void of_states(Head const& head, Outputs const& outputs, parameters<T> const& with, vector_view<T> const& values,
               matrix_view<T> const& gradient) {
    matrix_view<T const> const points = head.samples(outputs);
    require_shape(points, values.size(), points.cols(), "outputs", "statistic");
    require(points.cols() <= most_points, "statistic: a state has {} points, but may have at most {}", points.cols(),
            most_points);
    point_order order;
    std::span<double> const weights(order.weights.data(), points.cols());
    for (std::size_t i = 0; i < points.rows(); ++i) {
        auto const slopes = WithGradient ? gradient.row(i) : vector_view<T>();
        if (with.kind == statistic_kind::mean) {
            values[i] = static_cast<T>(mean_of(points.row(i)));
            for (std::size_t j = 0; j < slopes.size(); ++j)
                slopes[j] = static_cast<T>(1.0 / static_cast<double>(points.cols()));
        } else if (with.kind == statistic_kind::mean_minus_deviations) {
            values[i] = mean_and_deviation(points.row(i), slopes, with.at(i));
        } else {
            if (i == 0 || !with.of_states.empty())
                weigh<T>(with.kind, with.at(i), weights);
            values[i] = weighted_points(points.row(i), slopes, order);
        }
    }
}

template <bool WithGradient, class T>
void of_states(heads::scalar const& head, matrix_view<T const> const& outputs, parameters<T> const&,
               vector_view<T> const& values, matrix_view<T> const& gradient) {
    head.mean(outputs, values);
    if constexpr (WithGradient)
        for (std::size_t i = 0; i < outputs.rows(); ++i)
            gradient(i, 0) = T(1);
}

template <class T>
[[nodiscard]] quantile_outputs<T const> read_only(quantile_outputs<T> const& outputs) noexcept {
    return outputs;
}
template <class Outputs>
[[nodiscard]] auto read_only(Outputs const& outputs) {
    auto const columns = as_matrix(outputs);
    return matrix_view<typename decltype(columns)::value_type const>(columns);
}
template <class T>
[[nodiscard]] matrix_view<T const> columns_of(quantile_outputs<T const> const& outputs) noexcept {
    return outputs.values;
}
template <class T>
[[nodiscard]] matrix_view<T const> columns_of(matrix_view<T const> const& outputs) noexcept {
    return outputs;
}

template <class Head, class Outputs, class T>
concept has_statistics =
    requires(Head const& head, Outputs const& outputs, parameters<T> const& with, vector_view<T> values,
             matrix_view<T> gradient) { of_states<false>(head, outputs, with, values, gradient); };

template <bool WithGradient, class Head, class Outputs, class T>
void checked(Head const& head, Outputs const& outputs, parameters<T> const& with, vector_view<T> const& values,
             matrix_view<T> const& gradient) {
    auto const columns = columns_of(outputs);
    gmac::detail::require_values(values.size(), columns.rows(), "statistic");
    require_no_overlap(as_column(values), columns, "statistic");
    if constexpr (WithGradient) {
        require_shape(gradient, columns.rows(), columns.cols(), "the gradient", "statistic");
        require_no_overlap(gradient, columns, "statistic");
        require_no_overlap(gradient, as_column(values), "statistic");
    }
    static_assert(
        has_statistics<Head, Outputs, T>,
        "statistics are known of heads::gaussian_mixture, categorical, dirac, implicit_quantile and scalar, and of "
        "any head with equally likely samples(outputs)");
    if constexpr (has_statistics<Head, Outputs, T>)
        of_states<WithGradient>(head, outputs, with, values, gradient);
}

} // namespace detail

/// The statistic of each state's distribution: outputs of the head [B, output size] → values [B], in units of the return.
/// Nothing is allocated. Heads: gaussian_mixture (closed forms; wang and power by quadrature, to 1e-8 of the distribution's
/// scale in double), categorical, dirac and implicit_quantile (of the points as they are, at most 4,096 a state), and scalar,
/// a point. The quantile of a Gaussian mixture at 1, which is infinite, is taken at half a rounding less. Throws gmac::error
/// if the shapes do not fit, the parameter is outside its range, or the values overlap the
/// outputs.
template <class Head, class Outputs, class Values>
void evaluate(statistic const& of, Head const& head, Outputs const& outputs, Values&& values) {
    validate(of);
    auto const from = detail::read_only(outputs);
    using T = typename decltype(from)::value_type;
    auto const to = gmac::detail::result_as<T>(as_vector(values));
    if (of.kind == statistic_kind::mean) {
        require_no_overlap(as_column(to), detail::columns_of(from), "statistic");
        head.mean(from, to);
    } else {
        detail::checked<false>(head, from, detail::parameters<T>{of.kind, static_cast<T>(of.parameter), {}}, to,
                               matrix_view<T>());
    }
}

/// The same with a parameter of its own for each state, parameters [B], which may lie where the values will.
template <class Parameters, class Head, class Outputs, class Values>
void evaluate(statistic_kind kind, Parameters const& parameters, Head const& head, Outputs const& outputs,
              Values&& values) {
    auto const from = detail::read_only(outputs);
    using T = typename decltype(from)::value_type;
    auto const to = gmac::detail::result_as<T>(as_vector(values));
    vector_view<T const> const with = as_vector(parameters);
    gmac::detail::require_values(to.size(), detail::columns_of(from).rows(), "statistic");
    require_size(with, to.size(), "the vector of parameters", "statistic");
    for (std::size_t i = 0; i < with.size(); ++i)
        validate(statistic{kind, static_cast<double>(with[i])});
    detail::checked<false>(head, from, detail::parameters<T>{kind, T(0), with}, to, matrix_view<T>());
}

/// evaluate(), and the gradient of each state's value with respect to that state's outputs, [B, output size]. Where the
/// statistic has none, at the border of what cvar counts and of quantiles of points and atoms, it is that of one side; that
/// of a quantile in a gap of a Gaussian mixture whose density T cannot tell from 0 is 0.
/// Throws gmac::error as evaluate() does, and if the gradient overlaps outputs or values.
template <class Head, class Outputs, class Values, class Gradient>
void value_and_gradient(statistic const& of, Head const& head, Outputs const& outputs, Values&& values,
                        Gradient&& gradient) {
    validate(of);
    auto const from = detail::read_only(outputs);
    using T = typename decltype(from)::value_type;
    auto const to = gmac::detail::result_as<T>(as_vector(values));
    auto const slopes = gmac::detail::result_as<T>(as_matrix(gradient));
    detail::checked<true>(head, from, detail::parameters<T>{of.kind, static_cast<T>(of.parameter), {}}, to, slopes);
}

} // namespace gmac::inline GMAC_ABI::statistics

namespace gmac::inline GMAC_ABI {

template <class Head, class Outputs, class Values>
void statistic::operator()(Head const& head, Outputs const& outputs, Values&& values) const {
    statistics::evaluate(*this, head, outputs, values);
}

template <class Head, class Outputs, class States, class Values>
void statistic_range::operator()(Head const& head, Outputs const& outputs, States const& states,
                                 Values&& values) const {
    auto const told = as_matrix(states);
    auto const to = as_vector(values);
    using T = std::remove_cvref_t<decltype(to[0])>;
    require_shape(told, to.size(), told.cols(), "states", "statistic_range");
    require(told.cols() > 0, "statistic_range: the states have no number");
    for (std::size_t i = 0; i < to.size(); ++i)
        to[i] = static_cast<T>(parameter_of(static_cast<double>(told(i, told.cols() - 1))));
    statistics::evaluate(kind, to, head, outputs, to);
}

} // namespace gmac::inline GMAC_ABI
