// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/communicator.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/decorator.hpp>
#include <gmac/environment/detail/checks.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/environment/requirements.hpp>
#include <gmac/environment/running_statistics.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gmac::inline GMAC_ABI {

/// What normalized_environments does.
struct normalization {
    bool observations = true;
    bool rewards = true;
    double observation_clip = 10.0;
    double reward_clip = 10.0;
    double epsilon = 1e-8; ///< added to a variance under the root
};

/// Observations and rewards on a scale that a network likes.
///
/// An observation x becomes (x − mean) / sqrt(variance + ε), element by element, clipped; mean and variance are those
/// of all observations that were acted on, the new ones included. A reward is divided by sqrt(variance + ε) of the
/// discounted returns G ← γ G + r that each environment has accumulated so far in its episode; no mean is subtracted,
/// so a reward keeps its sign. γ is the agent's, which tells it when it is made (`set_discount`; 0.99 until then). What has
/// not varied yet is not scaled. Final observations are normalised but not counted. `finished` reports the rewards as the environments gave them.
class normalized_environments final : public environment_batch_decorator {
public:
    /// Normalises a batch that the caller keeps alive. Throws gmac::error for options out of range.
    explicit normalized_environments(environment_batch& worlds, normalization options = {})
        : environment_batch_decorator(worlds),
          options_(checked(options)),
          statistics_(std::make_shared<statistics>(observation_size())),
          returns_(size(), 0.0) {}
    template <class Worlds>
        requires(!std::derived_from<Worlds, environment_batch>)
    explicit normalized_environments(Worlds& worlds, normalization options = {})
        : normalized_environments(as_batch<float>(worlds), options) {}
    /// Normalises a batch and owns it.
    explicit normalized_environments(std::unique_ptr<environment_batch> worlds, normalization options = {})
        : environment_batch_decorator(std::move(worlds)),
          options_(checked(options)),
          statistics_(std::make_shared<statistics>(observation_size())),
          returns_(size(), 0.0) {}

    /// Other environments on the same scale, for evaluation: they share the statistics of this batch, as these go on,
    /// and add nothing to them. Throws gmac::error if their observation size is another.
    [[nodiscard]] normalized_environments evaluation(environment_batch& worlds) const {
        return normalized_environments(worlds, options_, statistics_);
    }
    [[nodiscard]] normalized_environments evaluation(std::unique_ptr<environment_batch> worlds) const {
        return normalized_environments(std::move(worlds), options_, statistics_);
    }

    /// Frozen, the statistics are used but not changed. Not part of a checkpoint.
    void freeze(bool frozen) noexcept { frozen_ = frozen; }
    [[nodiscard]] bool frozen() const noexcept { return frozen_; }

    [[nodiscard]] normalization const& options() const noexcept { return options_; }
    [[nodiscard]] running_statistics const& observation_statistics() const noexcept {
        return statistics_->observations;
    }
    [[nodiscard]] running_statistics const& return_statistics() const noexcept { return statistics_->returns; }

    /// Throws gmac::error unless it is in [0, 1].
    void set_discount(double discount) override {
        require(discount >= 0.0 && discount <= 1.0, "normalized_environments: discount is {}, but must be in [0, 1]",
                discount);
        discount_ = discount;
        worlds().set_discount(discount);
    }

    void reset(matrix_view<float> observations) override {
        worlds().reset(observations);
        check_observations(observations);
        std::fill(returns_.begin(), returns_.end(), 0.0);
        if (options_.observations) {
            count(observations);
            normalize(observations);
        }
    }

    void step(matrix_view<float const> actions, step_result const& result) override {
        worlds().step(actions, result);
        // Everything is checked before anything is counted.
        check_observations(result.observations);
        check_rewards(result.rewards);
        for (std::size_t i = 0; i < size() && !result.final_observations.empty(); ++i)
            if (ended(result, i))
                check_observation(result.final_observations.row(i), i);
        if (options_.rewards)
            normalize_rewards(result);
        if (options_.observations)
            normalize_observations(result);
    }

    void observe(matrix_view<float> observations) const override {
        worlds().observe(observations);
        if (options_.observations)
            normalize(observations);
    }
    [[nodiscard]] std::uint64_t changes() const noexcept override { return worlds().changes() + statistics_->changes; }

    /// The statistics alone: the part of `persist` that acting needs.
    void persist_statistics(archive& state) {
        state.inside("observations", [&] { statistics_->observations.persist(state); });
        state.inside("returns", [&] { statistics_->returns.persist(state); });
        if (state.loading()) {
            statistics_->begin_anew();
            statistics_->set_scales(options_.epsilon);
        }
    }
    void persist_shared(archive& state) override {
        persist_statistics(state);
        state.inside("worlds", [&] { worlds().persist_shared(state); });
    }

    /// The statistics are then those of all ranks' environments; until the next call each rank adds only its own to them.
    /// What was loaded before the first call counts as seen by this rank alone.
    void combine(communicator& ranks) override {
        worlds().combine(ranks);
        if (!frozen_)
            statistics_->combine(ranks, options_.epsilon);
    }

    /// The statistics, the returns so far and the environments. A frozen batch stores and restores the statistics too.
    void persist(archive& state) override {
        persist_statistics(state);
        state("running_returns", std::span(returns_));
        state.inside("worlds", [&] { worlds().persist(state); });
    }

private:
    struct statistics {
        explicit statistics(std::size_t observation_size)
            : observations(observation_size), observation_scales(observation_size, 1.0) {}

        void set_scales(double epsilon) noexcept {
            ++changes;
            for (std::size_t j = 0; j < observation_scales.size(); ++j)
                observation_scales[j] = observations.scale(j, epsilon);
        }
        void count_observations(matrix_view<float const> const& batch) {
            observations.update(batch);
            if (since)
                since->observations.update(batch);
        }
        void count_returns(matrix_view<double const> const& batch) {
            returns.update(batch);
            if (since)
                since->returns.update(batch);
        }
        void combine(communicator& ranks, double epsilon) {
            if (!since) // all is new
                since.emplace(
                    seen_since{running_statistics(observations.size()), running_statistics(1), observations, returns});
            observations = since->shared_observations;
            returns = since->shared_returns;
            observations.merge(ranks, since->observations);
            returns.merge(ranks, since->returns);
            begin_anew();
            set_scales(epsilon);
        }
        /// All ranks know now what this one does.
        void begin_anew() {
            if (since)
                since.emplace(
                    seen_since{observations, returns, running_statistics(observations.size()), running_statistics(1)});
        }

        /// Of several ranks: what all knew after they last combined, and what this one has seen since.
        struct seen_since {
            running_statistics shared_observations, shared_returns;
            running_statistics observations, returns;
        };
        running_statistics observations;
        running_statistics returns{1};
        std::optional<seen_since> since;
        std::vector<double> observation_scales;
        std::uint64_t changes = 0;
    };

    template <class Worlds>
    normalized_environments(Worlds&& worlds, normalization const& options, std::shared_ptr<statistics> shared)
        : environment_batch_decorator(std::forward<Worlds>(worlds)),
          options_(options),
          statistics_(std::move(shared)),
          returns_(size(), 0.0),
          frozen_(true) {
        require(observation_size() == statistics_->observations.size(),
                "normalized_environments::evaluation: the environments' observation size is {}, but must be {}",
                observation_size(), statistics_->observations.size());
    }

    [[nodiscard]] static normalization const& checked(normalization const& options) {
        require(options.observation_clip > 0.0, "normalized_environments: observation_clip is {}, but must be positive",
                options.observation_clip);
        require(options.reward_clip > 0.0, "normalized_environments: reward_clip is {}, but must be positive",
                options.reward_clip);
        require(options.epsilon >= 0.0 && detail::is_finite(options.epsilon),
                "normalized_environments: epsilon is {}, but must be finite and not negative", options.epsilon);
        return options;
    }

    [[nodiscard]] static bool ended(step_result const& result, std::size_t i) noexcept {
        return result.terminated[i] != 0 || result.truncated[i] != 0;
    }

    static void check_observation(vector_view<float const> const& observation, std::size_t environment) {
        for (std::size_t j = 0; j < observation.size(); ++j)
            if (!detail::is_finite(observation[j])) [[unlikely]]
                fail("normalized_environments: environment {}: observation element {} is {}, but must be finite",
                     environment, j, observation[j]);
    }
    static void check_observations(matrix_view<float const> const& observations) {
        for (std::size_t i = 0; i < observations.rows(); ++i)
            check_observation(observations.row(i), i);
    }
    static void check_rewards(std::span<float const> rewards) {
        for (std::size_t i = 0; i < rewards.size(); ++i)
            if (!detail::is_finite(rewards[i])) [[unlikely]]
                fail("normalized_environments: environment {}: the reward is {}, but must be finite", i, rewards[i]);
    }

    void normalize_rewards(step_result const& result) {
        for (std::size_t i = 0; i < size(); ++i)
            returns_[i] = discount_ * returns_[i] + static_cast<double>(result.rewards[i]);
        if (!frozen_)
            statistics_->count_returns(matrix_view<double const>(returns_.data(), returns_.size(), 1));
        double const scale = statistics_->returns.scale(0, options_.epsilon);
        for (std::size_t i = 0; i < size(); ++i) {
            double const scaled = static_cast<double>(result.rewards[i]) * scale;
            result.rewards[i] = static_cast<float>(detail::clip(scaled, options_.reward_clip));
            if (ended(result, i))
                returns_[i] = 0.0;
        }
    }

    void normalize_observations(step_result const& result) {
        count(result.observations);
        normalize(result.observations);
        if (result.final_observations.empty())
            return;
        for (std::size_t i = 0; i < size(); ++i)
            if (ended(result, i))
                normalize_row(result.final_observations.row(i));
    }

    void count(matrix_view<float const> const& observations) {
        if (frozen_)
            return;
        statistics_->count_observations(observations);
        statistics_->set_scales(options_.epsilon);
    }

    void normalize(matrix_view<float> const& observations) const noexcept {
        for (std::size_t i = 0; i < observations.rows(); ++i)
            normalize_row(observations.row(i));
    }

    void normalize_row(vector_view<float> const& observation) const noexcept {
        for (std::size_t j = 0; j < observation.size(); ++j)
            observation[j] = detail::standardised(observation[j], statistics_->observations.mean(j),
                                                  statistics_->observation_scales[j], options_.observation_clip);
    }

    normalization options_;
    std::shared_ptr<statistics> statistics_;
    double discount_ = 0.99;
    std::vector<double> returns_; // [E] discounted, of the episodes so far
    bool frozen_ = false;
};

} // namespace gmac::inline GMAC_ABI
