// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/abi.hpp>

#include <concepts>

namespace gmac::inline GMAC_ABI::detail {

/// What a head writes to, as a view of the outputs' number type T. Another type stops the compilation with one sentence, and
/// the empty view that is then given adds none.
template <class T, template <class> class View, class U>
[[nodiscard]] constexpr View<T> result_as(View<U> const& result) noexcept {
    constexpr bool same = std::same_as<T, U>;
    static_assert(same, "what a head writes to must have the number type of the outputs, and not be const");
    if constexpr (same)
        return result;
    else
        return {};
}

} // namespace gmac::inline GMAC_ABI::detail
