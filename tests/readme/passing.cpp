// SPDX-License-Identifier: Apache-2.0
// The lines that README.md has in passing: they compile, and do what is said of them.
#include <gmac/deploy/policy_file.hpp>
#include <gmac/deploy/value_file.hpp>
#include <gmac/gmac.hpp>
#include <gmac/storage/checkpoint.hpp>

#include <fmt/core.h>
#include <Eigen/Core>

#include <array>
#include <cmath>
#include <span>

namespace {

/// Five steps to the right end; action 1 goes there.
struct walk {
    int place = 0, steps = 0;

    static std::size_t observation_size() { return 1; }
    static gmac::discrete action_space() { return {2}; }
    void reset(gmac::random_stream&, std::span<float> observation) {
        observation[0] = 0.0f;
        place = steps = 0;
    }
    gmac::transition step(int action, gmac::random_stream&, std::span<float> observation) {
        place += action == 1 ? 1 : -1;
        observation[0] = 0.2f * static_cast<float>(place);
        return {.reward = -1.0, .terminated = place == 5, .truncated = ++steps == 40};
    }
};

using agent_type = gmac::agents::gmac<gmac::actors::categorical>;

int failures = 0;
void expect(bool sound, char const* what) {
    if (!sound) {
        fmt::print("not so: {}\n", what);
        ++failures;
    }
}

void store(agent_type& agent) {
    auto const all = [&](gmac::archive& state) { agent.persist(state); }; // its environments, too
    gmac::save_checkpoint("run.safetensors", {}, all);
    gmac::load_checkpoint("run.safetensors", all);
}

float act(std::span<float const> observation) {
    std::array<float, 1> memory_of_action;
    std::span<float> const action(memory_of_action);
    auto const policy = gmac::load_policy("policy.safetensors"); // any number of threads may use it
    auto memory = policy.make_memory();                          // one a thread
    policy.act(observation, action, memory);
    return action[0];
}

double mean_of_value(std::span<float const> observation) {
    double expected = 0.0;
    auto const value = std::get<0>(gmac::load_value("value.safetensors")); // std::get<1> of images
    auto memory = value.make_memory();
    for (auto const& [weight, mean, deviation] : value.predict(observation, memory)) // a mixture; deviation 0: a point
        expected += weight * mean;
    return expected;
}

/// The matrices are not filled here, so this is compiled only.
[[maybe_unused]] double of_matrices(agent_type& agent) {
    Eigen::MatrixXd outputs(256, 15), means(256, 64), deviations(256, 64), gradient(256, 15); // one state a row
    gmac::heads::gaussian_mixture<5> const head;
    gmac::targets::gaussian_particles const targets{means, deviations};
    double const loss = gmac::losses::gaussian_mixture_energy{}.value_and_gradient(head, outputs, targets, gradient);

    Eigen::VectorXd values(256);
    gmac::statistics::evaluate(gmac::statistics::cvar(0.1), head, outputs, values); // the worst tenth's mean
    agent.value_by(gmac::statistics::cvar(0.1));
    return loss;
}

void every_risk(gmac::environment_batch& worlds, gmac::agent_options const& options) {
    gmac::conditioned_environments told(worlds, /*seed*/ 1); // around the environments, before the agent is made
    gmac::agents::gmac<gmac::actors::categorical> cautious(told, options);
    cautious.value_by(gmac::statistic_range{gmac::statistic_kind::cvar, 0.05, 1.0});
    expect(cautious.value_range().has_value(), "an agent knows its range");
}

} // namespace

int main() {
    gmac::vector_environment<walk> worlds(4, /*seed*/ 1);
    gmac::agent_options options{.steps = 16, .minibatch = 32, .epochs = 1};
    options.hidden = {8};
    gmac::normalized_environments normalized(worlds);
    agent_type agent(normalized, options, {.seed = 1});
    agent.train({.frames = 640});
    auto const updates = agent.updates();
    store(agent);
    expect(agent.updates() == updates, "a checkpoint has the number of updates");
    agent.train({.frames = 1280});

    gmac::save_policy("policy.safetensors", gmac::deploy(agent, normalized));
    gmac::save_value("value.safetensors", gmac::deploy_value(agent, normalized));
    std::array const observation{0.5f};
    float const action = act(observation);
    expect(action == 0.0f || action == 1.0f, "an action is the number of one");
    expect(std::isfinite(mean_of_value(observation)), "a value is a number");
    every_risk(worlds, options);
    return failures;
}
