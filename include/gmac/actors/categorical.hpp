// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/special.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/environment.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <variant>

namespace gmac::inline GMAC_ABI::actors {

/// A softmax policy on the actions 0 … n − 1: the network gives n logits a state. A logit of −∞ forbids an action.
///
/// Shapes: outputs [B, n]; actions [B, 1], numbers of actions stored in the element type; everything else [B]. There are no
/// free parameters. All functions throw gmac::error for shapes that do not match. A logit that is NaN or +∞ gives NaN
/// in all results of its row, and a NaN action; so does a row that forbids every action.
struct categorical {
    /// Columns that the actor's network must give: the number of actions. Throws unless the space is discrete.
    [[nodiscard]] std::size_t output_size(action_space const& space) const {
        auto const* const actions = std::get_if<discrete>(&space);
        require(actions != nullptr,
                "categorical: the action space is a box, but must be discrete; diagonal_gaussian is "
                "an actor for a box");
        require(actions->count > 0, "categorical: the action space has no actions");
        return actions->count;
    }
    [[nodiscard]] std::size_t free_parameter_count(action_space const& space) const {
        static_cast<void>(output_size(space));
        return 0;
    }
    template <std::floating_point T>
    void initialize(std::span<T> free_parameters) const {
        require_free(free_parameters.size());
    }

    /// Draws an action for each row, by inversion of one uniform of the row's stream. Nothing is allocated.
    template <class Outputs, std::floating_point T = detail::matrix_value<Outputs>>
    void sample(Outputs const& outputs, detail::span_of<T const> free, std::span<random_stream> streams,
                detail::matrix_of<T> actions) const {
        matrix_view<T const> const logits(outputs);
        require_shapes(logits, free.size(), actions.rows(), actions.cols());
        require(streams.size() == logits.rows(), "categorical: there are {} random streams for {} rows", streams.size(),
                logits.rows());
        for (std::size_t i = 0; i < logits.rows(); ++i)
            actions(i, 0) = draw(logits.row(i), streams[i].uniform<T>());
    }

    /// The most probable action of each row, the first of several.
    template <class Outputs, std::floating_point T = detail::matrix_value<Outputs>>
    void mode(Outputs const& outputs, detail::span_of<T const> free, detail::matrix_of<T> actions) const {
        matrix_view<T const> const logits(outputs);
        require_shapes(logits, free.size(), actions.rows(), actions.cols());
        for (std::size_t i = 0; i < logits.rows(); ++i) {
            std::size_t best = 0;
            T spoiled = 0;
            for (std::size_t j = 0; j < logits.cols(); ++j) {
                best = logits(i, j) > logits(i, best) ? j : best;
                spoiled += std::isnan(logits(i, j)) ? logits(i, j) : T(0);
            }
            spoiled += logits(i, best) - logits(i, best); // not 0 if it is infinite
            actions(i, 0) = static_cast<T>(best) + spoiled;
        }
    }

    /// log π(a) and the entropy −Σ π log π in nats. An action that is not one of 0 … n − 1 is refused.
    template <class Outputs, class T = detail::matrix_value<Outputs>>
    void log_probability_and_entropy(Outputs const& outputs, detail::span_of<T const> free,
                                     detail::matrix_of<T const> actions, detail::vector_of<T> log_probabilities,
                                     detail::vector_of<T> entropies) const {
        matrix_view<T const> const logits(outputs);
        require_shapes(logits, free.size(), actions.rows(), actions.cols());
        require_size(log_probabilities, logits.rows(), "log_probabilities", "categorical");
        require_size(entropies, logits.rows(), "entropies", "categorical");
        require_actions(actions, logits.cols());
        using V = lanes::lane_for_t<T>;
        matrix_view<T> const log_probability_column = as_column(log_probabilities);
        matrix_view<T> const entropy_column = as_column(entropies);
        for (std::size_t i = 0; i < logits.rows(); i += lanes::width_of<V>) {
            std::size_t const count = (std::min)(lanes::width_of<V>, logits.rows() - i);
            auto const all = summarise<V>(logits, i, count);
            V const action = lanes::load_rows<V>(actions, i, 0, count);
            V chosen = lanes::constant<V>(0.0);
            for (std::size_t j = 0; j < logits.cols(); ++j) {
                V const logit = lanes::load_rows<V>(logits, i, j, count);
                chosen = lanes::select(action == lanes::constant<V>(static_cast<double>(j)), logit, chosen);
            }
            lanes::store_rows<V>(chosen - all.highest - all.log_sum, log_probability_column, i, 0, count);
            lanes::store_rows<V>(all.entropy, entropy_column, i, 0, count);
        }
    }

    /// The gradient with respect to the logits of Σ_i (c_i log π(a_i) + d_i entropy_i), c = log_probability_gradient and
    /// d = entropy_gradient: c (1{a = j} − π_j) − d π_j (log π_j + entropy). Written, not added, to output_gradient
    /// [B, n], which may be the logits' memory.
    template <class Outputs, class T = detail::matrix_value<Outputs>>
    void gradient(Outputs const& outputs, detail::span_of<T const> free, detail::matrix_of<T const> actions,
                  detail::vector_of<T const> log_probability_gradient, detail::vector_of<T const> entropy_gradient,
                  detail::matrix_of<T> output_gradient, detail::span_of<T> free_gradient) const {
        matrix_view<T const> const logits(outputs);
        require_shapes(logits, free.size(), actions.rows(), actions.cols());
        require_free(free_gradient.size());
        require_size(log_probability_gradient, logits.rows(), "log_probability_gradient", "categorical");
        require_size(entropy_gradient, logits.rows(), "entropy_gradient", "categorical");
        require_shape(output_gradient, logits.rows(), logits.cols(), "output_gradient", "categorical");
        require_actions(actions, logits.cols());
        using V = lanes::lane_for_t<T>;
        matrix_view<T const> const policy_gradient = as_column(log_probability_gradient);
        matrix_view<T const> const bonus_gradient = as_column(entropy_gradient);
        V const zero = lanes::constant<V>(0.0);
        for (std::size_t i = 0; i < logits.rows(); i += lanes::width_of<V>) {
            std::size_t const count = (std::min)(lanes::width_of<V>, logits.rows() - i);
            auto const all = summarise<V>(logits, i, count);
            V const action = lanes::load_rows<V>(actions, i, 0, count);
            V const c = lanes::load_rows<V>(policy_gradient, i, 0, count);
            V const d = lanes::load_rows<V>(bonus_gradient, i, 0, count);
            for (std::size_t j = 0; j < logits.cols(); ++j) {
                V const log_probability = lanes::load_rows<V>(logits, i, j, count) - all.highest - all.log_sum;
                V const probability = lanes::exp(log_probability);
                V const hit = lanes::select(action == lanes::constant<V>(static_cast<double>(j)), c, zero);
                V const surprise = d * probability * (log_probability + all.entropy);
                // A forbidden action: 0 · −∞ is meant as the limit 0.
                V const bonus = lanes::select(probability == zero, zero, surprise);
                lanes::store_rows<V>(hit - c * probability - bonus, output_gradient, i, j, count);
            }
        }
    }

private:
    template <class V>
    struct summary {
        V highest; ///< the largest logit
        V log_sum; ///< log Σ exp(z − highest)
        V entropy;
    };
    template <class V, class T>
    [[nodiscard]] static summary<V> summarise(matrix_view<T const> const& logits, std::size_t first,
                                              std::size_t count) noexcept {
        V const zero = lanes::constant<V>(0.0);
        V highest = lanes::load_rows<V>(logits, first, 0, count);
        for (std::size_t j = 1; j < logits.cols(); ++j) {
            V const logit = lanes::load_rows<V>(logits, first, j, count);
            highest = lanes::select(logit > highest, logit, highest);
        }
        V sum = zero;
        V weighted = zero; // Σ exp(d) d with d = z − highest <= 0
        for (std::size_t j = 0; j < logits.cols(); ++j) {
            V const distance = lanes::load_rows<V>(logits, first, j, count) - highest;
            V const part = lanes::exp(distance);
            sum = sum + part;
            weighted = weighted + lanes::select(part == zero, zero, V(part * distance));
        }
        V const log_sum = lanes::log(sum);
        return {highest, log_sum, log_sum - weighted / sum};
    }

    template <class T>
    [[nodiscard]] static T draw(vector_view<T const> const& logits, T uniform) noexcept {
        T highest = logits[0];
        for (std::size_t j = 1; j < logits.size(); ++j)
            highest = logits[j] > highest ? logits[j] : highest;
        T sum = 0;
        for (std::size_t j = 0; j < logits.size(); ++j)
            sum += std::exp(logits[j] - highest);
        if (!(sum >= T(1))) // a NaN, or all are forbidden
            return (std::numeric_limits<T>::quiet_NaN)();
        T const mark = uniform * sum;
        T passed = 0;
        std::size_t action = 0;
        for (std::size_t j = 0; j < logits.size(); ++j) {
            T const part = std::exp(logits[j] - highest);
            passed += part;
            if (part > T(0)) // a forbidden action is not drawn, whatever the rounding
                action = j;
            if (mark < passed)
                break;
        }
        return static_cast<T>(action);
    }

    static void require_free(std::size_t count) {
        require(count == 0, "categorical: {} free parameters were given, but it has none", count);
    }
    template <class T>
    static void require_shapes(matrix_view<T> const& logits, std::size_t free, std::size_t rows, std::size_t cols) {
        require(logits.cols() > 0, "categorical: outputs has no columns");
        require(rows == logits.rows() && cols == 1, "categorical: actions is {} x {}, but must be {} x 1", rows, cols,
                logits.rows());
        require_free(free);
    }
    template <class T>
    static void require_actions(matrix_view<T const> const& actions, std::size_t count) {
        for (std::size_t i = 0; i < actions.rows(); ++i) {
            auto const action = static_cast<double>(actions(i, 0));
            require(action >= 0.0 && action < static_cast<double>(count) && action == std::floor(action),
                    "categorical: the action of row {} is {}, but must be one of 0 … {}", i, action, count - 1);
        }
    }
};

} // namespace gmac::inline GMAC_ABI::actors
