// SPDX-License-Identifier: Apache-2.0
// Random pushes: the impulse that they give, how often and whereto, and that a robot without them is as it was.
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"
#include "support/numbers.hpp"
#include "support/says.hpp"
#include "walks.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numbers>
#include <span>
#include <string>
#include <vector>

namespace {

namespace bullet = gmac::examples::bullet;
using bullet::link_layout;
using gmac::testing::memory_archive;
using gmac::testing::message_of;
using gmac::testing::walker;

constexpr bullet::random_pushes always{.impulse = 3.0, .probability = 1.0};

/// kg m/s, of all links.
[[nodiscard]] bullet::vector3 momentum(bullet::locomotion const& robot) {
    bullet::vector3 sum{};
    for (int row = -1; row < static_cast<int>(robot.table().links.size()); ++row) {
        double const mass = row < 0 ? robot.table().base_mass : robot.table().links[static_cast<std::size_t>(row)].mass;
        bullet::vector3 const velocity = robot.world().velocity(row);
        sum.x += mass * velocity.x;
        sum.y += mass * velocity.y;
        sum.z += mass * velocity.z;
    }
    return sum;
}

} // namespace

TEST_CASE("a push gives the robot its impulse", "[bullet]") {
    for (bullet::robot const* const robot : bullet::robots())
        for (link_layout const layout : {link_layout::separate, link_layout::merged}) {
            INFO(robot->name);
            walker pushed(*robot, 21, layout, always), free(*robot, 21, layout);
            pushed.reset(std::vector<double>(robot->action_size(), 0.0));
            free.reset(std::vector<double>(robot->action_size(), 0.0));
            std::vector<float> observation(robot->observation_size()), still(robot->action_size());
            gmac::random_stream random(22);
            pushed.robot().step(std::span<float const>(still), random, observation);
            free.robot().step(std::span<float const>(still), random, observation);
            bullet::vector3 const given = pushed.robot().push();
            CHECK(std::hypot(given.x, given.y) == Approx(3.0).epsilon(1e-12));
            CHECK(given.z == 0.0);
            bullet::vector3 const with = momentum(pushed.robot()), without = momentum(free.robot());
            CHECK(with.x - without.x == Approx(given.x).margin(0.03));
            CHECK(with.y - without.y == Approx(given.y).margin(0.03));
            CHECK(with.z - without.z == Approx(0.0).margin(0.03));
        }
}

TEST_CASE("a push acts at the torso's centre of mass, whatever links the robot is made of", "[bullet]") {
    for (bullet::robot const* const robot : bullet::robots()) {
        INFO(robot->name);
        walker separate(*robot, 23, link_layout::separate, always), merged(*robot, 23, link_layout::merged, always);
        for (walker* const one : {&separate, &merged}) {
            one->reset(std::vector<double>(robot->action_size(), 0.0));
            one->walk(3);
        }
        for (std::size_t row = 0; row < robot->links.size(); ++row)
            if (robot->links[row].kind != bullet::joint_kind::fixed) {
                auto const joint = static_cast<int>(row);
                CHECK(merged.robot().world().speed(joint) ==
                      Approx(separate.robot().world().speed(joint)).epsilon(1e-9).margin(1e-9));
            }
    }
}

TEST_CASE("pushes come at random, in a plane ahead or back, else in every direction", "[bullet]") {
    constexpr int steps = 40'000;
    for (bullet::robot const* const robot : {&bullet::hopper, &bullet::ant}) {
        INFO(robot->name);
        bullet::locomotion subject(*robot, link_layout::merged, {.impulse = 0.01, .probability = 0.05});
        std::vector<float> observation(subject.observation_size()), action(subject.action_size());
        gmac::random_stream random(24);
        int pushes = 0;
        std::vector<int> directions(8);
        for (int i = 0; i < steps; ++i) {
            if (i % 20 == 0)
                subject.reset(random, observation);
            subject.step(std::span<float const>(action), random, observation);
            bullet::vector3 const push = subject.push();
            if (push.x == 0.0 && push.y == 0.0)
                continue;
            ++pushes;
            if (robot->free_base) {
                double const turns = std::atan2(push.y, push.x) / (2.0 * std::numbers::pi) + 0.5;
                ++directions[static_cast<std::size_t>(std::min(7.0, std::floor(8.0 * turns)))];
            } else {
                CHECK(push.y == 0.0);
                CHECK(std::abs(push.x) == 0.01);
                ++directions[push.x > 0.0 ? 1 : 0];
            }
        }
        CHECK(std::abs(pushes - 0.05 * steps) < 4.0 * std::sqrt(0.05 * 0.95 * steps));
        if (!robot->free_base)
            directions.resize(2);
        // With 1 and 7 degrees of freedom these are exceeded by one in a thousand.
        CHECK(gmac::testing::chi_square(directions) < (robot->free_base ? 24.3 : 10.8));
    }
}

TEST_CASE("without an impulse nothing is drawn, and all bits are the same", "[bullet]") {
    for (bullet::robot const* const robot : bullet::robots()) {
        INFO(robot->name);
        walker usual(*robot, 25);
        walker unpushed(*robot, 25, link_layout::separate, {.impulse = 0.0, .probability = 1.0});
        walker pushed(*robot, 25, link_layout::separate, {.impulse = 1.0, .probability = 1.0});
        for (walker* const one : {&usual, &unpushed, &pushed}) {
            one->reset();
            one->walk_on(60);
        }
        CHECK(usual.history() == unpushed.history());
        CHECK(usual.random().position() == unpushed.random().position());
        CHECK(usual.history() != pushed.history());
    }
}

TEST_CASE("an episode with pushes is restored bit for bit, and so are the pushes to come", "[bullet][checkpoint]") {
    for (bullet::robot const* const robot : {&bullet::hopper, &bullet::ant})
        for (int const steps : {0, 1, 40}) {
            INFO(robot->name << " after " << steps << " steps");
            bullet::random_pushes const pushes{.impulse = 5.0, .probability = 0.2};
            walker original(*robot, 26, link_layout::separate, pushes),
                other(*robot, 27, link_layout::separate, pushes);
            original.reset();
            original.walk(steps);
            memory_archive state;
            original.robot().persist(state);
            state.rewind();
            other.reset();
            other.walk(13);
            other.robot().persist(state);
            other.random() = original.random();
            CHECK(other.robot().push().x == original.robot().push().x);
            original.forget();
            other.forget();
            original.walk(60);
            other.walk(60);
            CHECK(original.history() == other.history());
        }
}

TEST_CASE("pushes that make no sense are refused", "[bullet]") {
    auto const says = [](bullet::random_pushes pushes) {
        return message_of([&] { return bullet::locomotion(bullet::hopper, link_layout::separate, pushes).steps(); });
    };
    double const nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(says({.impulse = 0.5}).empty());
    CHECK(says({.impulse = -1.0}) ==
          "hopper: the impulse of its pushes is -1 N s, but must be finite and not negative");
    CHECK(says({.impulse = nan}) ==
          "hopper: the impulse of its pushes is nan N s, but must be finite and not negative");
    CHECK(says({.impulse = 1.0, .probability = 1.5}) ==
          "hopper: the probability of a push is 1.5, but must be in [0, 1]");
    CHECK(says({.impulse = 1.0, .probability = nan}) ==
          "hopper: the probability of a push is nan, but must be in [0, 1]");

    walker hopper(bullet::hopper, 28, link_layout::separate, always);
    hopper.reset();
    hopper.walk(3);
    memory_archive saved;
    hopper.robot().persist(saved);
    saved.rewind();
    auto const refuses = [&](memory_archive from) { return message_of([&] { hopper.robot().persist(from); }); };
    memory_archive too_few = saved;
    too_few.entries().at("pushes").data.resize(32);
    CHECK(refuses(too_few) == "hopper: there are 3 stored actions, but 2 stored pushes");
    memory_archive cut = saved;
    cut.entries().at("pushes").data.pop_back();
    CHECK(refuses(cut) == "hopper: the stored pushes have 47 bytes, which is no multiple of 16");
    memory_archive broken = saved;
    std::memset(broken.entries().at("pushes").data.data(), 0xff, 8);
    CHECK(refuses(broken) == "hopper: a stored push is -nan, but must be finite");
    CHECK(refuses(saved).empty());
}

TEST_CASE("pushes do not allocate", "[bullet]") {
    bullet::locomotion subject(bullet::hopper, link_layout::separate, {.impulse = 2.0, .probability = 0.5});
    gmac::random_stream random(29);
    std::vector<float> observation(subject.observation_size()), action(subject.action_size());
    auto const episodes = [&] {
        for (int episode = 0; episode < 3; ++episode) {
            subject.reset(random, observation);
            for (int i = 0; i < 100; ++i)
                subject.step(std::span<float const>(action), random, observation);
        }
    };
    episodes();
    random = gmac::random_stream(29);
    CHECK(gmac::testing::allocations_during(episodes) == 0);
}
