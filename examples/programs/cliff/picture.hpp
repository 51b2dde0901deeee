// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exact.hpp"

#include "train/output/gnuplot.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace gmac::examples::cliff {

/// The cliff, and which share of the episodes passed each cell.
struct panel {
    std::string title{}, explanation{}; ///< above it
    std::array<double, cells> passed{};
};

/// Draws a map a panel to `stem`.png and `stem`.svg. Throws gmac::error, also if gnuplot is missing.
inline void draw(std::filesystem::path const& stem, std::span<panel const> panels) {
    namespace gnuplot = train::gnuplot;
    require(!panels.empty(), "cliff picture: there is no panel to draw");
    // Pixels.
    std::size_t const columns = panels.size() == 4 ? 2 : (std::min<std::size_t>)(3, panels.size());
    std::size_t const rows = (panels.size() + columns - 1) / columns;
    constexpr int cell = 36, width = cell * world::columns, height = cell * world::rows;
    constexpr int panel_width = width + 50, panel_height = height + 90, head = 70;
    gnuplot::picture picture;
    picture.width = static_cast<int>(columns) * panel_width;
    picture.height = static_cast<int>(rows) * panel_height + head;
    picture.plot = fmt::format(
        "set multiplot\nset key off\nunset border\nunset tics\nunset colorbox\nset cbrange [0:1]\n"
        "set palette defined (0 '#f4f4f4', 0.1 '#cfe3f1', 0.5 '#56b4e9', 1 '#0072b2')\n"
        "set xrange [-0.5:{}]\nset yrange [-0.5:{}]\n"
        "set label 'blue: the share of episodes that pass a field, from none to all; brown: the cliff' at screen 0.5, {} "
        "center font ',11' textcolor rgb '#666666'\n",
        gnuplot::number(world::columns - 0.5), gnuplot::number(world::rows - 0.5),
        gnuplot::number(1.0 - 25.0 / picture.height));
    for (std::size_t i = 0; i < panels.size(); ++i) {
        panel const& one = panels[i];
        std::vector<double> x, y, passed;
        for (std::size_t k = 0; k < cells; ++k) {
            x.push_back(place_of(k).column);
            y.push_back(place_of(k).height);
            passed.push_back(one.passed[k]);
        }
        picture.data += gnuplot::data_block(fmt::format("map{}", i), std::array{x, y, passed});
        int const left = static_cast<int>(i % columns) * panel_width + (panel_width - width) / 2;
        int const top = head + static_cast<int>(i / columns) * panel_height + 50;
        auto const down = [&](int pixels) {
            return gnuplot::number(1.0 - static_cast<double>(pixels) / picture.height);
        };
        auto const across = [&](int pixels) { return gnuplot::number(static_cast<double>(pixels) / picture.width); };
        picture.plot += fmt::format(
            "set lmargin at screen {}\nset rmargin at screen {}\nset tmargin at screen {}\nset bmargin at screen {}\n",
            across(left), across(left + width), down(top), down(top + height));
        picture.plot += fmt::format(
            "set object 1 rectangle from 0.5, -0.5 to {}, 0.5 front fillcolor rgb '#6b4a2f' fillstyle solid noborder\n"
            "set label {} at graph 0, 1 left offset 0, 1.7 font ',13' textcolor rgb '#222222'\n"
            "set label {} at graph 0, 1 left offset 0, 0.6 font ',11' textcolor rgb '#444444'\n"
            "set label 'start' at 0, 0 center front font ',9' textcolor rgb '#222222'\n"
            "set label 'goal' at {}, 0 center front font ',9' textcolor rgb '#222222'\n"
            "plot $map{} using 1:2:3 with image\nunset label\nunset object\n",
            gnuplot::number(world::columns - 1.5), gnuplot::literal(one.title), gnuplot::literal(one.explanation),
            world::columns - 1, i);
    }
    picture.plot += "unset multiplot\n";
    gnuplot::draw(stem, picture);
}

} // namespace gmac::examples::cliff
