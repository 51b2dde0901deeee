// SPDX-License-Identifier: Apache-2.0
#include "replay.hpp"

#include "bullet/robots.hpp"
#include "bullet/trace.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <string>
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

[[nodiscard]] std::vector<double> read_numbers(char const* option, std::string const& path, std::size_t columns) {
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
    std::vector<double> const joints = read_numbers("--joints", chosen.joints, table.action_size());
    require(joints.size() == table.action_size(), "--joints {}: it has {} rows, but must have one", chosen.joints,
            joints.size() / table.action_size());
    std::vector<double> const actions = read_numbers("--actions", chosen.actions, table.action_size());
    bullet::locomotion robot(table, chosen.merged ? bullet::link_layout::merged : bullet::link_layout::separate);
    std::ostringstream trace;
    bullet::write_trace(trace, robot, joints, actions);
    replace_file(chosen.trace, trace.str());
}

} // namespace gmac::examples::train
