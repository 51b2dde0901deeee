// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/checks.hpp>
#include <gmac/environment/decorator.hpp>
#include <gmac/environment/environment.hpp>

#include <memory>
#include <utility>

namespace gmac {

/// Clips every reward to ±bound, as is done on Atari, where games pay in very different coins. `finished` still
/// reports the sums of the rewards as the environments gave them.
class clipped_rewards final : public environment_batch_decorator {
public:
    /// Throws gmac::error unless the bound is positive.
    explicit clipped_rewards(environment_batch& worlds, float bound = 1.0f)
        : environment_batch_decorator(worlds), bound_(checked(bound)) {}
    explicit clipped_rewards(std::unique_ptr<environment_batch> worlds, float bound = 1.0f)
        : environment_batch_decorator(std::move(worlds)), bound_(checked(bound)) {}

    void step(matrix_view<float const> actions, step_result const& result) override {
        environment_batch_decorator::step(actions, result);
        for (float& reward : result.rewards)
            reward = detail::clip(reward, bound_);
    }

private:
    [[nodiscard]] static float checked(float bound) {
        require(bound > 0.0f, "clipped_rewards: the bound is {}, but must be positive", bound);
        return bound;
    }

    float bound_;
};

} // namespace gmac
