// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "value_panel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gmac::examples::train {

/// What is told of a run while it goes.
struct progress {
    std::uint64_t frames = 0;
    std::uint64_t total_frames = 0;
    double mean_return = std::numeric_limits<double>::quiet_NaN(); ///< NaN before the first episode has ended
    std::vector<std::pair<std::string, double>> losses{};
    std::string status{};              ///< a word or two, such as "standing"
    std::vector<value_panel> values{}; ///< what the agent expects of a few states, if somebody wants to see it
};

namespace detail {

/// 512, 51.2k, 2M: at most four characters and a unit.
[[nodiscard]] inline std::string short_number(double value) {
    for (auto const& [unit, name] : {std::pair(1e9, 'G'), std::pair(1e6, 'M'), std::pair(1e3, 'k')})
        if (std::abs(value) >= 0.9995 * unit) {
            double const scaled = value / unit;
            return fmt::format("{:.{}f}{}", scaled,
                               std::abs(scaled) < 9.995   ? 2
                               : std::abs(scaled) < 99.95 ? 1
                                                          : 0,
                               name);
        }
    return fmt::format("{:.0f}", value);
}

/// 7 s is 0:07, an hour 1:00:00.
[[nodiscard]] inline std::string duration(double seconds) {
    if (!(seconds >= 0.0 && seconds < 1e9))
        return "-:--";
    auto const whole = static_cast<std::uint64_t>(seconds + 0.5);
    if (whole >= 3600)
        return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

/// Columns that UTF-8 text takes, if each character takes one.
[[nodiscard]] inline std::size_t columns_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
}

/// At most `width` columns of the text; no character is cut apart.
[[nodiscard]] inline std::string cut(std::string_view text, std::size_t width) {
    std::size_t bytes = 0;
    for (std::size_t columns = 0; bytes < text.size(); ++bytes) {
        bool const first = (static_cast<unsigned char>(text[bytes]) & 0xc0u) != 0x80u;
        if (first && columns++ == width)
            break;
    }
    return std::string(text.substr(0, bytes));
}

/// A control character could move the cursor.
[[nodiscard]] inline std::string without_controls(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; }, ' ');
    return text;
}

} // namespace detail

/// One line of at most `width` columns. What does not fit is left out: first the bar, then the losses, speed, frames.
[[nodiscard]] inline std::string format_progress(progress const& now, double frames_per_second, double seconds_left,
                                                 std::size_t width) {
    struct part {
        std::string text;
        int importance;
    };
    double const done =
        now.total_frames == 0
            ? 0.0
            : std::clamp(static_cast<double>(now.frames) / static_cast<double>(now.total_frames), 0.0, 1.0);
    std::size_t constexpr bar = 20;
    auto const filled = static_cast<std::size_t>(done * static_cast<double>(bar));
    std::vector<part> parts;
    parts.push_back({fmt::format("{:3.0f}%", std::floor(100.0 * done)), 9});
    parts.push_back({fmt::format("[{:<{}}]", std::string(filled, '=') + (filled < bar ? ">" : ""), bar), 0});
    parts.push_back({fmt::format("{} of {} frames", detail::short_number(static_cast<double>(now.frames)),
                                 detail::short_number(static_cast<double>(now.total_frames))),
                     3});
    parts.push_back({std::isfinite(frames_per_second) ? detail::short_number(frames_per_second) + " frames/s"
                                                      : std::string("- frames/s"),
                     2});
    parts.push_back(
        {std::isnan(now.mean_return) ? std::string("return -") : fmt::format("return {:.1f}", now.mean_return), 7});
    for (auto const& [name, value] : now.losses)
        parts.push_back({fmt::format("{} {:.3g}", detail::without_controls(name), value), 1});
    parts.push_back({detail::duration(seconds_left) + " left", 5});
    if (!now.status.empty())
        parts.push_back({detail::without_controls(now.status), 8});

    auto const needed = [&] {
        std::size_t sum = 0;
        for (auto const& one : parts)
            sum += detail::columns_of(one.text) + 2;
        return sum - 2;
    };
    while (parts.size() > 1 && needed() > width)
        parts.erase(std::ranges::min_element(parts, {}, &part::importance));
    std::string line;
    for (auto const& one : parts)
        (line += line.empty() ? "" : "  ") += one.text;
    return detail::cut(line, width);
}

} // namespace gmac::examples::train
