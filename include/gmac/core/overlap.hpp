// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace gmac::inline GMAC_ABI {

namespace detail {

/// The stride that two matrices have in common along an axis, for an axis of one element takes any. `known` is false if
/// they differ.
struct common_stride {
    std::ptrdiff_t stride;
    bool known;
};
[[nodiscard]] constexpr common_stride stride_of_both(std::ptrdiff_t a, std::size_t a_size, std::ptrdiff_t b,
                                                     std::size_t b_size) noexcept {
    if (a_size <= 1 && b_size <= 1)
        return {1, true};
    if (a_size <= 1)
        return {b, true};
    return {a, b_size <= 1 || a == b};
}

/// The bytes from the first to the last element.
struct byte_range {
    std::intptr_t first, last;
};
template <class T>
[[nodiscard]] byte_range bytes_of(matrix_view<T> const& m) noexcept {
    auto const rows = static_cast<std::ptrdiff_t>(m.rows() - 1) * m.row_stride();
    auto const cols = static_cast<std::ptrdiff_t>(m.cols() - 1) * m.col_stride();
    auto const start = reinterpret_cast<std::intptr_t>(m.data());
    auto const size = static_cast<std::ptrdiff_t>(sizeof(T));
    std::ptrdiff_t const low = (rows < 0 ? rows : 0) + (cols < 0 ? cols : 0);
    std::ptrdiff_t const high = (rows > 0 ? rows : 0) + (cols > 0 ? cols : 0);
    return {start + low * size, start + (high + 1) * size};
}

} // namespace detail

/// The same elements in the same places.
template <class T, class U>
[[nodiscard]] constexpr bool same_elements(matrix_view<T> const& a, matrix_view<U> const& b) noexcept {
    return static_cast<void const*>(a.data()) == static_cast<void const*>(b.data()) && a.rows() == b.rows() &&
           a.cols() == b.cols() && (a.rows() <= 1 || a.row_stride() == b.row_stride()) &&
           (a.cols() <= 1 || a.col_stride() == b.col_stride());
}

/// May an element of one matrix be an element of the other? Exact for disjoint pieces of memory and for parts of one
/// matrix that are blocks of it or every n-th of its columns (or rows); otherwise yes, to be safe.
template <class T, class U>
[[nodiscard]] bool may_overlap(matrix_view<T> const& a, matrix_view<U> const& b) noexcept {
    if (a.empty() || b.empty())
        return false;
    detail::byte_range const x = detail::bytes_of(a);
    detail::byte_range const y = detail::bytes_of(b);
    if (x.last <= y.first || y.last <= x.first)
        return false;
    auto const row = detail::stride_of_both(a.row_stride(), a.rows(), b.row_stride(), b.rows());
    auto const col = detail::stride_of_both(a.col_stride(), a.cols(), b.col_stride(), b.cols());
    if (sizeof(T) != sizeof(U) || !row.known || !col.known || row.stride <= 0 || col.stride <= 0)
        return true;
    // Lines of elements `inner` apart, and `outer` from one to the next: do the two stay apart within their lines?
    bool const lines_are_rows = row.stride >= col.stride;
    std::ptrdiff_t const outer = lines_are_rows ? row.stride : col.stride;
    std::ptrdiff_t const inner = lines_are_rows ? col.stride : row.stride;
    std::ptrdiff_t const distance = (y.first - x.first) / static_cast<std::ptrdiff_t>(sizeof(T));
    if (inner > 1 && outer % inner == 0 && distance % inner != 0)
        return false;
    auto const extent = [&](std::size_t rows, std::size_t cols) {
        return static_cast<std::ptrdiff_t>((lines_are_rows ? cols : rows) - 1) * inner + 1;
    };
    std::ptrdiff_t const offset = ((distance % outer) + outer) % outer; // of b's line within a's
    return offset < extent(a.rows(), a.cols()) || offset + extent(b.rows(), b.cols()) > outer;
}

template <class T, class U>
void require_no_overlap(matrix_view<T> const& result, matrix_view<U> const& operand, std::string_view where) {
    require(!may_overlap(result, operand), "{}: the result overlaps an operand in memory, which it must not", where);
}

/// For element-wise maps, which work in place too: the very same elements, or none in common.
template <class T, class U>
void require_same_or_no_overlap(matrix_view<T> const& result, matrix_view<U> const& operand, std::string_view where) {
    require(same_elements(result, operand) || !may_overlap(result, operand),
            "{}: the result overlaps an operand in memory; it must be the same view or apart", where);
}

} // namespace gmac::inline GMAC_ABI
