// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gnuplot.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <numbers>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace gmac::examples::train {

/// A part of a value distribution; a deviation of 0 is a point mass.
struct density_component {
    double weight = 1.0;
    double mean = 0.0;
    double deviation = 0.0;
};

/// The value distribution of one state of an episode. Give either components or samples of equal weight. All numbers
/// are in the environment's reward units: multiply by the scale if rewards were normalised.
struct value_panel {
    std::uint64_t step = 0;
    double return_to_go = 0.0; ///< what the episode brought from this state on, discounted
    std::vector<density_component> components{};
    std::vector<double> samples{};
};

struct value_densities {
    std::string title;
    std::vector<value_panel> panels;
    std::string x_label = "discounted return from the state on (reward units)";
};

namespace detail {

/// The components as they are, or a Gaussian around each sample: Silverman's rule of thumb, with the deviation.
[[nodiscard]] inline std::vector<density_component> components_of(value_panel const& panel) {
    gmac::require(panel.components.empty() != panel.samples.empty(),
                  "value densities: the panel of step {} must have either components or samples", panel.step);
    for (auto const& one : panel.components)
        gmac::require(one.weight >= 0.0 && std::isfinite(one.weight) && std::isfinite(one.mean) &&
                          one.deviation >= 0.0 && std::isfinite(one.deviation),
                      "value densities: step {} has the component (weight {}, mean {}, deviation {}), but weight and "
                      "deviation must not be negative and all must be finite",
                      panel.step, one.weight, one.mean, one.deviation);
    if (panel.samples.empty())
        return panel.components;
    auto const count = static_cast<double>(panel.samples.size());
    double mean = 0.0;
    for (double const sample : panel.samples) {
        gmac::require(std::isfinite(sample), "value densities: step {} has the sample {}, but all must be finite",
                      panel.step, sample);
        mean += sample / count;
    }
    double variance = 0.0;
    for (double const sample : panel.samples)
        variance += (sample - mean) * (sample - mean) / count;
    double const bandwidth = 1.06 * std::sqrt(variance) * std::pow(count, -0.2);
    std::vector<density_component> result;
    for (double const sample : panel.samples)
        result.push_back({1.0 / count, sample, bandwidth});
    return result;
}

[[nodiscard]] inline double density_at(std::vector<density_component> const& components, double x) {
    double sum = 0.0;
    for (auto const& [weight, mean, deviation] : components)
        if (deviation > 0.0) {
            double const z = (x - mean) / deviation;
            sum += weight / (deviation * std::sqrt(2.0 * std::numbers::pi)) * std::exp(-0.5 * z * z);
        }
    return sum;
}

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
    double peak = 0.0;

    explicit density_panel(value_panel const& panel) : source(&panel), components(components_of(panel)) {
        gmac::require(std::isfinite(panel.return_to_go),
                      "value densities: step {} has the return {}, but it must be "
                      "finite",
                      panel.step, panel.return_to_go);
        range.include(panel.return_to_go, panel.return_to_go);
        for (auto const& [weight, centre, deviation] : components) {
            mean += weight * centre;
            if (weight > 1e-3)
                range.include(centre - 3.5 * deviation, centre + 3.5 * deviation);
        }
        double const margin = range.width() > 0.0 ? 0.05 * range.width() : 1.0;
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

/// The commands that draw one panel; its data are added to `data`.
[[nodiscard]] inline std::string draw_panel(density_panel const& panel, interval const& shown, std::size_t index,
                                            std::string& data) {
    auto const x = panel.places(shown);
    std::vector<double> y;
    for (double const place : x)
        y.push_back(density_at(panel.components, place));
    double peak = *std::ranges::max_element(y);
    bool const smooth = peak > 0.0;
    peak = smooth ? peak : 1.0;
    data += gnuplot::data_block(fmt::format("density{}", index), std::vector{x, y});
    std::string plot = fmt::format("set xrange [{}:{}]\nset yrange [0:{}]\n", gnuplot::number(shown.low),
                                   gnuplot::number(shown.high), gnuplot::number(1.3 * peak));
    plot += fmt::format("set label 1 {} at graph 0.012, 0.88 left front textcolor rgb '#222222'\n",
                        gnuplot::literal(fmt::format("step {}", panel.source->step)));
    plot += fmt::format("set label 2 {} at graph 0.988, 0.88 right front textcolor rgb '{}'\n",
                        gnuplot::literal(fmt::format("actual return {:.4g}", panel.source->return_to_go)),
                        gnuplot::colours[1]);
    plot += fmt::format("set label 3 {} at graph 0.988, 0.70 right front textcolor rgb '{}'\n",
                        gnuplot::literal(fmt::format("predicted mean {:.4g}", panel.mean)), gnuplot::colours[0]);
    for (auto const& [place, colour, dashes] : {std::tuple(panel.mean, gnuplot::colours[0], 2),
                                                std::tuple(panel.source->return_to_go, gnuplot::colours[1], 1)})
        plot += fmt::format(
            "set arrow from first {0}, graph 0 to first {0}, graph 0.97 nohead front linewidth 2 dashtype "
            "{1} linecolor rgb '{2}'\n",
            gnuplot::number(place), dashes, colour);
    // A point mass has no density: it is an arrow, as high as its weight.
    for (auto const& [weight, place, deviation] : panel.components)
        if (deviation == 0.0 && weight > 0.0)
            plot += fmt::format(
                "set arrow from first {0}, graph 0 to first {0}, graph {1} head filled size screen "
                "0.006, 20 front linewidth 2.5 linecolor rgb '{2}'\n",
                gnuplot::number(place), gnuplot::number(0.75 * (std::min)(1.0, weight)), gnuplot::colours[0]);
    plot += fmt::format(
        "plot $density{0} using 1:2 with filledcurves y1=0 fillstyle solid 0.25 noborder linecolor rgb "
        "'{1}' notitle, $density{0} using 1:2 with lines linewidth 2.5 linecolor rgb '{1}' notitle",
        index, smooth ? gnuplot::colours[0] : std::string_view("#ffffff"));
    if (!panel.source->samples.empty()) {
        std::vector<double> const base(panel.source->samples.size(), 0.04 * peak);
        data += gnuplot::data_block(fmt::format("samples{}", index), std::vector{panel.source->samples, base});
        plot += fmt::format(", $samples{} using 1:2 with impulses linewidth 1 linecolor rgb '#222222' notitle", index);
    }
    return plot + "\nunset arrow\nunset label\n";
}

} // namespace detail

/// Draws the value densities of a few states of one episode, a panel each, to `stem`.png and `stem`.svg; the mean of
/// the distribution and the return that the episode really brought are marked. Throws gmac::error, also if gnuplot is
/// missing.
inline void plot_value_densities(std::filesystem::path const& stem, value_densities const& what) {
    gmac::require(!what.panels.empty(), "value densities: there is no panel to draw");
    std::vector<detail::density_panel> panels;
    for (auto const& panel : what.panels)
        panels.emplace_back(panel);
    auto const ranges = detail::shown_ranges(panels);
    std::size_t const columns = panels.size() > 4 ? 2 : 1;
    std::size_t const rows = (panels.size() + columns - 1) / columns;
    gnuplot::picture picture;
    picture.height = static_cast<int>(110 + 190 * rows);
    double const head = 60.0 / picture.height;
    double const foot = 62.0 / picture.height;
    picture.plot = fmt::format(
        "{}set key off\nset multiplot\nset label 9 {} at screen 0.5, {} center font ',17' textcolor rgb "
        "'#222222'\n",
        gnuplot::style, gnuplot::literal(what.title), gnuplot::number(1.0 - 0.45 * head));
    for (std::size_t i = 0; i < panels.size(); ++i) {
        double const height = (1.0 - head - foot) / static_cast<double>(rows);
        double const width = 1.0 / static_cast<double>(columns);
        double const top = 1.0 - head - height * static_cast<double>(i / columns);
        double const left = width * static_cast<double>(i % columns);
        bool const lowest = i + columns >= panels.size();
        picture.plot += fmt::format(
            "set tmargin at screen {}\nset bmargin at screen {}\nset lmargin at screen {}\n"
            "set rmargin at screen {}\nset ylabel 'density'\nset xlabel {}\n",
            gnuplot::number(top), gnuplot::number(top - height + 34.0 / picture.height),
            gnuplot::number(left + 85.0 / picture.width), gnuplot::number(left + width - 25.0 / picture.width),
            gnuplot::literal(lowest ? what.x_label : std::string()));
        picture.plot += detail::draw_panel(panels[i], ranges[i], i, picture.data);
    }
    picture.plot += "unset multiplot\n";
    gnuplot::draw(stem, picture);
}

} // namespace gmac::examples::train
