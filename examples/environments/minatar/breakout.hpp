// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "game.hpp"

namespace minatar {

/// A paddle, a ball that bounces, and three rows of bricks to strike.
struct breakout {
    static constexpr std::string_view name = "breakout";
    static constexpr std::size_t channels = 4; // paddle, ball, trace, bricks
    static constexpr std::array actions{int{none}, int{left}, int{right}};

    int x = 0, y = 3, dx = 1, dy = 1;
    int trace_x = 0, trace_y = 3;
    int paddle = 4;
    std::array<int, 3> wall{}; ///< a bit a column, of rows 1 to 3
    bool struck = false;

    template <class Draws>
    void reset(Draws& draws) {
        bool const from_left = draws.number(0, 2) == 0;
        *this = {};
        x = trace_x = from_left ? 0 : side - 1;
        dx = from_left ? 1 : -1;
        wall.fill(full_row);
    }

    template <class Draws>
    outcome step(int chosen, bool /*ramping*/, Draws&) {
        outcome result;
        if (chosen == left)
            paddle = (std::max)(paddle - 1, 0);
        else if (chosen == right)
            paddle = (std::min)(paddle + 1, side - 1);
        trace_x = x;
        trace_y = y;
        int to_x = x + dx, to_y = y + dy;
        if (to_x < 0 || to_x >= side) {
            to_x = x;
            dx = -dx;
        }
        bool entered_brick = false;
        if (to_y < 0) {
            to_y = 0;
            dy = -dy;
        } else if (to_y >= 1 && to_y <= 3 && (row(to_y) >> to_x & 1) != 0) {
            entered_brick = true;
            if (!struck) {
                result.reward = 1;
                struck = true;
                row(to_y) ^= 1 << to_x;
                to_y = y;
                dy = -dy;
            }
        } else if (to_y == side - 1) {
            if (wall == std::array<int, 3>{})
                wall.fill(full_row);
            if (paddle == x) {
                dy = -dy;
                to_y = y;
            } else if (paddle == to_x) {
                dx = -dx;
                dy = -dy;
                to_y = y;
            } else {
                result.over = true;
            }
        }
        if (!entered_brick)
            struck = false;
        x = to_x;
        y = to_y;
        return result;
    }

    void draw(canvas<channels> picture) const noexcept {
        picture.set(paddle, side - 1, 0);
        picture.set(x, y, 1);
        picture.set(trace_x, trace_y, 2);
        for (int at = 1; at <= 3; ++at)
            for (int column = 0; column < side; ++column)
                if ((wall[static_cast<std::size_t>(at - 1)] >> column & 1) != 0)
                    picture.set(column, at, 3);
    }

    void persist(gmac::archive& state) {
        for (auto const& [of, value] : {std::pair{"x", &x},
                                        {"y", &y},
                                        {"dx", &dx},
                                        {"dy", &dy},
                                        {"trace_x", &trace_x},
                                        {"trace_y", &trace_y},
                                        {"paddle", &paddle}})
            state(of, *value);
        state("wall", std::span<int>(wall));
        state("struck", struck);
    }

private:
    static constexpr int full_row = (1 << side) - 1;
    [[nodiscard]] int& row(int at) noexcept { return wall[static_cast<std::size_t>(at - 1)]; }
};

} // namespace minatar
