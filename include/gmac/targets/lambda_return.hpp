// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>
#include <gmac/targets/gae.hpp>
#include <gmac/targets/rollout_view.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace gmac::inline GMAC_ABI::targets {

/// The λ-return (Sutton and Barto 2018, equation 12.18, in its recursive form):
///     G_t = r_t + γ ((1 − λ) V(x_{t+1}) + λ G_{t+1}).
/// It is the mean of the distribution that SR(λ) samples from, and the GAE advantage plus V(x_t). Boundaries as for gae.
struct lambda_return {
    double discount = 0.99;
    double lambda = 0.95;

    /// values: the (T + 1) E values of x_0 … x_T, element t * E + e (those of x_0 are not used); final_values: one for
    /// each truncated transition, in the order of the transitions; returns: [T, E] or a vector of T E elements, which
    /// may be the rewards' memory. Throws gmac::error for an option outside [0, 1], for shapes that do not match and for
    /// overlapping memory.
    template <std::floating_point T, class Returns>
    void operator()(rollout_view<T> const& rollout, std::type_identity_t<vector_view<T const>> values,
                    std::type_identity_t<vector_view<T const>> final_values, Returns&& returns) const {
        detail::require_unit_interval(discount, "discount", "lambda_return");
        detail::require_unit_interval(lambda, "lambda", "lambda_return");
        detail::value_rollout<T> const known(rollout, values, final_values, "lambda_return");
        auto const output =
            detail::by_step<T>(returns, rollout.steps(), rollout.environments(), "returns", "lambda_return");
        known.require_apart(output, "returns", "lambda_return");

        T const gamma = static_cast<T>(discount);
        T const kept = static_cast<T>(lambda);
        T const fresh = static_cast<T>(1.0 - lambda);
        known.backwards([&](std::size_t t, std::size_t e, T next, bool goes_on) {
            T const after = goes_on ? fresh * next + kept * output(t + 1, e) : next;
            output(t, e) = rollout.rewards(t, e) + gamma * after;
        });
    }
};

} // namespace gmac::inline GMAC_ABI::targets
