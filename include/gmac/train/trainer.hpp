// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/actor_critic.hpp>
#include <gmac/agent/observer.hpp>
#include <gmac/backends/simd.hpp>
#include <gmac/core/communicator.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/deploy/policy.hpp>
#include <gmac/deploy/value.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/environment/normalized.hpp>
#include <gmac/nn/image_trunk.hpp>
#include <gmac/nn/initialization.hpp>
#include <gmac/nn/mlp.hpp>
#include <gmac/train/settings.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// @cond compiled once, in the library gmac::train
namespace gmac::inline GMAC_ABI {
extern template struct backends::maps<float>;
extern template struct backends::simd<float>;
extern template void nn::initialize_orthogonal<float>(matrix_view<float>, float, random_stream&);
} // namespace gmac::inline GMAC_ABI
/// @endcond
namespace gmac::inline GMAC_ABI::train {

/// A part of a value distribution, in the units that the agent learns in. A deviation of zero is a point.
struct value_component {
    double weight = 0.0, mean = 0.0, deviation = 0.0;
};

/// The network below actor and critic: images are bytes.
using image_trunk = nn::image_trunk<backends::simd<float>>;
template <class O>
using trunk_for = std::conditional_t<std::same_as<O, std::uint8_t>, image_trunk, nn::mlp<backends::simd<float>>>;

/// The trunk that the settings ask for, for the images of their environment. Throws gmac::error if it shows none.
[[nodiscard]] nn::image_trunk_options trunk_of(settings const& settings);

/// A critic that watches an agent (--critics), whose method was chosen at run time.
template <class O>
class watching_critic : public rollout_observer<float, O> {
public:
    [[nodiscard]] virtual observer_report const& report() const = 0;
    /// The value distribution of one state.
    [[nodiscard]] virtual std::vector<value_component> value_distribution(std::span<O const> state) = 0;
};

/// An agent whose method was chosen at run time: what a program needs of any actor_critic with observations of `O`. A
/// state is what the network sees: all observations of the history, one after the other.
template <class O>
class basic_trainer {
public:
    using batch = basic_environment_batch<O>;
    /// Makes a critic for rollouts of this shape, with a network like the agent's.
    using critic_factory = std::unique_ptr<watching_critic<O>>(settings const&, rollout<float, O> const&,
                                                               trunk_for<O> const&, std::uint64_t seed,
                                                               std::size_t threads);

    virtual ~basic_trainer() = default;
    virtual void train(train_options const& options) = 0;
    virtual void persist(archive& state) = 0;
    /// The part of `persist` that is the same on all ranks.
    virtual void persist_shared(archive& state) = 0;
    /// The part of `persist` that acting needs.
    virtual void persist_parameters(archive& state) = 0;
    /// What acts as the agent and does not train, with the normalisation of `worlds`, if there is one.
    [[nodiscard]] virtual deployed_policy<backends::simd<float>, trunk_for<O>> policy(
        normalized_environments const* worlds) const = 0;
    /// What predicts as the agent and does not train, with the normalisations of `worlds`.
    [[nodiscard]] virtual deployed_value<backends::simd<float>, trunk_for<O>> value(
        normalized_environments const* worlds) const = 0;
    [[nodiscard]] virtual std::uint64_t frames() const = 0;
    [[nodiscard]] virtual std::size_t parameter_count() const = 0;
    /// One episode in each environment with the most likely actions.
    [[nodiscard]] virtual std::vector<finished_episode> evaluate(batch& worlds) const = 0;
    /// The most likely action in one state, as an environment takes it; `mask` is the action_masks() of this environment.
    virtual void act(std::span<O const> state, std::span<float> action, matrix_view<std::uint8_t const> mask) = 0;
    /// Actions as in training, states [n, state size] → actions [n, action size], with one stream and one mask a row.
    virtual void sample(matrix_view<O const> states, std::span<random_stream> streams, matrix_view<float> actions,
                        matrix_view<std::uint8_t const> masks) = 0;
    /// The value distribution of one state.
    [[nodiscard]] virtual std::vector<value_component> value_distribution(std::span<O const> state) = 0;
    /// The value distributions of up to `count` states, evenly over the steps and environments of the latest rollout of this
    /// process; there must have been one. The training does not notice.
    [[nodiscard]] virtual std::vector<std::vector<value_component>> latest_values(std::size_t count) = 0;

    /// Lets a critic watch from now on, until the end of the agent.
    virtual watching_critic<O>& watch(critic_factory& make, std::uint64_t seed) = 0;

    [[nodiscard]] std::vector<std::pair<std::string, observer_report>> critic_reports() const {
        std::vector<std::pair<std::string, observer_report>> reports;
        for (auto const& [name, critic] : critics)
            reports.emplace_back(name, critic->report());
        return reports;
    }

    /// Those that watch, by the names of their methods.
    struct named_critic {
        std::string name;
        watching_critic<O>* critic;
    };
    std::vector<named_critic> critics;
};
using trainer = basic_trainer<float>;
using image_trainer = basic_trainer<std::uint8_t>;

/// What one method's file makes: an agent, and a critic that watches one.
template <observation_element O>
struct method_parts {
    /// Without ranks it trains alone.
    using trainer_factory = std::unique_ptr<basic_trainer<O>>(settings const&, basic_environment_batch<O>&, executor&,
                                                              communicator* ranks);

    trainer_factory* make;
    typename basic_trainer<O>::critic_factory* watch;
};

} // namespace gmac::inline GMAC_ABI::train
