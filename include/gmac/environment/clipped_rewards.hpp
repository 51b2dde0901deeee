// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/decorator.hpp>
#include <gmac/environment/detail/checks.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/environment/requirements.hpp>

#include <concepts>
#include <memory>
#include <utility>

namespace gmac::inline GMAC_ABI {

/// Clips every reward to ±bound, as is done on Atari, where games pay in very different coins. `finished` still
/// reports the sums of the rewards as the environments gave them.
template <observation_element O>
class basic_clipped_rewards final : public basic_environment_batch_decorator<O> {
    using base = basic_environment_batch_decorator<O>;

public:
    /// Throws gmac::error unless the bound is positive.
    explicit basic_clipped_rewards(basic_environment_batch<O>& worlds, float bound = 1.0f)
        : base(worlds), bound_(checked(bound)) {}
    template <class Worlds>
        requires(!std::derived_from<Worlds, basic_environment_batch<O>>)
    explicit basic_clipped_rewards(Worlds& worlds, float bound = 1.0f)
        : basic_clipped_rewards(as_batch<O>(worlds), bound) {}
    explicit basic_clipped_rewards(std::unique_ptr<basic_environment_batch<O>> worlds, float bound = 1.0f)
        : base(std::move(worlds)), bound_(checked(bound)) {}

    void step(matrix_view<float const> actions, basic_step_result<O> const& result) override {
        base::step(actions, result);
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
using clipped_rewards = basic_clipped_rewards<float>;

} // namespace gmac::inline GMAC_ABI
