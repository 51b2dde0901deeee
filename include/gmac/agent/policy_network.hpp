// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/actors/actor.hpp>
#include <gmac/actors/to_environment.hpp>
#include <gmac/agent/detail/state_input.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/nn/backend.hpp>
#include <gmac/nn/linear.hpp>
#include <gmac/nn/module.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace gmac::inline GMAC_ABI {

/// From observations to actions: a trunk, the actor's linear layer, and the actor's parameters that do not depend on the
/// state. What acts in training, in evaluation and in a deployed policy is this. Its parameters lie one after the other in
/// a flat range of the caller's: trunk, layer, free parameters.
template <nn::backend Backend, class Trunk>
class policy_network {
public:
    using scalar = typename Backend::scalar;
    /// What the trunk reads, and what the environments give: bytes if the trunk reads bytes, or else floats.
    using input_type = typename detail::state_input<scalar, Trunk>::input_type;
    using observation_type = typename detail::state_input<scalar, Trunk>::observation_type;

    /// Memory for the passes of one thread over up to `rows` states.
    struct workspace {
        detail::state_input<scalar, Trunk> observations;
        typename Trunk::workspace trunk;
        typename nn::linear<Backend>::workspace layer;
        buffer<scalar> seen; // [rows, outputs], what the actor sees if these are not the layer's outputs
        matrix_view<scalar const> features{}; // of the last forward pass, [n, F]
    };

    policy_network(Trunk trunk, actor_shape const& actor, nn::linear_options options = {})
        : trunk_(std::move(trunk)), actor_(actor), layer_(trunk_.outputs(), actor.outputs, options) {}

    [[nodiscard]] Trunk const& trunk() const noexcept { return trunk_; }
    [[nodiscard]] std::size_t inputs() const noexcept { return trunk_.inputs(); }
    [[nodiscard]] std::size_t layer_outputs() const noexcept { return actor_.outputs; }
    /// Columns that the actor sees: those of its layer, and the features if it reads them.
    [[nodiscard]] std::size_t outputs() const noexcept { return actor_.outputs + actor_.features; }
    [[nodiscard]] std::size_t parameter_count() const noexcept { return first_free() + actor_.free; }

    /// The parts of the flat range, or of a longer one that begins with it.
    template <class T>
    [[nodiscard]] std::span<T> trunk_part(std::span<T> parameters) const noexcept {
        return parameters.first(trunk_.parameter_count());
    }
    template <class T>
    [[nodiscard]] std::span<T> layer_part(std::span<T> parameters) const noexcept {
        return parameters.subspan(trunk_.parameter_count(), layer_.parameter_count());
    }
    /// The actor's parameters that do not depend on the state.
    template <class T>
    [[nodiscard]] std::span<T> free(std::span<T> parameters) const noexcept {
        return parameters.subspan(first_free(), actor_.free);
    }

    template <class Actor>
    void initialize(std::span<scalar> parameters, Actor const& actor, random_stream& random) const {
        trunk_.initialize(trunk_part(parameters), random);
        layer_.initialize(layer_part(parameters), random);
        initialize_actor(actor, free(parameters), trunk_.outputs());
    }

    /// visit(name, offset, rows, columns) for every tensor of the flat range, in its order.
    template <class Visit>
    void describe(Visit&& visit, std::string_view trunk_name = "trunk") const {
        nn::describe_part(trunk_, trunk_name, 0, visit);
        nn::describe_part(layer_, "actor", trunk_.parameter_count(), visit);
        if (actor_.free > 0)
            visit(std::string("actor.free"), first_free(), std::size_t{1}, actor_.free);
    }

    [[nodiscard]] workspace make_workspace(std::size_t rows) const { return make_workspace(rows, rows); }
    /// For `rows` states that are brought to the trunk's number type, and passes of as many as `passing` of them.
    [[nodiscard]] workspace make_workspace(std::size_t rows, std::size_t passing) const {
        return {{rows, inputs()},
                trunk_.make_workspace(passing),
                layer_.make_workspace(passing),
                buffer<scalar>(passing * outputs())};
    }

    /// Observations [n, inputs] as the trunk reads them: the view itself, or a copy in the workspace.
    [[nodiscard]] matrix_view<input_type const> input(matrix_view<observation_type const> observations,
                                                      workspace& work) const {
        return work.observations.of(observations);
    }

    /// states [n, inputs] → the trunk's features [n, F]
    matrix_view<scalar const> trunk_forward(std::span<scalar const> parameters, matrix_view<input_type const> states,
                                            workspace& work) const {
        return work.features = trunk_.forward(trunk_part(parameters), states, work.trunk);
    }
    /// states [n, inputs] → what the actor sees, [n, outputs]
    matrix_view<scalar const> forward(std::span<scalar const> parameters, matrix_view<input_type const> states,
                                      workspace& work) const {
        auto const of_layer =
            layer_.forward(layer_part(parameters), trunk_forward(parameters, states, work), work.layer);
        if (actor_.features == 0)
            return of_layer;
        matrix_view<scalar> const seen(work.seen.data(), states.rows(), outputs());
        for (std::size_t i = 0; i < seen.rows(); ++i) {
            for (std::size_t j = 0; j < actor_.outputs; ++j)
                seen(i, j) = of_layer(i, j);
            for (std::size_t f = 0; f < actor_.features; ++f)
                seen(i, actor_.outputs + f) = work.features(i, f);
        }
        return seen;
    }

    /// The outputs with −∞ for the actions that the masks [n, layer outputs] forbid by 0, so that these have
    /// the probability 0 and get no gradient; the outputs themselves if there are no masks. Throws gmac::error for masks of
    /// another shape.
    matrix_view<scalar const> masked(matrix_view<scalar const> outputs, matrix_view<std::uint8_t const> masks,
                                     workspace& work) const {
        if (masks.empty())
            return outputs;
        require_shape(masks, outputs.rows(), actor_.outputs, "the matrix of action masks", "policy");
        // Features are in their place here already.
        matrix_view<scalar> const allowed(work.seen.data(), outputs.rows(), outputs.cols());
        for (std::size_t i = 0; i < outputs.rows(); ++i)
            for (std::size_t j = 0; j < actor_.outputs; ++j)
                allowed(i, j) = masks(i, j) != 0 ? outputs(i, j) : -std::numeric_limits<scalar>::infinity();
        return allowed;
    }

    /// Acts on observations [n, inputs]: choose(outputs, free parameters, sampled) writes the actor's actions, [n, action
    /// size], and `actions` are these as the environments take them. `masks` [n, outputs] forbid discrete actions by 0; an
    /// empty view forbids none. Returns the outputs as the actor saw them. Throws gmac::error for masks of another shape and
    /// for one that forbids all actions, or all values of a component.
    template <class Choose>
    matrix_view<scalar const> act(std::span<scalar const> parameters, matrix_view<observation_type const> observations,
                                  action_space const& space, Choose&& choose, matrix_view<scalar> sampled,
                                  matrix_view<float> actions, workspace& work,
                                  matrix_view<std::uint8_t const> masks = {}) const {
        require_shape(actions, observations.rows(), sampled.cols(), "actions", "policy");
        if (!masks.empty())
            check_masks(masks, observations.rows(), space);
        auto const outputs = masked(forward(parameters, input(observations, work), work), masks, work);
        choose(outputs, free(parameters), sampled);
        to_environment(space, matrix_view<scalar const>(sampled), actions);
        return outputs;
    }

    /// After a forward pass on the same states: from the gradient of the outputs to those of the layer's parameters and of
    /// the features.
    void layer_backward(std::span<scalar const> parameters, workspace& work, matrix_view<scalar const> output_gradient,
                        std::span<scalar> gradient, matrix_view<scalar> feature_gradient) const {
        layer_.backward(layer_part(parameters), work.features, work.layer,
                        output_gradient.middle_cols(0, actor_.outputs), layer_part(gradient), feature_gradient);
        for (std::size_t i = 0; i < output_gradient.rows() && actor_.features > 0; ++i)
            for (std::size_t f = 0; f < actor_.features; ++f)
                feature_gradient(i, f) += output_gradient(i, actor_.outputs + f);
    }
    /// And on to those of the trunk's parameters.
    void trunk_backward(std::span<scalar const> parameters, matrix_view<input_type const> states, workspace& work,
                        matrix_view<scalar const> feature_gradient, std::span<scalar> gradient) const {
        trunk_.backward(trunk_part(parameters), states, work.trunk, feature_gradient, trunk_part(gradient), {});
    }

private:
    static void check_masks(matrix_view<std::uint8_t const> masks, std::size_t rows, action_space const& space) {
        auto const counts = action_counts(space);
        require(!counts.empty(),
                "policy: there are action masks, but the action space is a box; masks are for discrete actions");
        require_shape(masks, rows, mask_size(space), "the matrix of action masks", "policy");
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t k = 0, first = 0; k < counts.size(); first += counts[k], ++k) {
                bool any = false;
                for (std::size_t j = first; j < first + counts[k]; ++j)
                    any = any || masks(i, j) != 0;
                require(any || counts.size() > 1,
                        "policy: the action mask of row {} forbids all of the {} actions, but must allow at least one",
                        i, counts[k]);
                require(
                    any,
                    "policy: the action mask of row {} forbids all of the {} values of component {}, but must allow at "
                    "least one",
                    i, counts[k], k);
            }
    }

    [[nodiscard]] std::size_t first_free() const noexcept {
        return trunk_.parameter_count() + layer_.parameter_count();
    }

    Trunk trunk_;
    actor_shape actor_;
    nn::linear<Backend> layer_;
};

} // namespace gmac::inline GMAC_ABI
