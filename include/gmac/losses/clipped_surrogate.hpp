// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>

#include <cmath>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace gmac::inline GMAC_ABI::losses {

/// Sums over the states of a minibatch, or of a part of it.
struct surrogate_sums {
    double loss = 0.0;       ///< −min(r A, clip(r, 1 − ε, 1 + ε) A)
    double kl = 0.0;         ///< (r − 1) − log r
    std::size_t clipped = 0; ///< states whose ratio r is outside 1 ± ε

    surrogate_sums& operator+=(surrogate_sums const& other) noexcept {
        loss += other.loss;
        kl += other.kl;
        clipped += other.clipped;
        return *this;
    }
};

namespace detail {

/// exp(x) · a, right wherever the product is a number, although exp(x) may not be: then in four steps, none of which
/// leaves the range between a and the product. 0 if a is, for any finite x.
[[nodiscard]] inline double scaled_exp(double x, double a) noexcept {
    if (double const factor = std::exp(x); std::isnormal(factor))
        return factor * a;
    if (a == 0.0 && std::isfinite(x))
        return a;
    double const root = std::exp(0.25 * x);
    return a * root * root * root * root;
}

/// exp(x) · share · a, which may be a number although exp(x) · a is too large for one.
[[nodiscard]] inline double scaled_exp(double x, double share, double a) noexcept {
    return std::abs(a) < 1.0 ? scaled_exp(0.5 * x, share * scaled_exp(0.5 * x, a)) : scaled_exp(x, share * a);
}

} // namespace detail

/// The clipped surrogate of PPO (Schulman et al. 2017, equation 7), the loss of the policy. With A the advantage of an
/// action and r = π(a) / π_old(a) the ratio of its probabilities now and at the time of the rollout, a state's loss is
///     −min(r A, clip(r, 1 − ε, 1 + ε) A).
struct clipped_surrogate {
    static constexpr std::string_view name = "clipped_surrogate";

    double clip = 0.2; ///< ε

    /// Sums over states, all arguments [n]; writes `scale` times the derivative of each state's loss with respect to its
    /// log probability: 1 / B of a minibatch of B states gives the gradient of the mean. The gradient may be the memory
    /// of an argument. A NaN comes out in the sums and in the gradient of its state. Throws gmac::error if the sizes
    /// differ or clip is negative or NaN.
    template <class Gradient, class T = gmac::detail::vector_value<Gradient>>
    surrogate_sums value_and_gradient(gmac::detail::vector_of<T const> log_probabilities,
                                      gmac::detail::vector_of<T const> old_log_probabilities,
                                      gmac::detail::vector_of<T const> advantages, Gradient&& gradient,
                                      std::type_identity_t<T> scale) const {
        require(clip >= 0.0, "clipped_surrogate: clip is {}, but must not be negative", clip);
        vector_view<T> const slopes(gradient);
        std::size_t const states = log_probabilities.size();
        require_size(old_log_probabilities, states, "the vector of old log probabilities", name);
        require_size(advantages, states, "the vector of advantages", name);
        require_size(slopes, states, "the gradient", name);
        T const most = T(1) + static_cast<T>(clip);
        T const least = T(1) - static_cast<T>(clip);
        surrogate_sums sums;
        for (std::size_t i = 0; i < states; ++i) {
            T const log_ratio = log_probabilities[i] - old_log_probabilities[i];
            T const ratio = std::exp(log_ratio);
            T const advantage = advantages[i];
            bool const above = ratio > most;
            bool const below = ratio < least;
            // The clipped term is the minimum, and constant, where the ratio has left the range in the direction of gain.
            bool const flat = (above && advantage > T(0)) || (below && advantage < T(0));
            T const bound = above ? most : least;
            T const objective = (flat ? bound : ratio) * advantage;
            if (std::isnormal(ratio) && std::isnormal(objective)) {
                slopes[i] = flat ? T(0) : -scale * objective;
                sums.loss -= static_cast<double>(objective);
            } else { // what T cannot hold, double may; and without an advantage there is no loss, however large the ratio
                auto const x = static_cast<double>(log_ratio);
                auto const a = static_cast<double>(advantage);
                auto const share = static_cast<double>(scale);
                double const wide = flat ? static_cast<double>(bound) * a : detail::scaled_exp(x, a);
                double const slope = std::isfinite(wide) ? share * wide : detail::scaled_exp(x, share, a);
                slopes[i] = flat ? T(0) : static_cast<T>(-slope);
                sums.loss -= wide;
            }
            sums.kl += std::expm1(static_cast<double>(log_ratio)) - static_cast<double>(log_ratio);
            sums.clipped += above || below ? 1u : 0u;
        }
        return sums;
    }
};

} // namespace gmac::inline GMAC_ABI::losses
