// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/intrinsic_reward.hpp>
#include <gmac/agent/options.hpp>
#include <gmac/agent/rollout.hpp>
#include <gmac/core/archive.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/communicator.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/running_statistics.hpp>
#include <gmac/targets/gae.hpp>
#include <gmac/targets/rollout_view.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gmac::inline GMAC_ABI::detail {

/// From intrinsic rewards to their part of the advantages, and to the returns that their value learns.
template <class T, observation_element O>
class intrinsic_advantages {
public:
    /// Without options it holds nothing.
    intrinsic_advantages(std::optional<exploration_options> const& options, double lambda, std::size_t steps,
                         std::size_t environments)
        : options_(options.value_or(exploration_options{})),
          advantage_{.discount = options_.discount, .lambda = lambda},
          rewards_(options ? steps * environments : 0),
          advantages_(rewards_.size()),
          returns_(rewards_.size()),
          sums_(options ? environments : 0) {}

    /// Another reward has another scale.
    void reward_by(std::unique_ptr<intrinsic_reward<T, O>> reward) {
        reward_ = std::move(reward);
        statistics_ = running_statistics(1);
        std::fill(sums_.begin(), sums_.end(), 0.0);
    }
    /// Throws gmac::error if there is no reward yet.
    void require_reward() const {
        require(reward_ != nullptr,
                "actor_critic: the options have a member `exploration`, but there is no intrinsic "
                "reward: give one to `explore`");
    }

    /// [T E], what the intrinsic value learns
    [[nodiscard]] std::span<T const> returns() const noexcept { return returns_.span(); }

    /// Adds the intrinsic part to the advantages [T E]; `values` are the intrinsic ones of the states, [(T + 1) E]. Returns
    /// the mean of the normalised rewards. Throws gmac::error for a reward that is not finite.
    double add(evaluated_rollout<T, O> const& seen, std::span<T const> values, std::span<T> advantages,
               executor& tasks) {
        matrix_view<T> const rewards(rewards_.data(), seen.rollout.steps(), sums_.size());
        reward_->measure(seen, rewards, tasks);
        double const mean = normalize(rewards, seen.rollout.ranks());
        targets::rollout_view<T> const steps{matrix_view<T const>(rewards)};
        advantage_(steps, vector_view<T const>(values), vector_view<T const>(), vector_view<T>(advantages_.span()),
                   vector_view<T>(returns_.span()));
        T const intrinsic = static_cast<T>(options_.coefficient);
        T const extrinsic = static_cast<T>(options_.extrinsic_coefficient);
        for (std::size_t i = 0; i < advantages.size(); ++i)
            advantages[i] = extrinsic * advantages[i] + intrinsic * advantages_[i];
        return mean;
    }

    void learn(rollout<T, O> const& seen, std::uint64_t number, executor& tasks) {
        if (reward_)
            reward_->learn(seen, number, tasks);
    }

    void persist(archive& state) {
        state("discounted_sums", std::span<double>(sums_));
        persist_shared(state);
    }
    /// What is the same on all ranks.
    void persist_shared(archive& state) {
        require_reward();
        statistics_.persist(state);
        state.inside("reward", [&] { reward_->persist(state); });
    }

private:
    /// Divides the rewards by the running deviation of G ← γ G + r in each environment, which no end of an episode
    /// interrupts. Returns their mean. All this over all ranks.
    [[nodiscard]] double normalize(matrix_view<T> const& rewards, communicator* ranks) {
        for (std::size_t t = 0; t < rewards.rows(); ++t)
            for (std::size_t e = 0; e < rewards.cols(); ++e)
                require(std::isfinite(rewards(t, e)),
                        "actor_critic: the intrinsic reward of step {} in environment {} is {}, but must be finite", t,
                        e, rewards(t, e));
        running_statistics here(1);
        running_statistics& counted = ranks ? here : statistics_;
        for (std::size_t t = 0; t < rewards.rows(); ++t) {
            for (std::size_t e = 0; e < rewards.cols(); ++e)
                sums_[e] = options_.discount * sums_[e] + static_cast<double>(rewards(t, e));
            counted.update(matrix_view<double const>(sums_.data(), sums_.size(), 1));
        }
        if (ranks)
            statistics_.merge(*ranks, here);
        double const scale = statistics_.scale(0, 0.0);
        double sum = 0.0;
        for (std::size_t t = 0; t < rewards.rows(); ++t)
            for (std::size_t e = 0; e < rewards.cols(); ++e) {
                rewards(t, e) = static_cast<T>(static_cast<double>(rewards(t, e)) * scale);
                sum += static_cast<double>(rewards(t, e));
            }
        if (ranks)
            ranks->all_reduce(std::span<double>(&sum, 1));
        return sum / static_cast<double>(rewards.rows() * rewards.cols() * (ranks ? ranks->size() : 1));
    }

    exploration_options options_;
    targets::gae advantage_;
    buffer<T> rewards_, advantages_, returns_;
    std::vector<double> sums_; // [E] discounted
    running_statistics statistics_{1};
    std::unique_ptr<intrinsic_reward<T, O>> reward_;
};

} // namespace gmac::inline GMAC_ABI::detail
