// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/actors/detail/softmax.hpp>
#include <gmac/actors/detail/space.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/environment.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
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
        if (actions == nullptr)
            detail::refuse_space("categorical", "discrete", space);
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
            actions(i, 0) = detail::draw_of_softmax(logits.row(i), streams[i].uniform<T>());
    }

    /// The most probable action of each row, the first of several.
    template <class Outputs, std::floating_point T = detail::matrix_value<Outputs>>
    void mode(Outputs const& outputs, detail::span_of<T const> free, detail::matrix_of<T> actions) const {
        matrix_view<T const> const logits(outputs);
        require_shapes(logits, free.size(), actions.rows(), actions.cols());
        for (std::size_t i = 0; i < logits.rows(); ++i)
            actions(i, 0) = detail::mode_of_softmax(logits.row(i));
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
        detail::softmax_log_probability_and_entropy(logits, actions, as_column(log_probabilities), as_column(entropies),
                                                    /*add*/ false);
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
        detail::softmax_gradient(logits, actions, as_column(log_probability_gradient), as_column(entropy_gradient),
                                 output_gradient);
    }

private:
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
