// SPDX-License-Identifier: Apache-2.0
// The tables, and what Bullet holds of them, against what PyBullet says of the bodies that it loaded.
#include "recordings.hpp"
#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace {

namespace bullet = gmac::examples::bullet;
using json = nlohmann::json;

json model(bullet::robot const& robot) {
    return json::parse(gmac::testing::recordings::read_file(std::string(robot.name) + "_model.json"));
}

void check_same(bullet::vector3 ours, json const& theirs) {
    CHECK(ours.x == theirs[0].get<double>());
    CHECK(ours.y == theirs[1].get<double>());
    CHECK(ours.z == theirs[2].get<double>());
}

void check_close(bullet::vector3 ours, json const& theirs) {
    CHECK(std::abs(ours.x - theirs[0].get<double>()) <= 1e-15);
    CHECK(std::abs(ours.y - theirs[1].get<double>()) <= 1e-15);
    CHECK(std::abs(ours.z - theirs[2].get<double>()) <= 1e-15);
}

std::string kind_name(bullet::joint_kind kind) {
    return kind == bullet::joint_kind::fixed ? "fixed" : kind == bullet::joint_kind::slide ? "prismatic" : "revolute";
}

int row_of(bullet::robot const& robot, std::string const& name) {
    for (std::size_t row = 0; row < robot.links.size(); ++row)
        if (robot.links[row].name == name)
            return static_cast<int>(row);
    return -1;
}

bool has_shape(bullet::robot const& robot, int row) {
    for (bullet::shape const& s : robot.shapes)
        if (s.link == row)
            return true;
    return false;
}

} // namespace

TEST_CASE("links: joints, axes, limits, offsets, masses and inertias are PyBullet's", "[bullet]") {
    for (bullet::robot const* const robot : bullet::robots()) {
        json const recorded = model(*robot);
        bullet::world const world(*robot, bullet::link_layout::separate);
        REQUIRE(recorded["links"].size() == robot->links.size());
        CHECK(world.record(-1).mass == recorded["base_dynamics"]["mass"].get<double>());
        check_same(world.record(-1).inertia, recorded["base_dynamics"]["inertia_diag"]);
        check_same(robot->base_centre, recorded["base_dynamics"]["inertial_pos"]);
        for (json const& theirs : recorded["links"]) {
            int const row = theirs["index"].get<int>();
            bullet::link const& ours = robot->links[static_cast<std::size_t>(row)];
            INFO(robot->name << ", link " << row << ", " << ours.name);
            CHECK(ours.name == theirs["link"].get<std::string>());
            CHECK(ours.parent == theirs["parent"].get<int>());
            CHECK(kind_name(ours.kind) == theirs["type"].get<std::string>());
            if (ours.kind != bullet::joint_kind::fixed) {
                CHECK(ours.joint == theirs["joint"].get<std::string>());
                check_same(ours.axis, theirs["axis"]);
                CHECK(ours.lower == theirs["lower"].get<double>());
                CHECK(ours.upper == theirs["upper"].get<double>());
            }
            check_same(ours.parent_to_pivot, theirs["parent_frame_pos"]);
            check_same(ours.pivot_to_centre, theirs["dynamics"]["inertial_pos"]);
            bullet::quaternion const turn = ours.parent_to_this;
            check_same({turn.x, turn.y, turn.z}, theirs["parent_frame_orn"]);
            CHECK(turn.w == theirs["parent_frame_orn"][3].get<double>());
            CHECK(world.record(row).mass == theirs["dynamics"]["mass"].get<double>());
            check_same(world.record(row).inertia, theirs["dynamics"]["inertia_diag"]);
            if (has_shape(*robot, row))
                CHECK(robot->friction == theirs["dynamics"]["lateral_friction"].get<double>());
        }
    }
}

TEST_CASE("the assembled robot stands where PyBullet's stands, merged or not", "[bullet]") {
    for (bullet::robot const* const robot : bullet::robots())
        for (bullet::link_layout const layout : {bullet::link_layout::separate, bullet::link_layout::merged}) {
            json const recorded = model(*robot);
            bullet::world const world(*robot, layout);
            for (json const& theirs : recorded["links"]) {
                int const row = theirs["index"].get<int>();
                INFO(robot->name << ", link " << row);
                check_close(world.position(row), theirs["com_world_pos_q0"]);
                bullet::quaternion const turn = world.orientation(row);
                check_close({turn.x, turn.y, turn.z}, theirs["com_world_orn_q0"]);
                CHECK(std::abs(turn.w - theirs["com_world_orn_q0"][3].get<double>()) <= 1e-15);
            }
            check_same(world.position(-1), recorded["base_pos_orn"][0]);
        }
}

TEST_CASE("actions and parts come in PyBullet's order", "[bullet]") {
    for (bullet::robot const* const robot : bullet::robots()) {
        INFO(robot->name);
        json const recorded = model(*robot);
        json const& joints = recorded["ordered_joints"];
        REQUIRE(joints.size() == robot->motors.size());
        for (std::size_t i = 0; i < joints.size(); ++i)
            CHECK(robot->links[static_cast<std::size_t>(robot->motors[i].link)].joint == joints[i].get<std::string>());
        json const& parts = recorded["parts"];
        REQUIRE(parts.size() == robot->parts.size() + 1);
        CHECK(parts.back() == "floor");
        for (std::size_t i = 0; i < robot->parts.size(); ++i)
            CHECK(robot->parts[i] == row_of(*robot, parts[i].get<std::string>()));
    }
}

TEST_CASE("total masses are those that PyBullet reports", "[bullet]") {
    struct expectation {
        bullet::robot const* robot;
        double mass; // kg
    };
    for (expectation const& e : {expectation{&bullet::hopper, 15.8200134}, expectation{&bullet::walker2d, 23.6771363},
                                 expectation{&bullet::half_cheetah, 38.1878613}, expectation{&bullet::ant, 182.176012},
                                 expectation{&bullet::humanoid, 42.1160301}})
        for (bullet::link_layout const layout : {bullet::link_layout::separate, bullet::link_layout::merged}) {
            INFO(e.robot->name);
            bullet::world const world(*e.robot, layout);
            double mass = world.record(-1).mass;
            for (std::size_t row = 0; row < e.robot->links.size(); ++row)
                if (layout == bullet::link_layout::separate || e.robot->links[row].mass > 0.0)
                    mass += world.record(static_cast<int>(row)).mass;
            CHECK(mass == Approx(e.mass).epsilon(1e-8));
        }
}
