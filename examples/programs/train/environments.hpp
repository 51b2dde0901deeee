// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <gmac/core/error.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/environment/conditioned.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/environment/normalized.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace gmac::examples::train {

/// `count` environments as the settings have them, unnormalised. Throws gmac::error if the name is not known, or if this
/// program was built without the library that the environment needs.
[[nodiscard]] std::unique_ptr<environment_batch> make_environments(registry const& known, settings const& settings,
                                                                   std::size_t count, std::uint64_t seed,
                                                                   executor& tasks);

/// The settings for episodes that are not learned from: all begin as the environment's do.
[[nodiscard]] inline settings as_evaluated(settings all) {
    all.exploring_starts = 0.0;
    return all;
}

/// What the settings ask of normalized_environments.
[[nodiscard]] inline normalization normalization_of(settings const& settings) {
    return {.observations = settings.normalize_observations, .rewards = settings.normalize_rewards};
}

/// The environments' own reward units in one unit of a normalised reward, and so of a predicted value.
[[nodiscard]] inline double reward_scale(normalized_environments const& worlds) noexcept {
    auto const& options = worlds.options();
    return options.rewards ? 1.0 / worlds.return_statistics().scale(0, options.epsilon) : 1.0;
}

/// Environments as an agent sees them: normalised as its settings ask, and with a last number that tells of the statistic to
/// act by, if it learns a range of them.
class observed_environments {
public:
    /// Draws of the range by `seed`.
    observed_environments(settings const& settings, std::unique_ptr<environment_batch> worlds, std::uint64_t seed)
        : observed_environments(settings,
                                std::make_unique<normalized_environments>(std::move(worlds),
                                                                          normalization_of(settings)),
                                seed, {}) {}

    /// Others as this agent sees them: nothing is added to the statistics. Each episode has the statistic's parameter `risk`, or
    /// one drawn by `seed`. Throws gmac::error if the parameter was not learned.
    [[nodiscard]] observed_environments evaluation(std::unique_ptr<environment_batch> worlds, std::uint64_t seed,
                                                   std::optional<double> risk = {}) const {
        return {settings_, std::make_unique<normalized_environments>(normalized_->evaluation(std::move(worlds))), seed,
                risk};
    }

    [[nodiscard]] environment_batch& batch() noexcept {
        return told_ ? static_cast<environment_batch&>(*told_) : *normalized_;
    }
    [[nodiscard]] normalized_environments& normalized() noexcept { return *normalized_; }
    [[nodiscard]] normalized_environments const& normalized() const noexcept { return *normalized_; }

private:
    observed_environments(settings const& settings, std::unique_ptr<normalized_environments> normalized,
                          std::uint64_t seed, std::optional<double> risk)
        : settings_(settings), normalized_(std::move(normalized)) {
        if (!learns_a_range(settings)) {
            require(!risk, "--risk is {}, but the run has learned to act by one statistic only, {}", risk.value_or(0.0),
                    settings.statistic);
            return;
        }
        auto const number = [&] { return static_cast<float>(statistic_of(settings).number_of(*risk)); };
        float const low = risk ? number() : -1.0f, high = risk ? low : 1.0f;
        told_ = std::make_unique<conditioned_environments>(*normalized_, seed, low, high);
    }

    settings settings_;
    std::unique_ptr<normalized_environments> normalized_;
    std::unique_ptr<conditioned_environments> told_;
};

} // namespace gmac::examples::train
