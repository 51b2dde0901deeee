// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "game.hpp"

namespace minatar {

/// A submarine that shoots fish and other submarines, rescues divers and needs air.
struct seaquest {
    static constexpr std::string_view name = "seaquest";
    // nose, tail, own bullets, trail, enemy bullets, fish, enemy submarines, oxygen, divers aboard, divers in the water
    static constexpr std::size_t channels = 10;
    static constexpr std::array actions{int{none}, int{left}, int{up}, int{right}, int{down}, int{fire}};

    struct bullet {
        std::int32_t x, y, heading; ///< heading: 1 to the right, −1 to the left
    };
    struct swimmer {
        std::int32_t x, y, heading, move_clock;
    };
    struct enemy_sub {
        std::int32_t x, y, heading, move_clock, gun_clock;
    };
    static constexpr int full_oxygen = 200, most_divers = 6;

    int x = 5, y = 0, facing = -1;
    int oxygen = full_oxygen;
    int divers_aboard = 0; ///< below zero after surfacing without divers
    bool at_surface = true;
    int reload_clock = 0;
    int enemy_period = 20, enemy_clock = 20, diver_clock = 30;
    int enemy_slowness = 5;
    int ramp_level = 0;
    age_list<bullet, 8> own_bullets;
    age_list<bullet, 64> enemy_bullets;
    age_list<swimmer, 64> fish;
    age_list<enemy_sub, 64> subs;
    age_list<swimmer, 8> divers;

    template <class Draws>
    void reset(Draws&) {
        *this = {};
    }

    template <class Draws>
    outcome step(int chosen, bool ramping, Draws& draws) {
        outcome result;
        if (enemy_clock == 0) {
            enemy_appears(draws);
            enemy_clock = enemy_period;
        }
        if (diver_clock == 0) {
            int const heading = draws.unit() < 0.5 ? 1 : -1;
            divers.append({start_of(heading), draws.number(1, 9), heading, 5});
            diver_clock = 30;
        }
        act(chosen);
        move_own_bullets(result);
        move_divers();
        move_subs(result);
        move_enemy_bullets(result);
        move_fish(result);
        for (int* const clock : {&enemy_clock, &diver_clock, &reload_clock})
            *clock = (std::max)(*clock - 1, 0);
        breathe(ramping, result);
        return result;
    }

    void draw(canvas<channels> picture) const noexcept {
        picture.set(x, y, 0);
        picture.set_inside(x - facing, y, 1);
        for (bullet const& one : own_bullets)
            picture.set(one.x, one.y, 2);
        for (bullet const& one : enemy_bullets)
            picture.set(one.x, one.y, 4);
        auto const show = [&](auto const& all, std::size_t channel) {
            for (auto const& one : all) {
                picture.set(one.x, one.y, channel);
                picture.set_inside(one.x - one.heading, one.y, 3);
            }
        };
        show(fish, 5);
        show(subs, 6);
        show(divers, 9);
        for (int i = 0; i < tenths_of_oxygen(); ++i)
            picture.set(i, side - 1, 7);
        for (int i = side - 1 - divers_aboard; i < side - 1; ++i)
            picture.set(i, side - 1, 8);
    }

    void persist(gmac::archive& state) {
        for (auto const& [of, value] : {std::pair{"x", &x},
                                        {"y", &y},
                                        {"facing", &facing},
                                        {"oxygen", &oxygen},
                                        {"divers_aboard", &divers_aboard},
                                        {"reload_clock", &reload_clock},
                                        {"enemy_period", &enemy_period},
                                        {"enemy_clock", &enemy_clock},
                                        {"diver_clock", &diver_clock},
                                        {"enemy_slowness", &enemy_slowness},
                                        {"ramp_level", &ramp_level}})
            state(of, *value);
        state("at_surface", at_surface);
        own_bullets.persist(state, "own_bullets");
        enemy_bullets.persist(state, "enemy_bullets");
        fish.persist(state, "fish");
        subs.persist(state, "subs");
        divers.persist(state, "divers");
    }

private:
    [[nodiscard]] static constexpr int start_of(int heading) noexcept { return heading > 0 ? 0 : side - 1; }
    [[nodiscard]] int tenths_of_oxygen() const noexcept { return 10 * (std::max)(oxygen, 0) / full_oxygen; }
    template <class T>
    [[nodiscard]] static bool outside(T const& one) noexcept {
        return one.x < 0 || one.x >= side;
    }
    template <class T>
    [[nodiscard]] bool on_player(T const& one) const noexcept {
        return one.x == x && one.y == y;
    }

    template <class Draws>
    void enemy_appears(Draws& draws) {
        int const heading = draws.unit() < 0.5 ? 1 : -1;
        bool const is_sub = draws.unit() < 1.0 / 3.0;
        int const row = draws.number(1, 9);
        auto const comes_against = [&](auto const& one) { return one.y == row && one.heading != heading; };
        if (std::ranges::any_of(fish, comes_against) || std::ranges::any_of(subs, comes_against))
            return;
        if (is_sub)
            subs.append({start_of(heading), row, heading, enemy_slowness, 10});
        else
            fish.append({start_of(heading), row, heading, enemy_slowness});
    }

    void act(int chosen) {
        if (chosen == fire && reload_clock == 0) {
            own_bullets.append({x, y, facing});
            reload_clock = 5;
        } else if (chosen == left || chosen == right) {
            facing = chosen == left ? -1 : 1;
            x = std::clamp(x + facing, 0, side - 1);
        } else if (chosen == up) {
            y = (std::max)(y - 1, 0);
        } else if (chosen == down) {
            y = (std::min)(y + 1, side - 2);
        }
    }

    // All lists are gone through from the newest to the oldest.
    void move_own_bullets(outcome& result) noexcept {
        for (std::size_t i = own_bullets.size(); i-- > 0;) {
            bullet& one = own_bullets[i];
            one.x += one.heading;
            bool const hit = !outside(one) && (fish.remove_at(one.x, one.y) || subs.remove_at(one.x, one.y));
            result.reward += hit ? 1 : 0;
            if (hit || outside(one))
                own_bullets.remove(i);
        }
    }

    void move_divers() noexcept {
        auto const boards = [&](swimmer const& one) {
            if (!on_player(one) || divers_aboard >= most_divers)
                return false;
            ++divers_aboard;
            return true;
        };
        for (std::size_t i = divers.size(); i-- > 0;) {
            swimmer& one = divers[i];
            bool gone = boards(one);
            if (!gone && one.move_clock == 0) {
                one.move_clock = 5;
                one.x += one.heading;
                gone = outside(one) || boards(one);
            } else if (!gone) {
                --one.move_clock;
            }
            if (gone)
                divers.remove(i);
        }
    }

    /// Contact, move and contact of a fish or an enemy submarine; true if it is gone.
    template <class T>
    bool move_enemy(T& one, outcome& result) noexcept {
        result.over = result.over || on_player(one);
        if (one.move_clock > 0) {
            --one.move_clock;
            return false;
        }
        one.move_clock = enemy_slowness;
        one.x += one.heading;
        if (outside(one))
            return true;
        if (on_player(one)) {
            result.over = true;
            return false;
        }
        bool const shot = own_bullets.remove_at(one.x, one.y);
        result.reward += shot ? 1 : 0;
        return shot;
    }
    void move_fish(outcome& result) noexcept {
        for (std::size_t i = fish.size(); i-- > 0;)
            if (move_enemy(fish[i], result))
                fish.remove(i);
    }
    void move_subs(outcome& result) {
        for (std::size_t i = subs.size(); i-- > 0;) {
            enemy_sub& one = subs[i];
            bool const gone = move_enemy(one, result);
            // One that is gone in this move may still fire.
            if (one.gun_clock == 0) {
                one.gun_clock = 10;
                enemy_bullets.append({one.x, one.y, one.heading});
            } else {
                --one.gun_clock;
            }
            if (gone)
                subs.remove(i);
        }
    }
    void move_enemy_bullets(outcome& result) noexcept {
        for (std::size_t i = enemy_bullets.size(); i-- > 0;) {
            bullet& one = enemy_bullets[i];
            result.over = result.over || on_player(one);
            one.x += one.heading;
            if (outside(one))
                enemy_bullets.remove(i);
            else
                result.over = result.over || on_player(one);
        }
    }

    void breathe(bool ramping, outcome& result) noexcept {
        result.over = result.over || oxygen <= 0;
        if (y > 0) {
            --oxygen;
            at_surface = false;
        } else if (!at_surface) {
            if (divers_aboard == 0)
                result.over = true;
            else
                surface(ramping, result);
        }
    }
    void surface(bool ramping, outcome& result) noexcept {
        at_surface = true;
        if (divers_aboard == most_divers) {
            divers_aboard = 0;
            result.reward += tenths_of_oxygen();
        }
        oxygen = full_oxygen;
        --divers_aboard;
        if (!ramping || (enemy_period <= 1 && enemy_slowness <= 2))
            return;
        if (enemy_slowness > 2 && ramp_level % 2 == 1)
            --enemy_slowness;
        if (enemy_period > 1)
            --enemy_period;
        ++ramp_level;
    }
};

} // namespace minatar
