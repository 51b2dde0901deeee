// SPDX-License-Identifier: Apache-2.0
// The robots against PyBullet: same initial angles, same actions, same everything.
#include "bullet/trace.hpp"
#include "recordings.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <sstream>

namespace {

namespace bullet = gmac::examples::bullet;
namespace recordings = gmac::testing::recordings;
using recordings::recording;

std::string replay(recording const& recorded, bullet::link_layout layout) {
    bullet::locomotion robot(*recorded.robot, layout);
    std::ostringstream file;
    bullet::write_trace(file, robot, recorded.initial_angles(), recorded.actions());
    return file.str();
}

/// The largest error of an observation up to and with step `last`.
double observation_error(recording const& recorded, bullet::link_layout layout, std::size_t last) {
    bullet::locomotion robot(*recorded.robot, layout);
    std::vector<float> observation(robot.observation_size());
    std::vector<double> const actions = recorded.actions();
    std::size_t const first = recorded.column("obs_0");
    double error = 0.0;
    robot.reset(recorded.initial_angles(), observation);
    for (std::size_t t = 0; t < recorded.rows.size() && t <= last; ++t) {
        if (t > 0)
            robot.step(std::span(actions).subspan((t - 1) * robot.action_size(), robot.action_size()), observation);
        for (std::size_t i = 0; i < observation.size(); ++i) {
            double const difference = std::abs(static_cast<double>(observation[i]) - recorded.rows[t][first + i]);
            if (!(difference <= error))
                error = difference; // lets NaN through
        }
    }
    return error;
}

/// What remains when the arithmetic differs in the last bit somewhere: an error of 1e-16, doubled every few steps by
/// the robot's own chaos. The merged links and sines of another libm are such differences; the largest seen in any
/// recording are 2e-16 up to step 20, 6e-8 up to step 40 and 1.1e-2 up to step 60, the last two on the ant's.
void check_to_rounding(recording const& recorded, bullet::link_layout layout) {
    CHECK(observation_error(recorded, layout, 20) <= 1e-12);
    CHECK(observation_error(recorded, layout, 40) <= 1e-6);
    CHECK(observation_error(recorded, layout, 60) <= 0.1);
}

} // namespace

TEST_CASE("every recording of PyBullet is reproduced, each byte of its file", "[bullet]") {
    for (recording const& recorded : recordings::all()) {
        INFO(recorded.name);
        REQUIRE(recorded.rows.size() > 10);
        if (recordings::same_elementary_functions()) {
            std::string const ours = replay(recorded, bullet::link_layout::separate);
            auto const different = std::mismatch(ours.begin(), ours.end(), recorded.text.begin(), recorded.text.end());
            auto const line = std::count(ours.begin(), different.first, '\n');
            INFO("first difference in line " << line + 1);
            CHECK((different.first == ours.end() && different.second == recorded.text.end()));
        } else {
            check_to_rounding(recorded, bullet::link_layout::separate);
        }
    }
}

TEST_CASE("merged links move as PyBullet's to rounding", "[bullet]") {
    for (recording const& recorded : recordings::all()) {
        INFO(recorded.name);
        check_to_rounding(recorded, bullet::link_layout::merged);
    }
}

TEST_CASE("the half cheetah's links may be merged without any loss", "[bullet]") {
    // Its limbs have their centres of mass in their joints, so nothing is added in another order.
    if (!recordings::same_elementary_functions())
        return;
    for (char const kind : {'a', 'c'}) {
        recording const recorded = recordings::load(bullet::half_cheetah, kind);
        CHECK(observation_error(recorded, bullet::link_layout::merged, recorded.rows.size()) == 0.0);
    }
}

// Sums over 200 steps that PyBullet gave for no action (a) and for waves, action j of step t being sin(0.1 t + j) (b).
TEST_CASE("returns and places after 200 steps are PyBullet's", "[bullet]") {
    struct expectation {
        bullet::robot const* robot;
        bool waves;
        std::optional<int> first_done;
        double whole_return, return_to_done;
        std::array<double, 3> torso;
    };
    expectation const expected[] = {
        {&bullet::hopper, false, 62, -143.099155, 36.663771, {-1.060730, 0.0, 0.049992}},
        {&bullet::hopper, true, 40, 208.824117, 40.103753, {6.510115, 0.0, 0.583286}},
        {&bullet::walker2d, false, 37, -159.515304, 35.280986, {-0.445467, 0.0, 0.169948}},
        {&bullet::walker2d, true, 15, -254.836562, 11.514768, {1.572760, 0.0, 0.049990}},
        {&bullet::half_cheetah, false, std::nullopt, -234.077609, -234.077609, {-0.040307, 0.0, 0.312432}},
        {&bullet::half_cheetah, true, std::nullopt, -239.566338, -239.566338, {-0.622858, 0.0, 0.284620}},
        {&bullet::ant, false, 20, -242.034009, 10.000432, {-0.000603, -0.000032, 0.249990}},
        {&bullet::ant, true, std::nullopt, 57.851922, 57.851922, {-0.030098, -1.014515, 0.412002}},
        {&bullet::humanoid, false, 17, -293.234385, 23.182285, {0.281719, 0.164318, 0.144455}},
        {&bullet::humanoid, true, 17, -785.481049, -41.773671, {1.314269, 2.544129, 0.342808}},
    };
    constexpr std::size_t width = 17;
    std::istringstream wave_file(recordings::read_file("wave_actions.csv"));
    std::istringstream joint_file(recordings::read_file("wave_joints.csv"));
    std::vector<double> const waves = bullet::read_table(wave_file, "wave_actions.csv", width);
    std::vector<double> const joints = bullet::read_table(joint_file, "wave_joints.csv", width);
    bool const exact = recordings::same_elementary_functions();

    for (expectation const& e : expected) {
        INFO(e.robot->name << (e.waves ? ", waves" : ", no action"));
        bullet::locomotion robot(*e.robot);
        std::size_t const size = robot.action_size();
        std::vector<float> observation(robot.observation_size());
        std::vector<double> const nothing(size, 0.0);
        robot.reset(std::span(joints).first(size), observation);
        double sum = 0.0;
        double sum_to_done = 0.0;
        std::optional<int> first_done;
        for (int t = 0; t < 200; ++t) {
            auto const wave = std::span(waves).subspan(static_cast<std::size_t>(t) * width, size);
            gmac::transition const result = robot.step(e.waves ? wave : std::span(nothing), observation);
            sum += result.reward;
            if (!first_done)
                sum_to_done += result.reward;
            if (!first_done && result.terminated)
                first_done = t + 1;
        }
        CHECK(first_done == e.first_done);
        // Six digits were noted. Where sines differ, falls end in other places, but begin as they did.
        if (e.first_done)
            CHECK(sum_to_done == Approx(e.return_to_done).margin(1e-6).epsilon(0));
        if (exact || !e.waves)
            CHECK(sum == Approx(e.whole_return).margin(exact ? 1e-6 : 1e-2).epsilon(0));
        bullet::vector3 const torso = robot.world().position(e.robot->torso);
        if (exact) {
            CHECK(torso.x == Approx(e.torso[0]).margin(1e-6).epsilon(0));
            CHECK(torso.y == Approx(e.torso[1]).margin(1e-6).epsilon(0));
            CHECK(torso.z == Approx(e.torso[2]).margin(1e-6).epsilon(0));
        }
    }
}
