// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/backends/maps.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/registers.hpp>

#include <xsimd/xsimd.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

/// The innermost loops of the matrix products of backends::simd: a tile of the result that stays in registers.
namespace gmac::backends::detail {

using lanes::unroll;

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

/// What a tile does with its sums before it stores them. The hyperbolic tangent is not among them: it needs the registers.
enum class tile_map { none, relu, relu_backward, tanh_backward };

/// The operands of a tile, or of tiles one below the other, and their strides: c = map(start + a b), with a [rows, depth],
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
    tile_map map = tile_map::none;
    T const* y = nullptr; ///< the output of the activation that is gone back through
    std::ptrdiff_t y_row = 0;

    void move_down(std::size_t rows) noexcept {
        auto const n = static_cast<std::ptrdiff_t>(rows);
        a += n * a_row;
        start += n * start_row;
        c += n * c_row;
        y += n * y_row;
    }
};

/// `y` is null where the map asks for no output.
template <tile_map Map, class V>
[[nodiscard, gnu::always_inline]] inline V mapped(V const& sum, lanes::scalar_of<V> const* y,
                                                  std::ptrdiff_t at) noexcept {
    if constexpr (Map == tile_map::relu)
        return relu_map::forward(sum);
    else if constexpr (Map == tile_map::relu_backward)
        return relu_map::backward(V::load_unaligned(y + at), sum);
    else if constexpr (Map == tile_map::tanh_backward)
        return tanh_map::backward(V::load_unaligned(y + at), sum);
    else
        return sum;
}

/// One tile, in Height · Registers registers.
template <tile_map Map, class V, std::size_t Height, std::size_t Registers>
[[gnu::always_inline]] inline void multiply_tile(tile_operands<lanes::scalar_of<V>> const& o) noexcept {
    using T = lanes::scalar_of<V>;
    constexpr auto width = static_cast<std::ptrdiff_t>(lanes::width_of<V>);
    std::array<std::array<V, Registers>, Height> sums;
    T const* start = o.start;
    unroll<Height>([&](auto i) __attribute__((always_inline)) {
        unroll<Registers>([&](auto j) __attribute__((always_inline)) {
            sums[i][j] = V::load_unaligned(start + std::ptrdiff_t(j) * width);
        });
        start += o.start_row;
    });
    // Rows from the seventh on have a pointer of their own, so that six multiples of the stride do for all.
    constexpr std::size_t upper = (std::min)(Height, std::size_t{6});
    std::ptrdiff_t const a_row = o.a_row, a_col = o.a_col, b_row = o.b_row;
    T const* a = o.a;
    T const* lower = a + static_cast<std::ptrdiff_t>(Height > upper ? upper : 0) * a_row;
    T const* b = o.b;
#pragma GCC unroll 2
    for (std::size_t k = 0; k < o.depth; ++k) {
        std::array<V, Registers> row;
        unroll<Registers>([&](auto j) __attribute__((always_inline)) {
            row[j] = V::load_unaligned(b + std::ptrdiff_t(j) * width);
        });
        unroll<Height>([&](auto i) __attribute__((always_inline)) {
            V const x(i < upper ? a[std::ptrdiff_t(i) * a_row] : lower[std::ptrdiff_t(i - upper) * a_row]);
            unroll<Registers>([&](auto j)
                                  __attribute__((always_inline)) { sums[i][j] = xsimd::fma(x, row[j], sums[i][j]); });
        });
        a += a_col;
        lower += a_col;
        b += b_row;
    }
    T* c = o.c;
    T const* y = o.y;
    unroll<Height>([&](auto i) __attribute__((always_inline)) {
        unroll<Registers>([&](auto j) __attribute__((always_inline)) {
            constexpr std::ptrdiff_t at = std::ptrdiff_t(j) * width;
            mapped<Map>(sums[i][j], y, at).store_unaligned(c + at);
        });
        c += o.c_row;
        y += o.y_row;
    });
}

/// `tiles` tiles one below the other; the operands move down past them. Not inlined: so its registers do not depend on what
/// is around it.
template <tile_map Map, class V, std::size_t Height, std::size_t Registers>
[[gnu::noinline]] void multiply_tiles(std::size_t tiles, tile_operands<lanes::scalar_of<V>>& operands) noexcept {
    tile_operands<lanes::scalar_of<V>> o = operands;
    for (; tiles > 0; --tiles) {
        multiply_tile<Map, V, Height, Registers>(o);
        o.move_down(Height);
    }
    operands.a = o.a;
    operands.start = o.start;
    operands.c = o.c;
    operands.y = o.y;
}

/// Tiles of a height that is known at run time. Only full panels have maps.
template <class V, std::size_t Registers>
inline void multiply_tiles_of(std::size_t height, std::size_t tiles, tile_operands<lanes::scalar_of<V>>& o) noexcept {
    auto const with_map = [&]<tile_map Map>(std::integral_constant<tile_map, Map>) {
        unroll<tiling<V>::height(Registers)>([&](auto h) {
            if (height == h + 1)
                multiply_tiles<Map, V, h + 1, Registers>(tiles, o);
        });
    };
    if constexpr (Registers == tiling<V>::columns) {
        if (o.map == tile_map::relu)
            return with_map(std::integral_constant<tile_map, tile_map::relu>{});
        if (o.map == tile_map::relu_backward)
            return with_map(std::integral_constant<tile_map, tile_map::relu_backward>{});
        if (o.map == tile_map::tanh_backward)
            return with_map(std::integral_constant<tile_map, tile_map::tanh_backward>{});
    }
    with_map(std::integral_constant<tile_map, tile_map::none>{});
}

/// `rows` rows of the result, in tiles whose heights differ by one at most: a low tile takes as long as one that is half
/// as high again, since each sum waits for the one before.
template <class V, std::size_t Registers>
inline void multiply_strip(std::size_t rows, tile_operands<lanes::scalar_of<V>>& o) noexcept {
    constexpr std::size_t highest = tiling<V>::height(Registers);
    if (rows == 0)
        return;
    std::size_t const tiles = (rows + highest - 1) / highest;
    std::size_t const low = rows / tiles;
    std::size_t const higher = rows % tiles;
    if (higher > 0)
        multiply_tiles_of<V, Registers>(low + 1, higher, o);
    multiply_tiles_of<V, Registers>(low, tiles - higher, o);
}

} // namespace gmac::backends::detail
