// SPDX-License-Identifier: Apache-2.0
#include <gmac/gmac.hpp>

#include "classic/pendulum.hpp"
#include "support/run_main.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace {

using actor = gmac::actors::diagonal_gaussian;
/// rl-tools' critic: the squared error without a clip.
using ppo = gmac::actor_critic<actor, gmac::heads::scalar, gmac::losses::squared_error>;

constexpr std::uint64_t frames = 307'200; // 75 rollouts of 4 environments x 1,024 steps
constexpr std::uint64_t seeds = 10;
constexpr std::size_t episodes = 100;

gmac::agent_options options() {
    return {.steps = 1024,
            .minibatch = 256,
            .epochs = 2,
            .learning_rate = 1e-3,
            .discount = 0.9,
            .lambda = 0.95,
            .clip = 0.2,
            .value_coefficient = 1.0,
            .entropy_coefficient = 0.0,
            .max_gradient_norm = std::numeric_limits<double>::infinity(),
            .hidden = {64, 64},
            .activation = gmac::nn::activation::relu,
            .shared_trunk = false,
            .optimiser_epsilon = 1e-8,
            .shards = 1};
}

struct outcome {
    double seconds, evaluation;
};

/// One run on one thread. The time is that of training alone; the evaluation plays new environments.
template <class Agent>
outcome run(std::uint64_t seed, gmac::normalization const& normalized) {
    auto const start = std::chrono::steady_clock::now();
    gmac::vector_environment<classic::pendulum> worlds(4, seed);
    gmac::normalized_environments seen(worlds, normalized);
    Agent agent(seen, options(),
                {.actor = {.deviations = gmac::actors::deviation_model::state_independent, .initial_deviation = 2.0},
                 .seed = seed});
    agent.train({.frames = frames});
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

    gmac::vector_environment<classic::pendulum> unseen(episodes, seed + 1'000'000);
    auto judged = seen.evaluation(unseen);
    auto policy = agent.policy(episodes);
    double sum = 0.0;
    for (gmac::finished_episode const& episode : gmac::evaluate(policy, judged))
        sum += episode.reward_sum;
    return {seconds, sum / episodes};
}

template <class Agent>
void report(std::string_view name, gmac::normalization const& normalized) {
    double fastest = std::numeric_limits<double>::infinity(), sum = 0.0, lowest = 0.0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        outcome const result = run<Agent>(seed, normalized);
        fastest = (std::min)(fastest, result.seconds);
        lowest = (std::min)(lowest, result.evaluation);
        sum += result.evaluation;
    }
    fmt::print("{:6} {:7.2f} {:12.0f} {:12.1f} {:12.1f}\n", name, fastest, static_cast<double>(frames) / fastest,
               sum / static_cast<double>(seeds), lowest);
}

} // namespace

int main() {
    return gmac::examples::run_main("gmac-bench-loop", [] {
        fmt::print("Pendulum, {} steps, one thread, {} seeds; evaluation: {} episodes of the most likely actions\n\n",
                   frames, seeds, episodes);
        fmt::print("{:6} {:>7} {:>12} {:>12} {:>12}\n", "", "seconds", "steps/s", "evaluation", "worst seed");
        report<ppo>("ppo", {.rewards = false});
        report<gmac::agents::gmac<actor>>("gmac", {.rewards = true});
    });
}
