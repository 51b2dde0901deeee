// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/random.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/environment/time_limit.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>

namespace classic {

/// A pole on a cart that is pushed to the left (0) or to the right (1): Barto, Sutton and Anderson 1983, with the
/// constants of Gymnasium's CartPole. An observation is the cart's position (m) and velocity (m/s) and the pole's angle
/// (rad, 0 is upright) and angular velocity (rad/s). The reward is 1 for every step, also for the one that ends the
/// episode, when the cart leaves ±2.4 m or the pole ±12°.
class cart_pole_world {
public:
    struct coordinates {
        double position = 0.0, velocity = 0.0, angle = 0.0, angular_velocity = 0.0;
    };

    [[nodiscard]] std::size_t observation_size() const noexcept { return 4; }
    [[nodiscard]] gmac::discrete action_space() const noexcept { return {2}; }

    [[nodiscard]] coordinates const& current() const noexcept { return now_; }
    void set(coordinates const& start) noexcept { now_ = start; }

    void reset(gmac::random_stream& random, std::span<float> observation) {
        auto const near_zero = [&] { return 0.1 * random.uniform<double>() - 0.05; };
        now_.position = near_zero();
        now_.velocity = near_zero();
        now_.angle = near_zero();
        now_.angular_velocity = near_zero();
        observe(observation);
    }

    gmac::transition step(int action, gmac::random_stream&, std::span<float> observation) {
        double const force = action == 1 ? push : -push;
        double const cosine = std::cos(now_.angle);
        double const sine = std::sin(now_.angle);
        double const spin = now_.angular_velocity * now_.angular_velocity;
        double const common = (force + pole_mass * half_length * spin * sine) / total_mass;
        double const angular_acceleration =
            (gravity * sine - cosine * common) / (half_length * (4.0 / 3.0 - pole_mass * cosine * cosine / total_mass));
        double const acceleration = common - pole_mass * half_length * angular_acceleration * cosine / total_mass;

        // Explicit Euler: the positions move with the old velocities.
        now_.position += time_step * now_.velocity;
        now_.velocity += time_step * acceleration;
        now_.angle += time_step * now_.angular_velocity;
        now_.angular_velocity += time_step * angular_acceleration;
        observe(observation);
        bool const fell = std::abs(now_.position) > position_limit || std::abs(now_.angle) > angle_limit;
        return {.reward = 1.0, .terminated = fell};
    }

    [[nodiscard]] gmac::drawing draw() const {
        auto const x = static_cast<float>(now_.position);
        auto const end = static_cast<float>(position_limit);
        auto const pole = static_cast<float>(2.0 * half_length);
        std::array const tip{x + pole * static_cast<float>(std::sin(now_.angle)),
                             0.2f + pole * static_cast<float>(std::cos(now_.angle))};
        return {.left = -2.7f,
                .right = 2.7f,
                .bottom = -0.3f,
                .top = 1.5f,
                .seconds = static_cast<float>(time_step),
                .lines = {{0, {{-end, 0.1f}, {-end, 0.0f}, {end, 0.0f}, {end, 0.1f}}},
                          {1,
                           {{x - 0.2f, 0.0f}, {x - 0.2f, 0.2f}, {x + 0.2f, 0.2f}, {x + 0.2f, 0.0f}, {x - 0.2f, 0.0f}}},
                          {2, {{x, 0.2f}, tip}}}};
    }

    void persist(gmac::archive& state) {
        std::array<double, 4> all{now_.position, now_.velocity, now_.angle, now_.angular_velocity};
        state("state", all);
        now_ = {all[0], all[1], all[2], all[3]};
    }

private:
    static constexpr double gravity = 9.8;                                 // m/s²
    static constexpr double pole_mass = 0.1;                               // kg
    static constexpr double total_mass = 1.1;                              // kg, with the cart's 1.0
    static constexpr double half_length = 0.5;                             // m
    static constexpr double push = 10.0;                                   // N
    static constexpr double time_step = 0.02;                              // s
    static constexpr double position_limit = 2.4;                          // m
    static constexpr double angle_limit = 12.0 * std::numbers::pi / 180.0; // rad

    void observe(std::span<float> observation) const noexcept {
        observation[0] = static_cast<float>(now_.position);
        observation[1] = static_cast<float>(now_.velocity);
        observation[2] = static_cast<float>(now_.angle);
        observation[3] = static_cast<float>(now_.angular_velocity);
    }

    coordinates now_;
};

/// Gymnasium's CartPole-v1: an episode is truncated after 500 steps.
class cart_pole : public gmac::time_limit<cart_pole_world> {
public:
    cart_pole() : time_limit({}, 500) {}
};

} // namespace classic
