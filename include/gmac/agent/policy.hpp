// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/buffer.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/environment/observation_stack.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gmac::inline GMAC_ABI {

/// What an agent has learned to do, with memory of its own: several may be used at once while nobody trains.
/// It reads the agent's parameters, which must outlive it.
template <class Agent>
class policy {
public:
    using scalar = typename Agent::scalar;
    using observation_type = typename Agent::observation_type;

    policy(Agent const& agent, std::size_t rows)
        : agent_(agent), work_(agent.networks().make_workspace(rows)), sampled_(rows * agent.action_size()) {}

    /// The most likely action of each state: observations [n, state size] → actions [n, action size], n <= rows. If the
    /// environments ask for a history, a row has all observations of the state, as observation_stack gives them.
    /// `masks` [n, mask size] forbid discrete actions by 0, as the environments' action_masks(); an empty view forbids none.
    void act(matrix_view<observation_type const> observations, matrix_view<float> actions,
             matrix_view<std::uint8_t const> masks = {}) {
        act(observations, actions, masks,
            [&](auto outputs, auto free, auto sampled) { agent_.actor().mode(outputs, free, sampled); });
    }
    /// One observation; nothing is allocated.
    void act(std::span<observation_type const> observation, std::span<float> action,
             std::span<std::uint8_t const> mask = {}) {
        act(matrix_view<observation_type const>(observation.data(), 1, observation.size()),
            matrix_view<float>(action.data(), 1, action.size()),
            matrix_view<std::uint8_t const>(mask.data(), 1, mask.size()));
    }
    /// An action of each state at random, with one stream a row; action_streams keep an actor's noise for some steps.
    void sample(matrix_view<observation_type const> observations, std::span<random_stream> streams,
                matrix_view<float> actions, matrix_view<std::uint8_t const> masks = {}) {
        act(observations, actions, masks,
            [&](auto outputs, auto free, auto sampled) { agent_.actor().sample(outputs, free, streams, sampled); });
    }
    /// The value head's columns for each state, [n, head.output_size()], valid until the next call.
    [[nodiscard]] matrix_view<scalar const> value_outputs(matrix_view<observation_type const> observations,
                                                          random_stream& random) {
        auto const& networks = agent_.networks();
        auto const states = networks.input(observations, work_);
        return Agent::value_net::columns(networks.value_forward(agent_.parameters(), states, random, work_));
    }

private:
    template <class Choose>
    void act(matrix_view<observation_type const> observations, matrix_view<float> actions,
             matrix_view<std::uint8_t const> masks, Choose&& choose) {
        matrix_view<scalar> const sampled(sampled_.data(), observations.rows(), agent_.action_size());
        agent_.networks().policy().act(agent_.parameters(), observations, agent_.action_space(), choose, sampled,
                                       actions, work_.policy, masks);
    }

    Agent const& agent_;
    typename Agent::network_type::workspace work_;
    buffer<scalar> sampled_;
};

/// The first episode of each environment under the most likely actions, [E] in their order, with the undiscounted sum of
/// its rewards. For N episodes take N environments. Observations must reach the policy as in training: freeze the
/// statistics of a normalised batch.
template <class Policy>
[[nodiscard]] std::vector<finished_episode> evaluate(
    Policy& policy, basic_environment_batch<typename Policy::observation_type>& worlds) {
    using observation_type = typename Policy::observation_type;
    std::size_t const count = worlds.size();
    std::size_t const observed = worlds.observation_size();
    std::size_t const acted = action_size(worlds.action_space());
    std::vector<observation_type> observations(count * observed);
    std::vector<float> actions(count * acted), rewards(count);
    std::vector<std::uint8_t> terminated(count), truncated(count), done(count);
    std::vector<finished_episode> episodes(count);
    matrix_view<observation_type> const seen(observations.data(), count, observed);
    matrix_view<float> const chosen(actions.data(), count, acted);
    basic_step_result<observation_type> const result{seen, {}, rewards, terminated, truncated};
    observation_stack<observation_type> stack(worlds);
    worlds.reset(seen);
    stack.restart(seen);
    for (std::size_t left = count; left > 0;) {
        policy.act(stack.states(), chosen, worlds.action_masks());
        worlds.step(chosen, result);
        stack.advance(result);
        for (finished_episode const& episode : worlds.finished())
            if (!done[episode.environment]) {
                done[episode.environment] = 1;
                episodes[episode.environment] = episode;
                --left;
            }
    }
    return episodes;
}

} // namespace gmac::inline GMAC_ABI
