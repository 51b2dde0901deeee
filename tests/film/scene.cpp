// SPDX-License-Identifier: Apache-2.0
// Where the shapes of a robot are in a picture, against positions worked out by hand and against the laws of geometry.
#include "train/play/scene.hpp"

#include "bullet/locomotion.hpp"
#include "bullet/robots.hpp"
#include "support/catch.hpp"

#include <gmac/core/random.hpp>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

using namespace gmac::examples;
using train::body_side;
using train::point;
using train::side_view;
using train::silhouette;

namespace {

void check_near(point const& one, double x, double z) {
    CHECK(std::abs(one.x - x) < 1e-6); // the tables' numbers passed through single precision
    CHECK(std::abs(one.z - z) < 1e-6);
}

double length(silhouette const& one) {
    return std::hypot(one.to.x - one.from.x, one.to.z - one.from.z);
}

template <class Check>
void walk(bullet::robot const& table, int steps, Check&& check) {
    bullet::locomotion robot(table);
    gmac::random_stream random(1, 0);
    std::vector<float> observation(table.observation_size()), action(table.action_size());
    robot.reset(random, observation);
    for (int i = 0; i < steps; ++i) {
        for (float& a : action)
            a = 2.0f * random.uniform<float>() - 1.0f;
        robot.step(std::span<float const>(action), random, observation);
        check(robot.world());
    }
}

} // namespace

TEST_CASE("the hopper's shapes are where its leg is bent to", "[film]") {
    bullet::world world(bullet::hopper);
    side_view const view(bullet::hopper);
    double const thigh = 0.5, knee = 0.3;
    world.reset(std::vector<double>{-thigh, -knee, 0.0}); // the axes point to −y
    auto const shapes = view(world);
    REQUIRE(shapes.size() == 4);
    check_near(shapes[0].from, 0.0, 1.45);
    check_near(shapes[0].to, 0.0, 1.05);
    // A positive turn about y takes what points down backwards.
    double const knee_x = -0.45 * std::sin(thigh);
    double const knee_z = 1.05 - 0.45 * std::cos(thigh);
    check_near(shapes[1].from, 0.0, 1.05);
    check_near(shapes[1].to, knee_x, knee_z);
    double const both = thigh + knee;
    point const ankle{knee_x - 0.5 * std::sin(both), knee_z - 0.5 * std::cos(both)};
    check_near(shapes[2].from, knee_x, knee_z);
    check_near(shapes[2].to, ankle.x, ankle.z);
    check_near(shapes[3].from, ankle.x - 0.13 * std::cos(both), ankle.z + 0.13 * std::sin(both));
    check_near(shapes[3].to, ankle.x + 0.26 * std::cos(both), ankle.z - 0.26 * std::sin(both));
    CHECK(shapes[3].radius == Approx(0.06));
    CHECK(view.height() == Approx(1.3 * 1.5));
}

TEST_CASE("a capsule of the half cheetah lies along its turned axis", "[film]") {
    bullet::world const world(bullet::half_cheetah);
    auto const shapes = side_view(bullet::half_cheetah)(world);
    // Its head: 0.15 m to both sides of (0.6, 0.1), turned by 0.87 from upright, on a torso 0.7 m high.
    double const x = 0.15 * std::sin(0.87);
    double const z = 0.15 * std::cos(0.87);
    check_near(shapes[1].from, 0.6 - x, 0.8 - z);
    check_near(shapes[1].to, 0.6 + x, 0.8 + z);
}

TEST_CASE("what is far or on the left is drawn first", "[film]") {
    auto const at_reset = [](bullet::robot const& table) { return side_view(table)(bullet::world(table)); };
    auto const walker = at_reset(bullet::walker2d);
    REQUIRE(walker.size() == 7);
    for (std::size_t i = 0; i < 7; ++i)
        CHECK(walker[i].side == (i < 3 ? body_side::left : body_side::middle));
    auto const ant = at_reset(bullet::ant);
    REQUIRE(ant.size() == 13);
    CHECK(ant.front().depth == Approx(0.6)); // a foot, from 0.4 to 0.8 m beside the middle
    CHECK(ant.front().side == body_side::left);
    CHECK(ant[6].side == body_side::middle);
    CHECK(ant[6].radius == 0.25);
    CHECK(ant.back().depth == Approx(-0.6));
    CHECK(ant.back().side == body_side::right);
    for (silhouette const& limb : at_reset(bullet::humanoid))
        CHECK(((limb.depth > 0.001) == (limb.side == body_side::left) &&
               (limb.depth < -0.001) == (limb.side == body_side::right)));
}

TEST_CASE("however a robot moves, it stays above the floor and its limbs keep their length", "[film]") {
    for (bullet::robot const* const table : bullet::robots()) {
        INFO(std::string(table->name));
        side_view const view(*table);
        std::vector<silhouette> const before = view(bullet::world(*table));
        walk(*table, 150, [&](bullet::world const& world) {
            auto const shapes = view(world);
            REQUIRE(shapes.size() == before.size());
            double lowest = 1e9;
            for (std::size_t i = 0; i < shapes.size(); ++i) {
                lowest = (std::min)({lowest, shapes[i].from.z - shapes[i].radius, shapes[i].to.z - shapes[i].radius});
                if (!table->free_base) // it moves in a plane, and the order is always the same
                    CHECK(std::abs(length(shapes[i]) - length(before[i])) < 1e-9);
                if (i > 0)
                    CHECK(shapes[i].depth <= shapes[i - 1].depth + 1e-4);
            }
            CHECK(lowest > -0.03); // contacts give a little
            CHECK(lowest < 1.0);
        });
    }
}

TEST_CASE("an outline is closed, at the radius from its line, and has a stadium's area", "[film]") {
    silhouette const shape{{1.0, 2.0}, {1.3, 1.6}, 0.2};
    auto const polygon = train::outline(shape, 500);
    REQUIRE(polygon.size() == 2 * 501 + 1);
    CHECK(polygon.front().x == polygon.back().x);
    CHECK(polygon.front().z == polygon.back().z);
    double twice_area = 0.0;
    for (std::size_t i = 0; i + 1 < polygon.size(); ++i) {
        point const a = polygon[i];
        point const b = polygon[i + 1];
        twice_area += a.x * b.z - b.x * a.z;
        double const along = std::clamp(((a.x - 1.0) * 0.3 + (a.z - 2.0) * -0.4) / 0.25, 0.0, 1.0);
        CHECK(std::hypot(a.x - 1.0 - 0.3 * along, a.z - 2.0 + 0.4 * along) == Approx(0.2));
    }
    CHECK(0.5 * twice_area == Approx(std::numbers::pi * 0.04 + 2 * 0.2 * 0.5).epsilon(1e-4));
    auto const circle = train::outline({{0.0, 1.0}, {0.0, 1.0}, 0.5}, 8);
    for (point const& one : circle)
        CHECK(std::hypot(one.x, one.z - 1.0) == Approx(0.5));
}
