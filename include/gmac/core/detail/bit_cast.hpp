// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/abi.hpp>

namespace gmac::inline GMAC_ABI::detail {

/// std::bit_cast, which the standard library of Debian's Emscripten has not.
template <class To, class From>
[[nodiscard, gnu::always_inline]] constexpr To bit_cast(From const& x) noexcept {
    return __builtin_bit_cast(To, x);
}

} // namespace gmac::inline GMAC_ABI::detail
