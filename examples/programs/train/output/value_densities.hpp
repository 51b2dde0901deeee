// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gnuplot.hpp"
#include "value_panel.hpp"

#include <gmac/core/error.hpp>
#include <gmac/distributions/gaussian_mixture.hpp>
#include <gmac/distributions/modes.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace gmac::examples::train {

struct value_densities {
    std::string title;
    std::vector<value_panel> panels;
    std::string x_label = "discounted return from the state on (reward units)";
};

namespace detail {

struct interval {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();

    void include(double a, double b) {
        low = (std::min)(low, a);
        high = (std::max)(high, b);
    }
    [[nodiscard]] double width() const noexcept { return high - low; }
};

/// One panel, ready to be drawn.
struct density_panel {
    value_panel const* source = nullptr;
    std::vector<density_component> components;
    interval range; // where there is something to see
    double mean = 0.0;

    explicit density_panel(value_panel const& panel) : source(&panel), components(components_of(panel)) {
        gmac::require(std::isfinite(panel.return_to_go),
                      "value densities: step {} has the return {}, but it must be "
                      "finite",
                      panel.step, panel.return_to_go);
        double total = 0.0;
        for (auto const& one : components) {
            mean += one.weight * one.mean;
            total += one.weight;
        }
        gmac::require(std::abs(total - 1.0) < 1e-3,
                      "value densities: the weights of step {} add up to {}, but must to 1", panel.step, total);
        range.include(quantile(components, 0.004 * total), quantile(components, 0.996 * total));
        range.include(panel.return_to_go, panel.return_to_go);
        range.include(mean, mean);
        // At least a few numbers of type double must lie in it.
        double const closest = 8.0 * epsilon * (std::max)(std::abs(range.low), std::abs(range.high));
        double const margin = (std::max)(range.width() > 0.0 ? 0.05 * range.width() : 1.0, closest);
        range = {range.low - margin, range.high + margin};
    }

    /// Where the density is drawn: evenly, and closer around each component, so that none is missed.
    [[nodiscard]] std::vector<double> places(interval const& shown) const {
        std::vector<double> x;
        for (int i = 0; i <= 400; ++i)
            x.push_back(shown.low + shown.width() * i / 400.0);
        if (components.size() <= 64)
            for (auto const& one : components)
                for (int i = -40; i <= 40; ++i)
                    if (double const place = one.mean + 0.1 * i * one.deviation;
                        place > shown.low && place < shown.high)
                        x.push_back(place);
        std::ranges::sort(x);
        return x;
    }
};

/// One range for all panels makes them comparable; but a density that would be a spike in it gets its own.
[[nodiscard]] inline std::vector<interval> shown_ranges(std::vector<density_panel> const& panels) {
    interval all;
    double narrowest = std::numeric_limits<double>::infinity();
    for (auto const& panel : panels) {
        all.include(panel.range.low, panel.range.high);
        narrowest = (std::min)(narrowest, panel.range.width());
    }
    std::vector<interval> ranges;
    for (auto const& panel : panels)
        ranges.push_back(all.width() <= 8.0 * narrowest ? all : panel.range);
    return ranges;
}

/// A point mass has no density: it is an arrow, as high as its weight. These commands set them for the next plot.
[[nodiscard]] inline std::string point_masses(std::vector<density_component> const& components) {
    std::string commands;
    for (auto const& [weight, place, deviation] : components)
        if (deviation == 0.0 && weight > 0.0)
            commands += fmt::format(
                "set arrow from first {0}, graph 0 to first {0}, graph {1} head filled size screen "
                "0.006, 20 front linewidth 3 linecolor rgb '{2}'\n",
                gnuplot::number(place), gnuplot::number(0.95 * weight), gnuplot::colours[0]);
    return commands;
}

/// The modes in an interval that a hundredth of the probability gathers around; without points, which are arrows. None of
/// samples: it would be those of the smoothing.
[[nodiscard]] inline std::vector<mode<double>> shown_modes(density_panel const& panel, interval const& shown) {
    std::vector<mode<double>> result;
    if (!panel.source->samples.empty())
        return result;
    double total = 0.0;
    for (auto const& one : panel.components)
        total += one.weight;
    std::vector<normal_component<double>> parts;
    for (auto const& [weight, mean, deviation] : panel.components)
        parts.push_back({weight / total, mean, deviation});
    for (auto const& one : modes(gaussian_mixture<double>(std::move(parts))))
        if (one.mass >= 0.01 && std::isfinite(one.density) && one.location > shown.low && one.location < shown.high)
            result.push_back(one);
    return result;
}
/// Sets a small tick across the curve at each of them for the next plot, whose axis ends at `top`.
[[nodiscard]] inline std::string mode_ticks(density_panel const& panel, interval const& shown, double top) {
    std::string commands;
    for (auto const& one : shown_modes(panel, shown)) {
        double const height = (std::min)(one.density / top, 0.96);
        commands += fmt::format(
            "set arrow from first {0}, graph {1} to first {0}, graph {2} nohead front linewidth 2.5 linecolor rgb "
            "'#222222'\n",
            gnuplot::number(one.location), gnuplot::number(height - 0.04), gnuplot::number(height + 0.04));
    }
    return commands;
}

/// The commands that draw one panel inside the margins set before; its data are added to `data`.
[[nodiscard]] inline std::string draw_panel(density_panel const& panel, interval const& shown, std::size_t index,
                                            std::string& data) {
    value_panel const& source = *panel.source;
    auto const x = panel.places(shown);
    std::vector<double> y;
    for (double const place : x)
        y.push_back(density_at(panel.components, place));
    double const highest = *std::ranges::max_element(y);
    double const top = highest > 0.0 ? 1.08 * highest : 1.0;
    data += gnuplot::data_block(fmt::format("density{}", index), std::vector{x, y});
    std::string plot =
        fmt::format("set xrange [{}:{}]\nset yrange [0:{}]\nset ytics 0, {}\n", gnuplot::number(shown.low),
                    gnuplot::number(shown.high), gnuplot::number(top), gnuplot::number(gnuplot::tick_step(top, 3.0)));
    auto const label = [&](double place, std::string_view side, std::string_view colour, std::string const& text) {
        plot += fmt::format("set label {} at graph {}, 1 {} offset 0, 0.8 front textcolor rgb '{}'\n",
                            gnuplot::literal(text), place, side, colour);
    };
    label(0.0, "left", "#222222", fmt::format("step {}", source.step));
    label(0.7, "right", gnuplot::colours[0], fmt::format("mean {:.4g}", panel.mean));
    label(1.0, "right", gnuplot::colours[1], fmt::format("actual {:.4g}", source.return_to_go));
    auto const line = [&](double place, std::string_view colour, int dashes) {
        plot += fmt::format(
            "set arrow from first {0}, graph 0 to first {0}, graph 1 nohead front linewidth 2 dashtype {1} "
            "linecolor rgb '{2}'\n",
            gnuplot::number(place), dashes, colour);
    };
    line(panel.mean, gnuplot::colours[0], 2);
    line(source.return_to_go, gnuplot::colours[1], 1);
    plot += point_masses(panel.components) + mode_ticks(panel, shown, top);
    plot += fmt::format(
        "plot $density{0} using 1:2 with filledcurves y1=0 fillstyle solid 0.25 noborder linecolor rgb "
        "'{1}' notitle, $density{0} using 1:2 with lines linewidth {2} linecolor rgb '{1}' notitle",
        index, gnuplot::colours[0], highest > 0.0 ? 2.5 : 0.0);
    if (!source.samples.empty()) {
        std::vector<double> const base(source.samples.size(), 0.05 * top);
        data += gnuplot::data_block(fmt::format("samples{}", index), std::vector{source.samples, base});
        plot += fmt::format(", $samples{} using 1:2 with impulses linewidth 1 linecolor rgb '#222222' notitle", index);
    }
    return plot + "\nunset arrow\nunset label\n";
}

} // namespace detail

/// Draws the value densities of a few states of one episode, a panel each, to `stem`.png and `stem`.svg; the mean and the modes
/// of the distribution and the return that the episode really brought are marked. Throws gmac::error, also if gnuplot is
/// missing.
inline void plot_value_densities(std::filesystem::path const& stem, value_densities const& what) {
    gmac::require(!what.panels.empty(), "value densities: there is no panel to draw");
    std::vector<detail::density_panel> panels;
    for (auto const& panel : what.panels)
        panels.emplace_back(panel);
    auto const ranges = detail::shown_ranges(panels);
    bool const shared = ranges.front().low == ranges.back().low && ranges.front().high == ranges.back().high;
    std::size_t const columns = panels.size() > 4 ? 2 : 1;
    std::size_t const rows = (panels.size() + columns - 1) / columns;
    std::size_t const panel_height = shared ? 190 : 204;
    std::size_t const gap = panel_height - 130;
    gnuplot::picture picture;
    picture.height = static_cast<int>(140 + panel_height * rows - (gap - 60));
    auto const across = [&](std::size_t pixels) { return static_cast<double>(pixels) / picture.width; };
    auto const down = [&](std::size_t pixels) { return 1.0 - static_cast<double>(pixels) / picture.height; };
    std::size_t const column_width = static_cast<std::size_t>(picture.width) / columns;

    bool const smoothed = std::ranges::any_of(what.panels, [](auto const& panel) { return !panel.samples.empty(); });
    std::string const legend = fmt::format(
        "density per reward unit; dashed: its mean; ticks: its modes; solid: what this episode brought from the state on{}",
        smoothed ? "; short strokes: samples, smoothed" : "");
    picture.plot = fmt::format("{}set key off\nset multiplot\n", gnuplot::style);
    for (auto const& [text, place, size, colour] :
         {std::tuple(what.title, std::size_t(30), 17, "#222222"), std::tuple(legend, std::size_t(58), 11, "#666666")})
        picture.plot += fmt::format("set label {} at screen 0.5, {} center font ',{}' textcolor rgb '{}'\n",
                                    gnuplot::literal(text), gnuplot::number(down(place)), size, colour);
    for (std::size_t i = 0; i < panels.size(); ++i) {
        std::size_t const top = 108 + panel_height * (i / columns);
        std::size_t const left = column_width * (i % columns);
        bool const lowest = i + columns >= panels.size();
        picture.plot += fmt::format(
            "set tmargin at screen {}\nset bmargin at screen {}\nset lmargin at screen {}\nset rmargin at screen {}\n"
            "set label 'density' at screen {}, {} center rotate\nset xlabel {}\nset format x {}\n",
            gnuplot::number(down(top)), gnuplot::number(down(top + panel_height - gap)),
            gnuplot::number(across(left + 95)), gnuplot::number(across(left + column_width - 30)),
            gnuplot::number(across(left + 22)), gnuplot::number(down(top + (panel_height - gap) / 2)),
            gnuplot::literal(lowest ? what.x_label : ""),
            gnuplot::literal(lowest || !shared ? gnuplot::tick_format(ranges[i].low, ranges[i].high) : ""));
        picture.plot += detail::draw_panel(panels[i], ranges[i], i, picture.data);
    }
    picture.plot += "unset multiplot\n";
    gnuplot::draw(stem, picture);
}

} // namespace gmac::examples::train
