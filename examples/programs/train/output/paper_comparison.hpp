// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../evaluate/statistics.hpp"
#include "gnuplot.hpp"
#include "paper_scores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What the paper's Table 4 says of its four methods when it is computed.
namespace gmac::examples::train {

/// One method over the games that have both a random and a human score.
struct paper_summary {
    summary scores; ///< human-normalised, with intervals by bootstrap over games
    std::size_t above_ppo = 0, best = 0;
};

/// `without` names a game that is left out, or none.
[[nodiscard]] inline std::array<paper_summary, paper_methods.size()> summarize_paper(std::string_view without = {}) {
    std::array<std::vector<double>, paper_methods.size()> normalized;
    std::array<paper_summary, paper_methods.size()> result;
    for (paper_score const& row : paper_scores) {
        if (std::isnan(row.random) || std::isnan(row.human) || row.game == without)
            continue;
        double const highest = *std::ranges::max_element(row.methods);
        for (std::size_t m = 0; m < row.methods.size(); ++m) {
            normalized[m].push_back((row.methods[m] - row.random) / (row.human - row.random));
            result[m].above_ppo += row.methods[m] > row.methods[0] ? 1u : 0u;
            result[m].best += row.methods[m] == highest ? 1u : 0u;
        }
    }
    for (std::size_t m = 0; m < result.size(); ++m)
        result[m].scores = summarize(normalized[m]);
    return result;
}

/// A table in Markdown, a column a method: mean, median and interquartile mean with 95 % intervals, and counts of games,
/// once with all games and once without the one that carries the mean.
[[nodiscard]] inline std::string paper_table() {
    std::string text = "| human-normalised |";
    for (auto const method : paper_methods)
        text += fmt::format(" {} |", method);
    text += "\n| --- |";
    for (std::size_t m = 0; m < paper_methods.size(); ++m)
        text += " ---: |";
    text += '\n';
    for (std::string_view const without : {"", "demon_attack"}) {
        auto const all = summarize_paper(without);
        auto const line = [&](std::string_view name, auto&& cell) {
            text += fmt::format("| {}{} |", name, without.empty() ? "" : ", without demon_attack");
            for (paper_summary const& one : all)
                text += fmt::format(" {} |", cell(one));
            text += '\n';
        };
        auto const interval = [](estimate const& e) {
            return fmt::format("{:.2f} ({:.2f} … {:.2f})", e.value, e.low, e.high);
        };
        line("mean", [&](paper_summary const& one) { return interval(one.scores.mean); });
        line("median", [&](paper_summary const& one) { return interval(one.scores.median); });
        line("interquartile mean", [&](paper_summary const& one) { return interval(one.scores.interquartile_mean); });
        line("games above ppo", [](paper_summary const& one) { return one.above_ppo; });
        line("best of the four, ties counted", [](paper_summary const& one) { return one.best; });
    }
    return text;
}

/// Draws mean, median and interquartile mean with their intervals, with and without the game that carries the mean, as
/// `stem`.png and `stem`.svg.
inline void plot_paper_comparison(std::filesystem::path const& stem) {
    std::array const panels{std::pair{std::string_view("mean"), &summary::mean},
                            std::pair{std::string_view("median"), &summary::median},
                            std::pair{std::string_view("interquartile mean"), &summary::interquartile_mean}};
    std::string names;
    for (std::size_t m = 0; m < paper_methods.size(); ++m)
        names += fmt::format("{}{} {}", m == 0 ? "" : ", ", gnuplot::literal(paper_methods[m]), m);
    gnuplot::picture what;
    what.height = 420;
    what.plot = std::string(gnuplot::style) +
                fmt::format(
                    "set multiplot layout 1,3 title 'Scores of the paper, 55 games, human-normalised, with 95 % "
                    "intervals over games'\nset xrange [-0.5:3.5]\nset xtics ({})\n",
                    names);
    for (std::size_t p = 0; p < panels.size(); ++p) {
        what.plot +=
            fmt::format("set title '{}'\nset key {}\nplot ", panels[p].first, p == 1 ? "top left Left reverse" : "off");
        for (std::size_t side = 0; side < 2; ++side) {
            std::array<std::vector<double>, 4> columns;
            auto const all = summarize_paper(side == 0 ? "" : "demon_attack");
            for (std::size_t m = 0; m < all.size(); ++m) {
                estimate const& e = all[m].scores.*panels[p].second;
                columns[0].push_back(static_cast<double>(m) + (side == 0 ? -0.12 : 0.12));
                columns[1].push_back(e.value);
                columns[2].push_back(e.low);
                columns[3].push_back(e.high);
            }
            std::string const block = fmt::format("panel{}{}", p, side);
            what.data += gnuplot::data_block(block, columns);
            what.plot += fmt::format(
                "{}${} using 1:2:3:4 with yerrorbars pointtype 7 linewidth 2 linecolor rgb '{}' "
                "title '{}'",
                side == 0 ? "" : ", ", block, gnuplot::colours[side], side == 0 ? "all games" : "no demon_attack");
        }
        what.plot += '\n';
    }
    what.plot += "unset multiplot\n";
    gnuplot::draw(stem, what);
}

} // namespace gmac::examples::train
