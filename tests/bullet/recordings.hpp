// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bullet/locomotion.hpp"
#include "bullet/robots.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// What PyBullet did, as it was recorded.
namespace gmac::testing::recordings {

namespace bullet = gmac::examples::bullet;

struct recording {
    std::string name;
    bullet::robot const* robot = nullptr;
    std::string text; ///< the file
    std::vector<std::string> columns;
    std::vector<std::vector<double>> rows;

    [[nodiscard]] std::size_t column(std::string_view wanted) const;
    [[nodiscard]] double at(std::size_t row, std::string_view wanted) const { return rows[row][column(wanted)]; }
    [[nodiscard]] std::vector<double> initial_angles() const;
    /// [rows − 1, actions]
    [[nodiscard]] std::vector<double> actions() const;
};

/// In the folder of the recordings.
[[nodiscard]] std::string read_file(std::string const& name);
[[nodiscard]] recording load(bullet::robot const& robot, char kind);
/// All of them.
[[nodiscard]] std::vector<recording> all();

/// Whether sine, cosine and the inverse functions of this machine give the bits that they gave where the recordings
/// were made. They are not rounded correctly, and glibc has several versions, one of which a processor with fused
/// multiply-add gets. Everything else that the robots compute is exact by the standard of floating-point numbers.
[[nodiscard]] bool same_elementary_functions();

} // namespace gmac::testing::recordings
