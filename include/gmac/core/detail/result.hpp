// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/abi.hpp>
#include <gmac/core/error.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>

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

/// Throws gmac::error unless there are as many values as the outputs have rows.
constexpr void require_values(std::size_t values, std::size_t rows, std::string_view where) {
    require(values == rows, "{}: there are {} values, but must be {}, one for each row of the outputs", where, values,
            rows);
}

} // namespace gmac::inline GMAC_ABI::detail
