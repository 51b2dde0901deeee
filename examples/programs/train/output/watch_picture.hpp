// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "progress.hpp"
#include "text_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gmac::examples::train {

/// A run as a picture for a terminal: its progress line, the mean return over frames, and the distribution of what the agent
/// expects of the states that it has just seen.
class watch_picture {
public:
    static constexpr std::size_t least_columns = 40, least_rows = 16;

    /// `history` is of the run before, with rising frames; `colours` are those that the terminal has set for cyan and yellow.
    explicit watch_picture(std::string title, std::vector<text_chart::point> const& history = {}, bool colours = false)
        : title_(detail::without_controls(std::move(title))), colours_(colours) {
        for (auto const& one : history)
            add(one);
    }

    /// Adds a point of the curve. One that is not finite is left out: no episode has ended yet.
    void add(text_chart::point one) {
        if (!std::isfinite(one.value))
            return;
        if (returns_.size() == most_points) // every other one is enough for any terminal
            for (std::size_t i = 0; 2 * i < returns_.size(); ++i)
                returns_[i] = returns_[2 * i];
        if (returns_.size() == most_points)
            returns_.resize(most_points / 2);
        returns_.push_back(one);
    }
    /// Text that is shown below the picture, the latest lines of it.
    void note(std::string_view text) { notes_.emplace_back(text); }
    [[nodiscard]] std::vector<std::string> const& notes() const noexcept { return notes_; }

    /// At most `rows` lines of at most `columns` columns, besides the codes of colours.
    [[nodiscard]] std::vector<std::string> lines(progress const& now, double frames_per_second, double seconds_left,
                                                 std::size_t columns, std::size_t rows) const {
        std::string const line = format_progress(now, frames_per_second, seconds_left, columns);
        std::vector<std::string> lines{detail::cut(title_, columns), line, {}};
        if (columns < least_columns || rows < least_rows) {
            lines = {line, detail::cut(fmt::format("too small: needs {} x {}", least_columns, least_rows), columns)};
            lines.resize((std::min)(lines.size(), rows));
            return lines;
        }
        std::size_t const room = rows - 12; // for curve and bars: besides head, headlines, axes and two lines of notes
        std::size_t const bars = now.values.empty() ? 0 : room * 2 / 5;
        lines.push_back(returns_.empty()
                            ? "mean return of the last 100 episodes: none has ended yet"
                            : fmt::format("mean return of the last 100 episodes: {:.5g}", returns_.back().value));
        lines.back() = detail::cut(lines.back(), columns);
        paint(lines, text_chart::curve(returns_, static_cast<double>(now.total_frames), columns, room - bars), 36,
              text_chart::margin);
        if (bars > 0) {
            lines.emplace_back();
            for (std::string& part : densities(now.values, columns, bars))
                lines.push_back(std::move(part));
        }
        std::size_t const shown = (std::min)(notes_.size(), rows - lines.size());
        for (std::size_t i = notes_.size() - shown; i < notes_.size(); ++i)
            lines.push_back(detail::cut(detail::without_controls(notes_[i]), columns));
        return lines;
    }

private:
    static constexpr std::size_t most_points = 4096;

    /// A headline, bars, and an axis of all states together, and beside it of the last one, if there is room.
    [[nodiscard]] std::vector<std::string> densities(std::vector<value_panel> const& values, std::size_t columns,
                                                     std::size_t rows) const {
        constexpr std::size_t gap = 3;
        bool const both = columns >= 2 * 30 + gap && values.size() > 1;
        std::size_t const width = both ? (columns - gap) / 2 : columns;
        auto const chart = [&](std::string_view what, std::span<value_panel const> of) {
            std::vector<density_component> mixture;
            for (auto const& panel : of)
                for (auto const& [weight, mean, deviation] : detail::components_of(panel))
                    mixture.push_back({weight / static_cast<double>(of.size()), mean, deviation});
            double mean = 0.0;
            for (auto const& one : mixture)
                mean += one.weight * one.mean;
            auto drawn = text_chart::bars(mixture, width, rows);
            drawn.insert(drawn.begin(), text_chart::fit(fmt::format("{}: mean {:.4g}", what, mean), width));
            return drawn;
        };
        auto const all = chart(both || columns >= 50 ? "value of states just seen" : "value", values);
        std::vector<std::string> one;
        if (both)
            one = chart("value of one of them", std::span(values).last(1));
        std::vector<std::string> lines;
        for (std::size_t i = 0; i < all.size(); ++i) {
            bool const bar = i > 0 && i <= rows;
            auto const coloured = [&](std::string const& text) { return bar ? in_colour(text, 33) : text; };
            lines.push_back(coloured(all[i]) + (both ? std::string(gap, ' ') + coloured(one[i]) : std::string()));
        }
        return lines;
    }

    [[nodiscard]] std::string in_colour(std::string const& text, int colour) const {
        return colours_ ? fmt::format("\x1b[{}m{}\x1b[39m", colour, text) : text;
    }
    /// Adds a chart whose lines begin with `plain` columns that have no colour, and that ends with two such lines.
    void paint(std::vector<std::string>& lines, std::vector<std::string> const& chart, int colour,
               std::size_t plain) const {
        for (std::size_t i = 0; i < chart.size(); ++i) {
            std::string const begin = detail::cut(chart[i], plain);
            lines.push_back(i + 2 < chart.size() ? begin + in_colour(chart[i].substr(begin.size()), colour) : chart[i]);
        }
    }

    std::string title_;
    bool colours_;
    std::vector<text_chart::point> returns_;
    std::vector<std::string> notes_;
};

} // namespace gmac::examples::train
