// SPDX-License-Identifier: Apache-2.0
#include "../robots.hpp"

/// HalfCheetah: a back and a front leg in a plane.
namespace gmac::examples::bullet {
namespace {

constexpr link links[] = {
    {.name = "link0_2", .joint = "ignorex", .kind = joint_kind::slide, .parent = -1, .axis = {1, 0, 0}, .parent_to_pivot = {0, 0, 0.699999988079071}},
    {.name = "link0_3", .joint = "ignorez", .kind = joint_kind::slide, .parent = 0, .axis = {0, 0, 1}},
    {.name = "link0_4", .joint = "ignorey", .kind = joint_kind::hinge, .parent = 1, .axis = {0, 1, 0}},
    {.name = "torso", .parent = 2, .mass = 9.45733335583469, .inertia = {0.11850954790425451, 1.5646349198758465, 1.4927563304017173}},
    {.name = "link0_6", .joint = "bthigh", .kind = joint_kind::hinge, .parent = 3, .axis = {0, 1, 0}, .lower = -0.5199999809265137, .upper = 1.0499999523162842, .parent_to_pivot = {-0.5, 0, 0}},
    {.name = "bthigh", .parent = 4, .mass = 2.3355269537212036, .inertia = {0.026652967211981606, 0.043289211762144474, 0.019930894585686074}},
    {.name = "link0_8", .joint = "bshin", .kind = joint_kind::hinge, .parent = 5, .axis = {0, 1, 0}, .lower = -0.7850000262260437, .upper = 0.7850000262260437, .parent_to_pivot = {0.1599999964237213, 0, -0.25}},
    {.name = "bshin", .parent = 6, .mass = 2.4020031892472424, .inertia = {0.014834623910841841, 0.043925331488187634, 0.032479133422815595}},
    {.name = "link0_10", .joint = "bfoot", .kind = joint_kind::hinge, .parent = 7, .axis = {0, 1, 0}, .lower = -0.4000000059604645, .upper = 0.7850000262260437, .parent_to_pivot = {-0.2800000011920929, 0, -0.14000000059604645}},
    {.name = "bfoot", .parent = 8, .mass = 10, .inertia = {0.07927708076065788, 0.09446023602144789, 0.029289821982292942}},
    {.name = "link0_12", .joint = "fthigh", .kind = joint_kind::hinge, .parent = 3, .axis = {0, 1, 0}, .lower = -1.5, .upper = 0.800000011920929, .parent_to_pivot = {0.5, 0, 0}},
    {.name = "fthigh", .parent = 10, .mass = 2.1759843846871485, .inertia = {0.024566760558901394, 0.035076196006900914, 0.013579024098597145}},
    {.name = "link0_14", .joint = "fshin", .kind = joint_kind::hinge, .parent = 11, .axis = {0, 1, 0}, .lower = -1.2000000476837158, .upper = 1.100000023841858, .parent_to_pivot = {-0.14000000059604645, 0, -0.23999999463558197}},
    {.name = "fshin", .parent = 12, .mass = 1.8170134062463057, .inertia = {0.015169275220180781, 0.023169122181025216, 0.010563047215886386}},
    {.name = "link0_16", .joint = "ffoot", .kind = joint_kind::hinge, .parent = 13, .axis = {0, 1, 0}, .lower = -3.0999999046325684, .upper = -0.30000001192092896, .parent_to_pivot = {0.12999999523162842, 0, -0.18000000715255737}},
    {.name = "ffoot", .parent = 14, .mass = 10, .inertia = {0.05643309656387259, 0.08506240486834088, 0.04273597502597122}},
};

constexpr shape shapes[] = {
    {.link = 3, .kind = shape_kind::sweep, .radius = 0.046f, .from = {-0.5, 0, 0}, .to = {0.5, 0, 0}},
    {.link = 3, .kind = shape_kind::capsule, .radius = 0.046f, .from = {0.6f, 0, 0.1f}, .half_length = 0.15f, .angle = 0.87f},
    {.link = 5, .kind = shape_kind::capsule, .radius = 0.046f, .from = {0.1f, 0, -0.13f}, .half_length = 0.145f, .angle = -3.8f},
    {.link = 7, .kind = shape_kind::capsule, .radius = 0.046f, .from = {-0.14f, 0, -0.07f}, .half_length = 0.15f, .angle = -2.03f},
    {.link = 9, .kind = shape_kind::capsule, .radius = 0.046f, .from = {0.03f, 0, -0.097f}, .half_length = 0.094f, .angle = -0.27f},
    {.link = 11, .kind = shape_kind::capsule, .radius = 0.046f, .from = {-0.07f, 0, -0.12f}, .half_length = 0.133f, .angle = 0.52f},
    {.link = 13, .kind = shape_kind::capsule, .radius = 0.046f, .from = {0.065f, 0, -0.09f}, .half_length = 0.106f, .angle = -0.6f},
    {.link = 15, .kind = shape_kind::capsule, .radius = 0.046f, .from = {0.045f, 0, -0.07f}, .half_length = 0.07f, .angle = -0.6f},
};

constexpr motor motors[] = {{4, 120}, {6, 90}, {8, 60}, {10, 140}, {12, 60}, {14, 30}};
constexpr int feet[] = {15, 13, 11, 9, 7, 5};
constexpr int parts[] = {0, 3, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

} // namespace

robot const half_cheetah{
    .name = "half_cheetah",
    .links = links,
    .shapes = shapes,
    .motors = motors,
    .feet = feet,
    .parts = parts,
    .torso = 3,
    .friction = 0.8f,
    .collision_mask = 0,
    .power = 0.90,
    .initial_height = 0.7f,
    .alive = {.maximum_pitch = 1.0, .forbidden_feet = 0b110110, .fatal = false},
};

} // namespace gmac::examples::bullet
