// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

/// Summaries of a few returns, with intervals that say how far to trust them (Agarwal et al. 2021, "Deep reinforcement
/// learning at the edge of the statistical precipice").
namespace gmac::examples::train {

[[nodiscard]] inline double mean(std::span<double const> values) noexcept {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The quantile at `probability` in [0, 1] of values in rising order, linear between them (definition 7 of Hyndman and
/// Fan 1996, as NumPy and R have it).
[[nodiscard]] inline double quantile_of_sorted(std::span<double const> sorted, double probability) noexcept {
    double const place = probability * static_cast<double>(sorted.size() - 1);
    auto const below = static_cast<std::size_t>(place);
    double const part = place - static_cast<double>(below);
    if (part == 0.0 || sorted[below] == sorted[below + 1]) // two infinities, too
        return sorted[below];
    return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

/// The mean of values in rising order without the lowest and the highest quarter, each of floor(n / 4) values.
[[nodiscard]] inline double interquartile_mean_of_sorted(std::span<double const> sorted) noexcept {
    std::size_t const quarter = sorted.size() / 4;
    return mean(sorted.subspan(quarter, sorted.size() - 2 * quarter));
}

struct bootstrap {
    double level = 0.95;            ///< coverage, in (0, 1)
    std::size_t resamples = 10'000; ///< at least 1
    std::uint64_t seed = 0;
};

/// An estimate, and the percentile bootstrap interval around it.
struct estimate {
    double value = 0.0, low = 0.0, high = 0.0;
};

struct summary {
    estimate mean, median, interquartile_mean;
    double minimum = 0.0, maximum = 0.0;
};

namespace detail {

/// A statistic and its interval between the quantiles of replicates at (1 ∓ level) / 2: the percentile bootstrap (Efron
/// 1979).
[[nodiscard]] inline estimate between_quantiles(double value, std::vector<double> replicates, double level) {
    std::ranges::sort(replicates);
    double const tail = 0.5 * (1.0 - level);
    return {value, quantile_of_sorted(replicates, tail), quantile_of_sorted(replicates, 1.0 - tail)};
}

inline void require_options(bootstrap const& options) {
    require(options.level > 0.0 && options.level < 1.0, "bootstrap: the level is {}, but must be between 0 and 1",
            options.level);
    require(options.resamples > 0, "bootstrap: there are 0 resamples, but must be at least 1");
}

/// As many of the values, each drawn with replacement.
inline void resample(std::span<double const> values, std::span<double> drawn, random_stream& random) {
    for (double& value : drawn)
        value = values[random.below(static_cast<std::uint32_t>(values.size()))];
}

} // namespace detail

/// Estimates from independent values of one distribution, with intervals over resamples of the values with replacement.
/// The three intervals are made of the same resamples. Throws gmac::error if there is no value, for one that is NaN, or for
/// options out of range.
[[nodiscard]] inline summary summarize(std::span<double const> values, bootstrap const& options = {}) {
    require(!values.empty(), "summarize: there is no value");
    for (std::size_t i = 0; i < values.size(); ++i) // which have no order
        require(!std::isnan(values[i]), "summarize: value {} is not a number", i);
    detail::require_options(options);
    auto const statistics = [](std::span<double> sample) {
        std::ranges::sort(sample);
        return std::array{mean(sample), quantile_of_sorted(sample, 0.5), interquartile_mean_of_sorted(sample)};
    };
    std::vector<double> sorted(values.begin(), values.end());
    auto const found = statistics(sorted);

    std::vector<double> drawn(values.size());
    std::array<std::vector<double>, found.size()> replicates;
    random_stream random(options.seed, 0);
    for (std::size_t i = 0; i < options.resamples; ++i) {
        detail::resample(sorted, drawn, random);
        auto const replicate = statistics(drawn);
        for (std::size_t k = 0; k < replicate.size(); ++k)
            replicates[k].push_back(replicate[k]);
    }
    std::array<estimate, found.size()> estimates;
    for (std::size_t k = 0; k < found.size(); ++k)
        estimates[k] = detail::between_quantiles(found[k], std::move(replicates[k]), options.level);
    return {estimates[0], estimates[1], estimates[2], sorted.front(), sorted.back()};
}

namespace detail {

/// Scores [task][run]. `where` begins an error.
using task_scores = std::span<std::vector<double> const>;
inline void require_scores(std::string_view where, task_scores scores, task_scores baseline) {
    require(!scores.empty() && scores.size() == baseline.size(),
            "{}: there are scores for {} tasks and {} of the baseline, but must be as many, and at least one", where,
            scores.size(), baseline.size());
    for (auto const* all : {&scores, &baseline})
        for (std::size_t task = 0; task < all->size(); ++task) {
            require(!(*all)[task].empty(), "{}: task {} has no score", where, task);
            for (double const score : (*all)[task])
                require(std::isfinite(score), "{}: task {} has the score {}, but all must be finite", where, task,
                        score);
        }
}

/// A statistic of scores of a method and of a baseline, with the interval of the stratified bootstrap, which draws runs within
/// each task anew.
template <class Statistic>
[[nodiscard]] estimate stratified(task_scores scores, task_scores baseline, bootstrap const& options,
                                  Statistic&& statistic) {
    require_options(options);
    std::vector<std::vector<double>> ours(scores.begin(), scores.end()), theirs(baseline.begin(), baseline.end());
    double const found = statistic(ours, theirs);
    std::vector<double> replicates;
    random_stream random(options.seed, 0);
    for (std::size_t i = 0; i < options.resamples; ++i) {
        for (std::size_t task = 0; task < ours.size(); ++task) {
            resample(scores[task], ours[task], random);
            resample(baseline[task], theirs[task], random);
        }
        replicates.push_back(statistic(ours, theirs));
    }
    return between_quantiles(found, std::move(replicates), options.level);
}

} // namespace detail

/// The chance that a run of a method is better than one of another, a mean over the tasks: scores [task][run] of both. Ties
/// count half (Agarwal et al. 2021, section 4.3); the interval is that of the stratified bootstrap. Throws gmac::error if a task
/// has no score, and if a score is not finite.
[[nodiscard]] inline estimate probability_of_improvement(detail::task_scores scores, detail::task_scores baseline,
                                                         bootstrap const& options = {}) {
    detail::require_scores("probability_of_improvement", scores, baseline);
    return detail::stratified(scores, baseline, options, [](auto const& ours, auto const& theirs) {
        double improvement = 0.0;
        for (std::size_t task = 0; task < ours.size(); ++task) {
            double better = 0.0;
            for (double const a : ours[task])
                for (double const b : theirs[task])
                    better += a > b ? 1.0 : a == b ? 0.5 : 0.0;
            improvement += better / static_cast<double>(ours[task].size() * theirs[task].size() * ours.size());
        }
        return improvement;
    });
}

namespace detail {

/// The interquartile mean over all runs of scores [task][run] in units of the mean of others on the task; infinite scores where
/// that is not positive, as that of a resample may be.
[[nodiscard]] inline double relative_interquartile_mean(task_scores scores, task_scores units) {
    std::vector<double> relative;
    for (std::size_t task = 0; task < scores.size(); ++task) {
        double const unit = mean(units[task]);
        for (double const score : scores[task])
            relative.push_back(unit > 0.0 ? score / unit : std::numeric_limits<double>::infinity());
    }
    std::ranges::sort(relative);
    return interquartile_mean_of_sorted(relative);
}

} // namespace detail

/// How a method does beside another one over several tasks.
struct comparison {
    estimate interquartile_mean; ///< over all runs, of scores in units of the other one's mean on the task
    estimate improvement;        ///< see probability_of_improvement
};

/// As probability_of_improvement; the baseline's mean is that of its resampled runs, so that the interval has its error, too. Also
/// throws if the mean of the baseline is not positive, in which nothing can be measured.
[[nodiscard]] inline comparison compare(detail::task_scores scores, detail::task_scores baseline,
                                        bootstrap const& options = {}) {
    detail::require_scores("compare", scores, baseline);
    for (std::size_t task = 0; task < baseline.size(); ++task)
        require(mean(baseline[task]) > 0.0, "compare: the baseline's mean on task {} is {}, but must be positive", task,
                mean(baseline[task]));
    return {detail::stratified(scores, baseline, options, detail::relative_interquartile_mean),
            probability_of_improvement(scores, baseline, options)};
}

/// The performance profile (Agarwal et al. 2021, section 4.2): which share of the runs has a score above each threshold, a mean
/// over the tasks, with the intervals of the stratified bootstrap. Scores [task][run] → one estimate a threshold. Throws
/// gmac::error if a task has no score, and if a score is not finite.
[[nodiscard]] inline std::vector<estimate> performance_profile(detail::task_scores scores,
                                                               std::span<double const> thresholds,
                                                               bootstrap const& options = {}) {
    detail::require_scores("performance_profile", scores, scores);
    detail::require_options(options);
    auto const shares_above = [&](auto const& all) {
        std::vector<double> shares(thresholds.size(), 0.0);
        for (auto const& runs : all)
            for (std::size_t i = 0; i < thresholds.size(); ++i)
                shares[i] += static_cast<double>(
                                 std::ranges::count_if(runs, [&](double score) { return score > thresholds[i]; })) /
                             static_cast<double>(runs.size() * all.size());
        return shares;
    };
    auto const found = shares_above(scores);
    std::vector<std::vector<double>> drawn(scores.begin(), scores.end()), replicates(thresholds.size());
    random_stream random(options.seed, 0);
    for (std::size_t i = 0; i < options.resamples; ++i) {
        for (std::size_t task = 0; task < drawn.size(); ++task)
            detail::resample(scores[task], drawn[task], random);
        auto const shares = shares_above(drawn);
        for (std::size_t j = 0; j < shares.size(); ++j)
            replicates[j].push_back(shares[j]);
    }
    std::vector<estimate> profile;
    for (std::size_t j = 0; j < found.size(); ++j)
        profile.push_back(detail::between_quantiles(found[j], std::move(replicates[j]), options.level));
    return profile;
}

} // namespace gmac::examples::train
