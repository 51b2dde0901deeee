// SPDX-License-Identifier: Apache-2.0
#include "image_experiment.hpp"

#include "episode.hpp"

#include <gmac/deploy/policy_file.hpp>
#include <gmac/environment/observation_stack.hpp>

#include <utility>

namespace gmac::examples::train {

namespace {

/// States before each step of an episode, what each step gave, and whether the episode came to its end.
struct image_episode {
    std::vector<std::vector<std::uint8_t>> states;
    std::vector<double> rewards;
    bool ended = false;
};

/// Plays an episode of a batch of one game with the most likely actions, up to a number of steps.
[[nodiscard]] image_episode play(image_player& agent, image_player::batch& world, std::size_t most) {
    std::vector<std::uint8_t> observation(world.observation_size()), terminated(1), truncated(1);
    std::vector<float> action(1), reward(1);
    matrix_view<std::uint8_t> const seen(observation.data(), 1, observation.size());
    basic_step_result<std::uint8_t> const result{seen, {}, reward, terminated, truncated};
    observation_stack<std::uint8_t> stack(world);
    image_episode played;
    world.reset(seen);
    stack.restart(seen);
    while (!played.ended && played.rewards.size() < most) {
        auto const state = stack.states().row(0);
        played.states.emplace_back(state.data(), state.data() + state.size());
        agent.act(played.states.back(), action);
        world.step({action.data(), 1, 1}, result);
        stack.advance(result);
        played.rewards.push_back(static_cast<double>(reward[0]));
        played.ended = terminated[0] != 0 || truncated[0] != 0;
    }
    return played;
}

} // namespace

image_experiment::image_experiment(settings const& settings, executor& tasks, image_games games)
    : settings_(settings),
      games_(std::move(games)),
      worlds_(games_(image_games_for::learning, settings.environments, settings.seed)),
      agent_(make_image_player(settings, *worlds_, tasks)) {}

void image_experiment::save_policy(std::filesystem::path const& file) const {
    gmac::save_policy(file, agent_->policy());
}

std::vector<finished_episode> image_experiment::evaluate(std::size_t episodes, std::function<bool()> stop) {
    stoppable<std::uint8_t> games(games_(image_games_for::scores, episodes, settings_.seed + 1'000'000),
                                  std::move(stop));
    return agent_->evaluate(games);
}

std::vector<value_panel> image_experiment::value_panels() {
    constexpr std::size_t most = 2000;
    constexpr std::size_t horizon = 500; // steps after which a reward hardly counts: 0.99^500 is 0.7 %
    auto const world = games_(image_games_for::learning, 1, settings_.seed + 2'000'000);
    auto const played = play(*agent_, *world, most);
    std::vector<double> returns = played.rewards;
    for (std::size_t t = returns.size() - 1; t-- > 0;)
        returns[t] += settings_.agent.discount * returns[t + 1];
    std::vector<value_panel> panels;
    for (std::size_t const step : panel_steps(played.ended ? returns.size() : returns.size() - horizon))
        panels.push_back(panel_of(step, returns[step], agent_->value_distribution(played.states[step]), 1.0));
    return panels;
}

std::vector<std::uint8_t> image_experiment::state_after(std::size_t steps, std::uint64_t seed) {
    auto const world = games_(image_games_for::learning, 1, seed);
    return play(*agent_, *world, steps + 1).states.back();
}

} // namespace gmac::examples::train
