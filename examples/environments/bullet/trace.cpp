// SPDX-License-Identifier: Apache-2.0
#include "trace.hpp"

#include <gmac/core/error.hpp>

#include <charconv>
#include <cmath>
#include <istream>
#include <ostream>
#include <string_view>

namespace gmac::examples::bullet {
namespace {

double to_number(std::string_view cell, std::string const& name, std::size_t line, std::size_t column) {
    while (!cell.empty() && cell.front() == ' ')
        cell.remove_prefix(1);
    while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\r'))
        cell.remove_suffix(1);
    double value = 0.0;
    auto const result = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    gmac::require(result.ec == std::errc() && result.ptr == cell.data() + cell.size(),
                  "{}, line {}, column {}: \"{}\" is not a number", name, line, column, cell);
    gmac::require(std::isfinite(value), "{}, line {}, column {}: {} is given, but numbers must be finite", name, line,
                  column, value);
    return value;
}

void read_line(std::vector<double>& numbers, std::string_view text, std::string const& name, std::size_t line,
               std::size_t columns) {
    std::size_t column = 0;
    for (bool more = true; more; ++column) {
        std::size_t const end = text.find(',');
        more = end != std::string_view::npos;
        numbers.push_back(to_number(text.substr(0, end), name, line, column + 1));
        text = more ? text.substr(end + 1) : std::string_view();
    }
    gmac::require(column == columns, "{}, line {}: it has {} numbers, but must have {}", name, line, column, columns);
}

std::vector<int> movable_rows(robot const& table) {
    std::vector<int> rows;
    for (std::size_t row = 0; row < table.links.size(); ++row)
        if (table.links[row].kind != joint_kind::fixed)
            rows.push_back(static_cast<int>(row));
    return rows;
}

/// Writes cells with a comma between them.
class row_writer {
public:
    explicit row_writer(std::ostream& file) : file_(file) {}

    void operator()(std::string_view text) {
        if (!first_)
            file_ << ',';
        first_ = false;
        file_ << text;
    }
    void operator()(double number) { (*this)(std::string_view(fmt::format("{:.17g}", number))); }
    void operator()(vector3 v) {
        (*this)(v.x);
        (*this)(v.y);
        (*this)(v.z);
    }
    void end() {
        file_ << '\n';
        first_ = true;
    }

private:
    std::ostream& file_;
    bool first_ = true;
};

void write_header(row_writer& write, locomotion const& robot) {
    bullet::robot const& table = robot.table();
    for (char const* const name :
         {"t", "done", "reward", "r_alive", "r_progress", "r_electricity", "r_joints_at_limit", "r_feet_collision",
          "potential", "body_x", "body_y", "body_z", "body_roll", "body_pitch", "body_yaw", "mean_x", "mean_y"})
        write(std::string_view(name));
    for (std::size_t i = 0; i < robot.observation_size(); ++i)
        write(std::string_view(fmt::format("obs_{}", i)));
    for (std::size_t i = 0; i < robot.action_size(); ++i)
        write(std::string_view(fmt::format("a_{}", i)));
    for (char const* const quantity : {"q", "qd"})
        for (int const row : movable_rows(table))
            write(std::string_view(fmt::format("{}_{}", quantity, table.links[static_cast<std::size_t>(row)].joint)));
    for (char const* const name : {"px", "py", "pz", "qx", "qy", "qz", "qw", "vx", "vy", "vz", "wx", "wy", "wz"})
        write(std::string_view(fmt::format("base_{}", name)));
    write.end();
}

void write_row(row_writer& write, locomotion const& robot, gmac::transition const& result,
               std::span<float const> observation, std::span<double const> action) {
    reward_terms const& terms = robot.terms();
    posture const& p = robot.posture();
    world const& w = robot.world();
    write(static_cast<double>(robot.steps()));
    write(result.terminated ? 1.0 : 0.0);
    for (double const number : {result.reward, terms.alive, terms.progress, terms.electricity, terms.joints_at_limit,
                                terms.feet_collision, robot.potential()})
        write(number);
    write(w.position(robot.table().torso));
    for (double const number : {p.roll, p.pitch, p.yaw, p.x, p.y})
        write(number);
    for (float const number : observation)
        write(static_cast<double>(number));
    for (double const number : action)
        write(number);
    std::vector<int> const rows = movable_rows(robot.table());
    for (int const row : rows)
        write(w.angle(row));
    for (int const row : rows)
        write(w.speed(row));
    write(w.position(-1));
    quaternion const turn = w.orientation(-1);
    for (double const number : {turn.x, turn.y, turn.z, turn.w})
        write(number);
    write(w.velocity(-1));
    write(w.base_spin());
    write.end();
}

} // namespace

std::vector<double> read_table(std::istream& file, std::string const& name, std::size_t columns) {
    std::vector<double> numbers;
    std::string text;
    std::size_t line = 0;
    std::size_t empty_line = 0;
    while (std::getline(file, text)) {
        ++line;
        if (text.find_first_not_of(" \r\t") == std::string::npos) {
            empty_line = empty_line == 0 ? line : empty_line;
            continue;
        }
        gmac::require(empty_line == 0, "{}, line {}: the line is empty", name, empty_line);
        read_line(numbers, text, name, line, columns);
    }
    gmac::require(!file.bad(), "{}: it cannot be read", name);
    return numbers;
}

void write_trace(std::ostream& file, locomotion& robot, std::span<double const> angles,
                 std::span<double const> actions) {
    std::size_t const size = robot.action_size();
    gmac::require(actions.size() % size == 0, "{}: {} numbers are given, which are no actions of {}",
                  robot.table().name, actions.size(), size);
    row_writer write(file);
    std::vector<float> observation(robot.observation_size());
    write_header(write, robot);
    robot.reset(angles, observation);
    write_row(write, robot, {}, observation, std::vector<double>(size, 0.0));
    for (std::size_t at = 0; at < actions.size(); at += size) {
        std::span<double const> const action = actions.subspan(at, size);
        gmac::transition const result = robot.step(action, observation);
        write_row(write, robot, result, observation, action);
    }
}

} // namespace gmac::examples::bullet
