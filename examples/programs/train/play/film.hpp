// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scene.hpp"
#include "train/output/value_densities.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gmac::examples::train {

/// What one picture of the film shows.
struct film_frame {
    std::vector<silhouette> shapes; ///< the farthest first
    double camera = 0.0;            ///< m, x of the middle of the view
    std::string caption;            ///< a line about this moment
    value_panel value;              ///< in reward units
};

struct film {
    std::string title;
    double height = 2.0; ///< m, what the view shows above the floor
    std::vector<film_frame> frames;
    int frame_hundredths = 5; ///< how long a frame is shown, in 1/100 s, the unit of the format
    int width = 800;          ///< pixels
    int pixels_high = 340;
};

namespace detail {

/// The film as a script for gnuplot, frame by frame.
class film_script {
public:
    explicit film_script(film const& what)
        : what_(what), zoom_((std::min)(what.width / 800.0, what.pixels_high / 340.0)) {
        gmac::require(!what.frames.empty(), "film: there is no frame to draw");
        std::vector<double> heights;
        for (film_frame const& frame : what.frames) {
            panels_.emplace_back(frame.value);
            shown_.include(panels_.back().range.low, panels_.back().range.high);
            double highest = 0.0;
            for (double const x : panels_.back().places(panels_.back().range))
                highest = (std::max)(highest, density_at(panels_.back().components, x));
            heights.push_back(highest);
        }
        // One scale for all frames, of which a few spikes may leave the picture.
        std::ranges::sort(heights);
        double const usual = heights[heights.size() / 2];
        top_ = usual > 0.0 ? 1.1 * (std::min)(heights.back(), 3.0 * usual) : 1.0;
    }

    [[nodiscard]] std::string data() const {
        std::string text;
        for (std::size_t i = 0; i < what_.frames.size(); ++i) {
            text += fmt::format("$shapes{} << EOD\n", i);
            for (silhouette const& shape : what_.frames[i].shapes) {
                for (point const& corner : outline(shape))
                    text += fmt::format("{:.4f} {:.4f}\n", corner.x, corner.z);
                text += "\n\n";
            }
            text += "EOD\n";
            auto const x = panels_[i].places(shown_);
            std::vector<double> y;
            for (double const place : x)
                y.push_back((std::min)(top_, density_at(panels_[i].components, place)));
            text += gnuplot::data_block(fmt::format("density{}", i), std::vector{x, y});
        }
        return text;
    }

    [[nodiscard]] double font_size() const noexcept { return 11.0 * zoom_; }

    /// The frames; each is one multiplot, which is one picture of an animation.
    [[nodiscard]] std::string plot() const {
        std::string text = fmt::format(
            "set key off\nset border 1 linecolor rgb '#444444'\nset tics nomirror out scale 0.5 textcolor rgb '#222222'\n"
            "unset ytics\n");
        for (std::size_t i = 0; i < what_.frames.size(); ++i)
            text += "set multiplot\n" + robot(i) + density(i) + "unset multiplot\n";
        return text;
    }

private:
    // Parts of the picture, from its lower left corner.
    static constexpr double left = 0.012, middle = 0.62, low = 0.12, high = 0.84;

    [[nodiscard]] static std::string margins(double from, double to, double bottom) {
        return fmt::format(
            "set lmargin at screen {}\nset rmargin at screen {}\nset bmargin at screen {}\nset tmargin at screen {}\n",
            from, to, bottom, high);
    }
    [[nodiscard]] std::string label(std::string const& text, double x, double y, double size,
                                    std::string_view colour) const {
        return fmt::format("set label {} at screen {}, {} font ',{:.1f}' textcolor rgb '{}'\n", gnuplot::literal(text),
                           x, y, zoom_ * size, colour);
    }

    /// The side view: as many metres across as the picture's shape asks for, so that a circle is a circle.
    [[nodiscard]] std::string robot(std::size_t i) const {
        film_frame const& frame = what_.frames[i];
        double const below = 0.12 * what_.height;
        double const across =
            (what_.height + below) * (middle - left) * what_.width / ((high - low) * what_.pixels_high);
        double const first = frame.camera - 0.5 * across;
        std::string text = margins(left, middle, low) + label(what_.title, left, 0.945, 13.0, "#222222") +
                           label(frame.caption, left, 0.88, 11.0, "#555555");
        text += fmt::format(
            "set xrange [{0}:{1}]\nset yrange [{2}:{3}]\nset xtics {4}, 1, {1} format '%g m'\nunset xlabel\n"
            "set object 1 rectangle from graph 0, graph 0 to graph 1, first 0 fillstyle solid noborder "
            "fillcolor rgb '#e6e2d8' behind\n",
            first, first + across, -below, what_.height, std::ceil(first + 0.04 * across));
        int object = 2; // every other metre is darker
        for (double metre = 2.0 * std::floor(0.5 * first); metre < first + across; metre += 2.0)
            text += fmt::format(
                "set object {} rectangle from first {}, graph 0 to first {}, first 0 fillstyle solid noborder "
                "fillcolor rgb '#d6d0c2' behind\n",
                object++, (std::max)(metre, first), (std::clamp)(metre + 1.0, first, first + across));
        text += "plot 0 with lines linewidth 1 linecolor rgb '#8a8578'";
        for (std::size_t k = 0; k < frame.shapes.size(); ++k) {
            auto const& [fill, edge] = colours[static_cast<std::size_t>(frame.shapes[k].side)];
            text += fmt::format(
                ", $shapes{0} index {1} with filledcurves closed fillstyle solid 1 noborder fillcolor rgb '{2}', "
                "'' index {1} with lines linewidth 1 linecolor rgb '{3}'",
                i, k, fill, edge);
        }
        return text + "\nunset object\nunset label\n";
    }

    [[nodiscard]] std::string density(std::size_t i) const {
        density_panel const& panel = panels_[i];
        std::string text = margins(middle + 0.04, 0.985, low + 0.1);
        text += label("predicted discounted return", middle + 0.04, 0.945, 13.0, "#222222") +
                label(fmt::format("mean {:.0f}", panel.mean), middle + 0.04, 0.88, 11.0, gnuplot::colours[0]) +
                label(fmt::format("what followed {:.0f}", panel.source->return_to_go), middle + 0.18, 0.88, 11,
                      gnuplot::colours[1]);
        text +=
            fmt::format("set xrange [{}:{}]\nset yrange [0:{}]\nset xtics {} format '{}'\nset xlabel 'reward units'\n",
                        gnuplot::number(shown_.low), gnuplot::number(shown_.high), gnuplot::number(top_),
                        gnuplot::number(gnuplot::tick_step(shown_.width(), 5.0)),
                        gnuplot::tick_format(shown_.low, shown_.high));
        auto const line = [&](double place, double height, std::string_view head, std::string_view style,
                              std::string_view colour) {
            text += fmt::
                format("set arrow from first {0}, graph 0 to first {0}, graph {1} {2} front {3} linecolor rgb '{4}'\n",
                       gnuplot::number(place), gnuplot::number(height), head, style, colour);
        };
        line(panel.source->return_to_go, 1.0, "nohead", "linewidth 2", gnuplot::colours[1]);
        line(panel.mean, 1.0, "nohead", "linewidth 2", gnuplot::colours[0]);
        // A point mass has no density: it is an arrow, as high as its weight.
        for (auto const& [weight, place, deviation] : panel.components)
            if (deviation == 0.0 && weight > 0.0)
                line(place, 0.95 * weight, "head filled", "linewidth 3", gnuplot::colours[0]);
        return text + mode_ticks(panel, shown_, top_) +
               fmt::format(
                   "plot $density{0} using 1:2 with filledcurves y1=0 fillstyle solid 0.25 noborder linecolor rgb '{1}', "
                   "$density{0} using 1:2 with lines linewidth 2 linecolor rgb '{1}'\nunset arrow\nunset label\n",
                   i, gnuplot::colours[0]);
    }

    /// Of the left, the middle and the right of the body: inside, edge.
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> colours{
        {{"#9a7b3f", "#5c4820"}, {"#e69f00", "#7a5200"}, {"#f3bd4b", "#7a5200"}}};

    film const& what_;
    double zoom_; // of text, which is made for 800 x 340 pixels
    std::vector<density_panel> panels_;
    interval shown_;
    double top_ = 1.0;
};

} // namespace detail

/// Draws a robot beside the value distribution of each moment, as an animated GIF. Throws gmac::error, also if gnuplot
/// is missing; an old file of this name is replaced once the new one is whole.
inline void draw_film(std::filesystem::path const& path, film const& what) {
    detail::film_script const script(what);
    gnuplot::animate(path, {script.data(), script.plot(), what.width, what.pixels_high}, what.frame_hundredths,
                     script.font_size());
}

} // namespace gmac::examples::train
