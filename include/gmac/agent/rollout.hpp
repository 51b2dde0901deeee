// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>
#include <gmac/environment/environment.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gmac {

/// What T steps in E environments gave. Transition t of environment e is row t E + e; the observations have E rows more,
/// those after the last step. The final observations of truncated episodes follow in `finals`, in row order. All memory
/// is set aside at once, but pages that are never written cost nothing.
template <class T>
class rollout {
public:
    rollout(std::size_t steps, std::size_t environments, std::size_t observation_size, std::size_t action_size)
        : steps_(steps),
          environments_(environments),
          observation_size_(observation_size),
          action_size_(action_size),
          observations_(new float[(steps + 1) * environments * observation_size]),
          finals_(new float[steps * environments * observation_size]),
          actions_(rows() * action_size),
          log_probabilities_(rows()),
          rewards_(rows()),
          terminated_(rows()),
          truncated_(rows()),
          step_finals_(environments * observation_size),
          step_rewards_(environments) {}

    [[nodiscard]] std::size_t steps() const noexcept { return steps_; }
    [[nodiscard]] std::size_t environments() const noexcept { return environments_; }
    [[nodiscard]] std::size_t rows() const noexcept { return steps_ * environments_; }

    /// [E, observation size], of step t = 0 … T
    [[nodiscard]] matrix_view<float> observations(std::size_t step) noexcept {
        return {observations_.get() + step * environments_ * observation_size_, environments_, observation_size_};
    }
    /// [(T + 1) E, observation size]
    [[nodiscard]] matrix_view<float const> observations() const noexcept {
        return {observations_.get(), (steps_ + 1) * environments_, observation_size_};
    }
    /// [number of truncated transitions, observation size]
    [[nodiscard]] matrix_view<float const> finals() const noexcept {
        return {finals_.get(), final_count_, observation_size_};
    }
    /// [E, action size], of step t, as sampled
    [[nodiscard]] matrix_view<T> actions(std::size_t step) noexcept {
        return {actions_.data() + step * environments_ * action_size_, environments_, action_size_};
    }
    /// [T E, action size]
    [[nodiscard]] matrix_view<T const> actions() const noexcept { return {actions_.data(), rows(), action_size_}; }
    /// [T E], of the actions as sampled
    [[nodiscard]] std::span<T> log_probabilities() noexcept { return log_probabilities_; }
    [[nodiscard]] std::span<T const> log_probabilities() const noexcept { return log_probabilities_; }
    /// [T, E] each
    [[nodiscard]] matrix_view<T const> rewards() const noexcept { return {rewards_.data(), steps_, environments_}; }
    [[nodiscard]] matrix_view<std::uint8_t const> terminated() const noexcept {
        return {terminated_.data(), steps_, environments_};
    }
    [[nodiscard]] matrix_view<std::uint8_t const> truncated() const noexcept {
        return {truncated_.data(), steps_, environments_};
    }

    void clear() noexcept { final_count_ = 0; }

    /// Steps the environments with `actions` and records what they gave as transition `step`.
    void record(std::size_t step, environment_batch& worlds, matrix_view<float const> actions) {
        std::size_t const first = step * environments_;
        matrix_view<float> const ends(step_finals_.data(), environments_, observation_size_);
        worlds.step(actions,
                    {observations(step + 1), ends, step_rewards_, std::span(terminated_).subspan(first, environments_),
                     std::span(truncated_).subspan(first, environments_)});
        for (std::size_t e = 0; e < environments_; ++e) {
            rewards_[first + e] = static_cast<T>(step_rewards_[e]);
            if (truncated_[first + e]) {
                std::copy_n(ends.row(e).data(), observation_size_, finals_.get() + final_count_ * observation_size_);
                ++final_count_;
            }
        }
    }

private:
    std::size_t steps_, environments_, observation_size_, action_size_;
    std::size_t final_count_ = 0;
    std::unique_ptr<float[]> observations_, finals_;
    std::vector<T> actions_, log_probabilities_, rewards_;
    std::vector<std::uint8_t> terminated_, truncated_;
    std::vector<float> step_finals_, step_rewards_;
};

} // namespace gmac
