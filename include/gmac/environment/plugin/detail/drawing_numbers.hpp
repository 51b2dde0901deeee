// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/environment/detail/checks.hpp>
#include <gmac/environment/drawing.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

/// Drawings as gmac/environment/plugin.h hands them over.
namespace gmac::inline GMAC_ABI::detail {

[[nodiscard]] inline std::vector<float> numbers_of(drawing const& what) {
    std::vector<float> numbers{what.left, what.right, what.bottom, what.top, what.seconds};
    for (auto const& line : what.lines) {
        numbers.push_back(static_cast<float>(line.colour));
        numbers.push_back(static_cast<float>(line.points.size()));
        for (auto const& point : line.points)
            numbers.insert(numbers.end(), point.begin(), point.end());
    }
    return numbers;
}

/// Throws gmac::error, which begins with `where`, for what is no drawing.
[[nodiscard]] inline drawing drawing_of(std::string_view where, std::span<float const> numbers) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
        require(is_finite(numbers[i]), "{}: number {} of the drawing is {}, but must be finite", where, i, numbers[i]);
    require(
        numbers.size() >= 5 && numbers[0] < numbers[1] && numbers[2] < numbers[3] && numbers[4] > 0.0f,
        "{}: the drawing must begin with its window, the left, right, lower and upper end, and the seconds of a step",
        where);
    drawing result{.left = numbers[0],
                   .right = numbers[1],
                   .bottom = numbers[2],
                   .top = numbers[3],
                   .seconds = numbers[4]};
    for (std::size_t at = 5; at < numbers.size();) {
        require(numbers.size() - at >= 2, "{}: the drawing ends within its line {}", where, result.lines.size());
        std::size_t const left = numbers.size() - at - 2, most = left / 2;
        require(numbers[at + 1] >= 1.0f && numbers[at + 1] <= static_cast<float>(most),
                "{}: line {} of the drawing has {} points, but must have 1 at least, and there are {} numbers left",
                where, result.lines.size(), numbers[at + 1], left);
        auto const count = static_cast<std::size_t>(numbers[at + 1]);
        drawing::line line{.colour = static_cast<int>(clip(numbers[at], 4.0f))};
        for (std::size_t i = 0; i < count; ++i)
            line.points.push_back({numbers[at + 2 + 2 * i], numbers[at + 3 + 2 * i]});
        result.lines.push_back(std::move(line));
        at += 2 + 2 * count;
    }
    return result;
}

} // namespace gmac::inline GMAC_ABI::detail
