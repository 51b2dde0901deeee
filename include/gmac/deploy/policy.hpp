// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/actors/categorical.hpp>
#include <gmac/actors/diagonal_gaussian.hpp>
#include <gmac/actors/multi_categorical.hpp>
#include <gmac/actors/state_dependent_exploration.hpp>
#include <gmac/agent/policy_network.hpp>
#include <gmac/backends/simd.hpp>
#include <gmac/core/archive.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/deploy/detail/observation_scaling.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/nn/backend.hpp>
#include <gmac/nn/mlp.hpp>
#include <gmac/statistics/statistic_range.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

/// A trained policy by itself: the actor's network and nothing of what it was trained with.
namespace gmac::inline GMAC_ABI {

/// The actors that a policy may have.
using policy_actor = std::variant<actors::categorical, actors::diagonal_gaussian, actors::multi_categorical,
                                  actors::state_dependent_exploration>;

/// What it needs of a network whose trunk gives so many features; see actor_shape.
[[nodiscard]] inline actor_shape shape_of(policy_actor const& actor, action_space const& space, std::size_t features) {
    return std::visit([&](auto const& one) { return actor_shape(one, space, features); }, actor);
}

/// What a policy is besides its trunk and its numbers.
struct policy_description {
    policy_actor actor;
    gmac::action_space action_space;
    /// Observations x are normalised, (x − mean) · scale clipped at ± this; without it they are taken as they are.
    std::optional<double> observation_clip{};
    /// The last number of an observation tells which of these statistics to act by; see actor_critic::value_by.
    std::optional<statistic_range> range{};
};

/// Acts as an agent has learned to: trunk, actor and the observations' normalisation, fixed. Made by `deploy` from an
/// agent or by `load_policy` (gmac/deploy/policy_file.hpp) from a file.
///
/// An observation is what the agent's network sees: if its environments ask for a history, all observations of a state, as
/// observation_stack gives them.
///
/// It does not change when it acts: any number of threads may act with one policy, each with a memory of its own. Nothing
/// is allocated but by make_memory.
template <nn::backend Backend = backends::simd<float>, class Trunk = nn::mlp<Backend>>
class deployed_policy {
public:
    using scalar = typename Backend::scalar;
    /// Bytes if the trunk reads bytes, or else floats.
    using observation_type = typename policy_network<Backend, Trunk>::observation_type;

    /// What one thread acts with.
    class memory {
        friend class deployed_policy;
        typename policy_network<Backend, Trunk>::workspace network;
        buffer<float> normalised;
        buffer<observation_type> told;
        buffer<scalar> sampled;

        memory(deployed_policy const& policy, std::size_t rows)
            : network(policy.network_.make_workspace(rows)),
              normalised(rows * policy.scaling_.means.size()),
              told(policy.description_.range ? rows * policy.observation_size() : 0),
              sampled(rows * policy.action_size()) {}
    };

    /// With all parameters zero. Throws gmac::error if actor and action space do not fit, the clip is not positive or the
    /// range is none.
    deployed_policy(Trunk trunk, policy_description description)
        : description_(std::move(description)),
          network_(make_network(std::move(trunk), description_)),
          parameters_(network_.parameter_count()),
          scaling_(description_.observation_clip, network_.inputs(), std::same_as<observation_type, float>, "policy") {
        if (description_.range) {
            validate(*description_.range);
            require(std::same_as<observation_type, float> && observation_size() > 1,
                    "policy: with a range of statistics observations are floats, and the last one tells the parameter");
            require(
                description_.observation_clip.value_or(1.0) >= 1.0,
                "policy: observation_clip is {}, but must be at least 1 with a range of statistics, whose number is in "
                "[-1, 1]",
                description_.observation_clip.value_or(1.0));
        }
    }

    [[nodiscard]] std::size_t observation_size() const noexcept { return network_.inputs(); }
    [[nodiscard]] std::size_t action_size() const noexcept { return gmac::action_size(description_.action_space); }
    [[nodiscard]] gmac::action_space const& action_space() const noexcept { return description_.action_space; }
    [[nodiscard]] policy_description const& description() const noexcept { return description_; }
    [[nodiscard]] Trunk const& trunk() const noexcept { return network_.trunk(); }

    /// Of the trunk, then the actor's layer, then the actor's free parameters.
    [[nodiscard]] std::span<scalar> parameters() noexcept { return parameters_.span(); }
    [[nodiscard]] std::span<scalar const> parameters() const noexcept { return parameters_.span(); }
    /// [observation_size()] each; empty if observations are not normalised.
    [[nodiscard]] std::span<double> observation_means() noexcept { return scaling_.means; }
    [[nodiscard]] std::span<double> observation_scales() noexcept { return scaling_.scales; }

    /// Memory for batches of up to `rows` observations.
    [[nodiscard]] memory make_memory(std::size_t rows = 1) const { return memory(*this, rows); }

    /// The most likely action of each observation: [n, observation_size()] → [n, action_size()], clipped to the box; a
    /// discrete action is its number, several at once are one each. With a range of statistics the last number of an
    /// observation says by which, in [−1, 1], which is not checked. A NaN in an observation gives a NaN action. `masks` [n,
    /// mask size] forbid discrete actions by 0, as the environments' action_masks(); an empty view forbids none.
    void act(matrix_view<observation_type const> observations, matrix_view<float> actions, memory& m,
             matrix_view<std::uint8_t const> masks = {}) const {
        act(observations, actions, m, masks, [&](auto outputs, auto free, auto sampled) {
            std::visit([&](auto const& actor) { actor.mode(outputs, free, sampled); }, description_.actor);
        });
    }
    /// One observation.
    void act(std::span<observation_type const> observation, std::span<float> action, memory& m,
             std::span<std::uint8_t const> mask = {}) const {
        act(matrix_view<observation_type const>(observation.data(), 1, observation.size()),
            matrix_view<float>(action.data(), 1, action.size()), m,
            matrix_view<std::uint8_t const>(mask.data(), 1, mask.size()));
    }
    /// As act(), by the statistic with this parameter: observations have all numbers but the last, [n, observation_size() − 1].
    /// Throws gmac::error if there is no range, or the parameter is outside it.
    void act(matrix_view<observation_type const> observations, double parameter, matrix_view<float> actions, memory& m,
             matrix_view<std::uint8_t const> masks = {}) const {
        require(description_.range.has_value(),
                "policy: it has learned to act by one statistic only, so no parameter can be chosen");
        auto const number = static_cast<observation_type>(description_.range->number_of(parameter));
        require_shape(observations, observations.rows(), observation_size() - 1, "observations", "policy");
        require(observations.rows() * observation_size() <= m.told.size(),
                "policy: {} observations, but the memory was made for {}", observations.rows(),
                m.told.size() / observation_size());
        matrix_view<observation_type> const told(m.told.data(), observations.rows(), observation_size());
        for (std::size_t i = 0; i < told.rows(); ++i) {
            for (std::size_t j = 0; j < observations.cols(); ++j)
                told(i, j) = observations(i, j);
            told(i, observations.cols()) = number;
        }
        act(told, actions, m, masks);
    }
    /// One observation.
    void act(std::span<observation_type const> observation, double parameter, std::span<float> action, memory& m,
             std::span<std::uint8_t const> mask = {}) const {
        act(matrix_view<observation_type const>(observation.data(), 1, observation.size()), parameter,
            matrix_view<float>(action.data(), 1, action.size()), m,
            matrix_view<std::uint8_t const>(mask.data(), 1, mask.size()));
    }
    /// An action of each observation at random, as in training, with one stream a row. The noise of
    /// state_dependent_exploration stays the same if the streams are those of the step before, as action_streams gives them.
    void sample(matrix_view<observation_type const> observations, std::span<random_stream> streams,
                matrix_view<float> actions, memory& m, matrix_view<std::uint8_t const> masks = {}) const {
        act(observations, actions, m, masks, [&](auto outputs, auto free, auto sampled) {
            std::visit([&](auto const& actor) { actor.sample(outputs, free, streams, sampled); }, description_.actor);
        });
    }

    /// Every number of the policy by name.
    void persist(archive& state) {
        nn::persist_parameters(state, network_, parameters());
        if (auto* const bounds = std::get_if<box>(&description_.action_space)) {
            state("action.low", std::span(bounds->low));
            state("action.high", std::span(bounds->high));
        }
        scaling_.persist(state);
    }

private:
    [[nodiscard]] static policy_network<Backend, Trunk> make_network(Trunk trunk, policy_description const& of) {
        actor_shape const shape = shape_of(of.actor, of.action_space, trunk.outputs());
        return policy_network<Backend, Trunk>(std::move(trunk), shape);
    }

    template <class Choose>
    void act(matrix_view<observation_type const> observations, matrix_view<float> actions, memory& m,
             matrix_view<std::uint8_t const> masks, Choose&& choose) const {
        m.network.observations.check(observations);
        matrix_view<scalar> const sampled(m.sampled.data(), observations.rows(), action_size());
        network_.act(parameters(), scaling_.of(observations, m.normalised), action_space(), choose, sampled, actions,
                     m.network, masks);
    }

    policy_description description_;
    policy_network<Backend, Trunk> network_;
    buffer<scalar> parameters_;
    detail::observation_scaling scaling_;
};

namespace detail {

/// Gives a deployed network the means and scales of `worlds`, for each frame of the history; `told` if a last number tells the
/// statistic.
template <class Worlds, class Deployed>
void take_statistics(Worlds const& worlds, bool told, Deployed& network) {
    auto const& options = worlds.options();
    if (!options.observations)
        return;
    auto const& statistics = worlds.observation_statistics();
    std::size_t const frames = worlds.history().frames, width = network.observation_size() / frames;
    require(statistics.size() + (told ? 1 : 0) == width,
            "deploy: the environments normalise {} numbers of an observation, but the policy sees {}{}",
            statistics.size(), width, told ? ", the last of which tells the statistic" : "");
    for (std::size_t first = 0; first < network.observation_size(); first += width)
        for (std::size_t j = 0; j < statistics.size(); ++j) {
            network.observation_means()[first + j] = statistics.mean(j);
            network.observation_scales()[first + j] = statistics.scale(j, options.epsilon);
        }
}

} // namespace detail

/// The policy of an agent, an actor_critic, as it is now.
template <class Agent>
[[nodiscard]] auto deploy(Agent const& agent, std::optional<double> observation_clip = {}) {
    using networks = typename Agent::network_type;
    static_assert(
        std::constructible_from<policy_actor, typename Agent::actor_type>,
        "a deployed policy has one of the library's actors, categorical, multi_categorical, diagonal_gaussian or "
        "state_dependent_exploration");
    deployed_policy<typename networks::backend_type, typename networks::trunk_type>
        policy(agent.networks().trunk(), {agent.actor(), agent.action_space(), observation_clip, agent.value_range()});
    // An agent's parameters begin with its policy's.
    auto const mine = policy.parameters();
    std::copy_n(agent.parameters().data(), mine.size(), mine.data());
    return policy;
}

/// The policy of an agent whose observations are normalised by `worlds`, a normalized_environments, with or without the last
/// number of conditioned_environments around them.
template <class Agent, class Worlds>
    requires requires(Worlds const& worlds) { worlds.observation_statistics(); }
[[nodiscard]] auto deploy(Agent const& agent, Worlds const& worlds) {
    auto const& options = worlds.options();
    auto policy = deploy(agent, options.observations ? std::optional(options.observation_clip) : std::nullopt);
    detail::take_statistics(worlds, agent.value_range().has_value(), policy);
    return policy;
}

} // namespace gmac::inline GMAC_ABI
