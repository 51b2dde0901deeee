// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "asterix.hpp"
#include "breakout.hpp"
#include "freeway.hpp"
#include "game.hpp"
#include "seaquest.hpp"
#include "space_invaders.hpp"

#include <gmac/core/error.hpp>

#include <array>
#include <string_view>

namespace minatar {

inline constexpr std::array<std::string_view, 5> game_names{asterix::name, breakout::name, freeway::name,
                                                            seaquest::name, space_invaders::name};

/// Calls `visit.operator()<Rules>()` for the game of this name and returns what it returns. Throws gmac::error that lists
/// the games for another name.
template <class Visit>
auto visit_game(std::string_view name, Visit&& visit) {
    if (name == asterix::name)
        return visit.template operator()<asterix>();
    if (name == breakout::name)
        return visit.template operator()<breakout>();
    if (name == freeway::name)
        return visit.template operator()<freeway>();
    if (name == seaquest::name)
        return visit.template operator()<seaquest>();
    gmac::
        require(name == space_invaders::name,
                "there is no game \"{}\" in MinAtar; there are asterix, breakout, freeway, seaquest and space_invaders",
                name);
    return visit.template operator()<space_invaders>();
}

} // namespace minatar
