// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "world.hpp"

#include <gmac/core/archive.hpp>
#include <gmac/core/random.hpp>
#include <gmac/environment/environment.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace gmac::examples::bullet {

/// What a step is rewarded for.
struct reward_terms {
    double alive = 0.0;
    double progress = 0.0;
    double electricity = 0.0;
    double joints_at_limit = 0.0;
    double feet_collision = 0.0; ///< always zero: PyBullet keeps the place, but charges nothing

    [[nodiscard]] constexpr double sum() const noexcept {
        return alive + progress + electricity + joints_at_limit + feet_collision;
    }
};

/// Where the robot is, as far as the observation tells.
struct posture {
    double x = 0.0, y = 0.0;                   ///< m, averages over the parts and the floor
    double z = 0.0;                            ///< m, of the torso
    double roll = 0.0, pitch = 0.0, yaw = 0.0; ///< rad, of the torso
    vector3 velocity{};                        ///< m/s, of the torso
};

/// Pushes of the torso at random, horizontally: of a robot with a free base in any direction, of one that moves in a plane
/// ahead or back. PyBullet's robots are not pushed.
struct random_pushes {
    double impulse = 0.0;      ///< N s, spread over one step; 0: none
    double probability = 0.01; ///< of a step
};

/// Walk towards a point a kilometre ahead: PyBullet's `…BulletEnv-v0` of a robot. Models gmac::environment.
///
/// The robot's table must outlive it. Everything behaves as from the second episode of a PyBullet process on: in the
/// very first one the floor is not yet among the parts when the potential is first computed, which changes the
/// progress of that episode's first step.
class locomotion {
public:
    static constexpr std::size_t time_limit = 1000; ///< steps
    static constexpr int substeps = 4;
    static constexpr double step_seconds = 0.0165;

    /// Throws gmac::error if the impulse is negative or not finite, or the probability not in [0, 1].
    explicit locomotion(robot const& table, link_layout layout = link_layout::separate, random_pushes pushes = {});
    explicit locomotion(robot const&&, link_layout = link_layout::separate, random_pushes = {}) = delete;

    [[nodiscard]] robot const& table() const noexcept { return *table_; }
    [[nodiscard]] std::size_t action_size() const noexcept { return table_->action_size(); }
    [[nodiscard]] std::size_t observation_size() const noexcept { return table_->observation_size(); }
    [[nodiscard]] gmac::box action_space() const { return gmac::box::uniform(action_size(), -1.0f, 1.0f); }

    /// Starts an episode: every actuated joint at an angle from U(−0.1, 0.1) rad, one draw each, at rest.
    void reset(gmac::random_stream& random, std::span<float> observation);
    /// Starts an episode from these angles [action_size()], in rad.
    void reset(std::span<double const> angles, std::span<float> observation);

    /// One control step of 0.0165 s with an action [action_size()] in the action space, and perhaps a push. `terminated`
    /// is a fall, `truncated` the time limit.
    gmac::transition step(std::span<float const> action, gmac::random_stream& random, std::span<float> observation);
    /// The same for actions of any size and in double precision, as PyBullet takes them: the torque is limited, the
    /// cost of electricity is not. It may be called past the end of an episode. Nothing pushes.
    gmac::transition step(std::span<double const> action, std::span<float> observation);

    /// Of the last step; zeros after a reset.
    [[nodiscard]] reward_terms const& terms() const noexcept { return terms_; }
    /// Minus the distance to the target over the duration of a step. Its increase is the progress.
    [[nodiscard]] double potential() const noexcept { return potential_; }
    [[nodiscard]] bullet::posture const& posture() const noexcept { return posture_; }
    [[nodiscard]] bullet::world const& world() const noexcept { return world_; }
    /// Of the last step, in N s; zero without a push.
    [[nodiscard]] vector3 const& push() const noexcept { return push_; }
    /// Since the reset.
    [[nodiscard]] std::size_t steps() const noexcept { return steps_; }

    /// Stores how the episode began, and the actions and pushes since. A restored world repeats them, and so has the contacts,
    /// impulses and caches of the one that was never stopped, bit for bit; it takes as long as the steps took.
    void persist(gmac::archive& state);

private:
    void begin(std::span<double const> angles);
    [[nodiscard]] vector3 draw_push(gmac::random_stream& random) const;
    gmac::transition step(std::span<double const> action, vector3 const& push, std::span<float> observation);
    reward_terms advance(std::span<double const> action, std::span<float> observation);
    void sense();
    void write_observation(std::span<float> observation) const;
    [[nodiscard]] bool healthy(float height) const noexcept;
    void check_observation(std::span<float const> observation) const;

    robot const* table_;
    random_pushes pushes_;
    bullet::world world_;
    std::vector<double> initial_angles_; ///< [action_size()]
    std::vector<double> actions_;        ///< [steps, action_size()] since the reset
    std::vector<double> impulses_;       ///< [steps, 2] since the reset, x and y, if there are pushes
    std::vector<double> torques_;        ///< [action_size()]
    std::vector<double> wide_action_;    ///< [action_size()] one given in single precision
    std::vector<vector3> places_;        ///< [parts]
    std::vector<float> joints_; ///< [action_size(), 2] position between the limits as −1 … 1; a tenth of the speed
    std::vector<float> contacts_; ///< [feet] 0 or 1, from the end of the step before the observed one
    bullet::posture posture_;
    reward_terms terms_;
    vector3 push_;
    double potential_ = 0.0;
    std::size_t steps_ = 0;
};

} // namespace gmac::examples::bullet
