// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "method_parts.hpp"
#include "trainer.hpp"

#include <gmac/actors/categorical.hpp>
#include <gmac/actors/diagonal_gaussian.hpp>
#include <gmac/agents.hpp>
#include <gmac/deploy/policy.hpp>

#include <concepts>
#include <memory>
#include <span>
#include <variant>
#include <vector>

namespace gmac::examples::train {

/// One method of the library as a trainer. Each method is compiled in a file of its own, which keeps files quick to
/// compile and lets two cores work.
template <class Agent>
class trainer_of final : public trainer {
public:
    trainer_of(settings const& settings, environment_batch& worlds, executor& tasks)
        : agent_(worlds, settings.agent,
                 {.actor = make_actor(settings),
                  .head = make_head<typename Agent::head_type>(settings),
                  .loss = make_loss<typename Agent::loss_type>(settings),
                  .seed = settings.seed,
                  .tasks = &tasks}),
          policy_(agent_.policy(1)) {}

    void train(train_options const& options) override { agent_.train(options); }
    void persist(archive& state) override { agent_.persist(state); }
    void persist_parameters(archive& state) override { agent_.persist_parameters(state); }
    [[nodiscard]] deployed_policy<> policy(normalized_environments const& worlds) const override {
        return deploy(agent_, worlds);
    }
    [[nodiscard]] std::uint64_t frames() const override { return agent_.frames(); }
    [[nodiscard]] std::size_t parameter_count() const override { return agent_.parameters().size(); }
    [[nodiscard]] std::vector<finished_episode> evaluate(environment_batch& worlds) const override {
        auto policy = agent_.policy(worlds.size());
        return gmac::evaluate(policy, worlds);
    }
    void act(std::span<float const> observation, std::span<float> action) override { policy_.act(observation, action); }

    [[nodiscard]] std::vector<value_component> value_distribution(std::span<float const> observation) override {
        random_stream random = stream_for(0, stream_purpose::evaluation);
        auto const outputs = policy_.value_outputs({observation.data(), 1, observation.size()}, random);
        return components_of(agent_.head(), outputs);
    }

private:
    using actor_type = typename Agent::actor_type;

    [[nodiscard]] static actor_type make_actor(settings const& settings) {
        actor_type actor;
        if constexpr (std::same_as<actor_type, actors::diagonal_gaussian>) {
            actor.deviations = settings.state_dependent_deviation ? actors::deviation_model::state_dependent
                                                                  : actors::deviation_model::state_independent;
            actor.floor = settings.deviation_floor;
            actor.initial_deviation = settings.initial_deviation;
        }
        return actor;
    }
    Agent agent_;
    gmac::policy<Agent> policy_;
};

/// The agent whose actor fits the environments' actions.
template <class DiscreteAgent, class ContinuousAgent>
[[nodiscard]] std::unique_ptr<trainer> make_trainer_of(settings const& settings, environment_batch& worlds,
                                                       executor& tasks) {
    if (std::holds_alternative<discrete>(worlds.action_space()))
        return std::make_unique<trainer_of<DiscreteAgent>>(settings, worlds, tasks);
    return std::make_unique<trainer_of<ContinuousAgent>>(settings, worlds, tasks);
}

} // namespace gmac::examples::train
