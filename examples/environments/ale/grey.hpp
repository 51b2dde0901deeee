// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "emulator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace gmac::examples::ale {

/// How the pixel maximum of two frames becomes grey.
enum class grey_rule {
    maximum_colour, ///< the maximum of each colour channel, then its luminance as OpenCV rounds it: the field's Python code
    maximum_grey ///< the luminance of each frame as ALE's palette has it, then the maximum: ALE's vector environment
};

struct rgb {
    std::uint32_t red, green, blue;

    explicit constexpr rgb(std::uint32_t colour) noexcept
        : red(colour >> 16u & 0xffu), green(colour >> 8u & 0xffu), blue(colour & 0xffu) {}
};

/// 0.299 R + 0.587 G + 0.114 B in fixed point with 14 bits, as OpenCV's cvtColor with COLOR_RGB2GRAY.
[[nodiscard]] constexpr std::uint8_t opencv_luminance(std::uint32_t red, std::uint32_t green,
                                                      std::uint32_t blue) noexcept {
    return static_cast<std::uint8_t>((red * 4899u + green * 9617u + blue * 1868u + (1u << 13u)) >> 14u);
}

/// 0.2989 R + 0.587 G + 0.114 B, rounded, as in ALE's ColourPalette.
[[nodiscard]] inline std::uint8_t ale_luminance(rgb colour) noexcept {
    return static_cast<std::uint8_t>(std::lround(0.2989 * colour.red + 0.587 * colour.green + 0.114 * colour.blue));
}

/// The grey image of the pixel maximum of two screens. There are 128 colours, so the grey of each pair is looked up.
class grey_maximum {
public:
    grey_maximum(palette const& colours, grey_rule rule) : table_(128 * 128), same_(256) {
        for (std::size_t a = 0; a < 128; ++a)
            for (std::size_t b = 0; b < 128; ++b)
                table_[128 * a + b] = of_pair(rgb(colours[a]), rgb(colours[b]), rule);
        for (std::size_t a = 0; a < 256; ++a)
            same_[a] = table_[129 * (a / 2)];
    }

    /// Palette numbers of one line of two screens → grey levels, [columns] each.
    void operator()(std::span<std::uint8_t const> previous, std::span<std::uint8_t const> latest,
                    std::span<std::uint8_t> grey) const noexcept {
        if (std::memcmp(previous.data(), latest.data(), grey.size()) == 0) { // most lines
            for (std::size_t i = 0; i < grey.size(); ++i)
                grey[i] = same_[latest[i]];
            return;
        }
        for (std::size_t i = 0; i < grey.size(); ++i)
            grey[i] = table_[previous[i] * 64u + latest[i] / 2u];
    }

private:
    [[nodiscard]] static std::uint8_t of_pair(rgb a, rgb b, grey_rule rule) noexcept {
        if (rule == grey_rule::maximum_grey)
            return (std::max)(ale_luminance(a), ale_luminance(b));
        return opencv_luminance((std::max)(a.red, b.red), (std::max)(a.green, b.green), (std::max)(a.blue, b.blue));
    }
    std::vector<std::uint8_t> table_; // [128, 128] by previous and latest colour
    std::vector<std::uint8_t> same_;  // [256] by the palette number of both
};

/// The lines of the grey image of two screens.
struct grey_lines {
    grey_maximum const& grey;
    std::span<std::uint8_t const> previous, latest; // palette numbers, [rows, columns]
    std::size_t columns;

    /// Most lines are like the one above, since games draw in blocks.
    [[nodiscard]] bool repeats(std::size_t row) const noexcept {
        auto const like_above = [&](std::span<std::uint8_t const> screen) {
            return std::memcmp(screen.data() + row * columns, screen.data() + (row - 1) * columns, columns) == 0;
        };
        return like_above(latest) && like_above(previous);
    }
    void read(std::size_t row, std::span<std::uint8_t> line) const noexcept {
        grey(previous.subspan(row * columns, columns), latest.subspan(row * columns, columns), line);
    }
};

} // namespace gmac::examples::ale
