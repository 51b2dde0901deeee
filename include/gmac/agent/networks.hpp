// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/options.hpp>
#include <gmac/agent/policy_network.hpp>
#include <gmac/agent/value_network.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/nn/linear.hpp>
#include <gmac/nn/module.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace gmac::inline GMAC_ABI {

/// Actor and critic: one trunk for both or one each, a linear layer for the actor, the head's network, and of an agent that
/// explores a linear layer for the value of its intrinsic rewards, on the critic's trunk. Their parameters lie one after the
/// other in a flat range of the caller's: the policy's, the critic's own trunk if it has one, value network, this layer.
template <class Actor, class Head, class Backend, class Trunk>
class actor_critic_networks {
public:
    using backend_type = Backend;
    using trunk_type = Trunk;
    using policy_type = policy_network<Backend, Trunk>;
    using value_net = value_network<Head, Backend>;
    using scalar = typename policy_type::scalar;
    using input_type = typename policy_type::input_type;
    using observation_type = typename policy_type::observation_type;

    /// Memory for the passes of one thread over up to `rows` states.
    struct workspace {
        typename policy_type::workspace policy;
        typename Trunk::workspace critic_trunk;
        typename value_net::workspace value;
        typename nn::linear<Backend>::workspace intrinsic;
        buffer<scalar> actor_gradient, value_gradient, intrinsic_gradient;                    // [rows, outputs]
        buffer<scalar> feature_gradient, critic_feature_gradient, intrinsic_feature_gradient; // [rows, F]
        matrix_view<scalar const> critic_features{}; // of the last forward pass, [n, F]
    };

    actor_critic_networks(Trunk trunk, Actor const& actor, Head const& head, action_space const& space,
                          agent_options const& options)
        : policy_(make_policy(std::move(trunk), actor, space, options)),
          value_(head, policy_.trunk().outputs(), options.value_gain),
          value_outputs_(head.output_size()),
          shared_(options.shared_trunk) {
        if (options.exploration)
            intrinsic_.emplace(this->trunk().outputs(), 1, nn::linear_options{.gain = options.value_gain});
    }

    [[nodiscard]] policy_type const& policy() const noexcept { return policy_; }
    [[nodiscard]] Trunk const& trunk() const noexcept { return policy_.trunk(); }
    [[nodiscard]] std::size_t parameter_count() const noexcept {
        return first_intrinsic() + (explores() ? intrinsic_->parameter_count() : 0);
    }
    [[nodiscard]] std::size_t inputs() const noexcept { return policy_.inputs(); }
    [[nodiscard]] std::size_t actor_outputs() const noexcept { return policy_.outputs(); }
    [[nodiscard]] std::size_t value_outputs() const noexcept { return value_outputs_; }
    /// Whether there is a value of intrinsic rewards.
    [[nodiscard]] bool explores() const noexcept { return intrinsic_.has_value(); }

    /// The critic's parts of the flat range; its trunk may be the policy's.
    template <class T>
    [[nodiscard]] std::span<T> critic_trunk_part(std::span<T> parameters) const noexcept {
        return parameters.subspan(shared_ ? 0 : policy_.parameter_count(), trunk().parameter_count());
    }
    template <class T>
    [[nodiscard]] std::span<T> value_part(std::span<T> parameters) const noexcept {
        return parameters.subspan(first_value(), value_.parameter_count());
    }

    void initialize(std::span<scalar> parameters, Actor const& actor, random_stream& random) const {
        policy_.initialize(parameters, actor, random);
        if (!shared_)
            trunk().initialize(critic_trunk_part(parameters), random);
        value_.initialize(value_part(parameters), random);
        if (explores())
            intrinsic_->initialize(intrinsic_part(parameters), random);
    }

    /// visit(name, offset, rows, columns) for every tensor of the flat range, in its order.
    template <class Visit>
    void describe(Visit&& visit) const {
        policy_.describe(visit, shared_ ? "trunk" : "actor_trunk");
        if (!shared_)
            nn::describe_part(trunk(), "critic_trunk", policy_.parameter_count(), visit);
        nn::describe_part(value_, "value", first_value(), visit);
        if (explores())
            nn::describe_part(*intrinsic_, "intrinsic_value", first_intrinsic(), visit);
    }

    [[nodiscard]] workspace make_workspace(std::size_t rows) const { return make_workspace(rows, true, true); }
    /// For the policy's passes, the critic's or both; a shared trunk is of both.
    [[nodiscard]] workspace make_workspace(std::size_t rows, bool policy, bool critic) const {
        std::size_t const features = trunk().outputs();
        std::size_t const acting = policy ? rows : 0;
        std::size_t const judging = critic ? rows : 0;
        std::size_t const exploring = explores() ? judging : 0;
        workspace made{.policy = policy_.make_workspace(rows, acting),
                       .critic_trunk = trunk().make_workspace(shared_ ? 0 : judging),
                       .value = value_.make_workspace(judging),
                       .intrinsic = {},
                       .actor_gradient = buffer<scalar>(acting * actor_outputs()),
                       .value_gradient = buffer<scalar>(judging * value_outputs_),
                       .intrinsic_gradient = buffer<scalar>(exploring),
                       .feature_gradient = buffer<scalar>(acting * features),
                       .critic_feature_gradient = buffer<scalar>(judging * features),
                       .intrinsic_feature_gradient = buffer<scalar>(exploring * features)};
        if (explores())
            made.intrinsic = intrinsic_->make_workspace(exploring);
        return made;
    }

    /// Observations [n, inputs] as the trunks read them: the view itself, or a copy in the workspace.
    [[nodiscard]] matrix_view<input_type const> input(matrix_view<observation_type const> observations,
                                                      workspace& work) const {
        return policy_.input(observations, work.policy);
    }
    /// states [n, inputs] → what a loss takes as outputs of the head. With a shared trunk, `after_policy` says that the
    /// policy's forward pass has just run on the same states.
    auto value_forward(std::span<scalar const> parameters, matrix_view<input_type const> states, random_stream& random,
                       workspace& work, bool after_policy = false) const {
        if (!shared_)
            work.critic_features = trunk().forward(critic_trunk_part(parameters), states, work.critic_trunk);
        else
            work.critic_features =
                after_policy ? work.policy.features : policy_.trunk_forward(parameters, states, work.policy);
        return value_.predict(value_part(parameters), work.critic_features, random, work.value);
    }
    /// After value_forward on n states, the value of their intrinsic rewards, [n, 1]. Only of an agent that explores.
    matrix_view<scalar const> intrinsic_values(std::span<scalar const> parameters, workspace& work) const {
        return intrinsic_->forward(intrinsic_part(parameters), work.critic_features, work.intrinsic);
    }

    /// After value_forward on the same states: from the gradients in work.value_gradient and work.intrinsic_gradient to that of
    /// the critic's parameters and, with a shared trunk, of its features.
    void critic_backward(std::span<scalar const> parameters, matrix_view<input_type const> states, workspace& work,
                         std::span<scalar> gradient) const {
        std::size_t const rows = states.rows();
        std::size_t const width = trunk().outputs();
        matrix_view<scalar> const feature_gradient(work.critic_feature_gradient.data(), rows, width);
        value_.backward(value_part(parameters), work.critic_features, work.value,
                        {work.value_gradient.data(), rows, value_outputs_}, value_part(gradient), feature_gradient);
        if (explores()) {
            intrinsic_->backward(intrinsic_part(parameters), work.critic_features, work.intrinsic,
                                 {work.intrinsic_gradient.data(), rows, 1}, intrinsic_part(gradient),
                                 {work.intrinsic_feature_gradient.data(), rows, width});
            for (std::size_t i = 0; i < rows * width; ++i)
                work.critic_feature_gradient[i] += work.intrinsic_feature_gradient[i];
        }
        if (!shared_)
            trunk().backward(critic_trunk_part(parameters), states, work.critic_trunk, feature_gradient,
                             critic_trunk_part(gradient), {});
    }
    /// After policy().forward and, with a shared trunk, critic_backward on the same states: from the gradient in
    /// work.actor_gradient to that of the policy's parameters but the actor's free ones.
    void policy_backward(std::span<scalar const> parameters, matrix_view<input_type const> states, workspace& work,
                         std::span<scalar> gradient) const {
        std::size_t const rows = states.rows();
        std::size_t const width = trunk().outputs();
        matrix_view<scalar> const feature_gradient(work.feature_gradient.data(), rows, width);
        policy_.layer_backward(parameters, work.policy, {work.actor_gradient.data(), rows, actor_outputs()}, gradient,
                               feature_gradient);
        if (shared_)
            for (std::size_t i = 0; i < rows * width; ++i)
                work.feature_gradient[i] += work.critic_feature_gradient[i];
        policy_.trunk_backward(parameters, states, work.policy, feature_gradient, gradient);
    }

private:
    [[nodiscard]] static policy_type make_policy(Trunk trunk, Actor const& actor, action_space const& space,
                                                 agent_options const& options) {
        actor_shape const shape(actor, space, trunk.outputs());
        return policy_type(std::move(trunk), shape, {.gain = options.actor_gain});
    }

    [[nodiscard]] std::size_t first_value() const noexcept {
        return policy_.parameter_count() + (shared_ ? 0 : trunk().parameter_count());
    }
    [[nodiscard]] std::size_t first_intrinsic() const noexcept { return first_value() + value_.parameter_count(); }
    template <class T>
    [[nodiscard]] std::span<T> intrinsic_part(std::span<T> parameters) const noexcept {
        return parameters.subspan(first_intrinsic(), intrinsic_->parameter_count());
    }

    policy_type policy_;
    value_net value_;
    std::optional<nn::linear<Backend>> intrinsic_;
    std::size_t value_outputs_;
    bool shared_;
};

} // namespace gmac::inline GMAC_ABI
