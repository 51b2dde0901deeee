// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <gmac/agent/actor_critic.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/deploy/policy.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/environment/normalized.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace gmac::examples::train {

/// A part of a value distribution, in the units that the agent learns in. A deviation of zero is a point.
struct value_component {
    double weight = 0.0, mean = 0.0, deviation = 0.0;
};

/// An agent whose method was chosen at run time: what the program needs of any actor_critic.
class trainer {
public:
    virtual ~trainer() = default;
    virtual void train(train_options const& options) = 0;
    virtual void persist(archive& state) = 0;
    /// The part of `persist` that acting needs.
    virtual void persist_parameters(archive& state) = 0;
    /// What acts as the agent and does not train, with the normalisation of `worlds`.
    [[nodiscard]] virtual deployed_policy<> policy(normalized_environments const& worlds) const = 0;
    [[nodiscard]] virtual std::uint64_t frames() const = 0;
    [[nodiscard]] virtual std::size_t parameter_count() const = 0;
    /// One episode in each environment with the most likely actions.
    [[nodiscard]] virtual std::vector<finished_episode> evaluate(environment_batch& worlds) const = 0;
    /// The most likely action for one observation, as an environment takes it.
    virtual void act(std::span<float const> observation, std::span<float> action) = 0;
    /// The value distribution of one observation.
    [[nodiscard]] virtual std::vector<value_component> value_distribution(std::span<float const> observation) = 0;
};

/// The names that `--algorithm` takes.
[[nodiscard]] std::span<std::string_view const> algorithm_names();

/// The agent of settings.algorithm for these environments. Throws gmac::error if the name is not known.
[[nodiscard]] std::unique_ptr<trainer> make_trainer(settings const& settings, environment_batch& worlds,
                                                    executor& tasks);

} // namespace gmac::examples::train
