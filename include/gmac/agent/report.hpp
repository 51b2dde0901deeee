// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/environment/environment.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex> // has the clock for its timed locks; <chrono> would add calendars, a tenth of the compile time of gmac.hpp
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace gmac::inline GMAC_ABI {

namespace detail {

/// Seconds since it was asked before, or was made.
class lap_timer {
public:
    [[nodiscard]] double lap() noexcept {
        auto const now = std::chrono::steady_clock::now();
        return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
    }

private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// Sorts the numbers and returns their median; NaN of none.
[[nodiscard]] inline double median_of(std::span<double> numbers) noexcept {
    std::size_t const n = numbers.size();
    std::sort(numbers.begin(), numbers.end());
    return n == 0 ? std::numeric_limits<double>::quiet_NaN() : 0.5 * (numbers[(n - 1) / 2] + numbers[n / 2]);
}

} // namespace detail

/// A finished episode, and how many frames there were in all when it ended.
struct timed_episode {
    std::uint64_t frames = 0;
    finished_episode episode{};
};

/// What one update did; handed to `on_update`. Returns are sums of the environment's own rewards, before normalisation,
/// over the last 100 finished episodes (NaN before the first).
struct update_report {
    std::uint64_t update = 0; ///< number of this update, from 1
    std::uint64_t frames = 0; ///< environment steps so far, all environments together
    double seconds = 0.0;     ///< since the start of this call of train
    double frames_per_second = 0.0;
    std::uint64_t episodes = 0;
    double mean_return = std::numeric_limits<double>::quiet_NaN();
    double median_return = std::numeric_limits<double>::quiet_NaN();
    double mean_length = std::numeric_limits<double>::quiet_NaN();
    double policy_loss = 0.0;
    double value_loss = 0.0;
    double entropy = 0.0;
    double approximate_kl = 0.0;      ///< mean of (ratio − 1) − log ratio
    double clip_fraction = 0.0;       ///< part of the ratios outside 1 ± clip
    double explained_variance = 0.0;  ///< 1 − Var(return − value) / Var(return), NaN if the returns are constant
    double intrinsic_reward = 0.0;    ///< mean of an agent that explores, normalised
    double gradient_norm = 0.0;       ///< before clipping, mean over the minibatches
    double learning_rate = 0.0;       ///< of the last epoch
    double epochs = 0.0;              ///< learned; fewer than asked for if the divergence ended them
    double environment_seconds = 0.0; ///< of this update: steps of the environments, and waiting for other ranks',
    double inference_seconds = 0.0;   ///< networks and policy in the rollout, and the values of its states,
    double target_seconds = 0.0;      ///< advantages and targets,
    double learning_seconds = 0.0;    ///< losses, gradients and steps of the optimiser, observers' too
    std::span<timed_episode const> finished{}; ///< episodes that ended in this rollout; valid until the next update

    /// visit(name, value) for each number, in a fixed order: for tables and logs.
    template <class Visit>
    void describe(Visit&& visit) const {
        visit("update", static_cast<double>(update));
        visit("frames", static_cast<double>(frames));
        visit("seconds", seconds);
        visit("frames_per_second", frames_per_second);
        visit("episodes", static_cast<double>(episodes));
        visit("mean_return", mean_return);
        visit("median_return", median_return);
        visit("mean_length", mean_length);
        visit("policy_loss", policy_loss);
        visit("value_loss", value_loss);
        visit("entropy", entropy);
        visit("approximate_kl", approximate_kl);
        visit("clip_fraction", clip_fraction);
        visit("explained_variance", explained_variance);
        visit("intrinsic_reward", intrinsic_reward);
        visit("gradient_norm", gradient_norm);
        visit("learning_rate", learning_rate);
        visit("epochs", epochs);
        visit("environment_seconds", environment_seconds);
        visit("inference_seconds", inference_seconds);
        visit("target_seconds", target_seconds);
        visit("learning_seconds", learning_seconds);
    }
};

/// What an evaluation found; handed to `on_evaluation`. Returns are as in update_report, of the episodes that were played;
/// NaN if there were none.
struct evaluation_report {
    std::uint64_t update = 0; ///< after which it was
    std::uint64_t frames = 0; ///< environment steps of the training before it
    double mean_return = std::numeric_limits<double>::quiet_NaN();
    double median_return = std::numeric_limits<double>::quiet_NaN();
    double lowest_return = std::numeric_limits<double>::quiet_NaN();
    double highest_return = std::numeric_limits<double>::quiet_NaN();
    double mean_length = std::numeric_limits<double>::quiet_NaN();
    double seconds = 0.0;                         ///< that it took
    std::span<finished_episode const> episodes{}; ///< valid until the call of on_evaluation returns

    [[nodiscard]] static evaluation_report of(std::span<finished_episode const> episodes) {
        evaluation_report report{.episodes = episodes};
        std::size_t const n = episodes.size();
        if (n == 0)
            return report;
        std::vector<double> returns;
        double sum = 0.0, steps = 0.0;
        for (finished_episode const& one : episodes) {
            returns.push_back(one.reward_sum);
            sum += one.reward_sum;
            steps += static_cast<double>(one.length);
        }
        report.mean_return = sum / static_cast<double>(n);
        report.median_return = detail::median_of(returns);
        report.lowest_return = returns.front();
        report.highest_return = returns.back();
        report.mean_length = steps / static_cast<double>(n);
        return report;
    }

    /// visit(name, value) for each number, in a fixed order: for tables and logs.
    template <class Visit>
    void describe(Visit&& visit) const {
        visit("update", static_cast<double>(update));
        visit("frames", static_cast<double>(frames));
        visit("seconds", seconds);
        visit("episodes", static_cast<double>(episodes.size()));
        visit("mean_return", mean_return);
        visit("median_return", median_return);
        visit("lowest_return", lowest_return);
        visit("highest_return", highest_return);
        visit("mean_length", mean_length);
    }
};

/// The last 100 finished episodes.
class episode_window {
public:
    static constexpr std::size_t capacity = 100;

    void add(finished_episode const& episode) noexcept {
        returns_[count_ % capacity] = episode.reward_sum;
        lengths_[count_ % capacity] = static_cast<double>(episode.length);
        ++count_;
    }
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

    [[nodiscard]] double mean_return() const noexcept { return mean(returns_); }
    [[nodiscard]] double mean_length() const noexcept { return mean(lengths_); }
    [[nodiscard]] double median_return() const noexcept {
        std::array<double, capacity> sorted = returns_;
        return detail::median_of(std::span(sorted).first(kept()));
    }

    void persist(archive& state) {
        state("returns", std::span<double>(returns_));
        state("lengths", std::span<double>(lengths_));
        state("count", count_);
    }

private:
    [[nodiscard]] std::size_t kept() const noexcept {
        return count_ < capacity ? static_cast<std::size_t>(count_) : capacity;
    }
    [[nodiscard]] double mean(std::array<double, capacity> const& values) const noexcept {
        double sum = 0.0;
        for (std::size_t i = 0; i < kept(); ++i)
            sum += values[i];
        return kept() == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(kept());
    }

    std::array<double, capacity> returns_{}, lengths_{};
    std::uint64_t count_ = 0;
};

} // namespace gmac::inline GMAC_ABI

// Hidden from Doxygen 1.9.4, which does not find the scope of such a specialisation.
/// @cond
template <>
struct fmt::formatter<gmac::update_report> {
    constexpr auto parse(format_parse_context& context) { return context.begin(); }
    template <class Context>
    auto format(gmac::update_report const& report, Context& context) const {
        return fmt::format_to(context.out(),
                              "frames {:>9}  return {:>8.1f}  value loss {:.4f}  entropy {:.3f}  {:.0f} frames/s",
                              report.frames, report.mean_return, report.value_loss, report.entropy,
                              report.frames_per_second);
    }
};
/// @endcond
