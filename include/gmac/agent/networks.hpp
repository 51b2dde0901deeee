// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/options.hpp>
#include <gmac/agent/value_network.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/nn/linear.hpp>
#include <gmac/nn/module.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace gmac {

/// Actor and critic: one trunk for both or one each, a linear layer for the actor, and the head's network. Their
/// parameters lie one after the other in a flat range of the caller's: trunk, actor, the actor's free parameters, the
/// critic's own trunk if it has one, value network. So what a policy needs (gmac/deploy/policy.hpp) comes first.
template <class Actor, class Head, class Backend, class Trunk>
class actor_critic_networks {
public:
    using backend_type = Backend;
    using trunk_type = Trunk;
    using scalar = typename Backend::scalar;
    using value_net = value_network<Head, Backend>;
    /// What the trunk reads, and what the environments give: bytes if the trunk reads bytes, or else floats.
    using input_type = nn::input_of<Trunk, scalar>;
    using observation_type = std::conditional_t<std::same_as<input_type, std::uint8_t>, std::uint8_t, float>;

    /// Memory for the passes of one thread over up to `rows` states.
    struct workspace {
        std::size_t rows;
        typename Trunk::tape trunk, critic_trunk;
        typename nn::linear<Backend>::tape actor;
        typename value_net::tape value;
        buffer<input_type> observations;                          // [rows, inputs], if they have to be converted
        buffer<scalar> actor_gradient, value_gradient;            // [rows, outputs]
        buffer<scalar> feature_gradient, critic_feature_gradient; // [rows, F]
        matrix_view<scalar const> features{}, critic_features{};  // of the last forward passes, [n, F]
    };

    actor_critic_networks(Trunk trunk, Actor const& actor, Head const& head, action_space const& space,
                          agent_options const& options)
        : trunk_(std::move(trunk)),
          actor_(trunk_.outputs(), actor.output_size(space), {.gain = options.actor_gain}),
          value_(head, trunk_.outputs(), options.value_gain),
          value_outputs_(head.output_size()),
          free_count_(actor.free_parameter_count(space)),
          shared_(options.shared_trunk) {
        std::size_t offset = 0;
        auto const take = [&offset](std::size_t count) {
            range const taken{offset, count};
            offset += count;
            return taken;
        };
        trunk_range_ = take(trunk_.parameter_count());
        actor_range_ = take(actor_.parameter_count());
        free_range_ = take(free_count_);
        critic_trunk_range_ = shared_ ? trunk_range_ : take(trunk_.parameter_count());
        value_range_ = take(value_.parameter_count());
        parameter_count_ = offset;
    }

    [[nodiscard]] std::size_t parameter_count() const noexcept { return parameter_count_; }
    [[nodiscard]] std::size_t inputs() const noexcept { return trunk_.inputs(); }
    [[nodiscard]] std::size_t actor_outputs() const noexcept { return actor_.outputs(); }
    [[nodiscard]] std::size_t value_outputs() const noexcept { return value_outputs_; }
    [[nodiscard]] Trunk const& trunk() const noexcept { return trunk_; }

    /// The actor's parameters that do not depend on the state.
    template <class T>
    [[nodiscard]] std::span<T> free(std::span<T> parameters) const noexcept {
        return free_range_.of(parameters);
    }

    void initialize(std::span<scalar> parameters, Actor const& actor, random_stream& random) const {
        trunk_.initialize(trunk_range_.of(parameters), random);
        actor_.initialize(actor_range_.of(parameters), random);
        actor.initialize(free(parameters));
        if (!shared_)
            trunk_.initialize(critic_trunk_range_.of(parameters), random);
        value_.initialize(value_range_.of(parameters), random);
    }

    /// visit(name, offset, rows, columns) for every tensor of the flat range, in its order.
    template <class Visit>
    void describe(Visit&& visit) const {
        auto const prefixed = [&visit](std::string_view prefix, range const& part) {
            return [&visit, prefix, first = part.first](std::string_view name, std::size_t offset, std::size_t rows,
                                                        std::size_t cols) {
                visit(fmt::format("{}.{}", prefix, name), first + offset, rows, cols);
            };
        };
        trunk_.describe(prefixed(shared_ ? "trunk" : "actor_trunk", trunk_range_));
        actor_.describe(prefixed("actor", actor_range_));
        if (free_count_ > 0)
            visit(std::string("actor.free"), free_range_.first, std::size_t{1}, free_count_);
        if (!shared_)
            trunk_.describe(prefixed("critic_trunk", critic_trunk_range_));
        value_.describe(prefixed("value", value_range_));
    }

    [[nodiscard]] workspace make_workspace(std::size_t rows) const {
        std::size_t const features = trunk_.outputs();
        return {rows,
                trunk_.make_tape(rows),
                trunk_.make_tape(shared_ ? 0 : rows),
                actor_.make_tape(rows),
                value_.make_tape(rows),
                buffer<input_type>(in_place ? 0 : rows * inputs()),
                buffer<scalar>(rows * actor_outputs()),
                buffer<scalar>(rows * value_outputs_),
                buffer<scalar>(rows * features),
                buffer<scalar>(rows * features)};
    }

    /// Observations [n, inputs] as the trunk reads them: the view itself, or a copy in the workspace.
    [[nodiscard]] matrix_view<input_type const> input(matrix_view<observation_type const> observations,
                                                      workspace& work) const {
        require_shape(observations, observations.rows(), inputs(), "observations", "actor_critic");
        require(observations.rows() <= work.rows, "actor_critic: {} observations, but the workspace was made for {}",
                observations.rows(), work.rows);
        if constexpr (in_place) {
            return observations;
        } else {
            for (std::size_t i = 0; i < observations.rows(); ++i)
                for (std::size_t j = 0; j < inputs(); ++j)
                    work.observations[i * inputs() + j] = static_cast<input_type>(observations(i, j));
            return {work.observations.data(), observations.rows(), inputs()};
        }
    }

    /// states [n, inputs] → outputs of the actor's layer [n, actor_outputs]
    matrix_view<scalar const> actor_forward(std::span<scalar const> parameters, matrix_view<input_type const> states,
                                            workspace& work) const {
        work.features = trunk_.forward(trunk_range_.of(parameters), states, work.trunk);
        return actor_.forward(actor_range_.of(parameters), work.features, work.actor);
    }

    /// states [n, inputs] → what a loss takes as outputs of the head. With a shared trunk, `after_actor` says that
    /// actor_forward has just run on the same states.
    auto value_forward(std::span<scalar const> parameters, matrix_view<input_type const> states, random_stream& random,
                       workspace& work, bool after_actor = false) const {
        if (!shared_)
            work.critic_features = trunk_.forward(critic_trunk_range_.of(parameters), states, work.critic_trunk);
        else
            work.critic_features =
                after_actor ? work.features : trunk_.forward(trunk_range_.of(parameters), states, work.trunk);
        return value_.predict(value_range_.of(parameters), work.critic_features, random, work.value);
    }

    /// After actor_forward and value_forward on the same states: from the gradients in work.actor_gradient and
    /// work.value_gradient to the gradient of all parameters but the actor's free ones.
    void backward(std::span<scalar const> parameters, matrix_view<input_type const> states, workspace& work,
                  std::span<scalar> gradient) const {
        std::size_t const rows = states.rows();
        std::size_t const width = trunk_.outputs();
        matrix_view<scalar> const feature_gradient(work.feature_gradient.data(), rows, width);
        matrix_view<scalar> const critic_gradient(work.critic_feature_gradient.data(), rows, width);
        actor_.backward(actor_range_.of(parameters), work.features, work.actor,
                        {work.actor_gradient.data(), rows, actor_outputs()}, actor_range_.of(gradient),
                        feature_gradient);
        value_.backward(value_range_.of(parameters), work.critic_features, work.value,
                        {work.value_gradient.data(), rows, value_outputs_}, value_range_.of(gradient), critic_gradient);
        if (shared_)
            for (std::size_t i = 0; i < rows * width; ++i)
                work.feature_gradient[i] += work.critic_feature_gradient[i];
        else
            trunk_.backward(critic_trunk_range_.of(parameters), states, work.critic_trunk, critic_gradient,
                            critic_trunk_range_.of(gradient), {});
        trunk_.backward(trunk_range_.of(parameters), states, work.trunk, feature_gradient, trunk_range_.of(gradient),
                        {});
    }

private:
    static constexpr bool in_place = std::same_as<input_type, observation_type>;

    struct range {
        std::size_t first = 0;
        std::size_t count = 0;

        template <class T>
        [[nodiscard]] std::span<T> of(std::span<T> all) const noexcept {
            return all.subspan(first, count);
        }
    };

    Trunk trunk_;
    nn::linear<Backend> actor_;
    value_net value_;
    std::size_t value_outputs_;
    std::size_t free_count_;
    bool shared_;
    range trunk_range_, actor_range_, free_range_, critic_trunk_range_, value_range_;
    std::size_t parameter_count_ = 0;
};

} // namespace gmac
