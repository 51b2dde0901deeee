// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/abi.hpp>

#include <array>
#include <vector>

namespace gmac::inline GMAC_ABI {

/// What an environment looks like, for people: lines in a window, in any unit that both have in common.
struct drawing {
    struct line {
        int colour = 0;                             ///< 0 for what stands still, 1 to 4 for what is told apart
        std::vector<std::array<float, 2>> points{}; ///< x to the right, y upwards; one point is a dot
    };

    float left = 0.0f, right = 1.0f, bottom = 0.0f, top = 1.0f; ///< the window
    float seconds = 0.1f;                                       ///< how long a step is shown
    std::vector<line> lines{};
};

} // namespace gmac::inline GMAC_ABI
