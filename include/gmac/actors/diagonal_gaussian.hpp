// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/actors/detail/space.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/special.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/environment.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>

namespace gmac::inline GMAC_ABI::actors {

/// Where the standard deviations of a diagonal_gaussian come from.
enum class deviation_model {
    state_independent, ///< D free parameters, their logarithms, learned beside the network
    state_dependent    ///< the network: deviation = √(softplus(x) + floor²) of D further columns x
};

/// A policy on real vectors of D elements, independent normal distributions. Actions are not clipped here: what is
/// learned from is what was drawn, and the agent clips what the environment gets.
///
/// Shapes: outputs [B, D] means, or [B, 2 D] means and raw deviations; actions [B, D]; free parameters [D] logarithms of
/// the deviations, or none; everything else [B]. All functions throw gmac::error for shapes that do not match. A number
/// that is not finite comes out in all results that depend on it.
struct diagonal_gaussian {
    deviation_model deviations = deviation_model::state_independent;
    double initial_deviation = 1.0; ///< of the free parameters; positive
    double floor = 0.25;            ///< the deviation that the state-dependent model stays above; not negative

    /// Columns that the actor's network must give. Throws unless the space is a box, and for options out of range.
    [[nodiscard]] std::size_t output_size(action_space const& space) const {
        return (from_network() ? 2 : 1) * size_of(space);
    }
    [[nodiscard]] std::size_t free_parameter_count(action_space const& space) const {
        return from_network() ? 0 : size_of(space);
    }
    template <std::floating_point T>
    void initialize(std::span<T> free_parameters) const {
        require_options();
        require(!from_network() || free_parameters.empty(),
                "diagonal_gaussian: {} free parameters were given, but with "
                "state-dependent deviations it has none",
                free_parameters.size());
        std::fill(free_parameters.begin(), free_parameters.end(), static_cast<T>(std::log(initial_deviation)));
    }

    /// Draws an action for each row, with one normal of the row's stream for each element. Nothing is allocated.
    template <class Outputs, std::floating_point T = detail::matrix_value<Outputs>>
    void sample(Outputs const& outputs, detail::span_of<T const> free, std::span<random_stream> streams,
                detail::matrix_of<T> actions) const {
        matrix_view<T const> const columns(outputs);
        require_shapes(columns, free.size(), actions.rows(), actions.cols());
        require(streams.size() == columns.rows(), "diagonal_gaussian: there are {} random streams for {} rows",
                streams.size(), columns.rows());
        std::size_t const size = actions.cols();
        for (std::size_t i = 0; i < columns.rows(); ++i)
            for (std::size_t j = 0; j < size; ++j) {
                T const deviation =
                    from_network() ? std::sqrt(variance(columns(i, size + j)).value) : std::exp(free[j]);
                actions(i, j) = columns(i, j) + deviation * streams[i].normal<T>();
            }
    }

    /// The most probable action of each row: the mean.
    template <class Outputs, std::floating_point T = detail::matrix_value<Outputs>>
    void mode(Outputs const& outputs, detail::span_of<T const> free, detail::matrix_of<T> actions) const {
        matrix_view<T const> const columns(outputs);
        require_shapes(columns, free.size(), actions.rows(), actions.cols());
        for (std::size_t i = 0; i < actions.rows(); ++i)
            for (std::size_t j = 0; j < actions.cols(); ++j)
                actions(i, j) = columns(i, j);
    }

    /// The logarithm of the density π(a), and the differential entropy, in nats.
    template <class Outputs, class T = detail::matrix_value<Outputs>>
    void log_probability_and_entropy(Outputs const& outputs, detail::span_of<T const> free,
                                     detail::matrix_of<T const> actions, detail::vector_of<T> log_probabilities,
                                     detail::vector_of<T> entropies) const {
        matrix_view<T const> const columns(outputs);
        require_shapes(columns, free.size(), actions.rows(), actions.cols());
        require_size(log_probabilities, columns.rows(), "log_probabilities", "diagonal_gaussian");
        require_size(entropies, columns.rows(), "entropies", "diagonal_gaussian");
        using V = lanes::lane_for_t<T>;
        matrix_view<T> const log_probability_column = as_column(log_probabilities);
        matrix_view<T> const entropy_column = as_column(entropies);
        std::size_t const size = actions.cols();
        V const half = lanes::constant<V>(0.5);
        V const constants = lanes::constant<V>(half_log_two_pi * static_cast<double>(size));
        V const dimensions = lanes::constant<V>(0.5 * static_cast<double>(size));
        for (std::size_t i = 0; i < columns.rows(); i += lanes::width_of<V>) {
            std::size_t const count = (std::min)(lanes::width_of<V>, columns.rows() - i);
            V half_squares = lanes::constant<V>(0.0);
            V logs = lanes::constant<V>(0.0);
            for (std::size_t j = 0; j < size; ++j) {
                auto s = spread_of<V>(columns, free, size, i, j, count);
                V z = standardised<V>(columns, actions, s.inverse, i, j, count);
                if constexpr (std::floating_point<T>) {
                    std::size_t const rare = out_of_range(s.inverse, z) ? count : 0;
                    for (std::size_t lane = 0; lane < rare; ++lane) {
                        auto const e = exact_element(columns, free, actions, i + lane, j);
                        set_lane(z, lane, e.score());
                        set_lane(s.log, lane, e.log);
                    }
                }
                half_squares = half_squares + half * z * z;
                logs = logs + s.log;
            }
            lanes::store_rows<V>(-half_squares - logs - constants, log_probability_column, i, 0, count);
            lanes::store_rows<V>(logs + constants + dimensions, entropy_column, i, 0, count);
        }
    }

    /// The gradient of Σ_i (c_i log π(a_i) + d_i entropy_i), c = log_probability_gradient and d = entropy_gradient, with
    /// respect to the outputs and to the free parameters. Written, not added, to output_gradient, shaped like the
    /// outputs, which may be their memory, and to free_gradient.
    template <class Outputs, class T = detail::matrix_value<Outputs>>
    void gradient(Outputs const& outputs, detail::span_of<T const> free, detail::matrix_of<T const> actions,
                  detail::vector_of<T const> log_probability_gradient, detail::vector_of<T const> entropy_gradient,
                  detail::matrix_of<T> output_gradient, detail::span_of<T> free_gradient) const {
        matrix_view<T const> const columns(outputs);
        require_shapes(columns, free.size(), actions.rows(), actions.cols());
        require_size(log_probability_gradient, columns.rows(), "log_probability_gradient", "diagonal_gaussian");
        require_size(entropy_gradient, columns.rows(), "entropy_gradient", "diagonal_gaussian");
        require_shape(output_gradient, columns.rows(), columns.cols(), "output_gradient", "diagonal_gaussian");
        require(free_gradient.size() == free.size(),
                "diagonal_gaussian: the gradient of {} free parameters has {} elements", free.size(),
                free_gradient.size());
        using V = lanes::lane_for_t<T>;
        matrix_view<T const> const policy_gradient = as_column(log_probability_gradient);
        matrix_view<T const> const bonus_gradient = as_column(entropy_gradient);
        std::size_t const size = actions.cols();
        V const one = lanes::constant<V>(1.0);
        for (std::size_t j = 0; j < size; ++j) {
            V sum = lanes::constant<V>(0.0);
            T rest = T(0);
            for (std::size_t i = 0; i < columns.rows(); i += lanes::width_of<V>) {
                std::size_t const count = (std::min)(lanes::width_of<V>, columns.rows() - i);
                V const c = lanes::load_rows<V>(policy_gradient, i, 0, count);
                V const d = lanes::load_rows<V>(bonus_gradient, i, 0, count);
                auto const s = spread_of<V>(columns, free, size, i, j, count);
                V const z = standardised<V>(columns, actions, s.inverse, i, j, count);
                V of_mean = c * z * s.inverse;
                V of_log = c * (z * z - one) + d; // with respect to the logarithm of the deviation
                V log_derivative = s.log_derivative;
                if constexpr (std::floating_point<T>) {
                    std::size_t const rare = out_of_range(s.inverse, z) ? count : 0;
                    for (std::size_t lane = 0; lane < rare; ++lane) {
                        auto const e = exact_element(columns, free, actions, i + lane, j);
                        auto const weight = static_cast<long double>(log_probability_gradient[i + lane]);
                        auto const bonus = static_cast<long double>(entropy_gradient[i + lane]);
                        set_lane(of_mean, lane, e.mean_slope(weight));
                        set_lane(of_log, lane, e.log_slope(weight) + bonus);
                        set_lane(log_derivative, lane, e.log_derivative);
                    }
                }
                lanes::store_rows<V>(of_mean, output_gradient, i, j, count);
                if (from_network())
                    lanes::store_rows<V>(of_log * log_derivative, output_gradient, i, size + j, count);
                else if (count == lanes::width_of<V>)
                    sum = sum + of_log;
                else
                    rest = lanes::sum_lanes(of_log, count);
            }
            if (!from_network())
                free_gradient[j] = lanes::sum_lanes(sum) + rest;
        }
    }

private:
    static constexpr double half_log_two_pi = 0.91893853320467274178;

    template <class V>
    struct variance_result {
        V value, derivative;
    };
    /// softplus(x) + floor² and its derivative.
    template <class V>
    [[nodiscard]] variance_result<V> variance(V const& raw) const noexcept {
        auto const soft = lanes::softplus_sigmoid(raw);
        return {soft.value + lanes::constant<V>(floor * floor), soft.derivative};
    }

    template <class V>
    struct spread {
        V log;            ///< the logarithm of the deviation
        V inverse;        ///< 1 / deviation
        V log_derivative; ///< of `log` with respect to the raw output; not used for free parameters
    };
    template <class V, class T>
    [[nodiscard]] spread<V> spread_of(matrix_view<T const> const& columns, std::span<T const> free, std::size_t size,
                                      std::size_t row, std::size_t col, std::size_t count) const noexcept {
        if (!from_network()) {
            V const log(free[col]);
            return {log, lanes::exp(V(-log)), lanes::constant<V>(1.0)};
        }
        V const half = lanes::constant<V>(0.5);
        auto const v = variance(lanes::load_rows<V>(columns, row, size + col, count));
        V const inverse = lanes::constant<V>(1.0) / v.value;
        return {half * lanes::log(v.value), lanes::sqrt(inverse), half * v.derivative * inverse};
    }
    template <class V, class T>
    [[nodiscard]] static V standardised(matrix_view<T const> const& columns, matrix_view<T const> const& actions,
                                        V const& inverse_deviation, std::size_t row, std::size_t col,
                                        std::size_t count) noexcept {
        return (lanes::load_rows<V>(actions, row, col, count) - lanes::load_rows<V>(columns, row, col, count)) *
               inverse_deviation;
    }

    /// One element in the range of long double, for deviations and distances that lanes cannot compute with: at the mean
    /// the score is 0, however small the deviation.
    struct element {
        long double distance, log, log_derivative;

        [[nodiscard]] long double over_deviation(long double x) const noexcept {
            return x == 0 && std::isfinite(log) ? 0 : x * std::exp(-log);
        }
        [[nodiscard]] long double score() const noexcept { return over_deviation(distance); }
        [[nodiscard]] long double mean_slope(long double weight) const noexcept {
            return over_deviation(over_deviation(weight * distance));
        }
        [[nodiscard]] long double log_slope(long double weight) const noexcept {
            return over_deviation(over_deviation(weight * distance) * distance) - weight;
        }
    };
    template <class T>
    [[nodiscard]] element exact_element(matrix_view<T const> const& columns, std::span<T const> free,
                                        matrix_view<T const> const& actions, std::size_t row,
                                        std::size_t col) const noexcept {
        long double const distance =
            static_cast<long double>(actions(row, col)) - static_cast<long double>(columns(row, col));
        if (!from_network())
            return {distance, static_cast<long double>(free[col]), 1};
        auto const raw = static_cast<long double>(columns(row, actions.cols() + col));
        if (floor == 0.0 && raw < -100) // softplus is the exponential
            return {distance, raw / 2, 0.5L};
        long double const square = static_cast<long double>(floor) * static_cast<long double>(floor);
        long double const v = std::fmax(raw, 0.0L) + std::log1p(std::exp(-std::abs(raw))) + square;
        return {distance, std::log(v) / 2, 1 / (1 + std::exp(-raw)) / v / 2};
    }
    /// True if in a lane the deviation, its inverse or the square of the score leaves the range of numbers.
    template <class V>
    [[nodiscard]] static bool out_of_range(V const& inverse_deviation, V const& score) noexcept {
        using T = lanes::scalar_of<V>;
        using limits = std::numeric_limits<T>;
        V const largest_score(std::ldexp(T(1), limits::max_exponent / 2 - 1));
        return lanes::any(!(inverse_deviation >= V((limits::min)()) && inverse_deviation <= V((limits::max)()) &&
                            lanes::abs(score) <= largest_score));
    }
    template <class V>
    static void set_lane(V& lanes_of_rows, std::size_t lane, long double value) noexcept {
        using T = lanes::scalar_of<V>;
        if constexpr (lanes::width_of<V> == 1) {
            lanes_of_rows = static_cast<T>(value);
        } else {
            alignas(64) std::array<T, lanes::width_of<V>> all;
            lanes_of_rows.store_aligned(all.data());
            all[lane] = static_cast<T>(value);
            lanes_of_rows = V::load_aligned(all.data());
        }
    }

    [[nodiscard]] constexpr bool from_network() const noexcept {
        return deviations == deviation_model::state_dependent;
    }
    void require_options() const {
        require(initial_deviation > 0.0 && std::isfinite(initial_deviation),
                "diagonal_gaussian: initial_deviation is {}, but must be positive and finite", initial_deviation);
        require(floor >= 0.0 && std::isfinite(floor),
                "diagonal_gaussian: floor is {}, but must be finite and not negative", floor);
    }
    [[nodiscard]] std::size_t size_of(action_space const& space) const {
        require_options();
        return detail::box_size("diagonal_gaussian", space);
    }
    template <class T>
    void require_shapes(matrix_view<T const> const& outputs, std::size_t free, std::size_t rows,
                        std::size_t size) const {
        require(
            size > 0 && outputs.cols() == (from_network() ? 2 : 1) * size && rows == outputs.rows(),
            "diagonal_gaussian: outputs is {} x {} and actions {} x {}, but outputs has a row for each action and {}",
            outputs.rows(), outputs.cols(), rows, size,
            from_network() ? "two columns (mean, raw deviation) for each element" : "a column for each element");
        require(free == (from_network() ? 0 : size), "diagonal_gaussian: {} free parameters were given, but it has {}",
                free, from_network() ? 0 : size);
    }
};

} // namespace gmac::inline GMAC_ABI::actors
