// SPDX-License-Identifier: Apache-2.0
#include "recordings.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace gmac::testing::recordings {

std::size_t recording::column(std::string_view wanted) const {
    for (std::size_t i = 0; i < columns.size(); ++i)
        if (columns[i] == wanted)
            return i;
    throw std::runtime_error(name + " has no column " + std::string(wanted));
}

std::vector<double> recording::initial_angles() const {
    std::vector<double> angles;
    for (bullet::motor const& m : robot->motors)
        angles.push_back(at(0, "q_" + std::string(robot->links[static_cast<std::size_t>(m.link)].joint)));
    return angles;
}

std::vector<double> recording::actions() const {
    std::vector<double> numbers;
    std::size_t const first = column("a_0");
    for (std::size_t t = 1; t < rows.size(); ++t)
        for (std::size_t i = 0; i < robot->action_size(); ++i)
            numbers.push_back(rows[t][first + i]);
    return numbers;
}

std::string read_file(std::string const& name) {
    std::ifstream file(std::string(GMAC_RECORDINGS) + "/" + name, std::ios::binary);
    if (!file)
        throw std::runtime_error("cannot open " + name);
    return {std::istreambuf_iterator<char>(file), {}};
}

recording load(bullet::robot const& robot, char kind) {
    recording result{.name = std::string(robot.name) + "_" + kind,
                     .robot = &robot,
                     .text = {},
                     .columns = {},
                     .rows = {}};
    result.text = read_file(result.name + ".csv");
    std::istringstream lines(result.text);
    std::string line, cell;
    for (bool header = true; std::getline(lines, line); header = false) {
        std::istringstream cells(line);
        if (!header)
            result.rows.emplace_back();
        while (std::getline(cells, cell, ',')) {
            if (header)
                result.columns.push_back(cell);
            else
                result.rows.back().push_back(std::strtod(cell.c_str(), nullptr));
        }
    }
    return result;
}

std::vector<recording> all() {
    std::vector<recording> result;
    for (bullet::robot const* const robot : bullet::robots())
        for (char const kind : {'a', 'b', 'c'})
            if (kind != 'b' || robot == &bullet::hopper)
                result.push_back(load(*robot, kind));
    return result;
}

bool same_elementary_functions() {
    std::uint64_t hash = 14695981039346656037u;
    auto const add = [&hash](double value) { hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 1099511628211u; };
    for (int i = 1; i <= 4096; ++i) {
        double volatile opaque = i * 0.00137; // or else the compiler would compute, and round correctly
        double const x = opaque;
        add(std::sin(x));
        add(std::cos(x));
        add(std::atan2(x, 1.0 - x));
        add(std::asin(x / 6.0));
    }
    return hash == 0x92e775f01a47fa10u;
}

} // namespace gmac::testing::recordings
