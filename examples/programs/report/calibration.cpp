// SPDX-License-Identifier: Apache-2.0
#include "calibration.hpp"

#include "tables.hpp"

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/distributions/dirac_mixture.hpp>
#include <gmac/distributions/energy.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace gmac::examples::report {

namespace {

using json = nlohmann::ordered_json;

[[nodiscard]] double level(std::size_t i) noexcept {
    return static_cast<double>(i + 1) / static_cast<double>(calibration::levels + 1);
}

[[nodiscard]] bool is_points(gaussian_mixture<double> const& mixture) noexcept {
    return std::ranges::all_of(mixture.components(), [](auto const& one) { return one.deviation == 0.0; });
}
[[nodiscard]] dirac_mixture<double> points_of(gaussian_mixture<double> const& mixture) {
    std::vector<dirac_mixture<double>::point> points;
    for (auto const& one : mixture.components())
        points.push_back({one.weight, one.mean});
    return dirac_mixture<double>(std::move(points));
}

[[nodiscard]] transform transform_of_points(dirac_mixture<double> const& predicted, double outcome) {
    std::vector<dirac_mixture<double>::point> points; // one at a place
    for (auto const& one : predicted.points())
        if (!points.empty() && points.back().location == one.location)
            points.back().weight += one.weight;
        else
            points.push_back(one);
    if (outcome < points.front().location)
        return {0.0, 0.5 * points.front().weight};
    if (outcome > points.back().location)
        return {1.0 - 0.5 * points.back().weight, 1.0};
    double below = 0.0; // the points that lie below
    std::size_t i = 0;
    for (; points[i].location < outcome; ++i)
        below += points[i].weight;
    double middle = below + 0.5 * points[i].weight;
    if (points[i].location > outcome) {
        double const before = below - 0.5 * points[i - 1].weight;
        double const width = points[i].location - points[i - 1].location;
        middle = before + (middle - before) * (outcome - points[i - 1].location) / width;
    }
    return {middle, middle};
}

/// Half of the mean distance of two of the values, which is the CRPS of all as the prediction of each, on average.
[[nodiscard]] double crps_of_all(std::vector<double> values) {
    std::ranges::sort(values);
    auto const n = static_cast<double>(values.size());
    double sum = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i)
        sum += (2.0 * static_cast<double>(i) - n + 1.0) * values[i];
    return sum / (n * n);
}

} // namespace

double transform::below(double p) const noexcept {
    if (low == high)
        return low < p ? 1.0 : 0.0;
    return std::clamp((p - low) / (high - low), 0.0, 1.0);
}

transform transform_of(gaussian_mixture<double> const& predicted, double outcome) {
    if (predicted.size() > 1 && is_points(predicted))
        return transform_of_points(points_of(predicted), outcome);
    double const high = std::clamp(predicted.cdf(outcome), 0.0, 1.0);
    double low = high;
    for (auto const& one : predicted.components())
        if (one.deviation == 0.0 && one.mean == outcome)
            low -= one.weight;
    return {(std::max)(low, 0.0), high};
}

void calibration::add(gaussian_mixture<double> const& predicted, double outcome, std::size_t group) {
    require(std::isfinite(outcome), "calibration: a return is {}, but must be finite", outcome);
    transform const found = transform_of(predicted, outcome);
    auto same = std::ranges::find(groups_, group, &cluster::name);
    if (same == groups_.end())
        same = groups_.insert(groups_.end(), {.name = group});
    ++same->states;
    for (std::size_t i = 0; i < levels; ++i)
        same->below[i] += found.below(level(i));
    // The last bin holds 1, too.
    double before = 0.0;
    for (std::size_t i = 0; i < bins; ++i) {
        double const below = i + 1 == bins ? 1.0 : found.below(static_cast<double>(i + 1) / static_cast<double>(bins));
        bins_[i] += below - std::exchange(before, below);
    }
    bool const points = is_points(predicted);
    spread_ = spread_ || !points || predicted.size() > 1;
    crps_ += points ? crps(points_of(predicted), outcome) : crps(predicted, outcome);
    distance_of_mean_ += std::abs(predicted.mean() - outcome);
    predicted_ += predicted.mean();
    outcomes_.push_back(outcome);
}

json calibration::result() const {
    json all{{"states", states()}, {"episodes", groups()}, {"spread", spread_}};
    if (outcomes_.empty())
        return all;
    auto const n = static_cast<double>(states());
    std::vector<double> at, below, low, high, shares;
    // The same resamples of the groups for all levels.
    std::vector<std::vector<double>> replicates(levels);
    random_stream random(0, 0);
    for (int i = 0; i < 400 && groups_.size() > 1; ++i) {
        std::array<double, levels> sums{};
        double count = 0.0;
        for (std::size_t k = 0; k < groups_.size(); ++k) {
            cluster const& drawn = groups_[random.below(static_cast<std::uint32_t>(groups_.size()))];
            count += static_cast<double>(drawn.states);
            for (std::size_t j = 0; j < levels; ++j)
                sums[j] += drawn.below[j];
        }
        for (std::size_t j = 0; j < levels; ++j)
            replicates[j].push_back(sums[j] / count);
    }
    for (std::size_t j = 0; j < levels; ++j) {
        at.push_back(level(j));
        below.push_back(std::accumulate(groups_.begin(), groups_.end(), 0.0,
                                        [j](double sum, cluster const& one) { return sum + one.below[j]; }) /
                        n);
        std::ranges::sort(replicates[j]);
        if (!replicates[j].empty()) {
            low.push_back(replicates[j][replicates[j].size() / 40]);
            high.push_back(replicates[j][replicates[j].size() - 1 - replicates[j].size() / 40]);
        }
    }
    for (double const sum : bins_)
        shares.push_back(sum / n);
    all["levels"] = json_numbers(at);
    all["below"] = json_numbers(below);
    if (!low.empty()) {
        all["low"] = json_numbers(low);
        all["high"] = json_numbers(high);
    }
    all["bins"] = json_numbers(shares);
    all["crps"] = json_number(crps_ / n);
    all["crps_of_mean"] = json_number(distance_of_mean_ / n);
    all["crps_of_all"] = json_number(crps_of_all(outcomes_));
    all["mean_predicted"] = json_number(predicted_ / n);
    all["mean_came"] = json_number(std::accumulate(outcomes_.begin(), outcomes_.end(), 0.0) / n);
    return all;
}

} // namespace gmac::examples::report
