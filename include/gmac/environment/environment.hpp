// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/communicator.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/drawing.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace gmac::inline GMAC_ABI {

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

/// Several discrete actions at once: component i of an action is one of 0, …, counts[i] − 1, whatever the others are.
struct multi_discrete {
    std::vector<std::size_t> counts;

    [[nodiscard]] std::size_t size() const noexcept { return counts.size(); }
};

using action_space = std::variant<discrete, box, multi_discrete>;

/// What a step returned besides the observation. `terminated` means that nothing comes after this transition;
/// `truncated` that the episode was cut (a time limit) and would have gone on. If both are set, termination wins.
struct transition {
    double reward = 0.0;
    bool terminated = false;
    bool truncated = false;
};

/// What an observation is made of: real numbers, or bytes such as the pixels of a screen.
template <class O>
concept observation_element = std::same_as<O, float> || std::same_as<O, std::uint8_t>;

namespace detail {
template <class E>
struct observation_of {
    using type = float;
};
template <class E>
    requires requires { typename E::observation_type; }
struct observation_of<E> {
    using type = typename E::observation_type;
};
} // namespace detail

/// The element type of an environment's observations: its member type `observation_type`, or float.
template <class E>
using observation_of = typename detail::observation_of<E>::type;

/// What stands for the frames before the first one of an episode.
enum class history_padding {
    first, ///< the first frame, again
    zeros
};

/// The state that a network sees: the `frames` latest observations of the episode, oldest first, the padding before
/// them where the episode is younger. A state has frames × observation size elements.
struct observation_history {
    std::size_t frames = 1;
    history_padding padding = history_padding::first;

    friend bool operator==(observation_history const&, observation_history const&) = default;
};

/// A finished episode: the sum of its rewards as the environment gave them, and how many steps it took.
struct finished_episode {
    double reward_sum = 0.0;
    std::size_t length = 0;
    std::size_t environment = 0;
};

/// An environment whose step takes this type of action: int, std::span<float const> or std::span<int const>.
template <class E, class Action>
concept takes_action =
    requires(E& world, Action action, random_stream& random, std::span<observation_of<E>> observation) {
        { world.step(action, random, observation) } -> std::convertible_to<transition>;
    };

namespace detail {

template <class E>
using space_of = std::remove_cvref_t<decltype(std::declval<E const&>().action_space())>;

/// Where action_space returns a gmac::action_space, which of the three it holds is known when the program runs.
template <class E, class Space>
concept may_have_space =
    std::same_as<space_of<E>, Space> || !(std::same_as<space_of<E>, discrete> || std::same_as<space_of<E>, box> ||
                                          std::same_as<space_of<E>, multi_discrete>);
template <class E>
concept takes_actions_of_its_space = (may_have_space<E, discrete> && takes_action<E, int>) ||
                                     (may_have_space<E, box> && takes_action<E, std::span<float const>>) ||
                                     (may_have_space<E, multi_discrete> && takes_action<E, std::span<int const>>);

template <class E>
concept has_history = requires(E& world) { world.history(); };
template <class E>
concept history_is_readable = !has_history<E> || requires(E const& world) {
    { world.history() } -> std::same_as<observation_history>;
};

template <class E>
concept has_mask = requires(E const& world, std::span<std::uint8_t> allowed) {
    { world.action_mask(allowed) } -> std::same_as<void>;
};

/// A member of this name must be one.
template <class E>
concept mask_is_readable = has_mask<E> || !requires { &E::action_mask; };

template <class E>
concept has_drawing = requires(E const& world) {
    { world.draw() } -> std::same_as<drawing>;
};
template <class E>
concept scores_games = requires(E& world) {
    { world.take_finished() } -> std::same_as<std::optional<finished_episode>>;
    world.abandon();
};
template <class E>
concept scores_half =
    !scores_games<E> && (
                            requires(E& world) { world.take_finished(); } || requires(E& world) { world.abandon(); });

} // namespace detail

/// An environment is a small struct with these members. `step` takes an int for a discrete space, a std::span<float const>
/// for a box and a std::span<int const> for a multi-discrete space; `reset` and `step` write the new observation, as floats
/// unless the environment declares `using observation_type = std::uint8_t`. A member `observation_history history() const`
/// asks for states of several observations, one `void action_mask(std::span<std::uint8_t> allowed) const` forbids actions,
/// one `gmac::drawing draw() const` shows the state to people. After the end of an episode the caller resets before it
/// steps again.
template <class E>
concept environment =
    observation_element<observation_of<E>> &&
    requires(E& world, E const& same, random_stream& random, std::span<observation_of<E>> observation) {
        { same.observation_size() } -> std::convertible_to<std::size_t>;
        { same.action_space() } -> std::convertible_to<action_space>;
        { world.reset(random, observation) } -> std::same_as<void>;
    } && detail::takes_actions_of_its_space<E> && detail::history_is_readable<E> && detail::mask_is_readable<E> &&
    !detail::scores_half<E>;

/// An environment that asks for states of several observations.
template <class E>
concept environment_with_history = environment<E> && detail::has_history<E>;

/// An environment in which not every discrete action may be done in every state. After a reset, a restoring and each step
/// that does not end the episode `action_mask` is given a 1 for each action, and writes a 0 for those that may not come
/// next; one at least must be left. Of several actions at once it has one number for each value of the first component,
/// then those of the second, and so on; of each component one must be left. What it writes must depend on nothing but what
/// `persist` visits.
template <class E>
concept masked_environment = environment<E> && detail::has_mask<E>;

/// An environment that can be looked at: `draw` gives its state as lines. A member of this name with other parameters or
/// another result is none of ours.
template <class E>
concept drawn_environment = environment<E> && detail::has_drawing<E>;

/// What the environment asks for; one observation if it asks for nothing.
template <environment E>
[[nodiscard]] observation_history history_of(E const& world) {
    if constexpr (environment_with_history<E>)
        return world.history();
    else
        return {};
}

/// An environment that can be checkpointed: `persist` visits all that the next step depends on, such that a restored
/// episode goes on bit for bit; it is called before the first reset, too. Without it a resumed run begins new episodes.
template <class E>
concept checkpointable_environment = environment<E> && requires(E& world, archive& state) { world.persist(state); };

/// Where a batch of E environments writes what one step of all of them gave. Rows are environments.
template <observation_element O>
struct basic_step_result {
    matrix_view<O> observations;        ///< [E, observation size] what to act on next; of the new episode after an end
    matrix_view<O> final_observations;  ///< [E, observation size] the last one of an episode that ended; other rows
                                        ///< are left as they are; an empty view if they are not wanted
    std::span<float> rewards;           ///< [E]
    std::span<std::uint8_t> terminated; ///< [E] 0 or 1
    std::span<std::uint8_t> truncated;  ///< [E] 0 or 1; never set together with terminated
};
using step_result = basic_step_result<float>;

/// An environment whose episodes are only parts of what counts, such as the lives of a game. After every step it is asked
/// for the whole games that were finished since, one after the other until there is none, and `finished` of a batch
/// reports these instead of episodes. Its `reset` may go on with the game; `abandon` gives the game up, so that the next
/// reset begins a new one.
template <class E>
concept scored_environment = environment<E> && detail::scores_games<E>;

/// Environments that are stepped together and start a new episode by themselves. This is all that an agent sees of
/// them, so an agent is compiled once for all environments. Actions are [E, action size] with action size 1 for a
/// discrete space and the number of components for a multi-discrete one, whose numbers are stored as floats. O is the
/// element type of the observations.
template <observation_element O>
class basic_environment_batch {
public:
    using observation_type = O;

    virtual ~basic_environment_batch() = default;

    [[nodiscard]] virtual std::size_t size() const noexcept = 0;
    [[nodiscard]] virtual std::size_t observation_size() const noexcept = 0;
    [[nodiscard]] virtual gmac::action_space const& action_space() const noexcept = 0;
    /// The discount of the returns that are learned, in [0, 1], for whatever scales rewards by their returns. An agent
    /// says its own when it is made.
    virtual void set_discount(double /*discount*/) {}
    /// How many observations the states have that an agent shall see; a batch hands out one observation at a time.
    [[nodiscard]] virtual observation_history history() const noexcept { return {}; }

    /// Which discrete actions may come next, [E, mask size], 0 for those that may not, which a step refuses; an empty view
    /// if all may, always. The shape never changes; what is in it is of the states that `observe` gives.
    [[nodiscard]] virtual matrix_view<std::uint8_t const> action_masks() const noexcept { return {}; }

    /// Starts a new episode everywhere, and a new game where episodes are parts of one; observations is [E, observation
    /// size].
    virtual void reset(matrix_view<O> observations) = 0;
    /// One step everywhere. Throws gmac::error, with the environment and the step named, for an action outside the
    /// space and for a reward or an observation that is not finite.
    virtual void step(matrix_view<float const> actions, basic_step_result<O> const& result) = 0;

    /// Writes once more what the last reset or step gave to act on: what a restored run goes on from. [E, observation
    /// size]
    virtual void observe(matrix_view<O> observations) const = 0;
    /// Another number after each reset, step and restoring, and after all else that changes what `observe` gives: so an
    /// agent knows whether somebody else has moved its environments.
    [[nodiscard]] virtual std::uint64_t changes() const noexcept = 0;

    /// What the environment of this number looks like now; nothing if it cannot be drawn.
    [[nodiscard]] virtual std::optional<drawing> draw(std::size_t /*environment*/) const { return std::nullopt; }

    /// The episodes that ended in the last step or reset, in the order of their environments; one may have several.
    [[nodiscard]] virtual std::span<finished_episode const> finished() const noexcept = 0;
    /// False if some state cannot be stored: then a resumed run starts its episodes anew, by `reset`.
    [[nodiscard]] virtual bool checkpointable() const noexcept = 0;
    virtual void persist(archive& state) = 0;

    /// Of environments on several ranks: combines what they have learned of all their environments together, such as running
    /// statistics, which are then the same on each rank. Collective; agents call it after each rollout.
    virtual void combine(communicator& /*ranks*/) {}
    /// The part of `persist` that is the same on all ranks after `combine`.
    virtual void persist_shared(archive& /*state*/) {}
};
using environment_batch = basic_environment_batch<float>;

/// How many elements the states have that an agent sees.
template <observation_element O>
[[nodiscard]] std::size_t state_size(basic_environment_batch<O> const& worlds) noexcept {
    return worlds.history().frames * worlds.observation_size();
}

/// How many numbers an action has.
[[nodiscard]] inline std::size_t action_size(action_space const& space) noexcept {
    if (auto const* const numbers = std::get_if<multi_discrete>(&space))
        return numbers->size();
    auto const* continuous = std::get_if<box>(&space);
    return continuous ? continuous->size() : 1;
}

/// How many values each number of an action has, if these are whole ones: one for a discrete space, one for each component
/// of a multi-discrete one; none for a box. Of the memory of the space.
[[nodiscard]] inline std::span<std::size_t const> action_counts(action_space const& space) noexcept {
    if (auto const* const numbers = std::get_if<discrete>(&space))
        return {&numbers->count, 1};
    if (auto const* const numbers = std::get_if<multi_discrete>(&space))
        return numbers->counts;
    return {};
}
std::span<std::size_t const> action_counts(action_space&& space) = delete; ///< its memory would be gone

/// How many numbers an action mask has: one for each value of each component. 0 for a box.
[[nodiscard]] inline std::size_t mask_size(action_space const& space) noexcept {
    std::size_t size = 0;
    for (std::size_t const count : action_counts(space))
        size += count;
    return size;
}

/// For messages: "discrete", "a box" or "multi-discrete".
[[nodiscard]] inline std::string_view name_of_kind(action_space const& space) noexcept {
    return std::holds_alternative<box>(space)        ? "a box"
           : std::holds_alternative<discrete>(space) ? "discrete"
                                                     : "multi-discrete";
}

} // namespace gmac::inline GMAC_ABI
