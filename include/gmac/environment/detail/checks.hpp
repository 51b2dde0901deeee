// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/bit_cast.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/environment.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>

/// What a batch of environments checks: spaces, actions, shapes, and that rewards and observations are finite.
namespace gmac::inline GMAC_ABI::detail {

/// By the exponent's bits: std::isfinite is not constexpr.
[[nodiscard]] constexpr bool is_finite(float x) noexcept {
    return (gmac::detail::bit_cast<std::uint32_t>(x) & 0x7f800000u) != 0x7f800000u;
}
[[nodiscard]] constexpr bool is_finite(double x) noexcept {
    return (gmac::detail::bit_cast<std::uint64_t>(x) & 0x7ff0000000000000u) != 0x7ff0000000000000u;
}

/// To ±bound; a NaN stays one.
template <std::floating_point T>
[[nodiscard]] constexpr T clip(T x, T bound) noexcept {
    return x > bound ? bound : x < -bound ? -bound : x;
}

template <class T>
void copy_row(std::span<T const> from, vector_view<T> const& to) noexcept {
    if (to.contiguous()) {
        std::copy(from.begin(), from.end(), to.data());
    } else {
        for (std::size_t j = 0; j < from.size(); ++j)
            to[j] = from[j];
    }
}

/// `where` begins an error, here and below.
inline void check_space(std::string_view where, action_space const& space, std::size_t observation_size) {
    require(observation_size > 0, "{}: the environment's observation size is 0, but must be positive", where);
    // A whole number is handed over as a float, which counts in ones up to 2^24.
    constexpr std::size_t most = 1u << 24u;
    if (auto const* numbers = std::get_if<discrete>(&space)) {
        require(numbers->count >= 1 && numbers->count <= most,
                "{}: the action space has {} actions, but must have 1 to {}", where, numbers->count, most);
        return;
    }
    if (auto const* numbers = std::get_if<multi_discrete>(&space)) {
        require(numbers->size() > 0, "{}: the action space has no components, but needs at least 1", where);
        for (std::size_t j = 0; j < numbers->size(); ++j)
            require(numbers->counts[j] >= 1 && numbers->counts[j] <= most,
                    "{}: component {} of the action space has {} values, but must have 1 to {}", where, j,
                    numbers->counts[j], most);
        return;
    }
    auto const& bounds = std::get<box>(space);
    require(bounds.low.size() == bounds.high.size() && !bounds.low.empty(),
            "{}: the action space has {} lower and {} upper bounds, but needs as many of each, at least 1", where,
            bounds.low.size(), bounds.high.size());
    for (std::size_t j = 0; j < bounds.size(); ++j)
        require(bounds.low[j] <= bounds.high[j],
                "{}: the bounds of action element {} are [{}, {}], but the first must be the smaller", where, j,
                bounds.low[j], bounds.high[j]);
}

[[nodiscard]] inline bool same_space(action_space const& a, action_space const& b) noexcept {
    if (a.index() != b.index())
        return false;
    if (!std::holds_alternative<box>(a)) {
        auto const one = action_counts(a), other = action_counts(b);
        return std::equal(one.begin(), one.end(), other.begin(), other.end());
    }
    auto const& bounds = std::get<box>(a);
    return bounds.low == std::get<box>(b).low && bounds.high == std::get<box>(b).high;
}

/// False for a NaN and for a number between two discrete actions.
[[nodiscard]] inline bool contains(action_space const& space, std::size_t element, float action) noexcept {
    if (auto const counts = action_counts(space); !counts.empty())
        return action >= 0.0f && action < static_cast<float>(counts[element]) &&
               static_cast<float>(static_cast<std::uint32_t>(action)) == action;
    auto const& bounds = std::get<box>(space);
    return action >= bounds.low[element] && action <= bounds.high[element] && is_finite(action);
}

[[noreturn]] inline void raise_action(std::string_view where, action_space const& space, std::size_t environment,
                                      std::uint64_t step, std::size_t element, float action) {
    if (auto const* numbers = std::get_if<discrete>(&space))
        fail(
            "{}: environment {}, step {} of its episode: the action is {}, but must be a whole "
            "number from 0 to {}",
            where, environment, step, action, numbers->count - 1);
    if (auto const* numbers = std::get_if<multi_discrete>(&space))
        fail(
            "{}: environment {}, step {} of its episode: component {} of the action is {}, but must be a whole "
            "number from 0 to {}",
            where, environment, step, element, action, numbers->counts[element] - 1);
    auto const& bounds = std::get<box>(space);
    fail(
        "{}: environment {}, step {} of its episode: action element {} is {}, but must be a finite "
        "number in [{}, {}]",
        where, environment, step, element, action, bounds.low[element], bounds.high[element]);
}

template <class O>
void check_step_shapes(matrix_view<float const> const& actions, basic_step_result<O> const& result, std::size_t count,
                       std::size_t observation_size, std::size_t action_size, std::string_view where) {
    require_shape(actions, count, action_size, "actions", where);
    require_shape(result.observations, count, observation_size, "observations", where);
    if (!result.final_observations.empty()) {
        require_shape(result.final_observations, count, observation_size, "final_observations", where);
        require(result.final_observations.data() != result.observations.data(),
                "{}: observations and final_observations must not be the same memory", where);
    }
    require(result.rewards.size() == count && result.terminated.size() == count && result.truncated.size() == count,
            "{}: rewards, terminated and truncated have {}, {} and {} elements, but must have {} each", where,
            result.rewards.size(), result.terminated.size(), result.truncated.size(), count);
}

/// Throws gmac::error for an action of this environment that its mask forbids, [mask size].
inline void check_allowed(std::string_view where, std::span<std::size_t const> counts,
                          std::span<std::uint8_t const> mask, std::size_t environment, std::uint64_t step,
                          vector_view<float const> const& action) {
    std::size_t first = 0; // of the component's part of the mask
    for (std::size_t j = 0; j < counts.size(); ++j) {
        if (mask[first + static_cast<std::size_t>(action[j])] == 0) [[unlikely]] {
            if (counts.size() == 1)
                fail("{}: environment {}, step {} of its episode: the action is {}, which action_mask forbids there",
                     where, environment, step, action[j]);
            fail(
                "{}: environment {}, step {} of its episode: component {} of the action is {}, which action_mask "
                "forbids there",
                where, environment, step, j, action[j]);
        }
        first += counts[j];
    }
}

/// The first component of which a mask forbids all values; their number if there is none.
[[nodiscard]] inline std::size_t component_without_choice(std::span<std::size_t const> counts,
                                                          std::span<std::uint8_t const> mask) noexcept {
    std::size_t first = 0;
    for (std::size_t j = 0; j < counts.size(); first += counts[j], ++j)
        if (auto const own = mask.subspan(first, counts[j]);
            std::all_of(own.begin(), own.end(), [](std::uint8_t may) { return may == 0; }))
            return j;
    return counts.size();
}

/// The first number of an environment that was not finite, or a mask that allowed no action. Tasks write it down, and the
/// thread that asked for the step raises it, so that the error is the same for any number of threads.
class environment_fault {
public:
    [[nodiscard]] bool found() const noexcept { return what_ != quantity::none; }

    void check_reward(double reward, std::uint64_t step) noexcept {
        // The reward is handed on as a float: 1e300 would become infinite there.
        if (!is_finite(static_cast<float>(reward))) [[unlikely]]
            note(quantity::reward, reward, 0, step);
    }

    /// Bytes are always finite.
    void check_observation(std::span<std::uint8_t const>, std::uint64_t) noexcept {}

    /// `step` 0 stands for the reset.
    void check_observation(std::span<float const> observation, std::uint64_t step) noexcept {
        for (std::size_t j = 0; j < observation.size(); ++j) {
            if (!is_finite(observation[j])) [[unlikely]] {
                note(quantity::observation, static_cast<double>(observation[j]), j, step);
                return;
            }
        }
    }

    /// Without an action that is allowed the episode cannot go on.
    void check_mask(std::span<std::size_t const> counts, std::span<std::uint8_t const> allowed,
                    std::uint64_t step) noexcept {
        if (std::size_t const j = component_without_choice(counts, allowed); j < counts.size()) [[unlikely]]
            note(quantity::mask, static_cast<double>(counts[j]), counts.size() > 1 ? j : no_component, step);
    }

    [[noreturn]] void raise(std::size_t environment) const {
        std::string const when = step_ == 0 ? "reset" : "step " + std::to_string(step_) + " of its episode";
        if (what_ == quantity::mask)
            fail(
                "vector_environment: environment {}, {}: action_mask forbids all of the {} {}, but must allow at least one",
                environment, when, value_,
                element_ == no_component ? "actions" : "values of component " + std::to_string(element_));
        if (what_ == quantity::reward)
            fail("vector_environment: environment {}, {}: the reward is {}, but must be finite{}", environment, when,
                 value_, is_finite(value_) ? " as a float" : "");
        fail("vector_environment: environment {}, {}: observation element {} is {}, but must be finite", environment,
             when, element_, value_);
    }

private:
    enum class quantity : std::uint8_t { none, reward, observation, mask };
    static constexpr std::size_t no_component = (std::numeric_limits<std::size_t>::max)();

    void note(quantity what, double value, std::size_t element, std::uint64_t step) noexcept {
        if (found())
            return;
        what_ = what;
        value_ = value;
        element_ = element;
        step_ = step;
    }

    quantity what_ = quantity::none;
    double value_ = 0.0;      // of a mask, how many values all are forbidden
    std::size_t element_ = 0; // of an observation; of a mask, the component, if there are several
    std::uint64_t step_ = 0;
};

} // namespace gmac::inline GMAC_ABI::detail
