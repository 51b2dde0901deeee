// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <gmac/core/detail/transpose.hpp>
#include <gmac/core/lanes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

using namespace gmac;

TEST_CASE("Tiles go from any layout to lanes and back", "[core]") {
    auto const look = [](auto lane_type) {
        using V = decltype(lane_type);
        using T = lanes::scalar_of<V>;
        constexpr std::size_t width = lanes::width_of<V>;
        for (std::size_t rows : {std::size_t(1), width - 1, width, 2 * width + 1})
            for (std::size_t cols : {1u, 5u, 16u, 37u}) {
                std::vector<T> memory(6 * rows * cols, T(-1)), copy(memory);
                auto const r = static_cast<std::ptrdiff_t>(rows);
                auto const c = static_cast<std::ptrdiff_t>(cols);
                std::array<std::array<std::ptrdiff_t, 2>, 3> const strides{{{c, 1}, {1, r}, {3 * c, 2}}};
                for (auto const& [row_stride, col_stride] : strides) {
                    std::ranges::fill(memory, T(-1));
                    std::ranges::fill(copy, T(-1));
                    matrix_view<T> const matrix(memory.data(), rows, cols, row_stride, col_stride);
                    matrix_view<T> const back(copy.data(), rows, cols, row_stride, col_stride);
                    for (std::size_t i = 0; i < rows; ++i)
                        for (std::size_t j = 0; j < cols; ++j)
                            matrix(i, j) = static_cast<T>(100 * i + j);
                    std::vector<V> tile(cols);
                    for (std::size_t first = 0; first < rows; first += width) {
                        std::size_t const count = (std::min)(width, rows - first);
                        // Some columns in the middle, then all.
                        for (std::size_t const left : {cols / 3, std::size_t(0)}) {
                            lanes::read_columns<V>(matrix, first, left, cols - 2 * left, tile.data(), count);
                            for (std::size_t j = 0; j < cols - 2 * left; ++j) {
                                std::array<T, width> lanes_of_tile;
                                if constexpr (width == 1)
                                    lanes_of_tile[0] = tile[j];
                                else
                                    tile[j].store_unaligned(lanes_of_tile.data());
                                for (std::size_t l = 0; l < width; ++l)
                                    REQUIRE(lanes_of_tile[l] == matrix(first + (std::min)(l, count - 1), left + j));
                            }
                        }
                        lanes::write_columns<V>(tile.data(), back, first, 0, cols, count);
                    }
                    REQUIRE(copy == memory);
                }
            }
    };
    look(lanes::widest<float>());
    look(lanes::widest<double>());
    look(0.0);
}
