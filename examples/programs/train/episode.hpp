// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "output/value_panel.hpp"
#include "settings.hpp"

#include <gmac/environment/environment.hpp>
#include <gmac/train/trainer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace gmac::examples::train {

/// One episode: what was seen before each step, and what each step gave.
struct episode {
    std::vector<std::vector<float>> observations; ///< one more than there are steps
    std::vector<double> rewards;
    bool terminated = false; ///< else it would have gone on

    /// The discounted return from each step on; `after` is the value of what comes after an episode that was cut.
    [[nodiscard]] std::vector<double> returns(double discount, double after) const {
        std::vector<double> result(rewards.size());
        double sum = terminated ? 0.0 : after;
        for (std::size_t t = rewards.size(); t-- > 0;)
            result[t] = sum = rewards[t] + discount * sum;
        return result;
    }
};

/// Plays one episode of a batch of one environment with the most likely actions, or the first `most_steps` steps of it.
/// `before_step` is called when the environment is in the state that the last observation is of.
[[nodiscard]] inline episode play_episode(
    trainer& agent, environment_batch& world, std::size_t most_steps = (std::numeric_limits<std::size_t>::max)(),
    std::function<void()> const& before_step = [] {}) {
    std::vector<float> observation(world.observation_size()), last(observation), reward(1);
    std::vector<float> action(action_size(world.action_space()));
    std::vector<std::uint8_t> terminated(1), truncated(1);
    auto const row = [](auto& values) { return matrix_view<float>(values.data(), 1, values.size()); };
    episode played;
    world.reset(row(observation));
    played.observations.push_back(observation);
    while (played.rewards.size() < most_steps && !terminated[0] && !truncated[0]) {
        before_step();
        agent.act(observation, action, world.action_masks());
        world.step(row(action), {row(observation), row(last), reward, terminated, truncated});
        played.rewards.push_back(static_cast<double>(reward[0]));
        played.observations.push_back(terminated[0] || truncated[0] ? last : observation);
    }
    played.terminated = terminated[0] != 0;
    return played;
}

/// Points of unequal weight as a density to look at: each is as wide as half of what it is away from its neighbours.
[[nodiscard]] inline std::vector<value_component> widened(std::vector<value_component> points) {
    for (std::size_t i = 0; i < points.size(); ++i) {
        auto const& below = points[i > 0 ? i - 1 : 0];
        auto const& above = points[(std::min)(i + 1, points.size() - 1)];
        double const gaps = i > 0 && i + 1 < points.size() ? 2.0 : 1.0;
        points[i].deviation = 0.5 * (above.mean - below.mean) / gaps;
    }
    return points;
}

/// The panel of a state by its value distribution; `scale` reward units are one unit of what the agent learns.
[[nodiscard]] inline value_panel panel_of(std::size_t step, double return_to_go,
                                          std::vector<value_component> const& parts, double scale) {
    value_panel panel{.step = step, .return_to_go = scale * return_to_go};
    bool const points =
        parts.size() > 1 && std::ranges::all_of(parts, [](auto const& part) { return part.deviation == 0.0; });
    bool const samples =
        points && std::ranges::all_of(parts, [&](auto const& part) { return part.weight == parts[0].weight; });
    for (auto const& [weight, mean, deviation] : points && !samples ? widened(parts) : parts)
        if (samples)
            panel.samples.push_back(scale * mean);
        else
            panel.components.push_back({weight, scale * mean, scale * deviation});
    return panel;
}

/// The panels of states whose steps and returns are not known.
[[nodiscard]] inline std::vector<value_panel> panels_of(std::vector<std::vector<value_component>> const& values,
                                                        double scale) {
    std::vector<value_panel> panels;
    for (auto const& parts : values)
        panels.push_back(panel_of(0, std::numeric_limits<double>::quiet_NaN(), parts, scale));
    return panels;
}

/// The value distribution of step `step` of an episode, with what the episode brought from there on.
[[nodiscard]] inline value_panel value_at(trainer& agent, episode const& played, std::size_t step,
                                          std::span<double const> returns, double scale) {
    return panel_of(step, returns[step], agent.value_distribution(played.observations[step]), scale);
}

/// Returns of an episode, with the agent's own value of the last state if the episode was cut there.
[[nodiscard]] inline std::vector<double> returns_of(trainer& agent, episode const& played, double discount) {
    double after = 0.0;
    for (auto const& part : agent.value_distribution(played.observations.back()))
        after += part.weight * part.mean;
    return played.returns(discount, after);
}

} // namespace gmac::examples::train
