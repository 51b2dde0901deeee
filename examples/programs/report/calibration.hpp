// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/distributions/gaussian_mixture.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <vector>

namespace gmac::examples::report {

/// Where in [0, 1] an outcome lies in a prediction: anywhere between two numbers with the same probability, or at one.
struct transform {
    double low = 0.0, high = 0.0;

    /// The probability of lying below p.
    [[nodiscard]] double below(double p) const noexcept;
};

/// The probability integral transform of an outcome. Of a mixture with a density it is P(X < outcome) to P(X ≤ outcome), the
/// same number unless there is a point. Points alone, at least two, are taken for what they stand for, quantiles, atoms or
/// samples of a distribution without points: half of the weight of each lies below it, the transform is linear between them,
/// and spread over the half weight beyond the first and the last one.
[[nodiscard]] transform transform_of(gaussian_mixture<double> const& predicted, double outcome);

/// How predicted distributions fit the outcomes.
class calibration {
public:
    static constexpr std::size_t levels = 19, bins = 20;

    /// Outcomes with the same `group`, an episode, are not independent. Throws gmac::error if the outcome is not finite.
    void add(gaussian_mixture<double> const& predicted, double outcome, std::size_t group);

    [[nodiscard]] std::size_t states() const noexcept { return outcomes_.size(); }
    [[nodiscard]] std::size_t groups() const noexcept { return groups_.size(); }

    /// "states" and "episodes"; "spread", false if all predictions are points; "levels" and "below", how often an outcome lay
    /// below the predicted quantile of a level, with "low" and "high", 95 % of 400 resamples of the groups (absent if there is
    /// one); "bins", shares of the transforms; "crps" and "crps_of_mean", of the predictions and of their means;
    /// "crps_of_all", of all outcomes taken as one prediction; "mean_predicted" and "mean_came".
    [[nodiscard]] nlohmann::ordered_json result() const;

private:
    struct cluster {
        std::size_t name = 0, states = 0;
        std::array<double, levels> below{};
    };

    std::vector<double> outcomes_;
    std::vector<cluster> groups_;
    std::array<double, bins> bins_{};
    double crps_ = 0.0, distance_of_mean_ = 0.0, predicted_ = 0.0; // sums
    bool spread_ = false;
};

} // namespace gmac::examples::report
