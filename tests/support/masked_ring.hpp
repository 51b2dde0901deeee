// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/random.hpp>
#include <gmac/environment/environment.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace gmac::testing {

/// A ring of six fields and four actions: one forward, one back, two forward, stay. Which of them are allowed depends on
/// the field and on the steps so far, and action 2 never is. Action 0 is worth 1. Ends after nine steps: cut if the field
/// is even then, terminated if it is odd.
struct masked_ring {
    static constexpr std::size_t actions = 4;
    std::uint64_t field = 0, steps = 0;

    static std::size_t observation_size() { return 2; }
    static discrete action_space() { return {actions}; }

    /// The rule by itself, for tests.
    [[nodiscard]] static bool allows(std::uint64_t field, std::uint64_t steps, std::size_t action) {
        return action != 2 && (action == field % 2 || (field + steps + action) % 3 != 0);
    }
    /// The same in the state that an observation tells.
    [[nodiscard]] static bool allows(std::span<float const> observation, std::size_t action) {
        return allows(static_cast<std::uint64_t>(observation[0] * 6.0f + 0.5f),
                      static_cast<std::uint64_t>(observation[1] * 9.0f + 0.5f), action);
    }
    /// Counts on it that each action is allowed until it is forbidden.
    void action_mask(std::span<std::uint8_t> allowed) const {
        for (std::size_t i = 0; i < allowed.size(); ++i)
            if (!allows(field, steps, i))
                allowed[i] = 0;
    }

    void reset(random_stream& random, std::span<float> observation) {
        field = random.below(6);
        steps = 0;
        write(observation);
    }
    transition step(int action, random_stream&, std::span<float> observation) {
        constexpr std::uint64_t moves[actions] = {1, 5, 2, 0};
        field = (field + moves[action]) % 6;
        ++steps;
        write(observation);
        bool const ends = steps == 9;
        return {.reward = action == 0 ? 1.0 : 0.0,
                .terminated = ends && field % 2 == 1,
                .truncated = ends && field % 2 == 0};
    }
    void persist(archive& state) {
        state("field", field);
        state("steps", steps);
    }

private:
    void write(std::span<float> observation) const {
        observation[0] = static_cast<float>(field) / 6.0f;
        observation[1] = static_cast<float>(steps) / 9.0f;
    }
};

} // namespace gmac::testing
