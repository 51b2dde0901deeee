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

/// A policy on several discrete actions at once: an independent softmax for each component, of which the network gives n_k
/// logits a state, one component after the other. A logit of −∞ forbids a value.
///
/// Shapes: outputs [B, Σ n_k]; actions [B, components], whole numbers stored in the element type; everything else [B]. There
/// are no free parameters. All functions throw gmac::error for shapes that do not match. A logit that is NaN or +∞ gives NaN
/// in all results that depend on it: the log probability and the entropy of its row, and action and gradient of its
/// component; so does a component all of whose values are forbidden.
///
///     gmac::agents::gmac<gmac::actors::multi_categorical> agent(worlds, options, {.actor = {dials::action_space()}});
struct multi_categorical {
    multi_discrete space; ///< must be that of the environments: outputs alone do not tell where a component ends

    /// Columns that the actor's network must give, Σ n_k. Throws unless the space is this one.
    [[nodiscard]] std::size_t output_size(action_space const& of) const {
        auto const* const actions = std::get_if<multi_discrete>(&of);
        if (actions == nullptr)
            detail::refuse_space("multi_categorical", "multi-discrete", of);
        require(space.size() > 0,
                "multi_categorical: it must be made for the {} components of the action space, as multi_categorical{{"
                "space}}",
                actions->size());
        require(space.size() == actions->size(),
                "multi_categorical: it was made for {} components, but the action space has {}", space.size(),
                actions->size());
        for (std::size_t k = 0; k < space.size(); ++k) {
            require(space.counts[k] == actions->counts[k],
                    "multi_categorical: it was made for {} values of component {}, but the action space has {}",
                    space.counts[k], k, actions->counts[k]);
            require(space.counts[k] > 0, "multi_categorical: component {} of the action space has no values", k);
        }
        return mask_size(of);
    }
    [[nodiscard]] std::size_t free_parameter_count(action_space const& of) const {
        static_cast<void>(output_size(of));
        return 0;
    }
    template <std::floating_point T>
    void initialize(std::span<T> free_parameters) const {
        require_free(free_parameters.size());
    }

    /// Draws an action for each row, by inversion of one uniform of the row's stream for each component. Nothing is
    /// allocated.
    template <class Outputs, std::floating_point T = detail::matrix_value<Outputs>>
    void sample(Outputs const& outputs, detail::span_of<T const> free, std::span<random_stream> streams,
                detail::matrix_of<T> actions) const {
        matrix_view<T const> const logits(outputs);
        require_shapes(logits, free.size(), actions.rows(), actions.cols());
        require(streams.size() == logits.rows(), "multi_categorical: there are {} random streams for {} rows",
                streams.size(), logits.rows());
        for_each_component([&](std::size_t k, std::size_t first, std::size_t count) {
            matrix_view<T const> const own = logits.middle_cols(first, count);
            for (std::size_t i = 0; i < own.rows(); ++i)
                actions(i, k) = detail::draw_of_softmax(own.row(i), streams[i].uniform<T>());
        });
    }

    /// The most probable action of each row: of each component the first of several.
    template <class Outputs, std::floating_point T = detail::matrix_value<Outputs>>
    void mode(Outputs const& outputs, detail::span_of<T const> free, detail::matrix_of<T> actions) const {
        matrix_view<T const> const logits(outputs);
        require_shapes(logits, free.size(), actions.rows(), actions.cols());
        for_each_component([&](std::size_t k, std::size_t first, std::size_t count) {
            matrix_view<T const> const own = logits.middle_cols(first, count);
            for (std::size_t i = 0; i < own.rows(); ++i)
                actions(i, k) = detail::mode_of_softmax(own.row(i));
        });
    }

    /// log π(a) and the entropy in nats, both sums over the components. A component that is not one of 0 … n_k − 1 is
    /// refused.
    template <class Outputs, class T = detail::matrix_value<Outputs>>
    void log_probability_and_entropy(Outputs const& outputs, detail::span_of<T const> free,
                                     detail::matrix_of<T const> actions, detail::vector_of<T> log_probabilities,
                                     detail::vector_of<T> entropies) const {
        matrix_view<T const> const logits(outputs);
        require_shapes(logits, free.size(), actions.rows(), actions.cols());
        require_size(log_probabilities, logits.rows(), "log_probabilities", "multi_categorical");
        require_size(entropies, logits.rows(), "entropies", "multi_categorical");
        require_actions(actions);
        for_each_component([&](std::size_t k, std::size_t first, std::size_t count) {
            detail::softmax_log_probability_and_entropy(logits.middle_cols(first, count), actions.middle_cols(k, 1),
                                                        as_column(log_probabilities), as_column(entropies),
                                                        /*add*/ k > 0);
        });
    }

    /// The gradient with respect to the logits of Σ_i (c_i log π(a_i) + d_i entropy_i), c = log_probability_gradient and
    /// d = entropy_gradient: that of categorical for each component. Written, not added, to output_gradient [B, Σ n_k], which
    /// may be the logits' memory.
    template <class Outputs, class T = detail::matrix_value<Outputs>>
    void gradient(Outputs const& outputs, detail::span_of<T const> free, detail::matrix_of<T const> actions,
                  detail::vector_of<T const> log_probability_gradient, detail::vector_of<T const> entropy_gradient,
                  detail::matrix_of<T> output_gradient, detail::span_of<T> free_gradient) const {
        matrix_view<T const> const logits(outputs);
        require_shapes(logits, free.size(), actions.rows(), actions.cols());
        require_free(free_gradient.size());
        require_size(log_probability_gradient, logits.rows(), "log_probability_gradient", "multi_categorical");
        require_size(entropy_gradient, logits.rows(), "entropy_gradient", "multi_categorical");
        require_shape(output_gradient, logits.rows(), logits.cols(), "output_gradient", "multi_categorical");
        require_actions(actions);
        for_each_component([&](std::size_t k, std::size_t first, std::size_t count) {
            detail::softmax_gradient(logits.middle_cols(first, count), actions.middle_cols(k, 1),
                                     as_column(log_probability_gradient), as_column(entropy_gradient),
                                     output_gradient.middle_cols(first, count));
        });
    }

private:
    /// visit(component, its first column of the outputs, how many it has)
    template <class Visit>
    void for_each_component(Visit&& visit) const {
        for (std::size_t k = 0, first = 0; k < space.size(); first += space.counts[k], ++k)
            visit(k, first, space.counts[k]);
    }

    static void require_free(std::size_t count) {
        require(count == 0, "multi_categorical: {} free parameters were given, but it has none", count);
    }
    template <class T>
    void require_shapes(matrix_view<T> const& logits, std::size_t free, std::size_t rows, std::size_t cols) const {
        std::size_t sum = 0;
        for_each_component([&](std::size_t k, std::size_t, std::size_t count) {
            require(count > 0, "multi_categorical: component {} has no values", k);
            sum += count;
        });
        require(sum > 0 && logits.cols() == sum,
                "multi_categorical: outputs has {} columns, but the {} components have {} values", logits.cols(),
                space.size(), sum);
        require(rows == logits.rows() && cols == space.size(),
                "multi_categorical: actions is {} x {}, but must be {} x {}", rows, cols, logits.rows(), space.size());
        require_free(free);
    }
    template <class T>
    void require_actions(matrix_view<T const> const& actions) const {
        for (std::size_t i = 0; i < actions.rows(); ++i)
            for (std::size_t k = 0; k < actions.cols(); ++k) {
                auto const action = static_cast<double>(actions(i, k));
                require(action >= 0.0 && action < static_cast<double>(space.counts[k]) && action == std::floor(action),
                        "multi_categorical: component {} of the action of row {} is {}, but must be one of 0 … {}", k,
                        i, action, space.counts[k] - 1);
            }
    }
};

} // namespace gmac::inline GMAC_ABI::actors
