// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/environment.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

// A walk along a cliff: fields in four rows, from the lower left to the lower right corner. Every step costs 1, a step into the
// lower row between the corners is a fall, which costs 100. A gust moves the walker one field down now and then.
struct cliff_walk {
    float wind = 0.1f;
    int columns = 12;
    int row = 3, column = 0, steps = 0;

    static std::size_t observation_size() { return 2; }
    static gmac::discrete action_space() { return {4}; }

    void reset(gmac::random_stream&, std::span<float> observation) {
        row = 3;
        column = steps = 0;
        observe(observation);
    }
    gmac::transition step(int action, gmac::random_stream& random, std::span<float> observation) {
        int const down = random.uniform<float>() < wind ? 1 : 0;
        row = std::clamp(row + (action == 0 ? -1 : action == 1 ? 1 : down), 0, 3);
        column = std::clamp(column + (action == 2 ? -1 : action == 3 ? 1 : 0), 0, columns - 1);
        observe(observation);
        bool const lower_row = row == 3 && column > 0;
        bool const fell = lower_row && column < columns - 1;
        return {.reward = fell ? -100.0 : -1.0, .terminated = lower_row, .truncated = ++steps == 200};
    }
    void observe(std::span<float> observation) const {
        observation[0] = static_cast<float>(row) / 3.0f;
        observation[1] = static_cast<float>(column) / static_cast<float>(columns - 1);
    }

    // With it a resumed run goes on in the middle of its episodes.
    void persist(gmac::archive& state) {
        state("row", row);
        state("column", column);
        state("steps", steps);
    }
    // With it reports and `play` show the walk.
    gmac::drawing draw() const {
        auto const right = static_cast<float>(columns) - 0.5f;
        auto const x = static_cast<float>(column), y = 3.0f - static_cast<float>(row);
        return {.left = -1.0f,
                .right = right + 0.5f,
                .bottom = -1.0f,
                .top = 4.0f,
                .seconds = 0.2f,
                .lines = {{0, {{-0.5f, 0.5f}, {0.5f, 0.5f}, {0.5f, -0.5f}}},
                          {0, {{right - 1.0f, -0.5f}, {right - 1.0f, 0.5f}, {right, 0.5f}}},
                          {1, {{x, y}}}}};
    }
};
