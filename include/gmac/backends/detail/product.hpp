// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/backends/detail/activations.hpp>
#include <gmac/backends/detail/tiles.hpp>
#include <gmac/core/detail/registers.hpp>
#include <gmac/core/detail/transpose.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/module.hpp>

#include <xsimd/xsimd.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

/// The matrix product of backends::simd. Networks of reinforcement learning are small: a product of 256 x 64 x 64 takes
/// ten microseconds, so packing both operands, as a library for large matrices does, is most of what can be saved.
///
/// The result is computed in tiles that stay in registers. The left operand is read element by element (broadcast), so any
/// strides will do; the right one in rows of registers, so it is copied to a panel on the stack if its rows are not
/// contiguous. Every element of the result is one chain of multiply-adds in the order of the inner index, whatever the
/// tile: a row's result does not depend on the other rows of its batch. Nothing is allocated.
namespace gmac::inline GMAC_ABI::backends::detail {

/// Copies a block of the right operand, of one panel's width at most, to rows of `panel_width`. The columns beyond the block,
/// up to the next whole register, hold numbers that mean nothing.
template <class V>
inline void pack_panel(matrix_view<lanes::scalar_of<V> const> const& right, std::size_t first_row,
                       std::size_t first_col, std::size_t rows, std::size_t cols, lanes::scalar_of<V>* panel) noexcept {
    constexpr std::size_t stride = tiling<V>::panel_width;
    constexpr std::size_t width = tiling<V>::width;
    if (right.col_stride() == 1) {
        std::size_t const registers = (cols + width - 1) / width;
        std::size_t const readable = lanes::readable_rows(right, first_col, registers * width);
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < cols; j += width)
                lanes::store_padded<V>(&right(first_row + i, first_col + j),
                                       first_row + i < readable ? width : cols - j, panel + i * stride + j);
        return;
    }
    // Blocks of one register, transposed. The last rows go with some that are done already.
    auto const turned = transposed(right);
    std::size_t const whole = (std::min)(width, rows);
    std::size_t const readable = whole < width ? lanes::readable_rows(turned, first_row, width) : 0;
    for (std::size_t j = 0; j < cols; j += width) {
        std::size_t const count = (std::min)(width, cols - j);
        for (std::size_t i = 0; i < rows; i += width) {
            std::size_t const first = (std::min)(i, rows - whole);
            std::array<V, width> lines;
            if (count == width && whole == width) {
                lanes::read_columns<V>(turned, first_col + j, first_row + first, width, lines.data());
#pragma GCC unroll 16
                for (std::size_t k = 0; k < width; ++k)
                    lines[k].store_aligned(panel + (first + k) * stride + j);
                continue;
            }
            std::size_t const read = first_col + j + width <= readable ? width : whole;
            lanes::read_columns<V>(turned, first_col + j, first_row + first, read, lines.data(), count);
            for (std::size_t k = 0; k < whole; ++k)
                lines[k].store_aligned(panel + (first + k) * stride + j);
        }
    }
}

/// What the sums start from.
enum class start_from { zero, bias, result };

/// What is done with the result while it is at hand: an activation, or the way back through one.
template <class T>
struct finishing {
    nn::activation f = nn::activation::none;
    bool backward = false;
    matrix_view<T const> output{}; ///< of the activation, if it is gone back through

    /// For the block of the result that begins at (row, col).
    void finish(matrix_view<T> const& block, std::size_t row, std::size_t col) const noexcept {
        if (f == nn::activation::none)
            return;
        if (backward)
            activate_backward<T>(f, output.block(row, col, block.rows(), block.cols()), block, block);
        else
            activate<T>(f, block, block);
    }
};

/// One multiplication: the operands, and what is needed to go through them panel by panel.
template <class V>
class product {
public:
    using T = lanes::scalar_of<V>;

    product(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result, start_from start,
            vector_view<T const> bias, finishing<T> const& finish) noexcept
        : left_(left), right_(right), result_(result), start_(start), bias_(bias), finish_(finish) {}

    void run() const noexcept {
        std::size_t const depth = left_.cols();
        for (std::size_t row = 0; row < result_.rows(); row += sizes::block_rows) {
            std::size_t const rows = (std::min)(sizes::block_rows, result_.rows() - row);
            std::size_t first = 0;
            do { // at least once: with no inner index the result is what the sums start from
                std::size_t const last = (std::min)(depth, first + sizes::panel_rows);
                all_panels({row, rows, first, last});
                first = last;
            } while (first < depth);
        }
    }

private:
    using sizes = tiling<V>;

    /// Rows of the result, and a range of the inner index.
    struct part {
        std::size_t row, rows, first, last;
    };

    void all_panels(part const& p) const noexcept {
        std::size_t const cols = result_.cols();
        std::size_t col = p.rows == 1 ? single_row(p) : 0;
        while (col + sizes::panel_width <= cols) {
            std::size_t const together =
                (std::min)(sizes::panels_together(p.last - p.first), (cols - col) / sizes::panel_width);
            panels(p, col, together * sizes::panel_width, sizes::columns);
            col += together * sizes::panel_width;
        }
        for (; col < cols; col += sizes::width)
            panels(p, col, (std::min)(sizes::width, cols - col), 1);
    }

    /// One row has few sums to keep the multiply-adds busy, so it takes more columns at once, where the right operand can be
    /// read in place. Returns how many columns are done.
    std::size_t single_row(part const& p) const noexcept {
        constexpr std::size_t width = 8 * sizes::width;
        std::size_t col = 0;
        if (!right_.row_contiguous() || !result_.row_contiguous())
            return col;
        bool const from_result = p.first > 0 || start_ == start_from::result;
        for (; col + width <= result_.cols(); col += width) {
            alignas(64) std::array<T, width> start{};
            if (start_ == start_from::bias)
                for (std::size_t j = 0; j < width; ++j)
                    start[j] = bias_[col + j];
            T* const c = &result_(p.row, col);
            multiply_tile<V, 1, 8>({p.last - p.first, &left_(p.row, p.first), 0, left_.col_stride(),
                                    right_.data() + offset(p.first, col), right_.row_stride(),
                                    from_result ? c : start.data(), 0, c, 0});
            if (p.last == left_.cols())
                finish_.finish(result_.block(p.row, col, 1, width), p.row, col);
        }
        return col;
    }

    /// `count` columns from `col` on, in panels of so many registers.
    void panels(part const& p, std::size_t col, std::size_t count, std::size_t registers) const noexcept {
        std::size_t const width = registers * sizes::width;
        alignas(64) std::array<T, sizes::panel_size> packed;
        alignas(64) std::array<T, sizes::most_panels * sizes::panel_width> start;
        std::fill_n(start.data(), (std::max)(count, width), T(0));
        if (start_ == start_from::bias)
            for (std::size_t j = 0; j < count; ++j)
                start[j] = bias_[col + j];
        std::size_t readable = std::clamp(lanes::readable_rows(right_, col, (std::max)(count, width)), p.first, p.last);
        if (scattered(p) || (readable < p.last && p.rows >= 16))
            readable = p.first;
        if (readable > p.first || p.first == p.last)
            slice({p.row, p.rows, p.first, readable}, col, count, registers,
                  {&right_.data()[offset(p.first, col)], right_.row_stride(), sizes::panel_width}, start.data());
        if (readable < p.last) {
            std::size_t const rows = p.last - readable;
            T* panel = packed.data();
            for (std::size_t j = 0; j < count; j += width, panel += rows * sizes::panel_width)
                pack_panel<V>(right_, readable, col + j, rows, (std::min)(width, count - j), panel);
            slice({p.row, p.rows, readable, p.last}, col, count, registers,
                  {packed.data(), static_cast<std::ptrdiff_t>(sizes::panel_width), rows * sizes::panel_width},
                  start.data());
        }
    }

    /// Rows that begin a multiple of a kibibyte apart fall into a few sets of the cache and push each other out: then a copy
    /// of the panel pays, if it is read often enough.
    [[nodiscard]] bool scattered(part const& p) const noexcept {
        return p.rows >= 64 && p.last > p.first && right_.row_contiguous() &&
               right_.row_stride() % static_cast<std::ptrdiff_t>(1024 / sizeof(T)) == 0;
    }

    [[nodiscard]] std::ptrdiff_t left_offset(std::size_t row, std::size_t col) const noexcept {
        return static_cast<std::ptrdiff_t>(row) * left_.row_stride() +
               static_cast<std::ptrdiff_t>(col) * left_.col_stride();
    }
    [[nodiscard]] std::ptrdiff_t offset(std::size_t row, std::size_t col) const noexcept {
        return static_cast<std::ptrdiff_t>(row) * right_.row_stride() +
               static_cast<std::ptrdiff_t>(col) * right_.col_stride();
    }

    /// Where the rows of the right operand lie, and how far apart the panels begin.
    struct panel_rows {
        T const* first;
        std::ptrdiff_t row;
        std::size_t panel;
    };

    /// The part of the panels that takes its rows of the right operand from `b`.
    void slice(part const& p, std::size_t col, std::size_t count, std::size_t registers, panel_rows const& b,
               T const* start) const noexcept {
        std::size_t const width = registers * sizes::width;
        std::size_t const chunk = sizes::chunk(registers);
        bool const from_result = p.first > 0 || start_ == start_from::result;
        bool const finished = p.last == left_.cols();
        for (std::size_t row = p.row; row < p.row + p.rows; row += chunk) {
            std::size_t const rows = (std::min)(chunk, p.row + p.rows - row);
            T const* const a = &left_.data()[left_offset(row, p.first)];
            T const* panel = b.first;
            for (std::size_t j = 0; j < count; j += width, panel += b.panel) {
                matrix_view<T> const block = result_.block(row, col + j, rows, (std::min)(width, count - j));
                tile_operands<T> o{p.last - p.first,
                                   a,
                                   left_.row_stride(),
                                   left_.col_stride(),
                                   panel,
                                   b.row,
                                   from_result ? nullptr : start + j,
                                   0,
                                   nullptr,
                                   0};
                if (block.cols() == width && block.row_contiguous())
                    in_place(block, registers, o);
                else
                    through_copy(block, registers, o);
            }
            if (finished)
                finish_.finish(result_.block(row, col, rows, count), row, col);
        }
    }

    /// From here on a null `start` is the result itself.
    static void in_place(matrix_view<T> const& block, std::size_t registers, tile_operands<T>& o) noexcept {
        o.c = block.data();
        o.c_row = block.row_stride();
        if (o.start == nullptr) {
            o.start = o.c;
            o.start_row = o.c_row;
        }
        if (registers == 1)
            multiply_strip<V, 1>(block.rows(), o);
        else
            multiply_strip<V, sizes::columns>(block.rows(), o);
    }

    /// A block that does not fill its registers or whose rows are not contiguous.
    static void through_copy(matrix_view<T> const& block, std::size_t registers, tile_operands<T>& o) noexcept {
        std::size_t const stride = registers * sizes::width;
        alignas(64) std::array<T, sizes::chunk(sizes::columns) * sizes::panel_width> copy;
        if (o.start == nullptr) {
            std::fill_n(copy.data(), block.rows() * stride, T(0));
            for (std::size_t i = 0; i < block.rows(); ++i)
                for (std::size_t j = 0; j < block.cols(); ++j)
                    copy[i * stride + j] = block(i, j);
        }
        in_place({copy.data(), block.rows(), stride}, registers, o);
        if (block.row_stride() == 1) {
            for (std::size_t j = 0; j < block.cols(); ++j)
                for (std::size_t i = 0; i < block.rows(); ++i)
                    block(i, j) = copy[i * stride + j];
            return;
        }
        // What a whole register writes beyond a row, the next row writes anew.
        std::size_t const writable = registers == 1 ? lanes::readable_rows(block, 0, sizes::width) : 0;
        for (std::size_t i = 0; i < writable; ++i)
            V::load_aligned(&copy[i * stride]).store_unaligned(&block(i, 0));
        for (std::size_t i = writable; i < block.rows(); ++i)
            for (std::size_t j = 0; j < block.cols(); ++j)
                block(i, j) = copy[i * stride + j];
    }

    matrix_view<T const> left_;
    matrix_view<T const> right_;
    matrix_view<T> result_;
    start_from start_;
    vector_view<T const> bias_;
    finishing<T> const& finish_;
};

} // namespace gmac::inline GMAC_ABI::backends::detail
