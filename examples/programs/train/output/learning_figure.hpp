// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "learning_curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace gmac::examples::train {

/// Learning curves on several environments, a panel each; a method has one colour in all of them.
struct learning_figure {
    std::string title;
    std::vector<learning_curve> panels; ///< their titles stand above them
};

/// Draws the figure to `stem`.png and `stem`.svg. Throws gmac::error, also if gnuplot is missing.
inline void plot_learning_figure(std::filesystem::path const& stem, learning_figure const& what) {
    gmac::require(!what.panels.empty(), "learning figure: there is no panel to draw");
    std::vector<std::string> methods;
    for (learning_curve const& panel : what.panels)
        detail::add_methods(methods, panel);

    // Pixels.
    std::size_t const columns = what.panels.size() == 4 ? 2 : (std::min<std::size_t>)(3, what.panels.size());
    std::size_t const rows = (what.panels.size() + columns - 1) / columns;
    std::size_t constexpr head = 52, key = 50, panel_width = 440, panel_height = 384;
    gnuplot::picture picture;
    picture.width = static_cast<int>(columns * panel_width);
    picture.height = static_cast<int>(head + rows * panel_height + key);
    auto const across = [&](std::size_t pixels) { return static_cast<double>(pixels) / picture.width; };
    auto const down = [&](std::size_t pixels) { return 1.0 - static_cast<double>(pixels) / picture.height; };
    auto const margins = [&](std::size_t left, std::size_t right, std::size_t top, std::size_t bottom) {
        return fmt::format(
            "set lmargin at screen {}\nset rmargin at screen {}\nset tmargin at screen {}\nset bmargin at screen {}\n",
            gnuplot::number(across(left)), gnuplot::number(across(right)), gnuplot::number(down(top)),
            gnuplot::number(down(bottom)));
    };

    picture.plot = fmt::format(
        "{}set multiplot\nset key off\nset title font ',13' textcolor rgb '#222222'\n"
        "set label {} at screen 0.5, {} center font ',16' textcolor rgb '#222222'\n",
        gnuplot::style, gnuplot::literal(what.title), gnuplot::number(down(22)));
    std::vector<detail::learning_curve_plot> plots;
    for (std::size_t i = 0; i < what.panels.size(); ++i)
        plots.emplace_back(what.panels[i], methods, fmt::format("panel{}", i));
    if (std::ranges::any_of(plots, &detail::learning_curve_plot::has_spread))
        picture.plot += fmt::format("set label {} at screen 0.5, {} center font ',11' textcolor rgb '#666666'\n",
                                    gnuplot::literal(detail::spread_legend), gnuplot::number(down(44)));
    for (std::size_t i = 0; i < what.panels.size(); ++i) {
        detail::learning_curve_plot const& curves = plots[i];
        picture.data += curves.data();
        std::size_t const left = panel_width * (i % columns);
        std::size_t const top = head + panel_height * (i / columns);
        picture.plot += margins(left + 100, left + panel_width - 35, top + 50, top + panel_height - 64) +
                        fmt::format("set ylabel '{}' offset 1, 0\n", i % columns == 0 ? "return of an episode" : "") +
                        curves.plot(4.0) + "\nunset label\n";
    }
    // One key for all panels: lines that lie outside of an empty plot.
    std::size_t const bottom = head + rows * panel_height;
    picture.plot += margins(0, columns * panel_width, bottom, bottom + key) +
                    "unset title\nunset xlabel\nunset ylabel\nunset border\nunset tics\nset xrange [0:1]\nset yrange "
                    "[0:1]\nset key on center center horizontal Left reverse\nplot ";
    for (std::size_t i = 0; i < methods.size(); ++i)
        picture.plot += fmt::format("{}-1 with lines linewidth 3.5 linecolor rgb '{}' title {}", i == 0 ? "" : ", ",
                                    detail::colour_of(i), gnuplot::literal(methods[i]));
    picture.plot += "\nunset multiplot\n";
    gnuplot::draw(stem, picture);
}

} // namespace gmac::examples::train
