// SPDX-License-Identifier: Apache-2.0
#include "../robots.hpp"

/// Hopper: one leg in a plane.
namespace gmac::examples::bullet {
namespace {

constexpr link links[] = {
    {.name = "link0_2", .joint = "ignore1", .kind = joint_kind::slide, .parent = -1, .axis = {1, 0, 0}},
    {.name = "link0_3", .joint = "ignore2", .kind = joint_kind::slide, .parent = 0, .axis = {0, 0, 1}},
    {.name = "link0_4", .joint = "ignore3", .kind = joint_kind::hinge, .parent = 1, .axis = {0, 1, 0}},
    {.name = "torso",
     .parent = 2,
     .pivot_to_centre = {0, 0, 1.25},
     .mass = 3.665192295235619,
     .inertia = {0.11264361102090639, 0.11264361102090639, 0.019792038721966075}},
    {.name = "link0_6",
     .joint = "thigh_joint",
     .kind = joint_kind::hinge,
     .parent = 3,
     .axis = {0, -1, 0},
     .lower = -2.6179940700531006,
     .upper = 0,
     .parent_to_pivot = {0, 0, -0.20000004768371582}},
    {.name = "thigh",
     .parent = 4,
     .parent_to_pivot = {0, 0, -1.0499999523162842},
     .pivot_to_centre = {0, 0, 0.824999988079071},
     .mass = 4.057890077863049,
     .inertia = {0.14517098787635424, 0.14517098787635424, 0.021912606783264114}},
    {.name = "link0_8",
     .joint = "leg_joint",
     .kind = joint_kind::hinge,
     .parent = 5,
     .axis = {0, -1, 0},
     .lower = -2.6179940700531006,
     .upper = 0,
     .parent_to_pivot = {0, 0, -0.22499996423721313}},
    {.name = "leg",
     .parent = 6,
     .parent_to_pivot = {0, 0, -0.6000000238418579},
     .pivot_to_centre = {0, 0, 0.350000012665987},
     .mass = 2.781356678001823,
     .inertia = {0.10689681448332983, 0.10689681448332983, 0.011867121560890273}},
    {.name = "link0_10",
     .joint = "foot_joint",
     .kind = joint_kind::hinge,
     .parent = 7,
     .axis = {0, -1, 0},
     .lower = -0.7853981852531433,
     .upper = 0.7853981852531433,
     .parent_to_pivot = {0, 0, -0.2500000111758709}},
    {.name = "foot",
     .parent = 8,
     .parent_to_pivot = {0, 0, -0.10000000149011612},
     .pivot_to_centre = {0.06499999761581421, 0, 0.10000000149011612},
     .mass = 5.3155743502388155,
     .inertia = {0.03543716138442669, 0.17191452442281518, 0.17191452442281518}},
};

constexpr shape shapes[] = {
    {.link = 3, .kind = shape_kind::sweep, .radius = 0.05f, .from = {0, 0, 1.45f}, .to = {0, 0, 1.05f}},
    {.link = 5, .kind = shape_kind::sweep, .radius = 0.05f, .from = {0, 0, 1.05f}, .to = {0, 0, 0.6f}},
    {.link = 7, .kind = shape_kind::sweep, .radius = 0.04f, .from = {0, 0, 0.6f}, .to = {0, 0, 0.1f}},
    {.link = 9, .kind = shape_kind::sweep, .radius = 0.06f, .from = {-0.13f, 0, 0.1f}, .to = {0.26f, 0, 0.1f}},
};

constexpr motor motors[] = {{4}, {6}, {8}};
constexpr int feet[] = {9};
constexpr int parts[] = {0, 3, 1, 2, 4, 5, 6, 7, 8, 9};

} // namespace

robot const hopper{
    .name = "hopper",
    .links = links,
    .shapes = shapes,
    .motors = motors,
    .feet = feet,
    .parts = parts,
    .torso = 3,
    .friction = 0.8f,
    .power = 0.75,
    .initial_height = 1.25,
    .alive = {.minimum_height = 0.8, .maximum_pitch = 1.0},
};

} // namespace gmac::examples::bullet
