// SPDX-License-Identifier: Apache-2.0
#include "replay.hpp"

#include "bullet/robots.hpp"
#include "bullet/trace.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>

#include <fstream>
#include <string_view>
#include <vector>

namespace gmac::examples::train {

namespace {

constexpr std::string_view prefix = "bullet/";

[[nodiscard]] bullet::robot const& find_environment(std::string const& name) {
    for (bullet::robot const* const robot : bullet::robots())
        if (name == fmt::format("{}{}", prefix, robot->name))
            return *robot;
    fail("--env: there is no robot \"{}\"; the known ones are {}", name, known_robots());
}

[[nodiscard]] std::vector<double> read_file(char const* option, std::string const& path, std::size_t columns) {
    std::ifstream file(path);
    require(file.is_open(), "{}: {} cannot be opened", option, path);
    return bullet::read_table(file, fmt::format("{} {}", option, path), columns);
}

} // namespace

std::string known_robots() {
    std::string names;
    for (bullet::robot const* const robot : bullet::robots())
        names += fmt::format("{}{}{}", names.empty() ? "" : ", ", prefix, robot->name);
    return names;
}

void replay(replay_options const& chosen) {
    bullet::robot const& table = find_environment(chosen.environment);
    std::vector<double> const joints = read_file("--joints", chosen.joints, table.action_size());
    require(joints.size() == table.action_size(), "--joints {}: it has {} rows, but must have one", chosen.joints,
            joints.size() / table.action_size());
    std::vector<double> const actions = read_file("--actions", chosen.actions, table.action_size());
    std::ofstream file(chosen.trace);
    require(file.is_open(), "--trace: {} cannot be written", chosen.trace);
    bullet::locomotion robot(table, chosen.merged ? bullet::link_layout::merged : bullet::link_layout::separate);
    bullet::write_trace(file, robot, joints, actions);
    file.close();
    require(file.good(), "--trace: {} could not be written to the end", chosen.trace);
}

} // namespace gmac::examples::train
