// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>

#include <xsimd/xsimd.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

/// The innermost loops of the matrix products of backends::simd: a tile of the result that stays in registers.
namespace gmac::inline GMAC_ABI::backends::detail {

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
    static constexpr std::size_t height(std::size_t registers) noexcept { return registers == 1 ? 8 : 6; }
    static constexpr std::size_t chunk(std::size_t registers) noexcept { ///< rows that are finished at a time
        return 12 * height(registers);
    }
    /// Rows of the result that go through all panels together: the left operand's share of them stays in an L2 cache.
    static constexpr std::size_t block_rows = 512;
};

/// The operands of a tile, or of tiles one below the other, and their strides: c = start + a b, with a [rows, depth],
/// b [depth, registers], and the others [rows, registers]. A row stride of 0 repeats the row that `start` points to.
template <class T>
struct tile_operands {
    std::size_t depth;
    T const* a;
    std::ptrdiff_t a_row, a_col;
    T const* b;
    std::ptrdiff_t b_row;
    T const* start;
    std::ptrdiff_t start_row;
    T* c;
    std::ptrdiff_t c_row;

    void move_down(std::size_t rows) noexcept {
        auto const n = static_cast<std::ptrdiff_t>(rows);
        a += n * a_row;
        start += n * start_row;
        c += n * c_row;
    }
};

// The loops over the registers of a tile are unrolled: an array of registers that is indexed at run time lives in memory.

/// One tile, in Height · Registers registers.
template <class V, std::size_t Height, std::size_t Registers>
[[gnu::always_inline]] inline void multiply_tile(tile_operands<lanes::scalar_of<V>> const& o) noexcept {
    using T = lanes::scalar_of<V>;
    constexpr std::size_t width = lanes::width_of<V>;
    std::array<std::array<V, Registers>, Height> sums;
    T const* start = o.start;
#pragma GCC unroll 12
    for (std::size_t i = 0; i < Height; ++i, start += o.start_row)
#pragma GCC unroll 8
        for (std::size_t j = 0; j < Registers; ++j)
            sums[i][j] = V::load_unaligned(start + j * width);
    // Rows from the seventh on have a pointer of their own, so that six multiples of the stride do for all.
    constexpr std::size_t upper = (std::min)(Height, std::size_t{6});
    std::ptrdiff_t const a_row = o.a_row, a_col = o.a_col, b_row = o.b_row;
    T const* a = o.a;
    T const* lower = a + static_cast<std::ptrdiff_t>(Height > upper ? upper : 0) * a_row;
    T const* b = o.b;
#pragma GCC unroll 2
    for (std::size_t k = 0; k < o.depth; ++k) {
        std::array<V, Registers> row;
#pragma GCC unroll 8
        for (std::size_t j = 0; j < Registers; ++j)
            row[j] = V::load_unaligned(b + j * width);
#pragma GCC unroll 12
        for (std::size_t i = 0; i < Height; ++i) {
            V const x(i < upper ? a[static_cast<std::ptrdiff_t>(i) * a_row]
                                : lower[static_cast<std::ptrdiff_t>(i - upper) * a_row]);
#pragma GCC unroll 8
            for (std::size_t j = 0; j < Registers; ++j)
                sums[i][j] = xsimd::fma(x, row[j], sums[i][j]);
        }
        a += a_col;
        lower += a_col;
        b += b_row;
    }
    T* c = o.c;
#pragma GCC unroll 12
    for (std::size_t i = 0; i < Height; ++i, c += o.c_row)
#pragma GCC unroll 8
        for (std::size_t j = 0; j < Registers; ++j)
            sums[i][j].store_unaligned(c + j * width);
}

/// `tiles` tiles one below the other; the operands move down past them. Not inlined: so its registers do not depend on what
/// is around it.
template <class V, std::size_t Height, std::size_t Registers>
[[gnu::noinline]] void multiply_tiles(std::size_t tiles, tile_operands<lanes::scalar_of<V>>& operands) noexcept {
    tile_operands<lanes::scalar_of<V>> o = operands;
    for (; tiles > 0; --tiles) {
        multiply_tile<V, Height, Registers>(o);
        o.move_down(Height);
    }
    operands.a = o.a;
    operands.start = o.start;
    operands.c = o.c;
}

/// `rows` rows of the result, in tiles whose heights differ by one at most: a low tile takes as long as one that is half
/// as high again, since each sum waits for the one before.
template <class V, std::size_t Registers>
void multiply_strip(std::size_t rows, tile_operands<lanes::scalar_of<V>>& o) noexcept {
    constexpr std::size_t highest = tiling<V>::height(Registers);
    static constexpr auto tiles_of_height = []<std::size_t... I>(std::index_sequence<I...>) {
        return std::array{&multiply_tiles<V, I + 1, Registers>...};
    }(std::make_index_sequence<highest>{});
    if (rows == 0)
        return;
    std::size_t const tiles = (rows + highest - 1) / highest;
    std::size_t const low = rows / tiles;
    std::size_t const higher = rows % tiles;
    if (higher > 0)
        tiles_of_height[low](higher, o);
    tiles_of_height[low - 1](tiles - higher, o);
}

} // namespace gmac::inline GMAC_ABI::backends::detail
