// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace gmac::inline GMAC_ABI::targets {

/// How a transition ended: `terminated` wins where both flags are set.
enum class ending { none, terminated, truncated };

namespace detail {

[[nodiscard]] inline bool any_of_eight(std::uint8_t const* flags) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, flags, sizeof word);
    return word != 0;
}

} // namespace detail

/// One number of each transition: a matrix [T, E], or of one environment a vector [T]. Flags are bytes or bools.
template <class T>
class by_transition : public matrix_view<T const> {
    using matrix = matrix_view<T const>;

public:
    constexpr by_transition() noexcept = default;
    constexpr by_transition(matrix numbers) noexcept : matrix(numbers) {}
    /// Row-major and contiguous.
    template <class U>
    by_transition(U* data, std::size_t steps, std::size_t environments) noexcept
        : matrix(of_type(matrix_view<U>(data, steps, environments))) {}
    template <class U>
    by_transition(U* data, std::size_t steps, std::size_t environments, std::ptrdiff_t step_stride,
                  std::ptrdiff_t environment_stride) noexcept
        : matrix(of_type(matrix_view<U>(data, steps, environments, step_stride, environment_stride))) {}
    /// Whatever converts to a view, and outlives this one. Throws gmac::error if a tensor has neither one nor two dimensions.
    template <class Numbers>
        requires(!std::derived_from<std::remove_cvref_t<Numbers>, matrix>)
    by_transition(Numbers&& numbers) : matrix(view_of(numbers)) {
        gmac::detail::require_lasting<Numbers>();
    }

private:
    template <class Numbers>
    [[nodiscard]] static matrix view_of(Numbers& numbers) {
        constexpr bool is_vector = gmac::detail::vector_like<Numbers> && !gmac::detail::eigen_like<Numbers>;
        static_assert(
            is_vector || gmac::detail::matrix_like<Numbers>,
            "this is neither a matrix [T, E] nor a vector [T] of one environment; a std::vector<bool> has no bools "
            "in memory: use std::uint8_t");
        if constexpr (gmac::detail::xtensor_like<Numbers>)
            return numbers.shape().size() == 1 ? of_type(as_column(as_vector(numbers))) : of_type(as_matrix(numbers));
        else if constexpr (is_vector)
            return of_type(as_column(as_vector(numbers)));
        else if constexpr (gmac::detail::matrix_like<Numbers>)
            return of_type(as_matrix(numbers));
        else
            return {};
    }
    template <class U>
    [[nodiscard]] static matrix of_type(matrix_view<U> const& numbers) noexcept {
        constexpr bool flags = std::same_as<T, std::uint8_t> && std::same_as<U const, bool const>;
        static_assert(flags || std::same_as<U const, T const>,
                      "a rollout's rewards are of its number type, its flags are std::uint8_t or bool");
        if constexpr (flags) {
            static_assert(sizeof(bool) == sizeof(std::uint8_t));
            return {reinterpret_cast<std::uint8_t const*>(numbers.data()), numbers.rows(), numbers.cols(),
                    numbers.row_stride(), numbers.col_stride()};
        } else if constexpr (std::same_as<U const, T const>) {
            return numbers;
        } else {
            return {};
        }
    }
};

/// What the environments gave in T steps of E environments, shapes [T, E], or vectors [T] of one environment. A flag is set
/// if it is not zero; a matrix of flags that is left out (a default view) is zero everywhere.
///
/// Everything else that belongs to a rollout is flattened, row t * E + e: the states x_0 … x_T are rows
/// 0 … (T + 1) E − 1, and the final observations of the truncated transitions follow in the order of their transitions.
template <class T>
struct rollout_view {
    using value_type = T;

    by_transition<T> rewards{};
    by_transition<std::uint8_t> terminated{};
    by_transition<std::uint8_t> truncated{};

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

template <class Rewards>
struct number_of_rewards {};
template <gmac::detail::matrix_like Rewards>
struct number_of_rewards<Rewards> {
    using type = gmac::detail::matrix_value<Rewards>;
};
template <class Rewards>
    requires(gmac::detail::vector_like<Rewards> && !gmac::detail::matrix_like<Rewards>)
struct number_of_rewards<Rewards> {
    using type = gmac::detail::vector_value<Rewards>;
};

} // namespace detail

template <class Rewards, class... Flags>
rollout_view(Rewards&&, Flags&&...) -> rollout_view<typename detail::number_of_rewards<Rewards>::type>;

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

} // namespace gmac::inline GMAC_ABI::targets
