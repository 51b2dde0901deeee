// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/environment/environment.hpp>

#include <cstddef>
#include <string_view>
#include <variant>

namespace gmac::inline GMAC_ABI::detail {

/// Says that an actor is not for this kind of space, and which one is.
[[noreturn]] inline void refuse_space(std::string_view actor, std::string_view wanted, action_space const& space) {
    bool const real = std::holds_alternative<box>(space), one = std::holds_alternative<discrete>(space);
    fail("{}: the action space is {}, but must be {}; {} is an actor for {}", actor, name_of_kind(space), wanted,
         real  ? "diagonal_gaussian"
         : one ? "categorical"
               : "multi_categorical",
         real  ? "a box"
         : one ? "a discrete space"
               : "several discrete actions at once");
}

/// Elements of an action of a box.
[[nodiscard]] inline std::size_t box_size(std::string_view actor, action_space const& space) {
    auto const* const bounds = std::get_if<box>(&space);
    if (bounds == nullptr)
        refuse_space(actor, "a box", space);
    require(bounds->size() > 0, "{}: the action space has no elements", actor);
    return bounds->size();
}

} // namespace gmac::inline GMAC_ABI::detail
