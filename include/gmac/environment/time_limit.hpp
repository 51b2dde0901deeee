// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/environment/requirements.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace gmac::inline GMAC_ABI {

/// An environment whose episodes are truncated after a number of steps. The limit is not part of the task: the last
/// transition is `truncated`, so that targets bootstrap from the final observation.
template <class E>
class time_limit {
    static_assert(require_environment<E>());

public:
    using observation_type = observation_of<E>;

    /// Throws gmac::error if `steps` is zero.
    time_limit(E world, std::size_t steps) : world_(std::move(world)), limit_(steps) {
        require(steps > 0, "time_limit: the limit is 0 steps, but must be at least 1");
    }

    [[nodiscard]] std::size_t observation_size() const { return world_.observation_size(); }
    [[nodiscard]] auto action_space() const { return world_.action_space(); }
    [[nodiscard]] observation_history history() const { return history_of(world_); }
    void action_mask(std::span<std::uint8_t> allowed) const
        requires masked_environment<E>
    {
        world_.action_mask(allowed);
    }
    [[nodiscard]] drawing draw() const
        requires drawn_environment<E>
    {
        return world_.draw();
    }
    [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
    [[nodiscard]] E& world() noexcept { return world_; }
    [[nodiscard]] E const& world() const noexcept { return world_; }

    void reset(random_stream& random, std::span<observation_type> observation) {
        steps_ = 0;
        world_.reset(random, observation);
    }

    template <class Action>
        requires takes_action<E, Action>
    transition step(Action action, random_stream& random, std::span<observation_type> observation) {
        transition given = world_.step(action, random, observation);
        steps_ += 1;
        given.truncated = given.truncated || steps_ >= limit_;
        return given;
    }

    /// Whole games are those of the environment inside.
    [[nodiscard]] auto take_finished()
        requires scored_environment<E>
    {
        return world_.take_finished();
    }
    void abandon()
        requires scored_environment<E>
    {
        world_.abandon();
    }

    void persist(archive& state)
        requires checkpointable_environment<E>
    {
        state("steps", steps_);
        state.inside("world", [&] { world_.persist(state); });
    }

private:
    E world_;
    std::size_t limit_;
    std::uint64_t steps_ = 0;
};

} // namespace gmac::inline GMAC_ABI
