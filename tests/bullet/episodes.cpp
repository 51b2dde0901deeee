// SPDX-License-Identifier: Apache-2.0
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "walks.hpp"

#include <algorithm>
#include <cmath>

namespace {

namespace bullet = gmac::examples::bullet;
using gmac::testing::walker;

static_assert(gmac::checkpointable_environment<bullet::locomotion>);
static_assert(std::is_nothrow_move_constructible_v<bullet::world>);

} // namespace

TEST_CASE("a reset leaves no trace of what was before: the same bits as in a new world", "[bullet]") {
    for (bullet::robot const* const robot : bullet::robots())
        for (bullet::link_layout const layout : {bullet::link_layout::separate, bullet::link_layout::merged}) {
            INFO(robot->name);
            std::vector<double> angles(robot->action_size());
            for (std::size_t i = 0; i < angles.size(); ++i)
                angles[i] = 0.1 * std::cos(static_cast<double>(i));
            walker used(*robot, 1, layout);
            used.reset();
            used.walk(150); // it lies on the floor, in contact with it and with itself
            used.forget();
            used.random() = gmac::random_stream(2);
            used.reset(angles);
            used.walk(100);
            walker fresh(*robot, 2, layout);
            fresh.reset(angles);
            fresh.walk(100);
            CHECK(used.history() == fresh.history());
        }
}

TEST_CASE("a new robot stands as after a reset to zero angles", "[bullet]") {
    for (bullet::robot const* const robot : bullet::robots()) {
        walker fresh(*robot, 3);
        fresh.walk(5);
        walker reset(*robot, 3);
        reset.reset(std::vector<double>(robot->action_size(), 0.0));
        reset.forget();
        reset.walk(5);
        CHECK(fresh.history() == reset.history());
    }
}

TEST_CASE("a robot can be moved in the middle of an episode", "[bullet]") {
    walker moved(bullet::humanoid, 4);
    walker kept(bullet::humanoid, 4);
    moved.reset();
    kept.reset();
    moved.walk(10);
    kept.walk(10);
    walker elsewhere(std::move(moved));
    elsewhere.walk(30);
    kept.walk(30);
    CHECK(elsewhere.history() == kept.history());
}

TEST_CASE("joints begin uniformly between -0.1 and 0.1 rad, one draw each", "[bullet]") {
    bullet::locomotion robot(bullet::humanoid);
    std::vector<float> observation(robot.observation_size());
    gmac::random_stream random(5);
    gmac::random_stream same(5);
    double low = 1.0;
    double high = -1.0;
    for (int episode = 0; episode < 50; ++episode) {
        robot.reset(random, observation);
        for (bullet::motor const& m : bullet::humanoid.motors) {
            double const angle = robot.world().angle(m.link);
            CHECK(angle == Approx(-0.1 + 0.2 * same.uniform<double>()).margin(1e-15));
            CHECK(robot.world().speed(m.link) == 0.0);
            low = std::min(low, angle);
            high = std::max(high, angle);
        }
    }
    CHECK(low < -0.099);
    CHECK(high > 0.099);
}

TEST_CASE("the time limit truncates after 1000 steps, a fall terminates", "[bullet]") {
    walker cheetah(bullet::half_cheetah, 6);
    cheetah.reset();
    for (int i = 1; i < 1000; ++i) {
        gmac::transition const result = cheetah.step();
        REQUIRE(!result.terminated); // the half cheetah never does
        REQUIRE(!result.truncated);
    }
    CHECK(cheetah.step().truncated);

    walker hopper(bullet::hopper, 6);
    hopper.reset();
    gmac::transition last;
    int steps = 0;
    while (!last.terminated && steps < 100) {
        last = hopper.step();
        ++steps;
    }
    CHECK(last.terminated);
    CHECK(!last.truncated);
    CHECK(hopper.robot().terms().alive == -1.0);
    CHECK(last.reward == hopper.robot().terms().sum());
}

TEST_CASE("an action beyond the space costs electricity, but gives no more torque", "[bullet]") {
    bullet::locomotion bounded(bullet::walker2d);
    bullet::locomotion beyond(bullet::walker2d);
    std::vector<float> one(bounded.observation_size()), other(bounded.observation_size());
    std::vector<double> const angles(6, 0.05);
    bounded.reset(angles, one);
    beyond.reset(angles, other);
    bounded.step(std::vector<double>{1, -1, 1, -1, 1, -1}, one);
    beyond.step(std::vector<double>{2, -2, 2, -2, 2, -2}, other);
    CHECK(one == other);
    // The cost has a part that is linear and one that is quadratic in the action: −2 |a| v − 0.1 a², v the mean speed.
    double const linear = bounded.terms().electricity + 0.1;
    CHECK(beyond.terms().electricity == Approx(2.0 * linear - 0.4).epsilon(1e-12));
    CHECK(bounded.terms().progress == beyond.terms().progress);
}

TEST_CASE("single and double precision actions of the same value do the same", "[bullet]") {
    bullet::locomotion narrow(bullet::hopper);
    bullet::locomotion wide(bullet::hopper);
    std::vector<float> one(narrow.observation_size()), other(narrow.observation_size());
    gmac::random_stream random(7);
    std::vector<float> action{0.3f, -0.7f, 0.1f};
    std::vector<double> const same(action.begin(), action.end());
    for (int i = 0; i < 20; ++i) {
        double const reward = narrow.step(std::span<float const>(action), random, one).reward;
        CHECK(reward == wide.step(same, other).reward);
        CHECK(one == other);
    }
    CHECK(random.position() == 0); // a step draws nothing
}

TEST_CASE("observations stay within -5 and 5, flags are 0 or 1", "[bullet]") {
    for (bullet::robot const* const robot : bullet::robots()) {
        walker subject(*robot, 8);
        subject.reset();
        std::size_t const feet = robot->feet.size();
        float touched = 0.0f;
        for (int i = 0; i < 150; ++i) {
            subject.step();
            for (float const number : subject.observation())
                CHECK(std::abs(number) <= 5.0f);
            for (std::size_t k = subject.observation().size() - feet; k < subject.observation().size(); ++k) {
                float const flag = subject.observation()[k];
                CHECK((flag == 0.0f || flag == 1.0f));
                touched += flag;
            }
        }
        INFO(robot->name);
        CHECK(touched > 0.0f);
    }
}

TEST_CASE("steps and resets do not allocate once contacts were met", "[bullet]") {
    // Not the humanoid: Bullet itself makes and drops algorithms as its limbs meet.
    for (bullet::robot const* const robot : {&bullet::hopper, &bullet::walker2d, &bullet::half_cheetah, &bullet::ant}) {
        INFO(robot->name);
        bullet::locomotion subject(*robot);
        gmac::random_stream random(9);
        std::vector<float> observation(subject.observation_size()), action(subject.action_size());
        auto const episodes = [&] {
            for (int episode = 0; episode < 3; ++episode) {
                subject.reset(random, observation);
                for (int i = 0; i < 100; ++i) {
                    for (float& number : action)
                        number = 2.0f * random.uniform<float>() - 1.0f;
                    subject.step(std::span<float const>(action), random, observation);
                }
            }
        };
        episodes();
        random = gmac::random_stream(9);
        CHECK(gmac::testing::allocations_during(episodes) == 0);
    }
}
