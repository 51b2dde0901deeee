// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/rollout.hpp>
#include <gmac/core/archive.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/core/view.hpp>

#include <cstdint>
#include <span>

namespace gmac::inline GMAC_ABI {

/// A rollout, and what the agent that made it predicts of its states: row t E + e is that of x_t, t = 0 … T, and the rows
/// after them those of the final observations of truncated episodes. `outputs` are the value head's columns, `values` the
/// means of the distributions, or what `value_by` made of them.
template <class T, observation_element O = float>
struct evaluated_rollout {
    gmac::rollout<T, O> const& rollout;
    matrix_view<T const> outputs;
    std::span<T const> values;
};

/// What an agent is rewarded for besides what the environments give; see actor_critic::explore. `T` is the agent's number
/// type and `O` the element type of its observations.
template <class T, observation_element O = float>
class intrinsic_reward {
public:
    virtual ~intrinsic_reward() = default;
    /// Writes the reward of each transition, [T, E], on any scale.
    virtual void measure(evaluated_rollout<T, O> const& seen, matrix_view<T> rewards, executor& tasks) = 0;
    /// Learns the rollout that was measured last, once the agent has; `number` is the update's, from 1.
    virtual void learn(rollout<T, O> const& /*seen*/, std::uint64_t /*number*/, executor& /*tasks*/) {}
    /// Everything that the next call depends on.
    virtual void persist(archive& /*state*/) {}
};

} // namespace gmac::inline GMAC_ABI
