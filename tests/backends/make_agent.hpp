// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/agents.hpp"

#include <gmac/actors/categorical.hpp>
#include <gmac/agents.hpp>

namespace gmac::testing {

template <class Backend>
class agent_on final : public any_agent {
public:
    agent_on(environment_batch& worlds, agent_options const& options, std::uint64_t seed, executor* tasks)
        : agent_(worlds, options, {.seed = seed, .tasks = tasks}) {}

    update_report update(double progress) override { return agent_.update(progress); }
    void persist(archive& state) override { agent_.persist(state); }
    [[nodiscard]] std::vector<double> parameters() const override {
        auto const all = agent_.parameters();
        return {all.begin(), all.end()};
    }
    [[nodiscard]] double evaluate(environment_batch& worlds) const override {
        auto policy = agent_.policy(worlds.size());
        double sum = 0.0;
        for (finished_episode const& episode : gmac::evaluate(policy, worlds))
            sum += episode.reward_sum;
        return sum / static_cast<double>(worlds.size());
    }

private:
    agents::gmac<actors::categorical, Backend> agent_;
};

template <class Backend>
std::unique_ptr<any_agent> make_agent(environment_batch& worlds, agent_options const& options, std::uint64_t seed,
                                      executor* tasks) {
    return std::make_unique<agent_on<Backend>>(worlds, options, seed, tasks);
}

} // namespace gmac::testing
