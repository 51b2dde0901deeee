// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "game.hpp"

#include <gmac/core/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace minatar {

/// An observation as a picture: red, green and blue of 10 × 10 pixels, row by row. Each channel has a colour of its own,
/// which readers who confuse colours tell apart by its lightness too; where two channels share a cell the later one is
/// seen. Throws gmac::error for bytes that are no observation.
[[nodiscard]] inline std::vector<std::uint8_t> picture(std::span<std::uint8_t const> observation) {
    using colour = std::array<std::uint8_t, 3>;
    constexpr std::array<colour, 10> colours{{{230, 159, 0},
                                              {255, 255, 255},
                                              {90, 110, 140},
                                              {0, 114, 178},
                                              {86, 180, 233},
                                              {204, 121, 167},
                                              {0, 158, 115},
                                              {240, 228, 66},
                                              {213, 94, 0},
                                              {150, 220, 180}}};
    constexpr std::size_t cells = std::size_t{side} * side;
    std::size_t const channels = observation.size() / cells;
    gmac::require(channels >= 1 && channels <= colours.size() && observation.size() == channels * cells,
                  "minatar: {} bytes are no observation, which has {} cells of 1 to {} channels", observation.size(),
                  cells, colours.size());
    std::vector<std::uint8_t> pixels;
    pixels.reserve(3 * cells);
    for (std::size_t cell = 0; cell < cells; ++cell) {
        colour shown{20, 20, 28};
        for (std::size_t k = 0; k < channels; ++k)
            if (observation[cell * channels + k] != 0)
                shown = colours[k];
        pixels.insert(pixels.end(), shown.begin(), shown.end());
    }
    return pixels;
}

} // namespace minatar
