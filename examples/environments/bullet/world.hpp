// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "robot.hpp"

#include <memory>
#include <span>

namespace gmac::examples::bullet {

/// How the massless link of a joint and the body fixed to it become links of Bullet's.
enum class link_layout {
    separate, ///< two links, as PyBullet has it: the arithmetic is PyBullet's, operation by operation
    merged    ///< one link: the same motion to rounding, and faster
};

/// One robot above an infinite floor in a world of its own. Movable; different worlds may be used from different
/// threads at the same time.
///
/// Poses of links are those at the beginning of the last substep, since Bullet refreshes them there; the pose of the
/// base and the joints' angles and speeds are current. After a reset all of them are.
class world {
public:
    explicit world(robot const& table, link_layout layout = link_layout::merged);
    ~world();
    world(world&&) noexcept;
    world& operator=(world&&) noexcept;

    /// Puts the robot at its initial place, at rest, with these angles of the motors' joints [motors], and forgets
    /// every contact.
    void reset(std::span<double const> angles);
    /// Holds the torques [motors] (N m) over `substeps` steps of `seconds` each, and a force (N, in the world's axes) at the
    /// centre of mass of the torso.
    void advance(std::span<double const> torques, int substeps, double seconds, vector3 const& force = {});

    /// The position and speed of the joint of a row of the table: rad and rad/s, of a slide m and m/s.
    [[nodiscard]] double angle(int link) const;
    [[nodiscard]] double speed(int link) const;
    /// The world position of the centre of mass of a row of the table; −1 is the base.
    [[nodiscard]] vector3 position(int link) const;
    [[nodiscard]] quaternion orientation(int link) const;
    /// The velocity of the centre of mass, in the world's axes.
    [[nodiscard]] vector3 velocity(int link) const;
    [[nodiscard]] vector3 base_spin() const; ///< rad/s
    /// Whether a contact point between the link and the floor is known; near misses count.
    [[nodiscard]] bool touches_floor(int link) const;

    /// What Bullet holds, for comparison with the recorded models.
    struct link_record {
        double mass = 0.0;
        vector3 inertia;
    };
    [[nodiscard]] link_record record(int link) const;

private:
    struct parts;
    std::unique_ptr<parts> parts_;
};

} // namespace gmac::examples::bullet
