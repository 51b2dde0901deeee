// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gnuplot.hpp"
#include "value_densities.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace gmac::examples::train {

/// What a method made of a state at one moment of its run: `step` of the panel is the number of frames.
struct density_moment {
    value_panel panel;
    std::vector<double> returns{}; ///< what games brought that went on from the state with the policy of this moment
    double distance = std::numeric_limits<double>::quiet_NaN(); ///< energy distance from them to the density
};

/// The value distribution of one state at several moments of a run.
struct density_history {
    std::string method;
    std::vector<density_moment> moments;
};

/// A state beside what several methods made of it.
struct density_picture {
    std::string title;
    std::size_t side = 0;             ///< of the screen
    std::vector<std::uint8_t> screen; ///< red, green and blue, [side, side, 3]
    std::vector<density_history> methods;
};

namespace detail {

/// Bars of equal width over an interval: middle and density of each.
[[nodiscard]] inline std::vector<std::vector<double>> histogram(std::vector<double> const& values, interval over) {
    constexpr std::size_t bars = 40;
    double const width = over.width() / static_cast<double>(bars);
    std::vector<std::vector<double>> columns(2, std::vector<double>(bars));
    for (std::size_t i = 0; i < bars; ++i)
        columns[0][i] = over.low + (static_cast<double>(i) + 0.5) * width;
    for (double const value : values) {
        auto const bar = static_cast<std::size_t>((std::max)(0.0, (value - over.low) / width));
        columns[1][(std::min)(bar, bars - 1)] += 1.0 / (static_cast<double>(values.size()) * width);
    }
    return columns;
}

} // namespace detail

/// Draws the state, and beside it a row a method and a column a moment: the density, with a stroke for each sample if it is
/// made of samples, over a histogram of the returns if there are any, to `stem`.png and `stem`.svg. Throws gmac::error, also if gnuplot is missing.
inline void plot_density_history(std::filesystem::path const& stem, density_picture const& what) {
    gmac::require(!what.methods.empty(), "value densities: there is no method to draw");
    gmac::require(what.screen.size() == 3 * what.side * what.side,
                  "value densities: the screen has {} numbers, not 3 x {} x {}", what.screen.size(), what.side,
                  what.side);
    std::size_t columns = 0;
    detail::interval shown;
    std::vector<std::vector<detail::density_panel>> panels;
    for (auto const& [method, moments] : what.methods) {
        gmac::require(!moments.empty(), "value densities: {} has no moment to draw", method);
        columns = (std::max)(columns, moments.size());
        auto& row = panels.emplace_back();
        for (auto const& moment : moments) {
            row.emplace_back(moment.panel);
            shown.include(row.back().range.low, row.back().range.high);
            if (!moment.returns.empty()) {
                auto const [low, high] = std::ranges::minmax(moment.returns);
                shown.include(low, high);
            }
        }
    }
    std::size_t const rows = what.methods.size();
    gnuplot::picture picture{.data = {},
                             .plot = {},
                             .width = static_cast<int>(240 + 300 * columns),
                             .height = static_cast<int>(60 + 210 * rows)};
    std::vector<std::vector<double>> pixels(5);
    for (std::size_t y = 0; y < what.side; ++y)
        for (std::size_t x = 0; x < what.side; ++x) {
            pixels[0].push_back(static_cast<double>(x));
            pixels[1].push_back(static_cast<double>(y));
            for (std::size_t k = 0; k < 3; ++k)
                pixels[2 + k].push_back(what.screen[3 * (y * what.side + x) + k]);
        }
    picture.data += gnuplot::data_block("screen", pixels);
    // In parts of the picture: the state takes the left, the panels the rest.
    double const left = 230.0 / picture.width, top = 1.0 - 40.0 / picture.height;
    double const width = (1.0 - left) / static_cast<double>(columns), height = top / static_cast<double>(rows);
    picture.plot = fmt::format(
        "{}set multiplot title {} font ',16'\nunset key\nunset tics\nset size {},{}\nset origin 0,{}\nset size ratio -1\n"
        "set xrange [-0.5:{}]\nset yrange [{}:-0.5]\nset title 'state'\n"
        "plot $screen using 1:2:3:4:5 with rgbimage notitle\n"
        "set size noratio\nset xtics nomirror out\nset ytics nomirror out\nset style fill solid 1.0 noborder\n"
        "set boxwidth 1 relative\nset xrange [{}:{}]\nset format x '{}'\n",
        gnuplot::style, gnuplot::literal(what.title), left, top, 0.0, static_cast<double>(what.side) - 0.5,
        static_cast<double>(what.side) - 0.5, gnuplot::number(shown.low), gnuplot::number(shown.high),
        gnuplot::tick_format(shown.low, shown.high));
    for (std::size_t m = 0; m < rows; ++m)
        for (std::size_t k = 0; k < panels[m].size(); ++k) {
            density_moment const& moment = what.methods[m].moments[k];
            auto const x = panels[m][k].places(shown);
            std::vector<double> y;
            for (double const place : x)
                y.push_back(detail::density_at(panels[m][k].components, place));
            double highest = *std::ranges::max_element(y);
            picture.data += gnuplot::data_block(fmt::format("density{}_{}", m, k), std::vector{x, y});
            std::string line =
                fmt::format("$density{}_{} using 1:2 with lines linewidth 2 linecolor rgb '{}' title 'predicted'", m, k,
                            gnuplot::colours[0]);
            std::string title =
                fmt::format("{}, {:.3g} M", what.methods[m].method, static_cast<double>(moment.panel.step) / 1e6);
            if (!moment.returns.empty()) {
                auto const bars = detail::histogram(moment.returns, shown);
                picture.data += gnuplot::data_block(fmt::format("returns{}_{}", m, k), bars);
                line = fmt::format("$returns{}_{} using 1:2 with boxes linecolor rgb '#c8c8c8' title 'played', {}", m,
                                   k, line);
                title += fmt::format(": {:.2g} away", moment.distance);
                // A few high bars do not hide the line.
                double const bar = *std::ranges::max_element(bars[1]);
                highest = highest > 0.0 ? (std::min)((std::max)(highest, bar), 3.0 * highest) : bar;
            }
            double const highest_shown = highest > 0.0 ? 1.1 * highest : 1.0;
            if (auto const& samples = moment.panel.samples; !samples.empty()) {
                std::vector<double> const strokes(samples.size(), 0.06 * highest_shown);
                picture.data += gnuplot::data_block(fmt::format("samples{}_{}", m, k), std::vector{samples, strokes});
                line +=
                    fmt::format(", $samples{}_{} using 1:2 with impulses linewidth 1 linecolor rgb '#222222' notitle",
                                m, k);
            }
            picture.plot += fmt::format(
                "set size {},{}\nset origin {},{}\nset title {} font ',11'\nset yrange [0:{}]\nset ytics 0, {}\n{}\n{}\n{}{}plot {}\n"
                "unset arrow\n",
                width, height, left + width * static_cast<double>(k), height * static_cast<double>(rows - 1 - m),
                gnuplot::literal(title), gnuplot::number(highest_shown),
                gnuplot::number(gnuplot::tick_step(highest_shown, 3.0)),
                m + 1 == rows ? "set xlabel 'discounted return'" : "unset xlabel",
                k == 0 ? "set ylabel 'density'" : "unset ylabel",
                m == 0 && k == 0 ? "set key top right\n" : "unset key\n",
                detail::point_masses(panels[m][k].components) + detail::mode_ticks(panels[m][k], shown, highest_shown),
                line);
        }
    picture.plot += "unset multiplot\n";
    gnuplot::draw(stem, picture);
}

} // namespace gmac::examples::train
