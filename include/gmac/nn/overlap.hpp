// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>

#include <cstddef>
#include <functional>
#include <string_view>
#include <type_traits>

namespace gmac::nn::detail {

/// Where a view begins and ends in memory.
template <class T>
struct extent {
    std::remove_const_t<T> const* first;
    std::remove_const_t<T> const* last;

    explicit extent(matrix_view<T> const& m) noexcept : first(m.data()), last(m.data()) {
        reach(m.rows(), m.row_stride());
        reach(m.cols(), m.col_stride());
    }

private:
    void reach(std::size_t count, std::ptrdiff_t stride) noexcept {
        std::ptrdiff_t const step = count == 0 ? 0 : static_cast<std::ptrdiff_t>(count - 1) * stride;
        (step < 0 ? first : last) += step;
    }
};

/// True if the two views share an element, or could for all that their strides say: strided views that interleave count as
/// overlapping, unless they are blocks of columns (or of rows) of one matrix.
template <class T, class U>
[[nodiscard]] bool overlap(matrix_view<T> const& a, matrix_view<U> const& b) noexcept {
    static_assert(std::is_same_v<std::remove_const_t<T>, std::remove_const_t<U>>);
    if (a.empty() || b.empty())
        return false;
    extent<T> const x(a);
    extent<U> const y(b);
    std::less<> const before; // of pointers into different arrays
    if (before(x.last, y.first) || before(y.last, x.first))
        return false;
    auto const side_by_side = [&](std::ptrdiff_t pitch, std::ptrdiff_t a_inner, std::size_t a_count,
                                  std::ptrdiff_t b_pitch, std::ptrdiff_t b_inner, std::size_t b_count) {
        if (pitch != b_pitch || a_inner != 1 || b_inner != 1 || pitch <= 0)
            return false;
        std::ptrdiff_t const shift = ((b.data() - a.data()) % pitch + pitch) % pitch;
        return shift >= static_cast<std::ptrdiff_t>(a_count) && shift + static_cast<std::ptrdiff_t>(b_count) <= pitch;
    };
    return !side_by_side(a.row_stride(), a.col_stride(), a.cols(), b.row_stride(), b.col_stride(), b.cols()) &&
           !side_by_side(a.col_stride(), a.row_stride(), a.rows(), b.col_stride(), b.row_stride(), b.rows());
}

template <class T, class U>
void require_no_overlap(matrix_view<T> const& result, matrix_view<U> const& operand, std::string_view where) {
    require(!overlap(result, operand), "{}: the result overlaps an operand in memory, which it must not", where);
}

/// For element-wise maps, which work in place too: the very same elements, or none in common.
template <class T, class U>
void require_same_or_no_overlap(matrix_view<T> const& result, matrix_view<U> const& operand, std::string_view where) {
    bool const same = result.data() == operand.data() && result.row_stride() == operand.row_stride() &&
                      result.col_stride() == operand.col_stride();
    require(same || !overlap(result, operand),
            "{}: the result overlaps an operand in memory; it must be the same view or apart", where);
}

} // namespace gmac::nn::detail
