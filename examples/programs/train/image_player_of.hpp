// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image_player.hpp"
#include "method_parts.hpp"
#include "trunk_text.hpp"

#include <gmac/actors/categorical.hpp>
#include <gmac/agents.hpp>
#include <gmac/deploy/policy.hpp>
#include <gmac/nn/image_trunk.hpp>

namespace gmac::examples::train {

/// One method of the paper as a player; each is compiled in a file of its own.
template <class Agent>
class image_player_of final : public image_player {
public:
    image_player_of(settings const& settings, batch& worlds, executor& tasks)
        : agent_(worlds, image_trunk(trunk_of(settings)), settings.agent,
                 {.head = make_head<typename Agent::head_type>(settings),
                  .loss = make_loss<typename Agent::loss_type>(settings),
                  .seed = settings.seed,
                  .tasks = &tasks}),
          policy_(agent_.policy(1)) {}

    void train(train_options const& options) override { agent_.train(options); }
    void persist(archive& state) override { agent_.persist(state); }
    void persist_parameters(archive& state) override { agent_.persist_parameters(state); }
    [[nodiscard]] deployed_image_policy policy() const override { return deploy(agent_); }
    [[nodiscard]] std::uint64_t frames() const override { return agent_.frames(); }
    [[nodiscard]] std::size_t parameter_count() const override { return agent_.parameters().size(); }
    [[nodiscard]] std::vector<finished_episode> evaluate(batch& worlds) const override {
        auto policy = agent_.policy(worlds.size());
        return gmac::evaluate(policy, worlds);
    }
    void act(std::span<std::uint8_t const> state, std::span<float> action) override { policy_.act(state, action); }
    [[nodiscard]] std::vector<value_component> value_distribution(std::span<std::uint8_t const> state) override {
        random_stream random = stream_for(0, stream_purpose::evaluation);
        return components_of(agent_.head(), policy_.value_outputs({state.data(), 1, state.size()}, random));
    }

private:
    Agent agent_;
    gmac::policy<Agent> policy_;
};

} // namespace gmac::examples::train
