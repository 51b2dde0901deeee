// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "classic/windy_cliff.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

/// The windy cliff without chance: laws of returns by dynamic programming over cell and step.
namespace gmac::examples::cliff {

using world = classic::windy_cliff_world;
using place = world::place;
inline constexpr std::size_t cells = world::rows * world::columns;
inline constexpr std::size_t actions = 4;
inline constexpr std::size_t time_limit = 100; ///< steps

[[nodiscard]] constexpr std::size_t cell_of(place const& at) noexcept {
    return static_cast<std::size_t>(at.height) * world::columns + static_cast<std::size_t>(at.column);
}
[[nodiscard]] constexpr place place_of(std::size_t cell) noexcept {
    return {static_cast<int>(cell) / world::columns, static_cast<int>(cell) % world::columns};
}

/// The probability of each action in each cell.
using plan = std::array<std::array<double, actions>, cells>;

/// Up to `height`, across, and down in the last column; whoever is blown below `height` climbs again.
[[nodiscard]] constexpr plan path_at(int height) noexcept {
    plan path{};
    for (std::size_t i = 0; i < cells; ++i) {
        place const at = place_of(i);
        path[i][at.column == world::columns - 1 ? 2 : at.height < height ? 0 : 1] = 1.0;
    }
    return path;
}

struct end_of_step {
    place at;
    double probability = 0.0;
};

/// Where a step may end: one entry for each length of the gust.
[[nodiscard]] inline std::vector<end_of_step> ends_of_step(place from, std::size_t action) {
    constexpr std::array<int, actions> up{1, 0, -1, 0}, right{0, 1, 0, -1};
    place const ahead{std::clamp(from.height + up[action], 0, world::rows - 1),
                      std::clamp(from.column + right[action], 0, world::columns - 1)};
    place const moved = ahead.fallen() ? from : ahead;
    std::vector<end_of_step> ends;
    double at_least = 1.0; // the probability of a gust of so many rows or more
    for (int rows = 0; rows <= moved.height; ++rows) {
        double const longer = rows == moved.height ? 0.0 : world::gust * std::pow(world::further, rows);
        ends.push_back({{moved.height - rows, moved.column}, at_least - longer});
        at_least = longer;
    }
    return ends;
}

/// How episodes end: the probability that it is with step k, at the goal or in a fall.
struct episode_law {
    std::array<double, time_limit + 1> arrives{}, falls{};

    [[nodiscard]] double fall() const noexcept {
        double sum = 0.0;
        for (double const one : falls)
            sum += one;
        return sum;
    }
};

/// Of the episodes of a plan that begin in each cell.
[[nodiscard]] inline std::vector<episode_law> laws_of(plan const& chosen) {
    std::vector<episode_law> laws(cells);
    std::array<std::array<double, cells>, cells> next{}; // the chances of a step that does not end the episode
    for (std::size_t i = 0; i < cells; ++i)
        for (std::size_t action = 0; action < actions; ++action)
            for (auto const& [at, probability] : ends_of_step(place_of(i), action))
                (at.arrived()  ? laws[i].arrives[1]
                 : at.fallen() ? laws[i].falls[1]
                               : next[i][cell_of(at)]) += chosen[i][action] * probability;
    for (std::size_t step = 2; step <= time_limit; ++step)
        for (std::size_t i = 0; i < cells; ++i)
            for (std::size_t j = 0; j < cells; ++j)
                if (next[i][j] > 0.0) {
                    laws[i].arrives[step] += next[i][j] * laws[j].arrives[step - 1];
                    laws[i].falls[step] += next[i][j] * laws[j].falls[step - 1];
                }
    return laws;
}

/// The mean height of the steps that begin above the cliff, in episodes of a plan from the start.
[[nodiscard]] inline double height_of(plan const& chosen) {
    std::array<double, cells> now{};
    now[cell_of({})] = 1.0;
    double heights = 0.0, crossing = 0.0;
    for (std::size_t step = 0; step < time_limit; ++step) {
        std::array<double, cells> next{};
        for (std::size_t i = 0; i < cells; ++i) {
            if (now[i] == 0.0)
                continue;
            place const from = place_of(i);
            heights += from.crossing() ? now[i] * from.height : 0.0;
            crossing += from.crossing() ? now[i] : 0.0;
            for (std::size_t action = 0; action < actions; ++action)
                for (auto const& [at, probability] : ends_of_step(from, action))
                    if (!at.arrived() && !at.fallen())
                        next[cell_of(at)] += now[i] * chosen[i][action] * probability;
        }
        now = next;
    }
    return heights / crossing;
}

struct outcome {
    double value = 0.0, probability = 0.0;
};

/// The discounted returns of such episodes, the lowest first; one that was cut has the return of its steps.
[[nodiscard]] inline std::vector<outcome> returns_of(episode_law const& law, double discount) {
    std::vector<outcome> all;
    double before = 0.0, factor = 1.0, cut = 1.0; // the return of the steps before, and the factor of this one
    for (std::size_t step = 1; step <= time_limit; ++step) {
        all.push_back({before - factor * world::fall_cost, law.falls[step]});
        before -= factor * world::step_cost;
        factor *= discount;
        all.push_back({before, law.arrives[step]});
        cut -= law.falls[step] + law.arrives[step];
    }
    all.push_back({before, cut});
    std::erase_if(all, [](outcome const& one) { return one.probability <= 0.0; });
    std::ranges::sort(all, {}, &outcome::value);
    return all;
}

/// CVaR: the mean of the lowest part of this probability, in (0, 1]; at 1 the mean.
[[nodiscard]] inline double lower_mean(std::vector<outcome> const& rising, double level) {
    double sum = 0.0, missing = level;
    for (auto const& [value, probability] : rising) {
        double const part = (std::min)(probability, missing);
        sum += part * value;
        missing -= part;
    }
    return sum / (level - missing);
}

/// The advantage of each action in each cell as an agent's generalised advantage estimation has it in the mean, if it takes
/// CVaR of the value distribution in place of its mean: with S(x) that of the plan's return from x on,
///     Q(x, a) = E[r + γ ((1 − λ) S(x') + λ V(x'))],   V(x) = Σ_a π(a | x) Q(x, a),   A = Q − V.
[[nodiscard]] inline plan advantages_of(plan const& chosen, double level, double lambda, double discount) {
    auto const laws = laws_of(chosen);
    std::array<double, cells> statistic{}, value{};
    for (std::size_t i = 0; i < cells; ++i)
        statistic[i] = value[i] = lower_mean(returns_of(laws[i], discount), level);
    plan advantages{};
    for (double change = 1.0; change > 1e-9;) {
        change = 0.0;
        for (std::size_t i = 0; i < cells; ++i) {
            double mean = 0.0;
            for (std::size_t action = 0; action < actions; ++action) {
                double gain = 0.0;
                for (auto const& [at, probability] : ends_of_step(place_of(i), action)) {
                    std::size_t const j = cell_of(at);
                    double const after =
                        at.arrived() || at.fallen() ? 0.0 : (1.0 - lambda) * statistic[j] + lambda * value[j];
                    gain += probability * ((at.fallen() ? -world::fall_cost : -world::step_cost) + discount * after);
                }
                advantages[i][action] = gain;
                mean += chosen[i][action] * gain;
            }
            change = (std::max)(change, std::abs(std::exchange(value[i], mean) - mean));
        }
    }
    for (std::size_t i = 0; i < cells; ++i)
        for (double& one : advantages[i])
            one -= value[i];
    return advantages;
}

/// What such an agent learns from equal chances of all actions on, without error: their logits grow by twice the advantage,
/// again and again.
[[nodiscard]] inline plan learned_plan(double level, double lambda, double discount, int rounds = 500) {
    plan logits{}, chosen{};
    for (int round = 0; round <= rounds; ++round) {
        for (std::size_t i = 0; i < cells; ++i) {
            double const highest = std::ranges::max(logits[i]);
            double sum = 0.0;
            for (std::size_t action = 0; action < actions; ++action)
                sum += chosen[i][action] = std::exp(logits[i][action] - highest);
            for (double& probability : chosen[i])
                probability /= sum;
        }
        plan const advantages = advantages_of(chosen, level, lambda, discount);
        for (std::size_t i = 0; i < cells; ++i)
            for (std::size_t action = 0; action < actions; ++action)
                logits[i][action] += 2.0 * advantages[i][action];
    }
    return chosen;
}

} // namespace gmac::examples::cliff
