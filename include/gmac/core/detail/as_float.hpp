// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/abi.hpp>

#include <cmath>
#include <string_view>

namespace gmac::inline GMAC_ABI::detail {

/// What a message adds of an option that is refused although it is finite and positive: as float it is not.
[[nodiscard]] inline std::string_view as_float(double option) noexcept {
    return std::isfinite(option) && option > 0 ? " as float" : "";
}

} // namespace gmac::inline GMAC_ABI::detail
