// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "game.hpp"

#include <bit>

namespace minatar {

/// A cannon against a fleet of aliens that comes down. A set of cells is ten rows with a bit a column.
struct space_invaders {
    static constexpr std::string_view name = "space_invaders";
    static constexpr std::size_t channels = 6; // cannon, aliens, aliens heading left, right, own bullets, enemy bullets
    static constexpr std::array actions{int{none}, int{left}, int{right}, int{fire}};

    using cell_set = std::array<std::int32_t, side>;

    int cannon = 5;
    cell_set aliens{}, own_bullets{}, enemy_bullets{};
    bool heads_left = true;
    int fleet_period = 12, fleet_clock = 12;
    int gun_clock = 10, reload_clock = 0;
    int ramp_level = 0;

    template <class Draws>
    void reset(Draws&) {
        *this = {};
        new_wave();
    }

    template <class Draws>
    outcome step(int chosen, bool ramping, Draws&) {
        outcome result;
        if (chosen == fire && reload_clock == 0) {
            own_bullets[side - 1] |= 1 << cannon;
            reload_clock = 5;
        } else if (chosen == left) {
            cannon = (std::max)(cannon - 1, 0);
        } else if (chosen == right) {
            cannon = (std::min)(cannon + 1, side - 1);
        }
        std::shift_left(own_bullets.begin(), own_bullets.end(), 1); // a row up
        own_bullets[side - 1] = 0;
        std::shift_right(enemy_bullets.begin(), enemy_bullets.end(), 1); // a row down
        enemy_bullets[0] = 0;
        result.over = at_cannon(enemy_bullets) || at_cannon(aliens);
        if (fleet_clock == 0)
            move_fleet(result);
        if (gun_clock == 0) {
            gun_clock = 10;
            shoot();
        }
        for (std::size_t row = 0; row < aliens.size(); ++row) {
            std::int32_t const hit = aliens[row] & own_bullets[row];
            aliens[row] ^= hit;
            own_bullets[row] ^= hit;
            result.reward += std::popcount(static_cast<std::uint32_t>(hit));
        }
        reload_clock = (std::max)(reload_clock - 1, 0);
        --fleet_clock;
        --gun_clock;
        if (alien_count() == 0) {
            if (ramping && fleet_period > 6) {
                --fleet_period;
                ++ramp_level;
            }
            new_wave();
        }
        return result;
    }

    void draw(canvas<channels> picture) const noexcept {
        picture.set(cannon, side - 1, 0);
        auto const show = [&](cell_set const& cells, std::size_t channel) {
            for (int row = 0; row < side; ++row)
                for (auto left_over = static_cast<std::uint32_t>(cells[static_cast<std::size_t>(row)]); left_over != 0;
                     left_over &= left_over - 1)
                    picture.set(std::countr_zero(left_over), row, channel);
        };
        show(aliens, 1);
        show(aliens, heads_left ? 2 : 3);
        show(own_bullets, 4);
        show(enemy_bullets, 5);
    }

    void persist(gmac::archive& state) {
        for (auto const& [of, value] : {std::pair{"cannon", &cannon},
                                        {"fleet_period", &fleet_period},
                                        {"fleet_clock", &fleet_clock},
                                        {"gun_clock", &gun_clock},
                                        {"reload_clock", &reload_clock},
                                        {"ramp_level", &ramp_level}})
            state(of, *value);
        state("heads_left", heads_left);
        state("aliens", std::span<std::int32_t>(aliens));
        state("own_bullets", std::span<std::int32_t>(own_bullets));
        state("enemy_bullets", std::span<std::int32_t>(enemy_bullets));
    }

private:
    void new_wave() noexcept {
        aliens = {};
        std::fill_n(aliens.begin(), 4, 0b0011111100); // columns 2 to 7
    }
    [[nodiscard]] int alien_count() const noexcept {
        int count = 0;
        for (std::int32_t const row : aliens)
            count += std::popcount(static_cast<std::uint32_t>(row));
        return count;
    }
    [[nodiscard]] bool at_cannon(cell_set const& cells) const noexcept { return (cells[side - 1] >> cannon & 1) != 0; }
    void move_fleet(outcome& result) noexcept {
        fleet_clock = (std::min)(alien_count(), fleet_period);
        std::int32_t const edge = heads_left ? 1 : 1 << (side - 1);
        if (std::ranges::any_of(aliens, [edge](std::int32_t row) { return (row & edge) != 0; })) {
            heads_left = !heads_left;
            result.over = result.over || aliens[side - 1] != 0;
            std::rotate(aliens.begin(), aliens.end() - 1, aliens.end()); // a row down
        } else {
            for (std::int32_t& row : aliens)
                row = heads_left ? row >> 1 : row << 1;
        }
        result.over = result.over || at_cannon(aliens);
    }
    /// The lowest alien of the column that is nearest to the cannon, the left one of two equally near.
    void shoot() noexcept {
        std::int32_t columns = 0;
        for (std::int32_t const row : aliens)
            columns |= row;
        for (int distance = 0; distance < side; ++distance)
            for (int const x : {cannon - distance, cannon + distance}) {
                if (x < 0 || x >= side || (columns >> x & 1) == 0)
                    continue;
                std::size_t row = side - 1;
                while ((aliens[row] >> x & 1) == 0)
                    --row;
                enemy_bullets[row] |= 1 << x;
                return;
            }
    }
};

} // namespace minatar
