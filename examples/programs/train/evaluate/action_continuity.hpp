// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>
#include <gmac/environment/decorator.hpp>
#include <gmac/environment/environment.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

namespace gmac::examples::train {

/// Environments whose actions are watched: how much they change from one step to the next in the first episode of each
/// environment. Only real actions, within bounds, have a continuity cost.
class watched_actions final : public environment_batch_decorator {
public:
    explicit watched_actions(std::unique_ptr<environment_batch> worlds)
        : environment_batch_decorator(std::move(worlds)),
          bounds_(std::get_if<box>(&action_space())),
          last_(bounds_ ? size() * bounds_->size() : 0),
          steps_(size(), 0),
          over_(size(), 0) {}

    void reset(matrix_view<float> observations) override {
        environment_batch_decorator::reset(observations);
        steps_.assign(size(), 0);
        over_.assign(size(), 0);
        sum_ = 0.0;
        changes_ = 0;
    }
    void step(matrix_view<float const> actions, step_result const& result) override {
        if (bounds_)
            watch(actions);
        environment_batch_decorator::step(actions, result);
        for (finished_episode const& episode : finished())
            over_[episode.environment] = 1;
    }

    /// 100 E[((aₜ − aₜ₋₁) / (high − low))²] over steps, episodes and the elements of an action: 0 for one that never changes,
    /// 100 for one that jumps from bound to bound (Raffin et al. 2021, "Smooth Exploration for Robotic Reinforcement
    /// Learning", section 4.1). NaN without two steps of real actions.
    [[nodiscard]] double continuity_cost() const noexcept {
        return changes_ > 0 ? 100.0 * sum_ / static_cast<double>(changes_) : std::numeric_limits<double>::quiet_NaN();
    }

private:
    void watch(matrix_view<float const> actions) {
        for (std::size_t e = 0; e < size(); ++e) {
            if (over_[e])
                continue;
            for (std::size_t i = 0; i < bounds_->size(); ++i) {
                float& last = last_[e * bounds_->size() + i];
                double const change = (static_cast<double>(actions(e, i)) - static_cast<double>(last)) /
                                      (static_cast<double>(bounds_->high[i]) - static_cast<double>(bounds_->low[i]));
                if (steps_[e] > 0) {
                    sum_ += change * change;
                    ++changes_;
                }
                last = actions(e, i);
            }
            ++steps_[e];
        }
    }

    box const* bounds_; // none if actions are discrete
    std::vector<float> last_;
    std::vector<std::size_t> steps_;
    std::vector<std::uint8_t> over_; // whether the first episode has ended
    double sum_ = 0.0;
    std::size_t changes_ = 0;
};

} // namespace gmac::examples::train
