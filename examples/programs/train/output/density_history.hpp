// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gnuplot.hpp"
#include "value_densities.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gmac::examples::train {

/// The value distribution of one state at several moments of a run: `step` of a panel is the number of frames.
struct density_history {
    std::string method;
    std::vector<value_panel> moments;
};

/// A state beside what several methods made of it.
struct density_picture {
    std::string title;
    std::size_t side = 0;             ///< of the screen
    std::vector<std::uint8_t> screen; ///< grey levels, [side, side]
    std::vector<density_history> methods;
};

/// Draws the screen and a panel a method, in which later moments are darker, to `stem`.png and `stem`.svg. Throws
/// gmac::error, also if gnuplot is missing.
inline void plot_density_history(std::filesystem::path const& stem, density_picture const& what) {
    gmac::require(!what.methods.empty(), "value densities: there is no method to draw");
    gmac::require(what.screen.size() == what.side * what.side, "value densities: the screen has {} pixels, not {} x {}",
                  what.screen.size(), what.side, what.side);
    gnuplot::picture picture{.data = {}, .plot = {}, .width = 1280, .height = 480};
    std::vector<std::vector<double>> columns(what.side);
    for (std::size_t i = 0; i < what.screen.size(); ++i)
        columns[i % what.side].push_back(what.screen[i]);
    picture.data += gnuplot::data_block("screen", columns);
    picture.plot = fmt::format(
        "{}set multiplot layout 1,{} title {} font ',16'\nset palette gray\nunset colorbox\nunset key\n"
        "unset tics\nset title 'state'\nset size ratio -1\nset xrange [-0.5:{}]\nset yrange [{}:-0.5]\n"
        "plot $screen matrix with image notitle\nset size noratio\nset xtics nomirror out\nset ytics nomirror out\n"
        "set key top right\nset xlabel 'discounted return (clipped rewards)'\nset ylabel 'density'\n",
        gnuplot::style, what.methods.size() + 1, gnuplot::literal(what.title), what.side - 1, what.side - 1);
    for (std::size_t m = 0; m < what.methods.size(); ++m) {
        auto const& [method, moments] = what.methods[m];
        gmac::require(!moments.empty(), "value densities: {} has no moment to draw", method);
        std::vector<detail::density_panel> panels;
        detail::interval shown;
        for (auto const& moment : moments) {
            panels.emplace_back(moment);
            shown.include(panels.back().range.low, panels.back().range.high);
        }
        std::string lines;
        double top = 0.0;
        for (std::size_t k = 0; k < panels.size(); ++k) {
            auto const x = panels[k].places(shown);
            std::vector<double> y;
            for (double const place : x)
                y.push_back(detail::density_at(panels[k].components, place));
            top = (std::max)(top, *std::ranges::max_element(y));
            picture.data += gnuplot::data_block(fmt::format("density{}_{}", m, k), std::vector{x, y});
            auto const light = static_cast<int>(200 - 200 * (k + 1) / panels.size());
            lines += fmt::format(
                "{} $density{}_{} using 1:2 with lines linewidth 2 linecolor rgb '#{:02x}{:02x}b2' "
                "title '{:.3g} M steps'",
                k == 0 ? "plot" : ",", m, k, light, light, static_cast<double>(moments[k].step) / 1e6);
        }
        picture.plot += fmt::format("set title {}\nset xrange [{}:{}]\nset format x '{}'\nset yrange [0:{}]\n{}\n",
                                    gnuplot::literal(method), gnuplot::number(shown.low), gnuplot::number(shown.high),
                                    gnuplot::tick_format(shown.low, shown.high),
                                    gnuplot::number(top > 0.0 ? 1.2 * top : 1.0), lines);
    }
    picture.plot += "unset multiplot\n";
    gnuplot::draw(stem, picture);
}

} // namespace gmac::examples::train
