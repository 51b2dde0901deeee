// SPDX-License-Identifier: Apache-2.0
// gmac-robot-speed: environment steps per second of processor time, one robot after the other.
#include "robots.hpp"

#include "locomotion.hpp"

#include "support/parse_options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

namespace {

namespace bullet = gmac::examples::bullet;

/// Random actions, observation and reward included. Without resets a robot soon lies on the floor, in contact with
/// everything, which costs more than an episode does.
double steps_per_second(bullet::robot const& table, bullet::link_layout layout, int steps, bool resets) {
    bullet::locomotion robot(table, layout);
    gmac::random_stream random(1);
    std::vector<float> observation(robot.observation_size()), action(robot.action_size());
    robot.reset(random, observation);
    std::clock_t const start = std::clock(); // processor time: whatever else runs on the machine does not count
    for (int i = 0; i < steps; ++i) {
        for (float& number : action)
            number = 2.0f * random.uniform<float>() - 1.0f;
        gmac::transition const result = robot.step(std::span<float const>(action), random, observation);
        if (resets && (result.terminated || result.truncated))
            robot.reset(random, observation);
    }
    return steps * double{CLOCKS_PER_SEC} / static_cast<double>(std::clock() - start);
}

/// Of several runs, since whatever disturbs a run makes it slower.
double fastest(bullet::robot const& table, bullet::link_layout layout, int steps, bool resets, int runs) {
    double best = 0.0;
    for (int i = 0; i < runs; ++i)
        best = std::max(best, steps_per_second(table, layout, steps, resets));
    return best;
}

void run(int argc, char** argv) {
    CLI::App app("Environment steps per second of processor time with random actions, observation and reward included.",
                 "gmac-robot-speed");
    int steps = 6000;
    int runs = 5;
    gmac::examples::add_option(app, "--steps", steps, "Steps of a run", 1);
    gmac::examples::add_option(app, "--runs", runs, "Runs, of which the fastest counts", 1);
    gmac::examples::parse_options(app, argc, argv);

    std::printf("%-14s %16s %16s %16s %16s\n", "", "separate links", "the same,", "merged links", "the same,");
    std::printf("%-14s %16s %16s %16s %16s\n", "steps/s", "no resets", "with resets", "no resets", "with resets");
    for (bullet::robot const* const robot : bullet::robots()) {
        std::printf("%-14s", std::string(robot->name).c_str());
        for (bullet::link_layout const layout : {bullet::link_layout::separate, bullet::link_layout::merged})
            for (bool const resets : {false, true})
                std::printf(" %16.0f", fastest(*robot, layout, steps, resets, runs));
        std::printf("\n");
    }
}

} // namespace

int main(int argc, char** argv) {
    return gmac::examples::run_main("gmac-robot-speed", [&] { run(argc, argv); });
}
