// SPDX-License-Identifier: Apache-2.0
#include "../robots.hpp"

/// Humanoid: seventeen joints.
namespace gmac::examples::bullet {
namespace {

constexpr link links[] = {
    {.name = "link0_2", .joint = "abdomen_z", .kind = joint_kind::hinge, .parent = -1, .axis = {0, 0, 1}, .lower = -0.7853981852531433, .upper = 0.7853981852531433, .parent_to_pivot = {-0.00025999896281664325, 0, -0.07500051552760198}, .parent_to_this = {0, 0.001999996095006332, 0, 0.99999800000581}},
    {.name = "link0_3", .joint = "abdomen_y", .kind = joint_kind::hinge, .parent = 0, .axis = {0, 1, 0}, .lower = -1.3089970350265503, .upper = 0.5235987901687622},
    {.name = "lwaist", .parent = 1, .parent_to_pivot = {0, 0, -0.06499999761581421}, .mass = 2.2619465589093077, .inertia = {0.013571678746754507, 0.005428671498701803, 0.013571678746754507}},
    {.name = "link0_5", .joint = "abdomen_x", .kind = joint_kind::hinge, .parent = 2, .axis = {1, 0, 0}, .lower = -0.6108652949333191, .upper = 0.6108652949333191, .parent_to_pivot = {-0.0003999984249655934, 0, -0.06500080506328273}, .parent_to_this = {0, 0.001999996095006332, 0, 0.99999800000581}},
    {.name = "pelvis", .parent = 3, .parent_to_pivot = {0, 0, -0.10000000149011612}, .pivot_to_centre = {-0.019999999552965164, 0, 0}, .mass = 6.616194790775805, .inertia = {0.12548716666678356, 0.07454246541070925, 0.12548716666678356}},
    {.name = "link0_7", .joint = "right_hip_x", .kind = joint_kind::hinge, .parent = 4, .axis = {1, 0, 0}, .lower = -0.4363323152065277, .upper = 0.0872664675116539, .parent_to_pivot = {0.019999999552965164, -0.10000000149011612, -0.03999999910593033}},
    {.name = "link0_8", .joint = "right_hip_z", .kind = joint_kind::hinge, .parent = 5, .axis = {0, 0, 1}, .lower = -1.0471975803375244, .upper = 0.6108652949333191},
    {.name = "link0_9", .joint = "right_hip_y", .kind = joint_kind::hinge, .parent = 6, .axis = {0, 1, 0}, .lower = -2.094395160675049, .upper = 0.3490658700466156},
    {.name = "right_thigh", .parent = 7, .pivot_to_centre = {0, 0.004999999888241291, -0.17000000178813934}, .mass = 4.751750736518001, .inertia = {0.13293022675319163, 0.1313067119766301, 0.033301852170335634}},
    {.name = "link0_11", .joint = "right_knee", .kind = joint_kind::hinge, .parent = 8, .axis = {0, -1, 0}, .lower = -2.792526960372925, .upper = -0.03490658476948738, .parent_to_pivot = {0, 0.004999999888241291, -0.21299999579787254}},
    {.name = "right_shin", .parent = 9, .parent_to_pivot = {0, 0, -0.019999999552965164}, .pivot_to_centre = {0, 0, -0.15000000596046448}, .mass = 2.7556961000746023, .inertia = {0.05974533042523248, 0.05974533042523248, 0.014551912120064951}},
    {.name = "right_foot", .parent = 10, .parent_to_pivot = {0, 0, -0.29999998211860657}, .mass = 1.7671458676442582, .inertia = {0.00662679700366597, 0.00662679700366597, 0.006626797003665968}},
    {.name = "link0_14", .joint = "left_hip_x", .kind = joint_kind::hinge, .parent = 4, .axis = {-1, 0, 0}, .lower = -0.4363323152065277, .upper = 0.0872664675116539, .parent_to_pivot = {0.019999999552965164, 0.10000000149011612, -0.03999999910593033}},
    {.name = "link0_15", .joint = "left_hip_z", .kind = joint_kind::hinge, .parent = 12, .axis = {0, 0, -1}, .lower = -1.0471975803375244, .upper = 0.6108652949333191},
    {.name = "link0_16", .joint = "left_hip_y", .kind = joint_kind::hinge, .parent = 13, .axis = {0, 1, 0}, .lower = -2.094395160675049, .upper = 0.3490658700466156},
    {.name = "left_thigh", .parent = 14, .pivot_to_centre = {0, -0.004999999888241291, -0.17000000178813934}, .mass = 4.751750736518001, .inertia = {0.13293022675319163, 0.1313067119766301, 0.033301852170335634}},
    {.name = "link0_18", .joint = "left_knee", .kind = joint_kind::hinge, .parent = 15, .axis = {0, -1, 0}, .lower = -2.792526960372925, .upper = -0.03490658476948738, .parent_to_pivot = {0, -0.004999999888241291, -0.21299999579787254}},
    {.name = "left_shin", .parent = 16, .parent_to_pivot = {0, 0, -0.019999999552965164}, .pivot_to_centre = {0, 0, -0.15000000596046448}, .mass = 2.7556961000746023, .inertia = {0.05974533042523248, 0.05974533042523248, 0.014551912120064951}},
    {.name = "left_foot", .parent = 17, .parent_to_pivot = {0, 0, -0.29999998211860657}, .mass = 1.7671458676442582, .inertia = {0.00662679700366597, 0.00662679700366597, 0.006626797003665968}},
    {.name = "link0_21", .joint = "right_shoulder1", .kind = joint_kind::hinge, .parent = -1, .axis = {2, 1, 1}, .lower = -1.483529806137085, .upper = 1.0471975803375244, .parent_to_pivot = {0.009999999776482582, -0.17000000178813934, 0.17999999597668648}},
    {.name = "link0_22", .joint = "right_shoulder2", .kind = joint_kind::hinge, .parent = 19, .axis = {0, -1, 1}, .lower = -1.483529806137085, .upper = 1.0471975803375244},
    {.name = "right_upper_arm", .parent = 20, .pivot_to_centre = {0.07999999821186066, -0.07999999821186066, -0.07999999821186066}, .mass = 1.6610803734540842, .inertia = {0.028349104089805233, 0.028349104089805233, 0.028349104089805233}},
    {.name = "link0_24", .joint = "right_elbow", .kind = joint_kind::hinge, .parent = 21, .axis = {0, -1, 1}, .lower = -1.5707963705062866, .upper = 0.8726646304130554, .parent_to_pivot = {0.10000000894069672, -0.10000000894069672, -0.10000000894069672}},
    {.name = "right_lower_arm", .parent = 22, .mass = 1.2295401698843569, .inertia = {0.01868983039926174, 0.01868983039926174, 0.01868983039926174}},
    {.name = "link0_26", .joint = "left_shoulder1", .kind = joint_kind::hinge, .parent = -1, .axis = {2, -1, 1}, .lower = -1.0471975803375244, .upper = 1.483529806137085, .parent_to_pivot = {0.009999999776482582, 0.17000000178813934, 0.17999999597668648}},
    {.name = "link0_27", .joint = "left_shoulder2", .kind = joint_kind::hinge, .parent = 24, .axis = {0, 1, 1}, .lower = -1.0471975803375244, .upper = 1.483529806137085},
    {.name = "left_upper_arm", .parent = 25, .pivot_to_centre = {0.07999999821186066, 0.07999999821186066, -0.07999999821186066}, .mass = 1.6610803734540842, .inertia = {0.028349104089805233, 0.028349104089805233, 0.028349104089805233}},
    {.name = "link0_29", .joint = "left_elbow", .kind = joint_kind::hinge, .parent = 26, .axis = {0, -1, -1}, .lower = -1.5707963705062866, .upper = 0.8726646304130554, .parent_to_pivot = {0.10000000894069672, 0.10000000894069672, -0.10000000894069672}},
    {.name = "left_lower_arm", .parent = 27, .mass = 1.2295401698843569, .inertia = {0.01868983039926174, 0.01868983039926174, 0.01868983039926174}},
};

constexpr shape shapes[] = {
    {.link = -1, .kind = shape_kind::sweep, .radius = 0.07f, .from = {0, -0.07f, 0}, .to = {0, 0.07f, 0}},
    {.link = -1, .kind = shape_kind::sphere, .radius = 0.09, .from = {0, 0, 0.19f}},
    {.link = -1, .kind = shape_kind::sweep, .radius = 0.06f, .from = {-0.01f, -0.06f, -0.12f}, .to = {-0.01f, 0.06f, -0.12f}},
    {.link = 2, .kind = shape_kind::sweep, .radius = 0.06f, .from = {0, -0.06f, 0}, .to = {0, 0.06f, 0}},
    {.link = 4, .kind = shape_kind::sweep, .radius = 0.09f, .from = {-0.02f, -0.07f, 0}, .to = {-0.02f, 0.07f, 0}},
    {.link = 8, .kind = shape_kind::sweep, .radius = 0.06f, .from = {0, 0, 0}, .to = {0, 0.01f, -0.34f}},
    {.link = 10, .kind = shape_kind::sweep, .radius = 0.049f, .from = {0, 0, 0}, .to = {0, 0, -0.3f}},
    {.link = 11, .kind = shape_kind::sphere, .radius = 0.075, .from = {0, 0, 0.1f}},
    {.link = 15, .kind = shape_kind::sweep, .radius = 0.06f, .from = {0, 0, 0}, .to = {0, -0.01f, -0.34f}},
    {.link = 17, .kind = shape_kind::sweep, .radius = 0.049f, .from = {0, 0, 0}, .to = {0, 0, -0.3f}},
    {.link = 18, .kind = shape_kind::sphere, .radius = 0.075, .from = {0, 0, 0.1f}},
    {.link = 21, .kind = shape_kind::sweep, .radius = 0.04f, .from = {0, 0, 0}, .to = {0.16f, -0.16f, -0.16f}},
    {.link = 23, .kind = shape_kind::sweep, .radius = 0.031f, .from = {0.01f, 0.01f, 0.01f}, .to = {0.17f, 0.17f, 0.17f}},
    {.link = 23, .kind = shape_kind::sphere, .radius = 0.04, .from = {0.18f, 0.18f, 0.18f}},
    {.link = 26, .kind = shape_kind::sweep, .radius = 0.04f, .from = {0, 0, 0}, .to = {0.16f, 0.16f, -0.16f}},
    {.link = 28, .kind = shape_kind::sweep, .radius = 0.031f, .from = {0.01f, -0.01f, 0.01f}, .to = {0.17f, -0.17f, 0.17f}},
    {.link = 28, .kind = shape_kind::sphere, .radius = 0.04, .from = {0.18f, -0.18f, 0.18f}},
};

constexpr motor motors[] = {{0}, {1}, {3}, {5}, {6}, {7, 300}, {9, 200}, {12}, {13}, {14, 300}, {16, 200}, {19, 75}, {20, 75}, {22, 75}, {24, 75}, {25, 75}, {27, 75}};
constexpr int feet[] = {11, 18};
constexpr int parts[] = {0, -1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28};

} // namespace

robot const humanoid{
    .name = "humanoid",
    .free_base = true,
    .base_position = {0, 0, 1.399999976158142},
    .base_centre = {-0.009999999776482582, 0, -0.11999999731779099},
    .base_mass = 8.907462264680028,
    .base_inertia = {0.2817727188536097, 0.22149889042016976, 0.13212735775787135},
    .links = links,
    .shapes = shapes,
    .motors = motors,
    .feet = feet,
    .parts = parts,
    .torso = -1,
    .friction = 0.8f,
    .power = 0.41,
    .initial_height = 0.8,
    .alive = {.minimum_height = 0.78, .bonus = 2.0},
    .electricity_cost = 4.25 * -2.0,
    .stall_torque_cost = 4.25 * -0.1,
};

} // namespace gmac::examples::bullet
