// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/intrinsic_reward.hpp>
#include <gmac/agent/random_network_distillation.hpp>
#include <gmac/agent/rollout.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/core/view.hpp>
#include <gmac/targets/gae.hpp>
#include <gmac/targets/one_step_distance.hpp>
#include <gmac/targets/rollout_view.hpp>

#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

/// Rewards for what is new to an agent, made for it and given to it: actor_critic::explore.
///
///     gmac::agents::gmac<gmac::actors::categorical> agent(worlds, {.exploration = gmac::exploration_options{}});
///     agent.explore(gmac::exploration::energy_distance(agent));
namespace gmac::inline GMAC_ABI::exploration {

namespace detail {

template <class T, class O>
[[nodiscard]] targets::rollout_view<T> steps_of(rollout<T, O> const& seen) {
    return {seen.rewards(), seen.terminated(), seen.truncated()};
}

/// An intrinsic_reward that is a function of (evaluated rollout, rewards).
template <class T, class O, class Function>
class measured final : public intrinsic_reward<T, O> {
public:
    explicit measured(Function function) : function_(std::move(function)) {}
    void measure(evaluated_rollout<T, O> const& seen, matrix_view<T> rewards, executor&) override {
        function_(seen, rewards);
    }

private:
    Function function_;
};

template <class Agent, class Function>
[[nodiscard]] auto measured_by(Agent const&, Function function)
    -> std::unique_ptr<intrinsic_reward<typename Agent::scalar, typename Agent::observation_type>> {
    using reward = measured<typename Agent::scalar, typename Agent::observation_type, Function>;
    return std::make_unique<reward>(std::move(function));
}

/// targets::one_step_distance by an agent's head and discount.
template <class Agent>
[[nodiscard]] auto distance_of(Agent const& agent) {
    return [head = agent.head(), distance = targets::one_step_distance{agent.options().discount}](auto const& seen,
                                                                                                  auto const& rewards) {
        distance(head, steps_of(seen.rollout), seen.outputs, rewards);
    };
}

template <class T, class Function>
void replace_each(matrix_view<T> const& rewards, Function function) {
    for (std::size_t t = 0; t < rewards.rows(); ++t)
        for (std::size_t e = 0; e < rewards.cols(); ++e)
            rewards(t, e) = function(rewards(t, e));
}

} // namespace detail

/// The energy distance between the value distribution of a state and its one-step target (the paper, section 5), see
/// targets::one_step_distance; with every head.
template <class Agent>
[[nodiscard]] auto energy_distance(Agent const& agent) {
    return detail::measured_by(agent, detail::distance_of(agent));
}

/// The same as a metric, the paper's l₂: the root of half the energy distance, √∫(F − G)² dx. For mixtures that differ little
/// it is proportional to the difference, and the energy distance to its square. The paper names both.
template <class Agent>
[[nodiscard]] auto cramer_distance(Agent const& agent) {
    return detail::measured_by(agent, [distance = detail::distance_of(agent)](auto const& seen, auto const& rewards) {
        distance(seen, rewards);
        detail::replace_each(rewards, [](auto energy) { return std::sqrt(energy / 2); });
    });
}

/// The magnitude of the TD error, |r + γ V(x') − V(x)|: what the paper compares with. V is the mean of the distribution, or
/// what the agent's `value_by` made of it.
template <class Agent>
[[nodiscard]] auto td_error(Agent const& agent) {
    return detail::measured_by(agent, [discount = agent.options().discount](auto const& seen, auto const& rewards) {
        using T = typename Agent::scalar;
        auto const states = seen.rollout.state_count();
        targets::gae const one_step{.discount = discount, .lambda = 0.0};
        one_step(detail::steps_of(seen.rollout), vector_view<T const>(seen.values.first(states)),
                 vector_view<T const>(seen.values.subspan(states)), rewards);
        detail::replace_each(rewards, [](T error) { return std::abs(error); });
    });
}

/// See gmac::random_network_distillation; its trunks are like the agent's.
template <class Agent>
[[nodiscard]] auto random_network_distillation(Agent const& agent,
                                               random_network_distillation_options const& options = {})
    -> std::unique_ptr<intrinsic_reward<typename Agent::scalar, typename Agent::observation_type>> {
    using networks = typename Agent::network_type;
    using reward = gmac::random_network_distillation<typename networks::backend_type, typename networks::trunk_type>;
    return std::make_unique<reward>(agent.experience(), agent.networks().trunk(), agent.options(), agent.seed(),
                                    options, agent.concurrency());
}

} // namespace gmac::inline GMAC_ABI::exploration
