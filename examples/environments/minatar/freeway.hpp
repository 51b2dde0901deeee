// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "game.hpp"

namespace minatar {

/// A chicken that crosses eight lanes of traffic, as often as it can in 2,501 steps.
struct freeway {
    static constexpr std::string_view name = "freeway";
    static constexpr std::size_t channels = 7; // chicken, cars, trails of cars of slowness 1 to 5
    static constexpr std::array actions{int{none}, int{up}, int{down}};
    static constexpr std::size_t car_count = 8; ///< car k drives in row k + 1
    static constexpr int column = 4;            ///< of the chicken

    struct car {
        std::int32_t x, slowness, heading, clock; ///< heading: 1 to the right, −1 to the left
    };

    int y = side - 1;
    int step_clock = 3;
    int time_left = 2500;
    std::array<car, car_count> cars{};

    template <class Draws>
    void reset(Draws& draws) {
        *this = {};
        draw_cars(draws);
    }

    template <class Draws>
    outcome step(int chosen, bool /*ramping*/, Draws& draws) {
        outcome result;
        if (step_clock == 0 && (chosen == up || chosen == down)) {
            step_clock = 3;
            y = chosen == up ? (std::max)(y - 1, 0) : (std::min)(y + 1, side - 1);
        }
        if (y == 0) {
            result.reward = 1;
            draw_cars(draws);
            y = side - 1;
        }
        for (std::size_t k = 0; k < car_count; ++k) {
            car& one = cars[k];
            auto const hit = [&] {
                if (one.x == column && static_cast<int>(k) + 1 == y)
                    y = side - 1;
            };
            hit();
            if (one.clock == 0) {
                one.clock = one.slowness;
                one.x = (one.x + one.heading + side) % side;
                hit();
            } else {
                --one.clock;
            }
        }
        step_clock = (std::max)(step_clock - 1, 0);
        result.over = --time_left < 0;
        return result;
    }

    void draw(canvas<channels> picture) const noexcept {
        picture.set(column, y, 0);
        for (std::size_t k = 0; k < car_count; ++k) {
            car const& one = cars[k];
            int const row = static_cast<int>(k) + 1;
            picture.set(one.x, row, 1);
            picture.set((one.x - one.heading + side) % side, row, 1 + static_cast<std::size_t>(one.slowness));
        }
    }

    void persist(gmac::archive& state) {
        for (auto const& [of, value] : {std::pair{"y", &y}, {"step_clock", &step_clock}, {"time_left", &time_left}})
            state(of, *value);
        state("cars", std::span(reinterpret_cast<std::int32_t*>(cars.data()), 4 * car_count), car_count, 4);
    }

private:
    template <class Draws>
    void draw_cars(Draws& draws) {
        for (car& one : cars)
            one.slowness = one.clock = draws.number(1, 6);
        for (car& one : cars)
            one.heading = draws.unit() < 0.5 ? -1 : 1;
    }
};

} // namespace minatar
