// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>

namespace gmac {

/// The same elements in the same places.
template <class T, class U>
[[nodiscard]] constexpr bool same_elements(matrix_view<T> const& a, matrix_view<U> const& b) noexcept {
    return static_cast<void const*>(a.data()) == static_cast<void const*>(b.data()) && a.rows() == b.rows() &&
           a.cols() == b.cols() && a.row_stride() == b.row_stride() && a.col_stride() == b.col_stride();
}

/// May an element of one matrix be an element of the other? Exact for disjoint pieces of memory and for blocks of one
/// matrix whose rows (or columns) do not interleave; otherwise yes, to be safe.
template <class T, class U>
[[nodiscard]] bool may_overlap(matrix_view<T> const& a, matrix_view<U> const& b) noexcept {
    if (a.empty() || b.empty())
        return false;
    struct range {
        std::intptr_t first, last;
    };
    auto const bytes = [](auto const& m) {
        using element = typename std::remove_cvref_t<decltype(m)>::element_type;
        auto const rows = static_cast<std::ptrdiff_t>(m.rows() - 1) * m.row_stride();
        auto const cols = static_cast<std::ptrdiff_t>(m.cols() - 1) * m.col_stride();
        auto const start = reinterpret_cast<std::intptr_t>(m.data());
        auto const size = static_cast<std::ptrdiff_t>(sizeof(element));
        std::ptrdiff_t const low = (rows < 0 ? rows : 0) + (cols < 0 ? cols : 0);
        std::ptrdiff_t const high = (rows > 0 ? rows : 0) + (cols > 0 ? cols : 0);
        return range{start + low * size, start + (high + 1) * size};
    };
    range const x = bytes(a);
    range const y = bytes(b);
    if (x.last <= y.first || y.last <= x.first)
        return false;
    if (sizeof(T) != sizeof(U) || a.row_stride() != b.row_stride() || a.col_stride() != b.col_stride())
        return true;
    // One outer stride for both: do the columns (or rows) that the two cover come apart?
    bool const by_row = std::abs(a.row_stride()) >= std::abs(a.col_stride());
    std::ptrdiff_t const outer = std::abs(by_row ? a.row_stride() : a.col_stride());
    std::ptrdiff_t const inner = std::abs(by_row ? a.col_stride() : a.row_stride());
    if (outer == 0 || (by_row ? a.row_stride() < 0 || a.col_stride() < 0 : a.row_stride() < 0 || a.col_stride() < 0))
        return true;
    auto const extent = [&](auto const& m) {
        return static_cast<std::ptrdiff_t>((by_row ? m.cols() : m.rows()) - 1) * inner + 1;
    };
    std::ptrdiff_t const distance = (y.first - x.first) / static_cast<std::ptrdiff_t>(sizeof(T));
    std::ptrdiff_t const offset = ((distance % outer) + outer) % outer; // of b's first element after a's, in a row
    return offset < extent(a) || offset + extent(b) > outer;
}

} // namespace gmac
