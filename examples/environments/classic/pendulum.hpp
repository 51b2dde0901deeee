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

/// A pendulum to be swung up and held with a torque (N m) of at most ±2, with the constants of Gymnasium's Pendulum. An
/// observation is (cos θ, sin θ, dθ/dt), θ = 0 upright; the reward is −(θ² + 0.1 (dθ/dt)² + 0.001 torque²) of the state
/// before the step, with θ in [−π, π). It never terminates.
class pendulum_world {
public:
    struct coordinates {
        double angle = 0.0, angular_velocity = 0.0;
    };

    [[nodiscard]] std::size_t observation_size() const noexcept { return 3; }
    [[nodiscard]] gmac::box action_space() const {
        return gmac::box::uniform(1, static_cast<float>(-torque_limit), static_cast<float>(torque_limit));
    }

    [[nodiscard]] coordinates const& current() const noexcept { return now_; }
    void set(coordinates const& start) noexcept { now_ = start; }

    void reset(gmac::random_stream& random, std::span<float> observation) {
        now_.angle = std::numbers::pi * (2.0 * random.uniform<double>() - 1.0);
        now_.angular_velocity = 2.0 * random.uniform<double>() - 1.0;
        observe(observation);
    }

    gmac::transition step(std::span<float const> action, gmac::random_stream&, std::span<float> observation) {
        double const torque = clip(static_cast<double>(action[0]), torque_limit);
        double const angle = normalised(now_.angle);
        double const cost =
            angle * angle + 0.1 * now_.angular_velocity * now_.angular_velocity + 0.001 * torque * torque;

        // A rod of mass 1 kg and length 1 m: 3g/(2l) sin θ + 3/(m l²) torque. The angle moves with the new velocity.
        double const acceleration = 1.5 * gravity * std::sin(now_.angle) + 3.0 * torque;
        now_.angular_velocity = clip(now_.angular_velocity + time_step * acceleration, speed_limit);
        now_.angle += time_step * now_.angular_velocity;
        observe(observation);
        return {.reward = -cost};
    }

    [[nodiscard]] gmac::drawing draw() const {
        std::array const tip{static_cast<float>(-std::sin(now_.angle)), static_cast<float>(std::cos(now_.angle))};
        return {.left = -1.3f,
                .right = 1.3f,
                .bottom = -1.3f,
                .top = 1.3f,
                .seconds = static_cast<float>(time_step),
                .lines = {{0, {{-0.5f, 0.0f}, {0.5f, 0.0f}}}, {2, {{0.0f, 0.0f}, tip}}, {1, {tip}}}};
    }

    void persist(gmac::archive& state) {
        std::array<double, 2> all{now_.angle, now_.angular_velocity};
        state("state", all);
        now_ = {all[0], all[1]};
    }

private:
    static constexpr double gravity = 10.0;     // m/s²
    static constexpr double time_step = 0.05;   // s
    static constexpr double speed_limit = 8.0;  // rad/s
    static constexpr double torque_limit = 2.0; // N m

    /// To ±limit; a NaN stays one.
    [[nodiscard]] static double clip(double x, double limit) noexcept {
        return x > limit ? limit : x < -limit ? -limit : x;
    }

    /// The same angle in [−π, π).
    [[nodiscard]] static double normalised(double angle) noexcept {
        constexpr double turn = 2.0 * std::numbers::pi;
        double const shifted = std::fmod(angle + std::numbers::pi, turn);
        return (shifted < 0.0 ? shifted + turn : shifted) - std::numbers::pi;
    }

    void observe(std::span<float> observation) const noexcept {
        observation[0] = static_cast<float>(std::cos(now_.angle));
        observation[1] = static_cast<float>(std::sin(now_.angle));
        observation[2] = static_cast<float>(now_.angular_velocity);
    }

    coordinates now_;
};

/// Gymnasium's Pendulum-v1: an episode is truncated after 200 steps.
class pendulum : public gmac::time_limit<pendulum_world> {
public:
    pendulum() : time_limit({}, 200) {}
};

} // namespace classic
