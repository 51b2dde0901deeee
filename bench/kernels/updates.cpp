// SPDX-License-Identifier: Apache-2.0
// The whole update of each method on an environment that costs nothing: rollout, targets and four epochs. A state is an
// environment step.
#include "harness.hpp"

#include <gmac/actors/categorical.hpp>
#include <gmac/agents.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <memory>
#include <span>

namespace gmac::bench {

namespace {

/// Four numbers that stay as they are; ends every hundred steps.
struct standing {
    std::size_t steps = 0;

    static std::size_t observation_size() { return 4; }
    static discrete action_space() { return {4}; }
    void reset(random_stream&, std::span<float> observation) {
        steps = 0;
        observe(observation);
    }
    transition step(int action, random_stream&, std::span<float> observation) {
        observe(observation);
        return {.reward = action == 0 ? 1.0 : 0.0, .terminated = ++steps == 100, .truncated = false};
    }
    void observe(std::span<float> observation) const {
        for (std::size_t i = 0; i < observation.size(); ++i)
            observation[i] = static_cast<float>(i) * 0.25f;
    }
};

template <class Agent>
void add_update(std::string const& name) {
    struct run {
        vector_environment<standing> worlds{16, 1};
        Agent agent;
        explicit run(agent_options const& options) : agent(worlds, options, 1) {}
    };
    add<float>("update/" + name, [] {
        agent_options options{.steps = 128, .minibatch = 512, .epochs = 4, .learning_rate = 1e-4};
        options.hidden = {64, 64};
        auto const r = std::make_shared<run>(options);
        return std::pair([r] { benchmark::DoNotOptimize(r->agent.update().value_loss); }, work{128 * 16});
    });
}

} // namespace

void register_updates() {
    add_update<agents::ppo<actors::categorical>>("ppo");
    add_update<agents::gmac<actors::categorical>>("gmac");
    add_update<agents::iqac<actors::categorical>>("iqac");
    add_update<agents::iqac_e<actors::categorical>>("iqac_e");
    add_update<agents::dirac_energy<actors::categorical>>("dirac_64_energy");
}

} // namespace gmac::bench
