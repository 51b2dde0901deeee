// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace gmac {

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

/// The clipped surrogate of PPO (Schulman et al. 2017, equation 7) for the states of a part of a minibatch. Writes
/// `scale` times the derivative of each state's loss with respect to its log probability; all arguments are [n].
template <class T>
surrogate_sums clipped_surrogate(std::span<T const> log_probabilities, std::span<T const> old_log_probabilities,
                                 std::span<T const> advantages, T clip, T scale, std::span<T> gradient) noexcept {
    surrogate_sums sums;
    for (std::size_t i = 0; i < log_probabilities.size(); ++i) {
        T const log_ratio = log_probabilities[i] - old_log_probabilities[i];
        T const ratio = std::exp(log_ratio);
        T const advantage = advantages[i];
        bool const above = ratio > T(1) + clip;
        bool const below = ratio < T(1) - clip;
        T const bounded = above ? T(1) + clip : below ? T(1) - clip : ratio;
        // The clipped term is the minimum, and constant, where the ratio has left the range in the direction of gain.
        bool const flat = (above && advantage > T(0)) || (below && advantage < T(0));
        T const objective = flat ? bounded * advantage : ratio * advantage;
        gradient[i] = flat ? T(0) : -scale * objective;
        sums.loss -= static_cast<double>(objective);
        sums.kl += static_cast<double>(std::expm1(log_ratio) - log_ratio);
        sums.clipped += above || below ? 1u : 0u;
    }
    return sums;
}

/// Mean 0 and n − 1 standard deviation 1; a single element, or elements that are all equal, become zeros.
template <class T>
void normalize(std::span<T> values) noexcept {
    double sum = 0.0;
    for (T const value : values)
        sum += static_cast<double>(value);
    double const mean = sum / static_cast<double>(values.size());
    double squares = 0.0;
    for (T const value : values)
        squares += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean);
    double const deviation = values.size() > 1 ? std::sqrt(squares / static_cast<double>(values.size() - 1)) : 0.0;
    // What is left of equal elements is the rounding of their mean.
    bool const constant = deviation <= 1e-12 * std::abs(mean);
    for (T& value : values)
        value = constant ? T(0) : static_cast<T>((static_cast<double>(value) - mean) / deviation);
}

/// 1 − Var(return − value) / Var(return): 1 for a perfect value, 0 for a constant one; NaN if the returns are all equal.
template <class T>
[[nodiscard]] double explained_variance(std::span<T const> returns, std::span<T const> values) noexcept {
    double const share = 1.0 / static_cast<double>(returns.size());
    double mean = 0.0, mean_error = 0.0;
    for (std::size_t i = 0; i < returns.size(); ++i) {
        mean += share * static_cast<double>(returns[i]);
        mean_error += share * static_cast<double>(returns[i] - values[i]);
    }
    double variance = 0.0, error_variance = 0.0;
    for (std::size_t i = 0; i < returns.size(); ++i) {
        double const centred = static_cast<double>(returns[i]) - mean;
        double const error = static_cast<double>(returns[i] - values[i]) - mean_error;
        variance += centred * centred;
        error_variance += error * error;
    }
    return variance > 0.0 ? 1.0 - error_variance / variance : std::numeric_limits<double>::quiet_NaN();
}

} // namespace gmac
