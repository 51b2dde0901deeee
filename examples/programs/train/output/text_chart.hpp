// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gnuplot.hpp"
#include "progress.hpp"
#include "value_histogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Charts of characters, as lines of equal width.
namespace gmac::examples::train::text_chart {

/// A point of a curve over frames.
struct point {
    double frames = 0.0, value = 0.0;
};

/// As many columns as asked for: cut, or with blanks behind.
[[nodiscard]] inline std::string fit(std::string_view text, std::size_t width) {
    std::string line = detail::cut(text, width);
    return line + std::string(width - detail::columns_of(line), ' ');
}

/// One text at the left end of a line, the other at its right end.
[[nodiscard]] inline std::string ends(std::string_view left, std::string_view right, std::size_t width) {
    std::size_t const taken = detail::columns_of(right);
    return taken < width ? fit(left, width - taken) + std::string(right) : fit(left, width);
}

/// Width of what stands left of a chart: numbers and the axis.
inline constexpr std::size_t margin = 9;

/// Dots in characters of Braille: two across and four down in each.
class dots {
public:
    dots(std::size_t columns, std::size_t rows) : columns_(columns), cells_(columns * rows) {}

    /// Sets the dot x from the left and y from the top.
    void set(std::size_t x, std::size_t y) {
        static constexpr std::array<unsigned, 8> bits{0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80};
        cells_[y / 4 * columns_ + x / 2] |= bits[y % 4 * 2 + x % 2];
    }
    /// Those of a straight line between two dots.
    void join(long x0, long y0, long x1, long y1) {
        long const steps = (std::max)({std::labs(x1 - x0), std::labs(y1 - y0), 1L});
        for (long i = 0; i <= steps; ++i)
            set(static_cast<std::size_t>(x0 + (x1 - x0) * i / steps),
                static_cast<std::size_t>(y0 + (y1 - y0) * i / steps));
    }
    [[nodiscard]] std::string row(std::size_t row) const {
        std::string text;
        for (std::size_t column = 0; column < columns_; ++column)
            if (unsigned const cell = cells_[row * columns_ + column]; cell == 0)
                text += ' ';
            else // U+2800 and the dots, in UTF-8
                for (unsigned const byte : {0xe2u, 0xa0u | cell >> 6u, 0x80u | (cell & 0x3fu)})
                    text += static_cast<char>(byte);
        return text;
    }

private:
    std::size_t columns_;
    std::vector<unsigned> cells_;
};

/// A curve from frame 0 to the last one of the run, with round numbers at its left; `rows` lines and two of its axis.
[[nodiscard]] inline std::vector<std::string> curve(std::span<point const> points, double last_frame, std::size_t width,
                                                    std::size_t rows) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (auto const& [frames, value] : points) {
        low = (std::min)(low, value);
        high = (std::max)(high, value);
        last_frame = (std::max)(last_frame, frames);
    }
    if (points.empty())
        low = 0.0, high = 1.0;
    if (!(high - low > 1e-9 * (std::max)(std::abs(low), std::abs(high)))) {
        double const around = (std::max)(1e-3 * std::abs(low), 0.5);
        low -= around, high += around;
    }
    double const step = gnuplot::tick_step(high - low, (std::max)(static_cast<double>(rows) / 3.0, 2.0));
    std::size_t const columns = width - margin;
    dots canvas(columns, rows);
    auto const place = [](double part, std::size_t count) {
        return static_cast<long>(std::clamp(part, 0.0, 1.0) * static_cast<double>(count - 1) + 0.5);
    };
    auto const x = [&](point const& one) { return place(one.frames / (std::max)(last_frame, 1.0), 2 * columns); };
    auto const y = [&](double value) { return place((high - value) / (high - low), 4 * rows); };
    for (std::size_t i = 0; i < points.size(); ++i) {
        auto const& before = points[i > 0 ? i - 1 : 0];
        canvas.join(x(before), y(before.value), x(points[i]), y(points[i].value));
    }
    std::vector<std::string> numbers(rows, std::string(margin - 1, ' ') + "│");
    for (double i = std::ceil(low / step); i <= std::floor(high / step); ++i)
        numbers[static_cast<std::size_t>(y(i * step)) / 4] =
            fmt::format("{} ┤", fit(fmt::format("{:>{}.5g}", i == 0.0 ? 0.0 : i * step, margin - 2), margin - 2));
    std::vector<std::string> lines;
    for (std::size_t row = 0; row < rows; ++row)
        lines.push_back(numbers[row] + canvas.row(row));
    std::string axis(margin - 1, ' ');
    axis += "└";
    for (std::size_t column = 0; column < columns; ++column)
        axis += "─";
    lines.push_back(axis);
    lines.push_back(std::string(margin, ' ') + ends("0", detail::short_number(last_frame) + " frames", columns));
    return lines;
}

/// A distribution whose weights sum to one as bars, a bucket a column, the likeliest one as high as the chart: `rows` lines
/// and two of its axis.
[[nodiscard]] inline std::vector<std::string> bars(std::vector<density_component> const& distribution,
                                                   std::size_t width, std::size_t rows) {
    static constexpr std::array<std::string_view, 9> eighths{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    auto const histogram = histogram_of(distribution, width);
    double const most = *std::ranges::max_element(histogram.masses);
    std::vector<std::string> lines(rows);
    for (double const mass : histogram.masses) {
        auto const height = static_cast<long>(std::lround(8.0 * static_cast<double>(rows) * mass / most));
        for (std::size_t row = 0; row < rows; ++row)
            lines[row] +=
                eighths[static_cast<std::size_t>(std::clamp(height - 8 * static_cast<long>(rows - 1 - row), 0L, 8L))];
    }
    std::string axis;
    for (std::size_t column = 0; column < width; ++column)
        axis += "─";
    lines.push_back(axis);
    lines.push_back(ends(fmt::format("{:.4g}", histogram.low), fmt::format("{:.4g}", histogram.limits.back()), width));
    return lines;
}

} // namespace gmac::examples::train::text_chart
