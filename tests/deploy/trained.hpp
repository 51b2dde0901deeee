// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/worlds.hpp"
#include "support/scratch_folder.hpp"

#include <gmac/actors/categorical.hpp>
#include <gmac/actors/diagonal_gaussian.hpp>
#include <gmac/agents.hpp>
#include <gmac/deploy/policy_file.hpp>
#include <gmac/environment/normalized.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace gmac::testing {

/// An agent after two updates, and the environments whose observations it has seen normalised.
template <class Agent, class World>
struct trained {
    vector_environment<World> worlds{5, 3};
    normalized_environments normalized;
    Agent agent;

    explicit trained(typename Agent::actor_type actor = {}, normalization const& scaling = {.observation_clip = 0.8})
        : normalized(worlds, scaling), agent(normalized, gmac::testing::small_options(), {.actor = actor, .seed = 11}) {
        for (int i = 0; i < 2; ++i)
            static_cast<void>(agent.update());
    }
};

using discrete_agent = agents::ppo<actors::categorical>;
using real_agent = agents::ppo<actors::diagonal_gaussian>;

/// Observations as an environment gives them, from a random walk of a `line`; the policy's input before it is normalised.
[[nodiscard]] inline std::vector<float> raw_observations(std::size_t count) {
    random_stream random(8);
    std::vector<float> all;
    for (std::size_t i = 0; i < count; ++i) {
        all.push_back(3.0f * random.normal<float>());
        all.push_back(random.uniform<float>());
    }
    return all;
}

/// What `worlds` makes of them.
[[nodiscard]] inline std::vector<float> normalised(std::vector<float> raw, normalized_environments const& worlds) {
    auto const& statistics = worlds.observation_statistics();
    auto const& options = worlds.options();
    for (std::size_t i = 0; i < raw.size() && options.observations; ++i) {
        std::size_t const j = i % statistics.size();
        double const scaled = (static_cast<double>(raw[i]) - statistics.mean(j)) * statistics.scale(j, options.epsilon);
        raw[i] = static_cast<float>(scaled > options.observation_clip    ? options.observation_clip
                                    : scaled < -options.observation_clip ? -options.observation_clip
                                                                         : scaled);
    }
    return raw;
}

} // namespace gmac::testing
