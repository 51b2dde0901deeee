// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/overlap.hpp>
#include <gmac/core/view.hpp>
#include <gmac/targets/rollout_view.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace gmac::inline GMAC_ABI::targets {

namespace detail {

/// One number a transition: a matrix [T, E], or a vector of T E numbers in the order t * E + e.
template <std::floating_point T, class Numbers>
[[nodiscard]] matrix_view<T> by_step(Numbers&& numbers, std::size_t steps, std::size_t environments,
                                     std::string_view name, std::string_view where) {
    auto const as_steps = [&](vector_view<T> const& vector) -> matrix_view<T> {
        require(vector.size() == steps * environments, "{}: {} has {} elements, but must have {} x {}", where, name,
                vector.size(), steps, environments);
        return {vector.data(), steps, environments, static_cast<std::ptrdiff_t>(environments) * vector.stride(),
                vector.stride()};
    };
    if constexpr (std::convertible_to<Numbers, matrix_view<T>> && std::convertible_to<Numbers, vector_view<T>>) {
        // A tensor type serves for both; its shape tells which is meant.
        if constexpr (requires { numbers.rows(); }) {
            auto const rows = static_cast<std::size_t>(numbers.rows());
            auto const cols = static_cast<std::size_t>(numbers.cols());
            if ((rows != steps || cols != environments) && (rows == 1 || cols == 1))
                return as_steps(vector_view<T>(numbers));
        } else if (numbers.shape().size() == 1) {
            return as_steps(vector_view<T>(numbers));
        }
    }
    if constexpr (std::convertible_to<Numbers, matrix_view<T>>) {
        matrix_view<T> const matrix(numbers);
        require_shape(matrix, steps, environments, name, where);
        return matrix;
    } else {
        constexpr bool is_vector = std::convertible_to<Numbers, vector_view<T>>;
        static_assert(is_vector,
                      "the numbers of a rollout are a matrix [T, E] or a vector of T E elements of the rewards' type");
        if constexpr (is_vector)
            return as_steps(vector_view<T>(numbers));
        else
            return {};
    }
}

/// What GAE and the λ-return read, after its checks.
template <class T>
struct value_rollout {
    rollout_view<T> steps;
    matrix_view<T const> values; ///< [T + 1, E]
    vector_view<T const> final_values;

    value_rollout(rollout_view<T> const& rollout, vector_view<T const> const& all_values,
                  vector_view<T const> const& finals, std::string_view where)
        : steps(rollout), final_values(finals) {
        require_rollout(rollout, where);
        std::size_t const environments = rollout.environments();
        require(all_values.size() == rollout.state_rows(), "{}: values has {} elements, but must have {} x {}", where,
                all_values.size(), rollout.steps() + 1, environments);
        values = {all_values.data(), rollout.steps() + 1, environments,
                  static_cast<std::ptrdiff_t>(environments) * all_values.stride(), all_values.stride()};
        std::size_t const truncations = rollout.truncations();
        require(finals.size() == truncations,
                "{}: final_values has {} elements, but {} transitions of the rollout were truncated", where,
                finals.size(), truncations);
    }

    /// The output may be the very memory of the rewards, element for element; it must not touch what is read later.
    void require_apart(matrix_view<T> const& output, std::string_view name, std::string_view where) const {
        auto const& rewards = steps.rewards;
        bool const in_place = same_elements(output, rewards);
        require(in_place || !may_overlap(output, rewards), "{}: {} overlaps the rewards in memory", where, name);
        require(!may_overlap(output, values) && !may_overlap(output, as_column(final_values)),
                "{}: {} overlaps the values in memory", where, name);
    }

    /// Calls visit(t, e, next, goes_on) from the last step to the first. `next` is the value after the transition: of
    /// the next state, of the final observation, or zero; `goes_on` says that the episode has further steps in here.
    template <class Visit>
    void backwards(Visit&& visit) const {
        std::size_t const environments = steps.environments();
        std::size_t finals_before = final_values.size();
        for (std::size_t t = steps.steps(); t-- > 0;) {
            bool const last = t + 1 == steps.steps();
            finals_before -= steps.truncations(t, 0, environments);
            std::size_t final = finals_before;
            for (std::size_t e = 0; e < environments; ++e) {
                ending const end = steps.end(t, e);
                T const next = end == ending::terminated  ? T(0)
                               : end == ending::truncated ? final_values[final++]
                                                          : values(t + 1, e);
                visit(t, e, next, !last && end == ending::none);
            }
        }
    }
};

} // namespace detail

/// Generalised advantage estimation (Schulman et al. 2016, equation 16):
///     δ_t = r_t + γ V(x_{t+1}) − V(x_t),   A_t = δ_t + γ λ A_{t+1}.
/// The sum never crosses the end of an episode. After a terminated transition the value is zero, after a truncated one
/// that of the final observation. A reward or value that is not finite comes out as it went in; it is not swallowed.
struct gae {
    double discount = 0.99;
    double lambda = 0.95;

    /// values: the (T + 1) E values of x_0 … x_T, element t * E + e; final_values: one for each truncated transition, in
    /// the order of the transitions; advantages: [T, E] or a vector of T E elements, which may be the rewards' memory.
    /// Throws gmac::error for an option outside [0, 1], for shapes that do not match and for overlapping memory.
    template <std::floating_point T, class Advantages>
    void operator()(rollout_view<T> const& rollout, std::type_identity_t<vector_view<T const>> values,
                    std::type_identity_t<vector_view<T const>> final_values, Advantages&& advantages) const {
        run<T>(rollout, values, final_values, advantages, matrix_view<T>());
    }
    /// Gives the returns A_t + V(x_t) too, shaped like the advantages. They equal the λ-returns.
    template <std::floating_point T, class Advantages, class Returns>
    void operator()(rollout_view<T> const& rollout, std::type_identity_t<vector_view<T const>> values,
                    std::type_identity_t<vector_view<T const>> final_values, Advantages&& advantages,
                    Returns&& returns) const {
        run<T>(rollout, values, final_values, advantages,
               detail::by_step<T>(returns, rollout.steps(), rollout.environments(), "returns", "gae"));
    }

private:
    template <class T, class Advantages>
    void run(rollout_view<T> const& rollout, vector_view<T const> const& values,
             vector_view<T const> const& final_values, Advantages& advantages, matrix_view<T> const& returns) const {
        detail::require_unit_interval(discount, "discount", "gae");
        detail::require_unit_interval(lambda, "lambda", "gae");
        detail::value_rollout<T> const known(rollout, values, final_values, "gae");
        auto const output =
            detail::by_step<T>(advantages, rollout.steps(), rollout.environments(), "advantages", "gae");
        known.require_apart(output, "advantages", "gae");
        known.require_apart(returns, "returns", "gae");
        require(!may_overlap(output, returns), "gae: advantages and returns overlap in memory");

        T const gamma = static_cast<T>(discount);
        T const decay = static_cast<T>(discount * lambda);
        known.backwards([&](std::size_t t, std::size_t e, T next, bool goes_on) {
            T const value = known.values(t, e);
            T const reward = rollout.rewards(t, e);
            T const later = goes_on ? output(t + 1, e) : T(0);
            T const delta = reward + gamma * next - value;
            T advantage = goes_on ? delta + decay * later : delta;
            T lambda_return = advantage + value;
            if (!std::isfinite(lambda_return)) { // a quarter of each term, since a part of the sum may be too large
                T const quarter = (reward / 4 + gamma * (next / 4) - value / 4) + decay * (later / 4);
                advantage = 4 * quarter;
                lambda_return = 4 * (quarter + value / 4);
            }
            output(t, e) = advantage;
            if (!returns.empty())
                returns(t, e) = lambda_return;
        });
    }
};

} // namespace gmac::inline GMAC_ABI::targets
