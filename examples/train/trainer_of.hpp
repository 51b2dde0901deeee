// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer.hpp"

#include <gmac/actors/categorical.hpp>
#include <gmac/actors/diagonal_gaussian.hpp>
#include <gmac/agents.hpp>
#include <gmac/deploy/policy_file.hpp>

#include <array>
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
        : agent_(worlds, settings.agent, settings.seed, &tasks, make_actor(settings), make_head(settings)),
          policy_(agent_.policy(1)) {}

    void train(train_options const& options) override { agent_.train(options); }
    void persist(archive& state) override { agent_.persist(state); }
    void persist_parameters(archive& state) override { agent_.persist_parameters(state); }
    void save_policy(std::filesystem::path const& file, normalized_environments const& worlds) const override {
        gmac::save_policy(file, deploy(agent_, worlds));
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
        auto const& head = agent_.head();
        std::vector<value_component> components;
        if constexpr (requires { head.distribution(outputs, outputs, outputs, outputs); }) {
            constexpr std::size_t count = Agent::head_type::components;
            std::array<float, count> weights{}, means{}, deviations{};
            head.distribution(outputs, row(weights), row(means), row(deviations));
            for (std::size_t k = 0; k < count; ++k)
                components.push_back({static_cast<double>(weights[k]), static_cast<double>(means[k]),
                                      static_cast<double>(deviations[k])});
        } else {
            for (std::size_t j = 0; j < outputs.cols(); ++j)
                components.push_back(
                    {1.0 / static_cast<double>(outputs.cols()), static_cast<double>(outputs(0, j)), 0.0});
        }
        return components;
    }

private:
    template <std::size_t N>
    [[nodiscard]] static matrix_view<float> row(std::array<float, N>& values) noexcept {
        return {values.data(), 1, N};
    }

    using actor_type = typename Agent::actor_type;
    using head_type = typename Agent::head_type;

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
    [[nodiscard]] static head_type make_head(settings const& settings) {
        head_type head;
        if constexpr (requires { head.scale; }) {
            head.scale = settings.variance_scale;
            head.floor = settings.variance_floor;
        }
        if constexpr (std::same_as<head_type, heads::implicit_quantile>) {
            head.samples_per_state = settings.quantile_samples;
            head.embedding = settings.quantile_embedding;
            head.hidden = settings.quantile_hidden;
        }
        return head;
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
