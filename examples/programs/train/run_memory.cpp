// SPDX-License-Identifier: Apache-2.0
#include "run_memory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace gmac::examples::train {

namespace {

constexpr double number = sizeof(float);
/// Parameters, the gradient of a minibatch and of its parts, and what the optimiser remembers.
constexpr double copies = 4.0;

[[nodiscard]] double real(std::size_t size) {
    return static_cast<double>(size);
}

/// What the value network gives for a state, and what its target takes a particle.
struct method_size {
    double outputs = 1.0, particle = number;
};
[[nodiscard]] method_size size_of_method(settings const& all) {
    if (all.algorithm == "gmac")
        return {15.0, 2.0 * number};
    if (all.algorithm == "ppo")
        return {1.0, 0.0};
    if (all.algorithm.starts_with("iqac"))
        return {real(all.quantile_samples), number};
    return {};
}

/// Of the layers between the inputs and the features.
[[nodiscard]] double weights_of_trunk(agent_options const& agent, double inputs) {
    double weights = 0.0;
    for (std::size_t const width : agent.hidden) {
        weights += (inputs + 1.0) * real(width);
        inputs = real(width);
    }
    return agent.shared_trunk ? weights : 2.0 * weights;
}

/// What a pass of one state leaves: outputs of the layers, gradients of two of them at a time and of the features.
[[nodiscard]] double pass_of_trunk(agent_options const& agent) {
    double units = 0.0, widest = 0.0;
    for (std::size_t const width : agent.hidden) {
        units += real(width);
        widest = (std::max)(widest, real(width));
    }
    return (agent.shared_trunk ? 1.0 : 2.0) * (units + 2.0 * widest) + 2.0 * real(agent.hidden.back());
}

} // namespace

std::vector<memory_use> memory_of(settings const& all, step_size const& step) {
    agent_options const& agent = all.agent;
    double const rows = real(agent.steps) * real(all.environments);
    double const minibatch = (std::min)(real(agent.minibatch), rows);
    double const features = real(agent.hidden.back());
    method_size const method = size_of_method(all);
    std::string const rollout = fmt::format("--steps {} in --envs {}", agent.steps, all.environments);

    double trunk = weights_of_trunk(agent, step.inputs);
    double const state = number * pass_of_trunk(agent);
    std::string const hidden_layers = fmt::format("--hidden {}", fmt::join(agent.hidden, ","));
    std::vector<memory_use> uses{
        memory_of_environments("--envs", all.environments),
        // Beside its observation a transition has an action, its probability, a reward, an advantage and a return, and
        // there are two rows of outputs for it: it may be truncated.
        {rollout, rows * (step.observation_bytes + number * (step.actions + 4.0 + 2.0 * method.outputs))},
        {fmt::format("--particles {} for {}", agent.particles, rollout),
         rows * real(agent.particles) * method.particle},
        {hidden_layers, trunk * number * copies},
        {fmt::format("--envs {} with {}", all.environments, hidden_layers), real(all.environments) * state},
        {fmt::format("--minibatch {} with {}", agent.minibatch, hidden_layers), minibatch * state}};
    if (all.algorithm.starts_with("iqac")) {
        double const embedding = real(all.quantile_embedding), hidden = real(all.quantile_hidden);
        uses.push_back({fmt::format("--quantile-embedding {}", all.quantile_embedding),
                        (embedding + 1.0) * features * number * copies});
        uses.push_back(
            {fmt::format("--quantile-hidden {}", all.quantile_hidden), (features + 1.0) * hidden * number * copies});
        uses.push_back({fmt::format("--minibatch {} with --quantile-samples {} and --quantile-hidden {}",
                                    agent.minibatch, all.quantile_samples, all.quantile_hidden),
                        minibatch * real(all.quantile_samples) * (features + hidden) * number});
        trunk += (embedding + 1.0) * features + (features + 1.0) * hidden;
    }
    for (std::string const& name : critics_of(all)) {
        settings one = all;
        one.algorithm = name;
        one.critics.clear();
        one.agent.shared_trunk = true;
        double bytes = rows * number * 2.0 * size_of_method(one).outputs;
        auto const alone = memory_of(one, step);
        for (auto const& use : std::span(alone).subspan(2)) // its environments and their rollouts are the agent's
            bytes += use.bytes;
        uses.push_back({fmt::format("--critics {}", name), bytes});
    }
    if (all.intrinsic == curiosity::random_network_distillation) {
        agent_options one = agent;
        one.shared_trunk = true;
        double const outputs = real(all.distillation.features);
        double const weights = weights_of_trunk(one, step.inputs) + (features + 1.0) * outputs;
        // Two networks, one of which learns, and what both say of each state; a transition may be truncated.
        uses.push_back({fmt::format("--rnd-features {} for {}", all.distillation.features, rollout),
                        number * (weights * (copies + 1.0) + rows * 4.0 * outputs)});
    }
    uses.push_back({fmt::format("--shards {}", agent.shards),
                    (std::min)(real(agent.shards), minibatch) * trunk * number * (agent.shared_trunk ? 1.0 : 2.0)});
    return uses;
}

} // namespace gmac::examples::train
