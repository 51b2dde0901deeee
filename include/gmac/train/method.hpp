// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/exploration.hpp>
#include <gmac/agents.hpp>
#include <gmac/core/communicator.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/deploy/policy.hpp>
#include <gmac/deploy/value.hpp>
#include <gmac/heads/scalar.hpp>
#include <gmac/nn/image_trunk.hpp>
#include <gmac/statistics.hpp>
#include <gmac/train/detail/network_parts.hpp>
#include <gmac/train/fitting_actor.hpp>
#include <gmac/train/registry.hpp>
#include <gmac/train/settings.hpp>
#include <gmac/train/trainer.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gmac::inline GMAC_ABI::train {

/// The head and the loss of one method as a critic that watches.
template <class Agent>
class critic_of final : public watching_critic<typename Agent::observation_type> {
    using head_type = typename Agent::head_type;
    using loss_type = typename Agent::loss_type;
    using O = typename Agent::observation_type;

public:
    critic_of(settings const& settings, rollout<float, O> const& like, trunk_for<O> const& trunk, std::uint64_t seed,
              std::size_t threads)
        : inner_(like, trunk, settings.agent,
                 {.head = detail::make_head<head_type>(settings),
                  .loss = detail::make_loss<loss_type>(settings),
                  .seed = seed},
                 threads),
          work_(inner_.make_workspace()) {}

    void observe(rollout<float, O> const& seen, std::uint64_t number, double learning_rate, executor& tasks) override {
        inner_.observe(seen, number, learning_rate, tasks);
    }
    void persist(archive& state) override { inner_.persist(state); }
    [[nodiscard]] observer_report const& report() const override { return inner_.report(); }
    [[nodiscard]] std::vector<value_component> value_distribution(std::span<O const> state) override {
        random_stream random = stream_for(0, stream_purpose::evaluation);
        return detail::components_of(inner_.head(),
                                     inner_.value_outputs({state.data(), 1, state.size()}, random, work_));
    }

private:
    using observer_type = observer<head_type, loss_type, backends::simd<float>, trunk_for<O>>;
    observer_type inner_;
    typename observer_type::workspace work_;
};

/// One method as a trainer.
template <class Agent>
class trainer_of final : public basic_trainer<typename Agent::observation_type> {
    using O = typename Agent::observation_type;
    using base = basic_trainer<O>;

public:
    using typename base::batch;
    using typename base::critic_factory;

    /// `trunk` is what the agent takes behind its environments: nothing, or a trunk.
    template <class... Trunk>
    trainer_of(settings const& settings, batch& worlds, executor& tasks, communicator* ranks, Trunk... trunk)
        : settings_(settings),
          threads_(tasks.concurrency()),
          agent_(worlds, std::move(trunk)..., options_of(settings),
                 {.actor = detail::make_actor<typename Agent::actor_type>(settings, worlds.action_space()),
                  .head = detail::make_head<typename Agent::head_type>(settings),
                  .loss = detail::make_loss<typename Agent::loss_type>(settings),
                  .seed = settings.seed,
                  .tasks = &tasks,
                  .ranks = ranks}),
          policy_(agent_.policy(1)) {
        if constexpr (!std::same_as<typename Agent::head_type, heads::scalar>) {
            statistic_range const wanted = statistic_of(settings);
            if (learns_a_range(settings))
                agent_.value_by(wanted);
            else if (wanted.kind != statistic_kind::mean)
                agent_.value_by(statistic{wanted.kind, wanted.low});
        }
        explore();
    }

    void train(train_options const& options) override { agent_.train(options); }
    void persist(archive& state) override { agent_.persist(state); }
    void persist_shared(archive& state) override { agent_.persist_shared(state); }
    void persist_parameters(archive& state) override { agent_.persist_parameters(state); }
    [[nodiscard]] deployed_policy<backends::simd<float>, trunk_for<O>> policy(
        normalized_environments const* worlds) const override {
        if constexpr (std::same_as<O, float>)
            if (worlds)
                return deploy(agent_, *worlds);
        return deploy(agent_);
    }
    [[nodiscard]] deployed_value<backends::simd<float>, trunk_for<O>> value(
        normalized_environments const* worlds) const override {
        if constexpr (std::same_as<O, float>)
            if (worlds)
                return deploy_value(agent_, *worlds);
        return deploy_value(agent_);
    }
    [[nodiscard]] std::uint64_t frames() const override { return agent_.frames(); }
    [[nodiscard]] std::size_t parameter_count() const override { return agent_.parameters().size(); }
    [[nodiscard]] std::vector<finished_episode> evaluate(batch& worlds) const override {
        auto policy = agent_.policy(worlds.size());
        return gmac::evaluate(policy, worlds);
    }
    void act(std::span<O const> state, std::span<float> action, matrix_view<std::uint8_t const> mask) override {
        policy_.act({state.data(), 1, state.size()}, {action.data(), 1, action.size()}, mask);
    }
    void sample(matrix_view<O const> states, std::span<random_stream> streams, matrix_view<float> actions,
                matrix_view<std::uint8_t const> masks) override {
        if (sampled_ < states.rows())
            sampler_.emplace(agent_.policy(sampled_ = states.rows()));
        sampler_->sample(states, streams, actions, masks);
    }
    [[nodiscard]] std::vector<value_component> value_distribution(std::span<O const> state) override {
        random_stream random = stream_for(0, stream_purpose::evaluation);
        return detail::components_of(agent_.head(), policy_.value_outputs({state.data(), 1, state.size()}, random));
    }
    [[nodiscard]] std::vector<std::vector<value_component>> latest_values(std::size_t count) override {
        auto const& seen = agent_.experience();
        count = (std::min)(count, seen.steps());
        std::vector<O> memory(seen.assembled(1));
        std::vector<std::vector<value_component>> values;
        for (std::size_t i = 0; i < count; ++i) {
            std::size_t const step = i * seen.steps() / count;
            auto const state = seen.states(step * seen.environments() + i % seen.environments(), 1, memory).row(0);
            values.push_back(value_distribution({state.data(), state.size()}));
        }
        return values;
    }

    watching_critic<O>& watch(critic_factory& make, std::uint64_t seed) override {
        auto made = make(settings_, agent_.experience(), agent_.networks().trunk(), seed, threads_);
        auto& added = *made;
        agent_.observe(std::move(made));
        return added;
    }

private:
    [[nodiscard]] static agent_options options_of(settings const& settings) {
        agent_options options = settings.agent;
        if (settings.intrinsic != curiosity::none)
            options.exploration = settings.exploration;
        return options;
    }
    void explore() {
        switch (settings_.intrinsic) {
        case curiosity::none:
            return;
        case curiosity::td_error:
            return agent_.explore(exploration::td_error(agent_));
        case curiosity::energy_distance:
            return agent_.explore(exploration::energy_distance(agent_));
        case curiosity::cramer_distance:
            return agent_.explore(exploration::cramer_distance(agent_));
        case curiosity::random_network_distillation:
            return agent_.explore(exploration::random_network_distillation(agent_, settings_.distillation));
        }
    }

    settings settings_;
    std::size_t threads_;
    Agent agent_;
    gmac::policy<Agent> policy_;
    std::optional<gmac::policy<Agent>> sampler_; // for batches of up to sampled_
    std::size_t sampled_ = 0;
};

namespace detail {

template <class Agent>
struct method_maker {
    using O = typename Agent::observation_type;

    [[nodiscard]] static std::unique_ptr<basic_trainer<O>> make(settings const& settings,
                                                                basic_environment_batch<O>& worlds, executor& tasks,
                                                                communicator* ranks) {
        if constexpr (std::same_as<O, float>)
            return std::make_unique<trainer_of<Agent>>(settings, worlds, tasks, ranks);
        else
            return std::make_unique<trainer_of<Agent>>(settings, worlds, tasks, ranks, image_trunk(trunk_of(settings)));
    }
    [[nodiscard]] static std::unique_ptr<watching_critic<O>> watch(settings const& settings,
                                                                   rollout<float, O> const& like,
                                                                   trunk_for<O> const& trunk, std::uint64_t seed,
                                                                   std::size_t threads) {
        return std::make_unique<critic_of<Agent>>(settings, like, trunk, seed, threads);
    }
    static constexpr method_parts<O> parts{make, watch};

    [[nodiscard]] static method named(std::string name) {
        method made{.name = std::move(name)};
        if constexpr (std::same_as<O, float>)
            made.real = &parts;
        else
            made.images = &parts;
        return made;
    }
};

} // namespace detail

/// A method of your own, for programs: an actor_critic whose actor is gmac::train::fitting_actor, on any head and loss. It is
/// compiled where this is called, which takes about 20 s: in a file of its own if you like.
///
///     using agent = gmac::actor_critic<gmac::train::fitting_actor, my_head, my_loss>;
///     gmac::train::method mine() { return gmac::train::method_of<agent>("mine"); }
template <class Agent>
[[nodiscard]] method method_of(std::string name) {
    return detail::method_maker<Agent>::named(std::move(name));
}

} // namespace gmac::inline GMAC_ABI::train
