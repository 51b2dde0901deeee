// SPDX-License-Identifier: Apache-2.0
#include "bullet/trace.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"
#include "support/scratch_folder.hpp"
#include "walks.hpp"

#include <limits>
#include <sstream>

namespace {

namespace bullet = gmac::examples::bullet;
using gmac::testing::contains;
using gmac::testing::message_of;

std::vector<double> read(std::string const& text, std::size_t columns) {
    std::istringstream file(text);
    return bullet::read_table(file, "file.csv", columns);
}

std::string refusal(std::string const& text) {
    return message_of([&] { (void)read(text, 2); });
}

} // namespace

TEST_CASE("an unknown robot is refused, and the known ones are listed", "[bullet]") {
    CHECK(&bullet::find_robot("ant") == &bullet::ant);
    CHECK(message_of([] { (void)bullet::find_robot("hoper"); }) ==
          "there is no robot \"hoper\"; the known ones are hopper, walker2d, half_cheetah, ant, humanoid");
}

TEST_CASE("sizes and numbers are checked where they enter", "[bullet]") {
    bullet::locomotion robot(bullet::hopper);
    gmac::random_stream random(1);
    std::vector<float> observation(15), small(14);
    auto const reset_says = [&](std::vector<double> const& angles) {
        return message_of([&] { robot.reset(angles, observation); });
    };
    auto const step_says = [&](std::vector<double> const& action) {
        return message_of([&] { robot.step(action, observation); });
    };
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const infinity = std::numeric_limits<double>::infinity();
    std::string const place = "hopper: the place for an observation has 14 numbers, but an observation has 15";
    CHECK(message_of([&] { robot.reset(random, small); }) == place);
    CHECK(message_of([&] { robot.step(std::vector<double>(3), small); }) == place);
    CHECK(reset_says({0, 0, 0, 0}) == "hopper: 4 initial joint angles were given, but it has 3 actuated joints");
    CHECK(reset_says({0, nan, 0}) == "hopper: initial joint angle 1 is nan, but must be finite");
    CHECK(step_says({0, 0}) == "hopper: an action of 2 numbers was given, but it has 3 actuated joints");
    CHECK(step_says({0, 0, nan}) == "hopper: action 2 is nan in step 1, but must be finite");
    CHECK(step_says({-infinity, 0, 0}) == "hopper: action 0 is -inf in step 1, but must be finite");
    CHECK(contains(message_of([&] { robot.step(std::vector<float>(2), random, observation); }), "2 numbers"));
    CHECK(robot.steps() == 0);
    CHECK(random.position() == 0);
}

TEST_CASE("tables that make no sense are refused", "[bullet]") {
    bullet::link links[] = {{.name = "a"}, {.name = "b", .parent = 1}};
    bullet::shape const shapes[] = {{.link = 0, .radius = 0.1}};
    bullet::motor const motors[] = {{1}};
    bullet::robot table{.name = "odd", .links = links, .shapes = shapes};
    auto const says = [&] { return message_of([&] { bullet::world{table}; }); };
    CHECK(says() == "odd: the parent of link 1 is 1, but must be an earlier link or -1");
    links[1].parent = 0;
    CHECK(says().empty());
    table.motors = motors;
    CHECK(says() == "odd: a motor is at link 1, which has no hinge");
    table.motors = {};
    table.torso = 2;
    CHECK(says() == "odd: the torso is link 2, but links are -1 to 1");
    table.torso = -1;
    table.shapes = {};
    CHECK(says() == "odd: it has no shape, but needs one");
}

TEST_CASE("tables of numbers: what is read and what is refused", "[bullet]") {
    CHECK(read("1,2\n-3e-2, 4.5\r\n\n", 2) == std::vector<double>{1, 2, -0.03, 4.5});
    CHECK(read("", 2).empty());
    CHECK(refusal("1,2\n3\n") == "file.csv, line 2: it has 1 numbers, but must have 2");
    CHECK(refusal("1,2,3\n") == "file.csv, line 1: it has 3 numbers, but must have 2");
    CHECK(refusal("1,x\n") == "file.csv, line 1, column 2: \"x\" is not a number");
    CHECK(refusal("1,\n") == "file.csv, line 1, column 2: \"\" is not a number");
    CHECK(refusal("1,2z\n") == "file.csv, line 1, column 2: \"2z\" is not a number");
    CHECK(refusal("1,nan\n") == "file.csv, line 1, column 2: nan is given, but numbers must be finite");
    CHECK(contains(refusal("1,1e999\n"), "file.csv, line 1, column 2"));
    CHECK(refusal("1,2\n\n3,4\n") == "file.csv, line 2: the line is empty");
}

TEST_CASE("actions of broken length are not replayed", "[bullet]") {
    bullet::locomotion robot(bullet::hopper);
    std::ostringstream file;
    std::vector<double> const angles(3), actions(4);
    CHECK(contains(message_of([&] { bullet::write_trace(file, robot, angles, actions); }), "4 numbers"));
}
