// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace gmac {

/// The actions 0, …, count − 1.
struct discrete {
    std::size_t count = 0;
};

/// Real vectors between two bounds, element by element.
struct box {
    std::vector<float> low, high;

    [[nodiscard]] static box uniform(std::size_t size, float low, float high) {
        return {std::vector<float>(size, low), std::vector<float>(size, high)};
    }
    [[nodiscard]] std::size_t size() const noexcept { return low.size(); }
};

using action_space = std::variant<discrete, box>;

/// What a step returned besides the observation. `terminated` means that nothing comes after this transition;
/// `truncated` that the episode was cut (a time limit) and would have gone on. If both are set, termination wins.
struct transition {
    double reward = 0.0;
    bool terminated = false;
    bool truncated = false;
};

/// An environment is a small struct with these members. `step` takes an int for a discrete space and a
/// std::span<float const> for a box; `reset` and `step` write the new observation. After the end of an episode the
/// caller resets before it steps again.
template <class E>
concept environment =
    requires(E& world, E const& same, random_stream& random, std::span<float> observation) {
        { same.observation_size() } -> std::convertible_to<std::size_t>;
        { same.action_space() } -> std::convertible_to<action_space>;
        { world.reset(random, observation) } -> std::same_as<void>;
    } &&
    (
        requires(E& world, random_stream& random, std::span<float> observation, int action) {
            { world.step(action, random, observation) } -> std::convertible_to<transition>;
        } ||
        requires(E& world, random_stream& random, std::span<float> observation, std::span<float const> action) {
            { world.step(action, random, observation) } -> std::convertible_to<transition>;
        });

/// The environment's actions are numbers of a discrete space.
template <class E>
concept discrete_environment = environment<E> && requires(E const& world) {
    { world.action_space() } -> std::same_as<discrete>;
};

/// An environment that can be checkpointed: `persist` visits all that the next step depends on, such that a restored
/// episode goes on bit for bit. Without it a resumed run starts its episodes anew, and says so.
template <class E>
concept checkpointable_environment = environment<E> && requires(E& world, archive& state) { world.persist(state); };

/// Where a batch of E environments writes what one step of all of them gave. Rows are environments.
struct step_result {
    matrix_view<float> observations; ///< [E, observation size] what to act on next; of the new episode after an end
    matrix_view<float> final_observations; ///< [E, observation size] the last one of an episode that ended; other rows
                                           ///< are left as they are; an empty view if they are not wanted
    std::span<float> rewards;              ///< [E]
    std::span<std::uint8_t> terminated;    ///< [E] 0 or 1
    std::span<std::uint8_t> truncated;     ///< [E] 0 or 1; never set together with terminated
};

/// A finished episode: the sum of its rewards as the environment gave them, and how many steps it took.
struct finished_episode {
    double reward_sum = 0.0;
    std::size_t length = 0;
    std::size_t environment = 0;
};

/// Environments that are stepped together and start a new episode by themselves. This is all that an agent sees of
/// them, so an agent is compiled once for all environments. Actions are [E, action size] with action size 1 for a
/// discrete space, whose numbers are stored as floats.
class environment_batch {
public:
    virtual ~environment_batch() = default;

    [[nodiscard]] virtual std::size_t size() const noexcept = 0;
    [[nodiscard]] virtual std::size_t observation_size() const noexcept = 0;
    [[nodiscard]] virtual gmac::action_space const& action_space() const noexcept = 0;

    /// Starts a new episode everywhere; observations is [E, observation size].
    virtual void reset(matrix_view<float> observations) = 0;
    /// One step everywhere. Throws gmac::error, with the environment and the step named, for an action outside the
    /// space and for a reward or an observation that is not finite.
    virtual void step(matrix_view<float const> actions, step_result const& result) = 0;

    /// Writes once more what the last reset or step gave to act on: what a restored run goes on from. [E, observation
    /// size]
    virtual void observe(matrix_view<float> observations) const = 0;

    /// The episodes that ended in the last step, in the order of their environments.
    [[nodiscard]] virtual std::span<finished_episode const> finished() const noexcept = 0;
    /// False if some state cannot be stored: then a resumed run starts its episodes anew, by `reset`.
    [[nodiscard]] virtual bool checkpointable() const noexcept = 0;
    virtual void persist(archive& state) = 0;
};

[[nodiscard]] inline std::size_t action_size(action_space const& space) noexcept {
    auto const* continuous = std::get_if<box>(&space);
    return continuous ? continuous->size() : 1;
}

} // namespace gmac
