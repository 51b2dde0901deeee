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
/// the field and on the steps so far; action 2 never is. A step forward is worth 1. Ends after nine steps, cut.
struct masked_ring {
    static constexpr std::size_t actions = 4;
    std::uint64_t field = 0, steps = 0;
    bool forbids_all = false; ///< from step 3 on

    static std::size_t observation_size() { return 2; }
    static discrete action_space() { return {actions}; }

    /// By the rule itself, for tests.
    [[nodiscard]] static bool allows(std::uint64_t field, std::uint64_t steps, std::size_t action) {
        return action != 2 && (action == field % 2 || (field + steps + action) % 3 != 0);
    }
    void action_mask(std::span<std::uint8_t> allowed) const {
        for (std::size_t i = 0; i < allowed.size(); ++i)
            allowed[i] = allows(field, steps, i) && !(forbids_all && steps >= 3) ? 1 : 0;
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
        return {.reward = action == 0 ? 1.0 : 0.0, .terminated = false, .truncated = steps == 9};
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
