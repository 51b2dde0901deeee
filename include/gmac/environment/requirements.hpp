// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/environment/environment.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

/// What is said, in one sentence, where something is no environment or no batch of them. Wrappers of a user's own may
/// ask for these sentences too.
namespace gmac::inline GMAC_ABI {

/// Stops the compilation, with one sentence that says the first thing that the environment lacks, if it lacks one:
/// `static_assert(gmac::require_environment<E>());`
template <class E>
consteval bool require_environment() {
    using observations = std::span<observation_of<E>>;
    constexpr bool fits = environment<E>;
    if constexpr (!observation_element<observation_of<E>>)
        static_assert(fits, "this environment's observation_type is neither float nor std::uint8_t");
    else if constexpr (!requires(E const& world) {
                           { world.observation_size() } -> std::convertible_to<std::size_t>;
                       })
        static_assert(fits, "this is no environment: it has no `std::size_t observation_size() const`");
    else if constexpr (!requires(E const& world) {
                           { world.action_space() } -> std::convertible_to<action_space>;
                       })
        static_assert(fits,
                      "this environment has no `action_space() const` that gives a gmac::discrete, a gmac::box or a "
                      "gmac::multi_discrete");
    else if constexpr (!requires(E& world, random_stream& random, observations seen) {
                           { world.reset(random, seen) } -> std::same_as<void>;
                       })
        static_assert(fits,
                      "this environment has no `void reset(gmac::random_stream&, std::span<float> observation)` (of "
                      "std::uint8_t instead of float if that is its observation_type)");
    else if constexpr (!takes_action<E, int> && !takes_action<E, std::span<float const>> &&
                       !takes_action<E, std::span<int const>>)
        static_assert(fits,
                      "this environment has no `gmac::transition step(action, gmac::random_stream&, std::span<float> "
                      "observation)` whose action is an int, a std::span<float const> or a std::span<int const>");
    else if constexpr (!detail::takes_actions_of_its_space<E> && detail::may_have_space<E, box>)
        static_assert(fits, "this environment's action space is a box, but its step takes no std::span<float const>");
    else if constexpr (!detail::takes_actions_of_its_space<E> && detail::may_have_space<E, multi_discrete>)
        static_assert(fits,
                      "this environment's action space is multi-discrete, but its step takes no std::span<int const>");
    else if constexpr (!detail::takes_actions_of_its_space<E>)
        static_assert(fits, "this environment's action space is discrete, but its step takes no int");
    else if constexpr (!detail::history_is_readable<E>)
        static_assert(fits, "this environment's `history` is no `gmac::observation_history history() const`");
    else if constexpr (!detail::mask_is_readable<E>)
        static_assert(
            fits, "this environment's `action_mask` is no `void action_mask(std::span<std::uint8_t> allowed) const`");
    else
        static_assert(fits,
                      "this environment has only one of `std::optional<gmac::finished_episode> take_finished()` and "
                      "`void abandon()`, but an environment that scores whole games has both");
    return true; // one sentence is enough
}

/// The batch itself; what is no batch with observations of O stops the compilation, with one sentence.
template <observation_element O, class Worlds>
[[nodiscard]] basic_environment_batch<O>& as_batch(Worlds& worlds) {
    constexpr bool fits = std::derived_from<Worlds, basic_environment_batch<O>>;
    if constexpr (environment<Worlds>)
        static_assert(
            fits,
            "this is one environment, but a batch of them is wanted: `gmac::vector_environment<E> worlds(count, "
            "seed)`");
    else if constexpr (std::derived_from<Worlds, basic_environment_batch<std::uint8_t>>)
        static_assert(fits, "these environments give bytes, but observations in float are wanted here");
    else if constexpr (std::derived_from<Worlds, basic_environment_batch<float>>)
        static_assert(fits, "these environments give observations in float, but bytes are wanted here");
    else
        static_assert(fits, "this is no batch of environments, such as a gmac::vector_environment<E>");
    if constexpr (fits)
        return worlds;
    else
        fail("no batch of environments");
}

} // namespace gmac::inline GMAC_ABI
