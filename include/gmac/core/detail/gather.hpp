// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/abi.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gmac::inline GMAC_ABI::detail {

/// Copies the named rows of a dense matrix, one after the other.
template <class T>
void gather(std::span<std::uint32_t const> rows, T const* from, std::size_t columns, T* to) noexcept {
    for (std::size_t i = 0; i < rows.size(); ++i)
        std::copy_n(from + rows[i] * columns, columns, to + i * columns);
}

} // namespace gmac::inline GMAC_ABI::detail
