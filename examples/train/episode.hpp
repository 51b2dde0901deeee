// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer.hpp"

#include <gmac/environment/environment.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gmac::examples::train {

/// One episode: what was seen before each step, and what each step gave.
struct episode {
    std::vector<std::vector<float>> observations;
    std::vector<double> rewards;

    /// The discounted return from each step on, up to the last reward.
    [[nodiscard]] std::vector<double> returns(double discount) const {
        std::vector<double> result(rewards.size());
        double sum = 0.0;
        for (std::size_t t = rewards.size(); t-- > 0;)
            result[t] = sum = rewards[t] + discount * sum;
        return result;
    }
};

/// Plays one episode of a batch of one environment with the most likely actions.
[[nodiscard]] inline episode play_episode(trainer& agent, environment_batch& world) {
    std::vector<float> observation(world.observation_size()), action(action_size(world.action_space())), reward(1);
    std::vector<std::uint8_t> terminated(1), truncated(1);
    matrix_view<float> const row(observation.data(), 1, observation.size());
    episode played;
    world.reset(row);
    do {
        played.observations.push_back(observation);
        agent.act(observation, action);
        world.step(matrix_view<float const>(action.data(), 1, action.size()), {row, {}, reward, terminated, truncated});
        played.rewards.push_back(static_cast<double>(reward[0]));
    } while (!terminated[0] && !truncated[0]);
    return played;
}

} // namespace gmac::examples::train
