// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "robot.hpp"

namespace gmac::examples::bullet {

extern robot const hopper;
extern robot const walker2d;
extern robot const half_cheetah;
extern robot const ant;
extern robot const humanoid;

/// The five above, in this order.
[[nodiscard]] std::span<robot const* const> robots() noexcept;

/// The robot of this name; throws gmac::error, which lists the known ones, if there is none.
[[nodiscard]] robot const& find_robot(std::string_view name);

} // namespace gmac::examples::bullet
