// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gmac::examples::train {

struct replay_options {
    std::string environment; ///< "bullet/hopper"
    std::string joints;      ///< CSV, one row: initial angles
    std::string actions;     ///< CSV, one row a step
    std::string trace;       ///< where the CSV goes
    bool merged = false;     ///< link_layout::merged
};

/// "bullet/hopper, bullet/walker2d, …"
[[nodiscard]] std::string known_robots();

/// Repeats recorded actions on a robot and writes what happened, column by column as PyBullet's recordings. Throws
/// gmac::error.
void replay(replay_options const& chosen);

} // namespace gmac::examples::train
