// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/distributions/gaussian_mixture.hpp>

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace gmac::examples::five_state {

/// What is learned and what is true are compared as mixtures; a point is a component of deviation 0.
using distribution = gaussian_mixture<double>;
using component = distribution::component_type;

/// S1 → S2 → S3 → S4 → S5 → end, discount 1. Rewards r1 = r2 = r3 = 0, r4 is −1 or 1, r5 ~ N(0, 0.1²); so the values of
/// S1 to S4 are one and the same mixture of two narrow normal distributions (the five-state experiment of the paper).
struct chain {
    static constexpr std::size_t states = 5;
    static constexpr double reward_deviation = 0.1; ///< of r5

    std::string_view name;
    double minus_probability; ///< P(r4 = −1)

    /// The distribution of the return from S1.
    [[nodiscard]] distribution truth() const {
        return {{minus_probability, -1.0, reward_deviation}, {1.0 - minus_probability, 1.0, reward_deviation}};
    }

    /// The equally likely points that are nearest to the truth, by energy distance. The distribution function of N points
    /// goes through the steps k/N, and 2 ∫ (F − k/N)² is least if it jumps where F is halfway between two of them: at the
    /// quantiles for (i + ½)/N.
    [[nodiscard]] distribution best_points(std::size_t count) const {
        distribution const value = truth();
        double const share = 1.0 / static_cast<double>(count);
        std::vector<component> best;
        for (std::size_t i = 0; i < count; ++i)
            best.push_back({share, value.quantile((static_cast<double>(i) + 0.5) * share), 0.0});
        return distribution(best);
    }

    /// Draws the rewards of some episodes: rewards [5, episodes].
    void draw(random_stream& stream, matrix_view<double> rewards) const {
        for (std::size_t e = 0; e < rewards.cols(); ++e) {
            for (std::size_t t = 0; t < 3; ++t)
                rewards(t, e) = 0.0;
            rewards(3, e) = stream.uniform<double>() < minus_probability ? -1.0 : 1.0;
            rewards(4, e) = reward_deviation * stream.normal<double>();
        }
    }
};

/// The law of the paper's asymmetric variant is not given in it: these probabilities are our choice.
inline constexpr std::array<chain, 2> chains{{{"symmetric", 0.5}, {"asymmetric", 0.2}}};

} // namespace gmac::examples::five_state
