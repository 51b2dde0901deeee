// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/abi.hpp>

#include <algorithm>

namespace gmac::inline GMAC_ABI {

/// A learning rate that follows how far the policy moves: by the factor down if the KL divergence from the policy of the
/// rollout is above twice the target, and up if it is below half of it. This is the adaptive schedule of rsl_rl (Rudin et
/// al. 2022, whose target is 0.01) and of rl_games. An agent asks once an epoch, as rl_games does by its schedule
/// "standard", with the mean over the epoch: rsl_rl asks at each of its few minibatches, but with hundreds of small ones an
/// update the rate would run from bound to bound.
struct kl_schedule {
    double target = 0.01;
    double minimum = 1e-5, maximum = 1e-2;
    double factor = 1.5;

    /// The rate after `rate`, with which the divergence came to be `kl`. One of exactly zero tells nothing, since nothing
    /// was learned before.
    [[nodiscard]] constexpr double next(double rate, double kl) const noexcept {
        if (kl > 2.0 * target)
            return (std::max)(minimum, rate / factor);
        if (kl > 0.0 && kl < 0.5 * target)
            return (std::min)(maximum, rate * factor);
        return rate;
    }
};

} // namespace gmac::inline GMAC_ABI
