// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>
#include <gmac/core/transpose.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/module.hpp>
#include <gmac/nn/packs.hpp>

#include <xsimd/xsimd.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

/// The matrix product of backends::simd. Networks of reinforcement learning are small: a product of 256 x 64 x 64 takes
/// ten microseconds, so packing both operands, as a library for large matrices does, is most of what can be saved.
///
/// The result is computed in tiles that stay in registers. The left operand is read element by element (broadcast), so any
/// strides will do; the right one in rows of registers, so it is copied to a panel on the stack if its rows are not
/// contiguous. Every element of the result is one chain of multiply-adds in the order of the inner index, whatever the
/// tile: a row's result does not depend on the other rows of its batch. Nothing is allocated.
namespace gmac::backends::detail {

using nn::detail::unroll;

template <class V>
struct tiling {
    using T = lanes::scalar_of<V>;
    static constexpr std::size_t width = lanes::width_of<V>;
    /// AVX-512 has 32 registers, most others 16: the accumulators of a tile should take three quarters of them.
    static constexpr bool many_registers = sizeof(V) >= 64;
    static constexpr std::size_t columns = many_registers ? 4 : 2; ///< registers side by side
    static constexpr std::size_t panel_width = columns * width;
    static constexpr std::size_t panel_size = 32768 / sizeof(T); ///< elements of the largest panel: most of an L1 cache
    static constexpr std::size_t panel_rows = panel_size / panel_width;
    /// Panels that the rows of the result go through together, so that a row is finished while it is in the cache: as many
    /// as fill half of it.
    static constexpr std::size_t most_panels = 8;
    static constexpr std::size_t panels_together(std::size_t depth) noexcept {
        return std::clamp(panel_size / 2 / (panel_width * (std::max)(depth, std::size_t{1})), std::size_t{1},
                          most_panels);
    }
    static constexpr std::size_t height(std::size_t registers) noexcept {
        return registers == 4 || (registers == 2 && !many_registers) ? 6 : 12;
    }
    /// Rows of the result that go through all panels together: the left operand's share of them stays in an L2 cache.
    static constexpr std::size_t block_rows = 512;
};

/// c[Height, Registers * width] = start + a[Height, depth] b[depth, Registers * width]. A row stride of 0 repeats the row
/// that `start` points to.
template <class V, std::size_t Height, std::size_t Registers>
inline void multiply_tile(std::size_t depth, lanes::scalar_of<V> const* a, std::ptrdiff_t a_row, std::ptrdiff_t a_col,
                          lanes::scalar_of<V> const* b, std::ptrdiff_t b_row, lanes::scalar_of<V> const* start,
                          std::ptrdiff_t start_row, lanes::scalar_of<V>* c, std::ptrdiff_t c_row) noexcept {
    constexpr auto width = static_cast<std::ptrdiff_t>(lanes::width_of<V>);
    std::array<std::array<V, Registers>, Height> sums;
    unroll<Height>([&](auto i) {
        unroll<Registers>([&](auto j) {
            sums[i][j] = V::load_unaligned(start + std::ptrdiff_t(i) * start_row + std::ptrdiff_t(j) * width);
        });
    });
    for (std::size_t k = 0; k < depth; ++k) {
        std::array<V, Registers> row;
        unroll<Registers>([&](auto j) { row[j] = V::load_unaligned(b + std::ptrdiff_t(j) * width); });
        unroll<Height>([&](auto i) {
            V const x(a[std::ptrdiff_t(i) * a_row]);
            unroll<Registers>([&](auto j) { sums[i][j] = xsimd::fma(x, row[j], sums[i][j]); });
        });
        a += a_col;
        b += b_row;
    }
    unroll<Height>([&](auto i) {
        unroll<Registers>(
            [&](auto j) { sums[i][j].store_unaligned(c + std::ptrdiff_t(i) * c_row + std::ptrdiff_t(j) * width); });
    });
}

/// `rows` rows of the result by tiles of falling height.
template <class V, std::size_t Registers>
inline void multiply_strip(std::size_t rows, std::size_t depth, lanes::scalar_of<V> const* a, std::ptrdiff_t a_row,
                           std::ptrdiff_t a_col, lanes::scalar_of<V> const* b, std::ptrdiff_t b_row,
                           lanes::scalar_of<V> const* start, std::ptrdiff_t start_row, lanes::scalar_of<V>* c,
                           std::ptrdiff_t c_row) noexcept {
    std::size_t i = 0;
    auto const tiles_of = [&]<std::size_t Height>(std::integral_constant<std::size_t, Height>) {
        for (; i + Height <= rows; i += Height) {
            auto const row = static_cast<std::ptrdiff_t>(i);
            multiply_tile<V, Height, Registers>(depth, a + row * a_row, a_row, a_col, b, b_row, start + row * start_row,
                                                start_row, c + row * c_row, c_row);
        }
    };
    tiles_of(std::integral_constant<std::size_t, tiling<V>::height(Registers)>{});
    if constexpr (tiling<V>::height(Registers) > 6)
        tiles_of(std::integral_constant<std::size_t, 6>{});
    tiles_of(std::integral_constant<std::size_t, 5>{});
    tiles_of(std::integral_constant<std::size_t, 4>{});
    tiles_of(std::integral_constant<std::size_t, 3>{});
    tiles_of(std::integral_constant<std::size_t, 2>{});
    tiles_of(std::integral_constant<std::size_t, 1>{});
}

#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)
template <class T>
struct four_of;
template <>
struct four_of<float> {
    typedef float type __attribute__((vector_size(16)));
};
template <>
struct four_of<double> {
    typedef double type __attribute__((vector_size(32)));
};

/// The sum of all lanes in four chains, so that it does not wait for each addition in turn.
template <class V>
[[nodiscard]] inline lanes::scalar_of<V> sum_of_lanes(V const& value) noexcept {
    using T = lanes::scalar_of<V>;
    constexpr std::size_t width = lanes::width_of<V>;
    if constexpr (width < 4) {
        return lanes::sum_lanes<V>(value);
    } else {
        using four = typename four_of<T>::type;
        alignas(64) std::array<T, width> lane;
        value.store_aligned(lane.data());
        four sums, next;
        std::memcpy(&sums, lane.data(), sizeof(four));
        for (std::size_t i = 4; i < width; i += 4) {
            std::memcpy(&next, lane.data() + i, sizeof(four));
            sums += next;
        }
        return (sums[0] + sums[2]) + (sums[1] + sums[3]);
    }
}
#else
template <class V>
[[nodiscard]] inline lanes::scalar_of<V> sum_of_lanes(V const& value) noexcept {
    return lanes::sum_lanes<V>(value);
}
#endif

/// Copies a block of the right operand, of one panel's width at most, to rows of `panel_width`. The columns beyond the block,
/// up to the next whole register, hold numbers that mean nothing.
template <class V>
inline void pack_panel(matrix_view<lanes::scalar_of<V> const> const& block, lanes::scalar_of<V>* panel) noexcept {
    constexpr std::size_t stride = tiling<V>::panel_width;
    constexpr std::size_t width = tiling<V>::width;
    std::size_t const rows = block.rows();
    std::size_t const cols = block.cols();
    if (block.col_stride() == 1) {
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < cols; j += width)
                nn::detail::store_padded<V>(&block(i, j), cols - j, panel + i * stride + j);
        return;
    }
    std::size_t const whole = (std::min)(width, rows);
    for (std::size_t j = 0; j < cols; j += width)
        for (std::size_t i = 0; i < rows; i += width) {
            std::size_t const first = (std::min)(i, rows - whole); // the last rows go with some that are done already
            std::array<V, width> lines;
            lanes::read_columns<V>(nn::transposed(block), j, first, whole, lines.data(), (std::min)(width, cols - j));
            for (std::size_t k = 0; k < whole; ++k)
                lines[k].store_aligned(panel + (first + k) * stride + j);
        }
}

/// What the sums start from.
enum class start_from { zero, bias, result };

/// One multiplication: the operands, and what is needed to go through them panel by panel.
template <class V>
class product {
public:
    using T = lanes::scalar_of<V>;

    product(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result, start_from start,
            vector_view<T const> bias = {}) noexcept
        : left_(left), right_(right), result_(result), start_(start), bias_(bias) {}

    /// finish(block) is called for each finished block of the result, while it is in the cache.
    template <class Finish>
    void run(Finish&& finish) const noexcept {
        std::size_t const depth = left_.cols();
        for (std::size_t row = 0; row < result_.rows(); row += sizes::block_rows) {
            std::size_t const rows = (std::min)(sizes::block_rows, result_.rows() - row);
            std::size_t first = 0;
            do { // at least once: with no inner index the result is what the sums start from
                std::size_t const last = (std::min)(depth, first + sizes::panel_rows);
                panels({row, rows, first, last}, finish);
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

    template <class Finish>
    void panels(part const& p, Finish&& finish) const noexcept {
        std::size_t const cols = result_.cols();
        std::size_t col = p.rows == 1 ? single_row(p, finish) : 0;
        while (col + sizes::panel_width <= cols) {
            std::size_t const together =
                (std::min)(sizes::panels_together(p.last - p.first), (cols - col) / sizes::panel_width);
            panels_of<sizes::columns>(p, col, together * sizes::panel_width, finish);
            col += together * sizes::panel_width;
        }
        if constexpr (sizes::columns == 4)
            for (; col + 2 * sizes::width <= cols; col += 2 * sizes::width)
                panels_of<2>(p, col, 2 * sizes::width, finish);
        for (; col < cols; col += sizes::width)
            panels_of<1>(p, col, (std::min)(sizes::width, cols - col), finish);
    }

    /// One row has few sums to keep the multiply-adds busy, so it takes more columns at once, where the right operand can be
    /// read in place. Returns how many columns are done.
    template <class Finish>
    std::size_t single_row(part const& p, Finish&& finish) const noexcept {
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
            multiply_tile<V, 1, 8>(p.last - p.first, &left_(p.row, p.first), 0, left_.col_stride(),
                                   right_.data() + offset(p.first, col), right_.row_stride(),
                                   from_result ? c : start.data(), 0, c, 0);
            if (p.last == left_.cols())
                finish(result_.block(p.row, col, 1, width));
        }
        return col;
    }

    /// `count` columns from `col` on, in panels of so many registers.
    template <std::size_t Registers, class Finish>
    void panels_of(part const& p, std::size_t col, std::size_t count, Finish&& finish) const noexcept {
        constexpr std::size_t width = Registers * sizes::width;
        alignas(64) std::array<T, sizes::panel_size> packed;
        alignas(64) std::array<T, sizes::most_panels * sizes::panel_width> start;
        std::fill_n(start.data(), (std::max)(count, width), T(0));
        if (start_ == start_from::bias)
            for (std::size_t j = 0; j < count; ++j)
                start[j] = bias_[col + j];
        std::size_t readable =
            std::clamp(nn::detail::readable_rows(right_, col, (std::max)(count, width)), p.first, p.last);
        if (scattered(p) || (readable < p.last && p.rows >= 16))
            readable = p.first;
        if (readable > p.first || p.first == p.last)
            slice<Registers>({p.row, p.rows, p.first, readable}, col, count, &right_.data()[offset(p.first, col)],
                             right_.row_stride(), sizes::panel_width, start.data(), finish);
        if (readable < p.last) {
            std::size_t const rows = p.last - readable;
            for (std::size_t j = 0; j < count; j += width)
                pack_panel<V>(right_.block(readable, col + j, rows, (std::min)(width, count - j)),
                              packed.data() + j / width * rows * sizes::panel_width);
            slice<Registers>({p.row, p.rows, readable, p.last}, col, count, packed.data(),
                             static_cast<std::ptrdiff_t>(sizes::panel_width), rows * sizes::panel_width, start.data(),
                             finish);
        }
    }

    /// Rows that begin a multiple of a kibibyte apart fall into a few sets of the cache and push each other out: then a copy
    /// of the panel pays, if it is read often enough.
    [[nodiscard]] bool scattered(part const& p) const noexcept {
        return p.rows >= 64 && p.last > p.first && right_.row_contiguous() &&
               right_.row_stride() % static_cast<std::ptrdiff_t>(1024 / sizeof(T)) == 0;
    }

    [[nodiscard]] std::ptrdiff_t offset(std::size_t row, std::size_t col) const noexcept {
        return static_cast<std::ptrdiff_t>(row) * right_.row_stride() +
               static_cast<std::ptrdiff_t>(col) * right_.col_stride();
    }

    /// The part of the panels that takes its rows of the right operand from `b`; the panels begin `b_panel` apart.
    template <std::size_t Registers, class Finish>
    void slice(part const& p, std::size_t col, std::size_t count, T const* b, std::ptrdiff_t b_row, std::size_t b_panel,
               T const* start, Finish&& finish) const noexcept {
        constexpr std::size_t width = Registers * sizes::width;
        constexpr std::size_t chunk = 8 * sizes::height(Registers); // rows that are finished at a time
        bool const from_result = p.first > 0 || start_ == start_from::result;
        std::size_t const depth = p.last - p.first;
        for (std::size_t row = p.row; row < p.row + p.rows; row += chunk) {
            std::size_t const rows = (std::min)(chunk, p.row + p.rows - row);
            T const* const a = &left_.data()[static_cast<std::ptrdiff_t>(row) * left_.row_stride() +
                                             static_cast<std::ptrdiff_t>(p.first) * left_.col_stride()];
            for (std::size_t j = 0; j < count; j += width) {
                matrix_view<T> const block = result_.block(row, col + j, rows, (std::min)(width, count - j));
                T const* const panel = b + j / width * b_panel;
                if (block.cols() == width && block.row_contiguous())
                    multiply_strip<V, Registers>(rows, depth, a, left_.row_stride(), left_.col_stride(), panel, b_row,
                                                 from_result ? block.data() : start + j,
                                                 from_result ? block.row_stride() : 0, block.data(),
                                                 block.row_stride());
                else
                    through_copy<Registers>(block, depth, a, panel, b_row, from_result ? nullptr : start + j);
            }
            if (p.last == left_.cols())
                finish(result_.block(row, col, rows, count));
        }
    }

    /// A block that does not fill its registers or whose rows are not contiguous.
    template <std::size_t Registers>
    void through_copy(matrix_view<T> const& block, std::size_t depth, T const* a, T const* b, std::ptrdiff_t b_row,
                      T const* start) const noexcept {
        constexpr std::size_t stride = Registers * sizes::width;
        alignas(64) std::array<T, 8 * sizes::height(Registers) * stride> copy;
        if (start == nullptr) {
            std::fill_n(copy.data(), block.rows() * stride, T(0));
            for (std::size_t i = 0; i < block.rows(); ++i)
                for (std::size_t j = 0; j < block.cols(); ++j)
                    copy[i * stride + j] = block(i, j);
        }
        multiply_strip<V, Registers>(block.rows(), depth, a, left_.row_stride(), left_.col_stride(), b, b_row,
                                     start == nullptr ? copy.data() : start,
                                     start == nullptr ? static_cast<std::ptrdiff_t>(stride) : 0, copy.data(),
                                     static_cast<std::ptrdiff_t>(stride));
        for (std::size_t i = 0; i < block.rows(); ++i)
            if (block.row_contiguous() && block.cols() < sizes::width)
                nn::detail::copy_few<V>(&copy[i * stride], block.cols(), &block(i, 0));
            else
                for (std::size_t j = 0; j < block.cols(); ++j)
                    block(i, j) = copy[i * stride + j];
    }

    matrix_view<T const> left_;
    matrix_view<T const> right_;
    matrix_view<T> result_;
    start_from start_;
    vector_view<T const> bias_;
};

/// True if there are so few columns that a dot product of contiguous rows, a register of the inner index at a time, beats
/// a tile whose registers stay mostly empty.
template <class V>
[[nodiscard]] inline bool few_columns(matrix_view<lanes::scalar_of<V> const> const& left,
                                      matrix_view<lanes::scalar_of<V> const> const& right) noexcept {
    return 4 * right.cols() <= lanes::width_of<V> && left.row_contiguous() && left.cols() >= lanes::width_of<V> &&
           left.cols() <= 1024;
}

/// The product where few_columns holds. The order of the sums depends only on the inner size.
template <class V>
inline void multiply_few_columns(matrix_view<lanes::scalar_of<V> const> const& left,
                                 matrix_view<lanes::scalar_of<V> const> const& right,
                                 matrix_view<lanes::scalar_of<V>> const& result, start_from start,
                                 vector_view<lanes::scalar_of<V> const> const& bias) noexcept {
    using T = lanes::scalar_of<V>;
    constexpr std::size_t width = lanes::width_of<V>;
    alignas(64) std::array<T, 1024> column;
    std::size_t const depth = left.cols();
    for (std::size_t j = 0; j < right.cols(); ++j) {
        T const* b = &right(0, j);
        if (right.row_stride() != 1) {
            for (std::size_t k = 0; k < depth; ++k)
                column[k] = right(k, j);
            b = column.data();
        }
        for (std::size_t i = 0; i < left.rows(); ++i) {
            T const* const a = &left(i, 0);
            V even(T(0)), odd(T(0));
            std::size_t k = 0;
            for (; k + 2 * width <= depth; k += 2 * width) {
                even = xsimd::fma(V::load_unaligned(a + k), V::load_unaligned(b + k), even);
                odd = xsimd::fma(V::load_unaligned(a + k + width), V::load_unaligned(b + k + width), odd);
            }
            for (; k < depth; k += width)
                even = xsimd::fma(nn::detail::load_pack<V>(a + k, depth - k),
                                  nn::detail::load_pack<V>(b + k, depth - k), even);
            T const sum = sum_of_lanes(V(even + odd));
            result(i, j) = start == start_from::zero     ? sum
                           : start == start_from::result ? result(i, j) + sum
                                                         : bias[j] + sum;
        }
    }
}

} // namespace gmac::backends::detail
