// SPDX-License-Identifier: Apache-2.0
#include "robots.hpp"

#include <gmac/core/error.hpp>

#include <string>

namespace gmac::examples::bullet {

std::span<robot const* const> robots() noexcept {
    static constexpr robot const* all[] = {&hopper, &walker2d, &half_cheetah, &ant, &humanoid};
    return all;
}

robot const& find_robot(std::string_view name) {
    std::string known;
    for (robot const* const candidate : robots()) {
        if (candidate->name == name)
            return *candidate;
        known += known.empty() ? "" : ", ";
        known += candidate->name;
    }
    gmac::fail("there is no robot \"{}\"; the known ones are {}", name, known);
}

} // namespace gmac::examples::bullet
