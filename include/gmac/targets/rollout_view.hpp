// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace gmac::targets {

/// How a transition ended: `terminated` wins where both flags are set.
enum class ending { none, terminated, truncated };

namespace detail {

[[nodiscard]] inline bool any_of_eight(std::uint8_t const* flags) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, flags, sizeof word);
    return word != 0;
}

} // namespace detail

/// What the environments gave in T steps of E environments, shapes [T, E]. A flag is set if it is not zero; a matrix of
/// flags that is left out (a default view) is zero everywhere.
///
/// Everything else that belongs to a rollout is flattened, row t * E + e: the states x_0 … x_T are rows
/// 0 … (T + 1) E − 1, and the final observations of the truncated transitions follow in the order of their transitions.
template <class T>
struct rollout_view {
    using value_type = T;

    matrix_view<T const> rewards{};
    matrix_view<std::uint8_t const> terminated{};
    matrix_view<std::uint8_t const> truncated{};

    [[nodiscard]] constexpr std::size_t steps() const noexcept { return rewards.rows(); }
    [[nodiscard]] constexpr std::size_t environments() const noexcept { return rewards.cols(); }
    /// T E: how many states get a target.
    [[nodiscard]] constexpr std::size_t rows() const noexcept { return steps() * environments(); }
    /// (T + 1) E: how many states there are, final observations not counted.
    [[nodiscard]] constexpr std::size_t state_rows() const noexcept { return (steps() + 1) * environments(); }

    [[nodiscard]] constexpr ending end(std::size_t step, std::size_t environment) const noexcept {
        if (terminated.data() != nullptr && terminated(step, environment) != 0)
            return ending::terminated;
        if (truncated.data() != nullptr && truncated(step, environment) != 0)
            return ending::truncated;
        return ending::none;
    }

    /// How many transitions of this step, of environments [first, last), were truncated.
    [[nodiscard]] std::size_t truncations(std::size_t step, std::size_t first, std::size_t last) const noexcept {
        if (truncated.data() == nullptr)
            return 0;
        std::size_t count = 0;
        for (std::size_t e = first; e < last; ++e) {
            // Most flags are zero: eight of them at a time.
            for (; truncated.col_stride() == 1 && e + 8 <= last; e += 8)
                if (detail::any_of_eight(&truncated(step, e)))
                    break;
            if (e < last)
                count += static_cast<std::size_t>(end(step, e) == ending::truncated);
        }
        return count;
    }
    /// How many final observations the rollout has: one for each truncated transition.
    [[nodiscard]] std::size_t truncations() const noexcept {
        std::size_t count = 0;
        for (std::size_t t = 0; t < steps(); ++t)
            count += truncations(t, 0, environments());
        return count;
    }
};

namespace detail {

/// Throws gmac::error unless the rollout has steps and environments and its parts have one shape.
template <class T>
constexpr void require_rollout(rollout_view<T> const& rollout, std::string_view where) {
    std::size_t const steps = rollout.steps();
    std::size_t const environments = rollout.environments();
    require(steps > 0 && environments > 0,
            "{}: rewards is {} x {}, but a rollout has at least one step and environment", where, steps, environments);
    if (rollout.terminated.data() != nullptr)
        require_shape(rollout.terminated, steps, environments, "terminated", where);
    if (rollout.truncated.data() != nullptr)
        require_shape(rollout.truncated, steps, environments, "truncated", where);
}

/// Throws gmac::error unless the option lies in [0, 1]; NaN does not.
constexpr void require_unit_interval(double value, std::string_view name, std::string_view where) {
    require(value >= 0.0 && value <= 1.0, "{}: {} is {}, but must be in [0, 1]", where, name, value);
}

/// Finds the row of a truncated transition among the final observations. Asked from the last step of an environment to
/// the first it looks at each flag at most once, so it needs no table.
template <class T>
class final_rows {
public:
    /// `count` is rollout.truncations().
    constexpr final_rows(rollout_view<T> const& rollout, std::size_t count) noexcept
        : rollout_(rollout), step_(rollout.steps()), row_(count) {}

    /// The number of truncations before transition (step, environment), which must not come after the last one asked.
    std::size_t operator()(std::size_t step, std::size_t environment) noexcept {
        std::size_t const all = rollout_.environments();
        if (step == step_) {
            row_ -= rollout_.truncations(step, environment, environment_);
        } else {
            if (step_ < rollout_.steps())
                row_ -= rollout_.truncations(step_, 0, environment_);
            for (std::size_t t = step_ - 1; t > step; --t)
                row_ -= rollout_.truncations(t, 0, all);
            row_ -= rollout_.truncations(step, environment, all);
        }
        step_ = step;
        environment_ = environment;
        return row_;
    }

private:
    rollout_view<T> const& rollout_;
    std::size_t step_;
    std::size_t environment_ = 0;
    std::size_t row_;
};

} // namespace detail

} // namespace gmac::targets
