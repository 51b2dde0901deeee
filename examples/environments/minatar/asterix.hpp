// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "game.hpp"

namespace minatar {

/// Gold to collect and enemies to avoid, which cross the grid in eight lanes.
struct asterix {
    static constexpr std::string_view name = "asterix";
    static constexpr std::size_t channels = 4; // player, enemies, trail, gold
    static constexpr std::array actions{int{none}, int{left}, int{up}, int{right}, int{down}};
    static constexpr std::size_t lane_count = 8; ///< lane k lies in row k + 1

    struct thing {
        std::int32_t present, x, heading, gold; ///< heading: 1 to the right, −1 to the left
    };

    int x = 5, y = 5;
    std::array<thing, lane_count> lanes{};
    int appear_period = 10, appear_clock = 10;
    int move_period = 5, move_clock = 5;
    int ramp_clock = 100, ramp_level = 0;

    template <class Draws>
    void reset(Draws&) {
        *this = {};
    }

    template <class Draws>
    outcome step(int chosen, bool ramping, Draws& draws) {
        outcome result;
        if (appear_clock == 0) {
            appear(draws);
            appear_clock = appear_period;
        }
        if (chosen == left)
            x = (std::max)(x - 1, 0);
        else if (chosen == right)
            x = (std::min)(x + 1, side - 1);
        else if (chosen == up)
            y = (std::max)(y - 1, 1);
        else if (chosen == down)
            y = (std::min)(y + 1, side - 2);
        for (std::size_t k = 0; k < lane_count; ++k)
            if (lanes[k].present != 0)
                meet(k, result);
        if (move_clock == 0) {
            move_clock = move_period;
            for (std::size_t k = 0; k < lane_count; ++k)
                if (lanes[k].present != 0) {
                    lanes[k].x += lanes[k].heading;
                    if (lanes[k].x < 0 || lanes[k].x >= side)
                        lanes[k].present = 0;
                    else
                        meet(k, result);
                }
        }
        --appear_clock;
        --move_clock;
        if (ramping && (appear_period > 1 || move_period > 1))
            ramp();
        return result;
    }

    void draw(canvas<channels> picture) const noexcept {
        picture.set(x, y, 0);
        for (std::size_t k = 0; k < lane_count; ++k)
            if (thing const& one = lanes[k]; one.present != 0) {
                int const row = static_cast<int>(k) + 1;
                picture.set(one.x, row, one.gold != 0 ? 3 : 1);
                picture.set_inside(one.x - one.heading, row, 2);
            }
    }

    void persist(gmac::archive& state) {
        for (auto const& [of, value] : {std::pair{"x", &x},
                                        {"y", &y},
                                        {"appear_period", &appear_period},
                                        {"appear_clock", &appear_clock},
                                        {"move_period", &move_period},
                                        {"move_clock", &move_clock},
                                        {"ramp_clock", &ramp_clock},
                                        {"ramp_level", &ramp_level}})
            state(of, *value);
        state("lanes", std::span(reinterpret_cast<std::int32_t*>(lanes.data()), 4 * lane_count), lane_count, 4);
    }

private:
    template <class Draws>
    void appear(Draws& draws) {
        bool const to_right = draws.unit() < 0.5;
        bool const gold = draws.unit() < 1.0 / 3.0;
        auto const is_empty = [](thing const& one) { return one.present == 0; };
        int const empty = static_cast<int>(std::ranges::count_if(lanes, is_empty));
        if (empty == 0)
            return;
        int place = draws.number(0, empty);
        for (thing& one : lanes)
            if (is_empty(one) && place-- == 0) {
                one = {1, to_right ? 0 : side - 1, to_right ? 1 : -1, gold ? 1 : 0};
                return;
            }
    }
    void meet(std::size_t k, outcome& result) noexcept {
        if (lanes[k].x != x || static_cast<int>(k) + 1 != y)
            return;
        if (lanes[k].gold != 0) {
            lanes[k].present = 0;
            ++result.reward;
        } else {
            result.over = true;
        }
    }
    void ramp() noexcept {
        if (ramp_clock >= 0) {
            --ramp_clock;
            return;
        }
        if (move_period > 1 && ramp_level % 2 == 1)
            --move_period;
        if (appear_period > 1)
            --appear_period;
        ++ramp_level;
        ramp_clock = 100;
    }
};

} // namespace minatar
