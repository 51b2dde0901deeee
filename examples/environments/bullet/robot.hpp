// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

/// What a robot is, as data. The numbers are those that PyBullet arrives at when it loads the MuJoCo file of the same
/// name; docs/pybullet.md tells why they are not MuJoCo's own.
namespace gmac::examples::bullet {

struct vector3 {
    double x = 0.0, y = 0.0, z = 0.0;
};

struct quaternion {
    double x = 0.0, y = 0.0, z = 0.0, w = 1.0;
};

enum class joint_kind { fixed, slide, hinge };

/// One link of the tree and the joint that it hangs on. PyBullet makes a massless link of every joint and fixes the
/// body to the last one, so most rows are either a joint without a body or a body without a joint.
struct link {
    std::string_view name{};
    std::string_view joint{}; ///< empty when fixed
    joint_kind kind = joint_kind::fixed;
    int parent = -1;             ///< row of the parent, which comes earlier; −1 is the base
    vector3 axis{};              ///< as in the file, not normalised: Bullet's spatial axis keeps the length
    double lower = 1.0;          ///< rad; a lower limit above the upper one means that there is none
    double upper = 0.0;          ///< rad
    vector3 parent_to_pivot{};   ///< m, from the parent's centre of mass to the joint, in the parent's axes
    vector3 pivot_to_centre{};   ///< m, from the joint to this link's centre of mass, in this link's axes
    quaternion parent_to_this{}; ///< rotates vectors of the parent's axes into this link's at joint angle zero
    double mass = 0.0;           ///< kg
    vector3 inertia{};           ///< kg m², diagonal in the link's axes

    [[nodiscard]] constexpr bool limited() const noexcept { return lower <= upper; }
};

enum class shape_kind {
    sphere, ///< of `radius` around `from`
    sweep,  ///< a sphere of `radius` swept from `from` to `to` (Bullet's multi-sphere)
    capsule ///< along z, turned by `angle` about y, around `from`
};

/// What collides. Positions are in the axes of the body as the file has them; `link::pivot_to_centre` of the body (its
/// centre of mass in the same axes) is subtracted by the builder. Numbers that pass through float32 on their way from
/// the file to Bullet are written as float literals, which gives exactly the rounded value.
struct shape {
    int link = -1; ///< −1 is the base
    shape_kind kind = shape_kind::sphere;
    double radius = 0.0; ///< m
    vector3 from{};
    vector3 to{};
    double half_length = 0.0; ///< m, of a capsule's cylinder
    double angle = 0.0;       ///< rad
};

/// An actuated joint: torque = power · coefficient · action, the action clipped to ±1.
struct motor {
    int link = 0;
    double coefficient = 100.0;
};

/// The torso must stay above a height and within a pitch, and some feet must not touch the floor; or else the reward
/// is `penalty` instead of `bonus`, and the episode ends if `fatal`.
struct health {
    double minimum_height = -1e300; ///< m
    double maximum_pitch = 1e300;   ///< rad
    unsigned forbidden_feet = 0;    ///< a bit for each foot, of the flags of the previous step
    double bonus = 1.0;
    double penalty = -1.0;
    bool fatal = true;
};

/// A robot; the spans refer to tables that must outlive it (those here are constants).
struct robot {
    std::string_view name{};
    bool free_base = false;  ///< else the base is fixed to the world and massless
    vector3 base_position{}; ///< m, of the base's centre of mass at reset
    vector3 base_centre{};   ///< m, centre of mass in the axes of the base body: what shapes of the base are shifted by
    double base_mass = 0.0;  ///< kg
    vector3 base_inertia{};  ///< kg m²
    std::span<link const> links{};
    std::span<shape const> shapes{};
    std::span<motor const> motors{}; ///< in the order of the actions, and of the joints of an observation
    std::span<int const> feet{};     ///< links whose contact with the floor is observed
    std::span<int const> parts{};    ///< links in the order in which their positions are averaged; the floor comes last
    int torso = -1;                  ///< the link whose pose and velocity are observed; −1 is the base
    double friction = 0.8;           ///< of every link with a shape; that of the floor is 0.8
    int collision_group = 1;
    int collision_mask = 1;
    double power = 1.0;
    double initial_height = 0.0; ///< m; what the observed height is relative to
    health alive{};
    double electricity_cost = -2.0;
    double stall_torque_cost = -0.1;
    double joint_limit_cost = -0.1;

    [[nodiscard]] constexpr std::size_t action_size() const noexcept { return motors.size(); }
    [[nodiscard]] constexpr std::size_t observation_size() const noexcept {
        return 8 + 2 * motors.size() + feet.size();
    }
};

} // namespace gmac::examples::bullet
