// SPDX-License-Identifier: Apache-2.0
#include "../robots.hpp"

/// Ant: four legs on a sphere.
namespace gmac::examples::bullet {
namespace {

constexpr link links[] = {
    {.name = "front_left_leg", .parent = -1, .pivot_to_centre = {0.10000000149011612, 0.10000000149011612, 0}, .mass = 7.83155043240011, .inertia = {0.16394045425561246, 0.16394045425561246, 0.2526980266008083}},
    {.name = "link0_3", .joint = "hip_1", .kind = joint_kind::hinge, .parent = 0, .axis = {0, 0, 1}, .lower = -0.6981317400932312, .upper = 0.6981317400932312, .parent_to_pivot = {0.10000000149011612, 0.10000000149011612, 0}},
    {.name = "aux_1", .parent = 1, .pivot_to_centre = {0.10000000149011612, 0.10000000149011612, 0}, .mass = 7.83155043240011, .inertia = {0.16394045425561246, 0.16394045425561246, 0.2526980266008083}},
    {.name = "link0_5", .joint = "ankle_1", .kind = joint_kind::hinge, .parent = 2, .axis = {-1, 1, 0}, .lower = 0.5235987901687622, .upper = 1.7453292608261108, .parent_to_pivot = {0.10000000149011612, 0.10000000149011612, 0}},
    {.name = "front_left_foot", .parent = 3, .pivot_to_centre = {0.20000000298023224, 0.20000000298023224, 0}, .mass = 13.518440423760284, .inertia = {0.5263179486691557, 0.5263179486691557, 0.9228588731378696}},
    {.name = "front_right_leg", .parent = -1, .pivot_to_centre = {-0.10000000149011612, 0.10000000149011612, 0}, .mass = 7.83155043240011, .inertia = {0.16394045425561246, 0.16394045425561246, 0.2526980266008083}},
    {.name = "link0_8", .joint = "hip_2", .kind = joint_kind::hinge, .parent = 5, .axis = {0, 0, 1}, .lower = -0.6981317400932312, .upper = 0.6981317400932312, .parent_to_pivot = {-0.10000000149011612, 0.10000000149011612, 0}},
    {.name = "aux_2", .parent = 6, .pivot_to_centre = {-0.10000000149011612, 0.10000000149011612, 0}, .mass = 7.83155043240011, .inertia = {0.16394045425561246, 0.16394045425561246, 0.2526980266008083}},
    {.name = "link0_10", .joint = "ankle_2", .kind = joint_kind::hinge, .parent = 7, .axis = {1, 1, 0}, .lower = -1.7453292608261108, .upper = -0.5235987901687622, .parent_to_pivot = {-0.10000000149011612, 0.10000000149011612, 0}},
    {.name = "front_right_foot", .parent = 8, .pivot_to_centre = {-0.20000000298023224, 0.20000000298023224, 0}, .mass = 13.518440423760284, .inertia = {0.5263179486691557, 0.5263179486691557, 0.9228588731378696}},
    {.name = "left_back_leg", .parent = -1, .pivot_to_centre = {-0.10000000149011612, -0.10000000149011612, 0}, .mass = 7.83155043240011, .inertia = {0.16394045425561246, 0.16394045425561246, 0.2526980266008083}},
    {.name = "link0_13", .joint = "hip_3", .kind = joint_kind::hinge, .parent = 10, .axis = {0, 0, 1}, .lower = -0.6981317400932312, .upper = 0.6981317400932312, .parent_to_pivot = {-0.10000000149011612, -0.10000000149011612, 0}},
    {.name = "aux_3", .parent = 11, .pivot_to_centre = {-0.10000000149011612, -0.10000000149011612, 0}, .mass = 7.83155043240011, .inertia = {0.16394045425561246, 0.16394045425561246, 0.2526980266008083}},
    {.name = "link0_15", .joint = "ankle_3", .kind = joint_kind::hinge, .parent = 12, .axis = {-1, 1, 0}, .lower = -1.7453292608261108, .upper = -0.5235987901687622, .parent_to_pivot = {-0.10000000149011612, -0.10000000149011612, 0}},
    {.name = "left_back_foot", .parent = 13, .pivot_to_centre = {-0.20000000298023224, -0.20000000298023224, 0}, .mass = 13.518440423760284, .inertia = {0.5263179486691557, 0.5263179486691557, 0.9228588731378696}},
    {.name = "right_back_leg", .parent = -1, .pivot_to_centre = {0.10000000149011612, -0.10000000149011612, 0}, .mass = 7.83155043240011, .inertia = {0.16394045425561246, 0.16394045425561246, 0.2526980266008083}},
    {.name = "link0_18", .joint = "hip_4", .kind = joint_kind::hinge, .parent = 15, .axis = {0, 0, 1}, .lower = -0.6981317400932312, .upper = 0.6981317400932312, .parent_to_pivot = {0.10000000149011612, -0.10000000149011612, 0}},
    {.name = "aux_4", .parent = 16, .pivot_to_centre = {0.10000000149011612, -0.10000000149011612, 0}, .mass = 7.83155043240011, .inertia = {0.16394045425561246, 0.16394045425561246, 0.2526980266008083}},
    {.name = "link0_20", .joint = "ankle_4", .kind = joint_kind::hinge, .parent = 17, .axis = {1, 1, 0}, .lower = 0.5235987901687622, .upper = 1.7453292608261108, .parent_to_pivot = {0.10000000149011612, -0.10000000149011612, 0}},
    {.name = "right_back_foot", .parent = 18, .pivot_to_centre = {0.20000000298023224, -0.20000000298023224, 0}, .mass = 13.518440423760284, .inertia = {0.5263179486691557, 0.5263179486691557, 0.9228588731378696}},
};

constexpr shape shapes[] = {
    {.link = -1, .kind = shape_kind::sphere, .radius = 0.25, .from = {0, 0, 0}},
    {.link = 0, .kind = shape_kind::sweep, .radius = 0.08f, .from = {0, 0, 0}, .to = {0.2f, 0.2f, 0}},
    {.link = 2, .kind = shape_kind::sweep, .radius = 0.08f, .from = {0, 0, 0}, .to = {0.2f, 0.2f, 0}},
    {.link = 4, .kind = shape_kind::sweep, .radius = 0.08f, .from = {0, 0, 0}, .to = {0.4f, 0.4f, 0}},
    {.link = 5, .kind = shape_kind::sweep, .radius = 0.08f, .from = {0, 0, 0}, .to = {-0.2f, 0.2f, 0}},
    {.link = 7, .kind = shape_kind::sweep, .radius = 0.08f, .from = {0, 0, 0}, .to = {-0.2f, 0.2f, 0}},
    {.link = 9, .kind = shape_kind::sweep, .radius = 0.08f, .from = {0, 0, 0}, .to = {-0.4f, 0.4f, 0}},
    {.link = 10, .kind = shape_kind::sweep, .radius = 0.08f, .from = {0, 0, 0}, .to = {-0.2f, -0.2f, 0}},
    {.link = 12, .kind = shape_kind::sweep, .radius = 0.08f, .from = {0, 0, 0}, .to = {-0.2f, -0.2f, 0}},
    {.link = 14, .kind = shape_kind::sweep, .radius = 0.08f, .from = {0, 0, 0}, .to = {-0.4f, -0.4f, 0}},
    {.link = 15, .kind = shape_kind::sweep, .radius = 0.08f, .from = {0, 0, 0}, .to = {0.2f, -0.2f, 0}},
    {.link = 17, .kind = shape_kind::sweep, .radius = 0.08f, .from = {0, 0, 0}, .to = {0.2f, -0.2f, 0}},
    {.link = 19, .kind = shape_kind::sweep, .radius = 0.08f, .from = {0, 0, 0}, .to = {0.4f, -0.4f, 0}},
};

constexpr motor motors[] = {{1}, {3}, {6}, {8}, {11}, {13}, {16}, {18}};
constexpr int feet[] = {4, 9, 14, 19};
constexpr int parts[] = {0, -1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19};

} // namespace

robot const ant{
    .name = "ant",
    .free_base = true,
    .base_position = {0, 0, 0.75},
    .base_mass = 65.44984694978736,
    .base_inertia = {1.636246173744684, 1.636246173744684, 1.636246173744684},
    .links = links,
    .shapes = shapes,
    .motors = motors,
    .feet = feet,
    .parts = parts,
    .torso = -1,
    .friction = 1.5,
    .collision_mask = 0,
    .power = 2.5,
    .initial_height = 0.75,
    .alive = {.minimum_height = 0.26},
};

} // namespace gmac::examples::bullet
