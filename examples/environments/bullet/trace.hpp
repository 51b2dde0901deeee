// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "locomotion.hpp"

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

namespace gmac::examples::bullet {

/// Reads lines of `columns` numbers, separated by commas, without a header; empty lines at the end do not matter.
/// The numbers come row by row. Throws gmac::error, which names the place, for anything else.
[[nodiscard]] std::vector<double> read_table(std::istream& file, std::string const& name, std::size_t columns);

/// Repeats actions [steps, action_size()] from initial angles [action_size()] and writes what the recordings of
/// PyBullet have, column by column with 17 digits: row 0 is the reset, and it goes on past the end of the episode.
void write_trace(std::ostream& file, locomotion& robot, std::span<double const> angles,
                 std::span<double const> actions);

} // namespace gmac::examples::bullet
