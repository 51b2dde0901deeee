// SPDX-License-Identifier: Apache-2.0
// gmac-torch: GMAC on cart-pole with a trunk of libtorch. The trunk then goes back to libtorch.
#include "classic/cart_pole.hpp"
#include "support/run_main.hpp"

#include <gmac/gmac.hpp>
#include <gmac/torch/trunk.hpp>

#include <ATen/Parallel.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include <fmt/core.h>

#include <cstdlib>
#include <memory>

namespace {

using agent_type =
    gmac::actor_critic<gmac::actors::categorical, gmac::heads::gaussian_mixture<5>,
                       gmac::losses::gaussian_mixture_energy, gmac::backends::simd<float>, gmac::torch::trunk<float>>;

/// The mean return of 20 episodes under the most likely actions.
double evaluate(agent_type const& agent) {
    gmac::vector_environment<classic::cart_pole> worlds(20, /*seed*/ 7);
    auto policy = agent.policy(worlds.size());
    double sum = 0.0;
    for (gmac::finished_episode const& episode : gmac::evaluate(policy, worlds))
        sum += episode.reward_sum;
    return sum / static_cast<double>(worlds.size());
}

int learn() {
    at::set_num_threads(1); // small networks: more threads are slower, and a run is the same again
    torch::nn::Sequential network(torch::nn::Linear(4, 64), torch::nn::Tanh(), torch::nn::Linear(64, 64),
                                  torch::nn::Tanh());
    // Weights from the agent's seed; without the option the network is taken as it is.
    gmac::torch::trunk<float> const trunk(network, 4, {.orthogonal_gain = 1.41});

    gmac::vector_environment<classic::cart_pole> worlds(8, /*seed*/ 1);
    // A distribution's width is in units of the return, so its head wants returns of order one.
    gmac::normalized_environments normalized(worlds, {.observations = false});
    gmac::agent_options options{.steps = 64, .minibatch = 128, .epochs = 4, .learning_rate = 2e-3};
    agent_type agent(normalized, trunk, options, {.seed = 1});
    double const before = evaluate(agent);
    agent.train({.frames = 60'000, .on_update = [](gmac::update_report const& report) {
                     if (report.update % 10 == 0)
                         fmt::print("{}\n", report);
                 }});
    double const after = evaluate(agent);
    fmt::print("mean return of 20 episodes: {:.0f}, without learning {:.0f}\n", after, before);

    auto const learned = trunk.module_with(agent.parameters().first(trunk.parameter_count()));
    fmt::print("back in libtorch: a module with {} tensors of parameters\n", learned->parameters().size());
    return after > 400.0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

} // namespace

int main() {
    return gmac::examples::run_main("gmac-torch", learn);
}
