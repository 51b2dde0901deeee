// SPDX-License-Identifier: Apache-2.0
// gmac-play: repeats recorded actions on a robot and writes what happened, column by column as PyBullet's recordings.
#include "robots.hpp"
#include "trace.hpp"

#include <CLI/CLI.hpp>
#include <gmac/core/error.hpp>

#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

namespace {

namespace bullet = gmac::examples::bullet;

constexpr std::string_view prefix = "bullet/";

struct options {
    std::string environment;
    std::string joints;
    std::string actions;
    std::string trace;
    bool merged = false;
};

std::string known_environments() {
    std::string names;
    for (bullet::robot const* const robot : bullet::robots())
        names += fmt::format("{}{}{}", names.empty() ? "" : ", ", prefix, robot->name);
    return names;
}

bullet::robot const& find_environment(std::string const& name) {
    for (bullet::robot const* const robot : bullet::robots())
        if (name == fmt::format("{}{}", prefix, robot->name))
            return *robot;
    gmac::fail("--env: there is no robot \"{}\"; the known ones are {}", name, known_environments());
}

std::vector<double> read_file(char const* option, std::string const& path, std::size_t columns) {
    std::ifstream file(path);
    gmac::require(file.is_open(), "{}: {} cannot be opened", option, path);
    return bullet::read_table(file, fmt::format("{} {}", option, path), columns);
}

void replay(options const& chosen) {
    bullet::robot const& table = find_environment(chosen.environment);
    std::vector<double> const joints = read_file("--joints", chosen.joints, table.action_size());
    gmac::require(joints.size() == table.action_size(), "--joints {}: it has {} rows, but must have one", chosen.joints,
                  joints.size() / table.action_size());
    std::vector<double> const actions = read_file("--actions", chosen.actions, table.action_size());
    std::ofstream file(chosen.trace);
    gmac::require(file.is_open(), "--trace: {} cannot be written", chosen.trace);
    bullet::locomotion robot(table, chosen.merged ? bullet::link_layout::merged : bullet::link_layout::separate);
    bullet::write_trace(file, robot, joints, actions);
    file.close();
    gmac::require(file.good(), "--trace: {} could not be written to the end", chosen.trace);
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app("Repeats actions on a robot in Bullet and writes observations, rewards and states as CSV.",
                 "gmac-play");
    options chosen;
    app.add_option("--env", chosen.environment, "The robot: " + known_environments())->required();
    app.add_option("--joints", chosen.joints,
                   "CSV without header, one row: the initial angles of the actuated joints in rad, in the order of the "
                   "actions; the robot starts at rest")
        ->required();
    app.add_option("--actions", chosen.actions, "CSV without header: one row a step, one column an actuated joint")
        ->required();
    app.add_option("--trace", chosen.trace, "Where the CSV goes; row 0 is the reset, row t is after step t")
        ->required();
    app.add_flag("--merged", chosen.merged,
                 "One link for a joint and its body: faster, and equal to PyBullet's motion only to rounding");
    CLI11_PARSE(app, argc, argv);
    try {
        replay(chosen);
    } catch (std::exception const& problem) {
        std::fprintf(stderr, "gmac-play: %s\n", problem.what());
        return 1;
    }
    return 0;
}
