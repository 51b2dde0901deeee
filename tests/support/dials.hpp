// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/random.hpp>
#include <gmac/environment/environment.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gmac::testing {

/// Three dials of three, four and two values, of which an observation shows how they are to stand, a 1 for the value and 0
/// for the others, and the steps so far. The reward is the share of the dials that stand so, so the best return of an episode of six
/// steps is 6, and that of chance (1/3 + 1/4 + 1/2) / 3 of it. An episode that ends is terminated if the first dial stands at 0, and cut otherwise.
struct dials {
    static constexpr std::array<std::size_t, 3> counts{3, 4, 2};
    static constexpr std::size_t values = 9, length = 6;
    static constexpr double best_return = 6.0, return_of_chance = 6.0 * (1.0 / 3.0 + 1.0 / 4.0 + 1.0 / 2.0) / 3.0;
    std::array<std::uint64_t, 3> wanted{};
    std::uint64_t steps = 0;

    static std::size_t observation_size() { return values + 1; }
    static multi_discrete action_space() { return {{counts.begin(), counts.end()}}; }
    void reset(random_stream& random, std::span<float> observation) {
        steps = 0;
        show(random, observation);
    }
    transition step(std::span<int const> action, random_stream& random, std::span<float> observation) {
        double right = 0.0;
        for (std::size_t k = 0; k < counts.size(); ++k)
            right += action[k] == static_cast<int>(wanted[k]) ? 1.0 : 0.0;
        ++steps;
        show(random, observation);
        bool const ends = steps == length;
        return {.reward = right / 3.0, .terminated = ends && action[0] == 0, .truncated = ends && action[0] != 0};
    }
    void persist(archive& state) {
        state("wanted", std::span<std::uint64_t>(wanted));
        state("steps", steps);
    }

private:
    void show(random_stream& random, std::span<float> observation) {
        for (std::size_t i = 0; i < values; ++i)
            observation[i] = 0.0f;
        for (std::size_t k = 0, first = 0; k < counts.size(); first += counts[k], ++k) {
            wanted[k] = random.below(static_cast<std::uint32_t>(counts[k]));
            observation[first + wanted[k]] = 1.0f;
        }
        observation[values] = static_cast<float>(steps) / length;
    }
};

/// The same where the last value of the second dial is always forbidden, and of each dial one other value may be, by the
/// steps so far.
struct masked_dials : dials {
    /// The rule by itself, of the values of all dials one after the other, in the state that an observation tells.
    [[nodiscard]] static bool allows(std::span<float const> observation, std::size_t value) {
        return allows(static_cast<std::uint64_t>(observation[values] * length + 0.5f), value);
    }
    void action_mask(std::span<std::uint8_t> allowed) const {
        for (std::size_t i = 0; i < allowed.size(); ++i)
            if (!allows(steps, i))
                allowed[i] = 0;
    }

private:
    [[nodiscard]] static bool allows(std::uint64_t steps, std::size_t value) {
        std::uint64_t const turn = steps % 3;
        return value != 6 && value != turn && value != 3 + turn && value != 7 + turn;
    }
};

/// Actions [E, components] at random that the masks allow.
inline void choose_allowed(environment_batch const& worlds, std::vector<float>& actions, random_stream& random) {
    auto const counts = action_counts(worlds.action_space());
    auto const masks = worlds.action_masks();
    for (std::size_t e = 0; e < worlds.size(); ++e)
        for (std::size_t k = 0, first = 0; k < counts.size(); first += counts[k], ++k) {
            float& action = actions[e * counts.size() + k];
            do
                action = static_cast<float>(random.below(static_cast<std::uint32_t>(counts[k])));
            while (!masks.empty() && masks(e, first + static_cast<std::size_t>(action)) == 0);
        }
}

} // namespace gmac::testing
