// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/random.hpp>
#include <gmac/targets/rollout_view.hpp>
#include <gmac/targets/sources.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gmac::testing {

/// A rollout with random rewards and ends, and a Gaussian mixture for each of its states.
template <class T>
struct random_rollout {
    std::size_t steps, environments, components;
    std::vector<T> rewards;
    std::vector<std::uint8_t> terminated, truncated;
    std::vector<T> weights, means, deviations;
    std::vector<T> values; ///< the mixtures' means

    /// One transition in `ends` terminates, and one in `ends` is truncated; some do both. 0: none.
    random_rollout(std::size_t steps_, std::size_t environments_, std::size_t components_, unsigned ends,
                   std::uint64_t seed)
        : steps(steps_),
          environments(environments_),
          components(components_),
          rewards(steps * environments),
          terminated(rewards.size()),
          truncated(rewards.size()) {
        random_stream random(seed);
        for (std::size_t i = 0; i < rewards.size(); ++i) {
            rewards[i] = static_cast<T>(random.normal<double>());
            terminated[i] = ends != 0 && random.below(ends) == 0;
            truncated[i] = ends != 0 && random.below(ends) == 0;
        }
        std::size_t const all = rows();
        for (std::size_t i = 0; i < all; ++i) {
            double sum = 0.0;
            std::vector<double> row(components);
            for (double& weight : row)
                sum += weight = random.below(5) == 0 ? 0.0 : random.uniform<double>();
            if (sum == 0.0)
                sum = row[0] = 1.0;
            double value = 0.0;
            for (double const weight : row) {
                weights.push_back(static_cast<T>(weight / sum));
                means.push_back(static_cast<T>(3.0 * random.normal<double>()));
                deviations.push_back(static_cast<T>(random.uniform<double>()));
                value += static_cast<double>(weights.back()) * static_cast<double>(means.back());
            }
            values.push_back(static_cast<T>(value));
        }
    }

    [[nodiscard]] targets::rollout_view<T> view() const {
        return {{rewards.data(), steps, environments},
                {terminated.data(), steps, environments},
                {truncated.data(), steps, environments}};
    }
    [[nodiscard]] std::size_t rows() const { return (steps + 1) * environments + view().truncations(); }
    [[nodiscard]] targets::gaussian_source<T> gaussians() const {
        return {{weights.data(), rows(), components},
                {means.data(), rows(), components},
                {deviations.data(), rows(), components}};
    }
    [[nodiscard]] targets::dirac_source<T> diracs() const {
        return {{means.data(), rows(), components}, {weights.data(), rows(), components}};
    }
    [[nodiscard]] vector_view<T const> state_values() const { return {values.data(), (steps + 1) * environments}; }
    [[nodiscard]] vector_view<T const> final_values() const {
        return {values.data() + (steps + 1) * environments, values.size() - (steps + 1) * environments};
    }

    /// The row of the states that follow transition (t, e): of x_{t+1}, or of the final observation. Counted anew.
    [[nodiscard]] std::size_t row_after(std::size_t t, std::size_t e) const {
        std::size_t const here = t * environments + e;
        if (!truncated[here])
            return here + environments;
        std::size_t row = (steps + 1) * environments;
        for (std::size_t i = 0; i < here; ++i)
            row += truncated[i] && !terminated[i];
        return row;
    }
};

/// A component of a mixture.
struct atom {
    double weight, mean, deviation;
};

/// The distribution of SR(λ) by its definition: the n-step returns of state (t, e), forward in time.
template <class T>
std::vector<atom> n_step_returns(random_rollout<T> const& rollout, std::size_t t, std::size_t e, double discount,
                                 double lambda) {
    std::vector<atom> result;
    double reward_sum = 0.0;
    double factor = 1.0; // γ^n
    double left = 1.0;   // λ^(n−1)
    for (std::size_t s = t;; ++s) {
        std::size_t const here = s * rollout.environments + e;
        reward_sum += factor * static_cast<double>(rollout.rewards[here]);
        factor *= discount;
        if (rollout.terminated[here]) {
            result.push_back({left, reward_sum, 0.0});
            return result;
        }
        bool const last = rollout.truncated[here] || s + 1 == rollout.steps;
        double const weight = last ? left : (1.0 - lambda) * left;
        std::size_t const row = rollout.row_after(s, e) * rollout.components;
        for (std::size_t k = 0; k < rollout.components; ++k)
            result.push_back({weight * static_cast<double>(rollout.weights[row + k]),
                              reward_sum + factor * static_cast<double>(rollout.means[row + k]),
                              factor * static_cast<double>(rollout.deviations[row + k])});
        if (last)
            return result;
        left *= lambda;
    }
}

[[nodiscard]] inline double mean_of(std::vector<atom> const& mixture) {
    double mean = 0.0;
    for (atom const& a : mixture)
        mean += a.weight * a.mean;
    return mean;
}
[[nodiscard]] inline double variance_of(std::vector<atom> const& mixture) {
    double const mean = mean_of(mixture);
    double variance = 0.0;
    for (atom const& a : mixture)
        variance += a.weight * (a.deviation * a.deviation + (a.mean - mean) * (a.mean - mean));
    return variance;
}
/// The distribution function; a deviation of zero is a step.
[[nodiscard]] inline double cdf_of(std::vector<atom> const& mixture, double x) {
    double sum = 0.0;
    for (atom const& a : mixture)
        sum += a.weight * (a.deviation > 0.0 ? 0.5 * std::erfc((a.mean - x) / (a.deviation * std::sqrt(2.0)))
                                             : (a.mean <= x ? 1.0 : 0.0));
    return sum;
}

} // namespace gmac::testing
