// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gnuplot.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace gmac::examples::train {

/// One run. Runs with the same `method` are drawn in one colour, with their mean and spread.
struct learning_run {
    std::string method;                    ///< "GMAC"
    std::vector<double> frames{};          ///< the smoothed curve, such as the columns frames
    std::vector<double> mean_returns{};    ///< and mean_return of metrics.csv; NaN is left out
    std::vector<double> episode_frames{};  ///< frames at the end of each episode; may be empty
    std::vector<double> episode_returns{}; ///< the return of each episode
};

/// A level worth comparing with, drawn as a dashed line.
struct reference_level {
    double value = 0.0;
    std::string label;
};

struct learning_curve {
    std::string title;
    std::vector<learning_run> runs;
    std::vector<reference_level> references{};
};

namespace detail {

struct curve {
    std::vector<double> x, y;
};

/// The points whose y is finite.
[[nodiscard]] inline curve finite_points(std::span<double const> x, std::span<double const> y) {
    curve result;
    for (std::size_t i = 0; i < x.size(); ++i)
        if (std::isfinite(y[i])) {
            result.x.push_back(x[i]);
            result.y.push_back(y[i]);
        }
    return result;
}

/// y at `x` on the line through the points, whose x rise; x must be within them.
[[nodiscard]] inline double interpolate(curve const& points, double x) {
    auto const above = std::ranges::lower_bound(points.x, x);
    auto const i = static_cast<std::size_t>(above - points.x.begin());
    if (i == 0)
        return points.y.front();
    if (i == points.x.size())
        return points.y.back();
    double const part = (x - points.x[i - 1]) / (points.x[i] - points.x[i - 1]);
    return points.y[i - 1] + part * (points.y[i] - points.y[i - 1]);
}

struct spread {
    std::vector<double> x, mean, low, high;
};

/// Mean, lowest and highest of the curves, of which each has a point, at `points` places where all of them are known.
[[nodiscard]] inline spread spread_of(std::span<curve const> curves, std::size_t points = 400) {
    double first = -std::numeric_limits<double>::infinity();
    double last = std::numeric_limits<double>::infinity();
    for (curve const& one : curves) {
        first = (std::max)(first, one.x.front());
        last = (std::min)(last, one.x.back());
    }
    spread result;
    for (std::size_t i = 0; i < points && first < last; ++i) {
        double const x = first + (last - first) * static_cast<double>(i) / static_cast<double>(points - 1);
        double sum = 0.0;
        double low = std::numeric_limits<double>::infinity();
        double high = -low;
        for (curve const& one : curves) {
            double const y = interpolate(one, x);
            sum += y;
            low = (std::min)(low, y);
            high = (std::max)(high, y);
        }
        result.x.push_back(x);
        result.mean.push_back(sum / static_cast<double>(curves.size()));
        result.low.push_back(low);
        result.high.push_back(high);
    }
    return result;
}

/// Every n-th row, such that at most `most` are left; n is returned.
inline std::size_t thin(std::vector<double>& x, std::vector<double>& y, std::size_t most) {
    std::size_t const step = (x.size() + most - 1) / most;
    if (step <= 1)
        return 1;
    std::size_t kept = 0;
    for (std::size_t i = step - 1; i < x.size(); i += step, ++kept) {
        x[kept] = x[i];
        y[kept] = y[i];
    }
    x.resize(kept);
    y.resize(kept);
    return step;
}

/// The methods of the runs, in the order of their first ones.
inline void add_methods(std::vector<std::string>& methods, learning_curve const& curve) {
    for (auto const& run : curve.runs)
        if (std::ranges::find(methods, run.method) == methods.end())
            methods.push_back(run.method);
}

[[nodiscard]] inline std::string_view colour_of(std::size_t method) noexcept {
    return gnuplot::colours[method % gnuplot::colours.size()];
}

inline constexpr std::string_view spread_legend = "thin lines: each run; band: from the lowest to the highest";

/// Writes the picture's parts as they are added; the faint ones are drawn below the strong ones.
class learning_curve_plot {
public:
    /// The methods have their colours by their order in `methods`; names of data blocks begin with `prefix`.
    learning_curve_plot(learning_curve const& what, std::span<std::string const> methods, std::string prefix)
        : what_(what), prefix_(std::move(prefix)) {
        for (auto const& run : what.runs) {
            auto const where = fmt::format("learning curve, run {} of {}", &run - what.runs.data() + 1, run.method);
            gmac::require(run.frames.size() == run.mean_returns.size(), "{}: {} frames but {} mean returns", where,
                          run.frames.size(), run.mean_returns.size());
            gmac::require(run.episode_frames.size() == run.episode_returns.size(),
                          "{}: {} episode frames but {} episode returns", where, run.episode_frames.size(),
                          run.episode_returns.size());
            gmac::require(std::ranges::is_sorted(run.frames), "{}: the frames must not fall", where);
            for (auto const& frames : {run.frames, run.episode_frames})
                for (double const frame : frames)
                    last_frame_ = (std::max)(last_frame_, frame);
        }
        gmac::require(last_frame_ > 0.0, "learning curve: there is no run with a point to draw");
        std::tie(unit_, unit_name_) = last_frame_ >= 2e6   ? std::pair(1e6, "environment frames (millions)")
                                      : last_frame_ >= 2e3 ? std::pair(1e3, "environment frames (thousands)")
                                                           : std::pair(1.0, "environment frames");
        for (std::size_t i = 0; i < methods.size(); ++i)
            add_method(methods[i], colour_of(i));
    }

    [[nodiscard]] std::string const& data() const noexcept { return data_; }
    /// Whether a line of the key is for the single episodes.
    [[nodiscard]] bool has_points() const noexcept { return points_; }
    /// Whether the mean and the spread of several runs are drawn.
    [[nodiscard]] bool has_spread() const noexcept { return spread_; }

    /// The commands for all but the size and the place of the plot, with about `ticks` numbers below it.
    [[nodiscard]] std::string plot(double ticks) const {
        std::string text = fmt::format(
            "set title {}\nset xlabel {}\nset xrange [0:{}]\nset xtics {}\nset offsets graph 0, 0, 0.06, 0.04\n"
            "set style textbox opaque noborder fillcolor rgb '#ffffff' margins 0.4, 0.2\n",
            gnuplot::literal(what_.title), gnuplot::literal(unit_name_), gnuplot::number(last_frame_ / unit_),
            gnuplot::number(gnuplot::tick_step(last_frame_ / unit_, ticks)));
        std::string lines;
        for (auto const& level : what_.references) {
            lines += fmt::format("{} with lines dashtype 2 linewidth 1.5 linecolor rgb '#777777' notitle, ",
                                 gnuplot::number(level.value));
            text += fmt::
                format("set label {} at graph 0.99, first {} right offset 0, 0.6 front boxed textcolor rgb '#444444'\n",
                       gnuplot::literal(level.label), gnuplot::number(level.value));
        }
        // gnuplot must not look for the range itself where no run has a finite return.
        text += empty_ ? "set yrange [0:1]\n" : "set yrange [*:*]\n";
        return text + "plot " + faint_ + lines + strong_;
    }

private:
    void add_method(std::string const& method, std::string_view colour) {
        std::vector<curve> curves; // that have a point
        bool found = false;
        for (auto const& run : what_.runs) {
            if (run.method != method)
                continue;
            curve episodes = finite_points(run.episode_frames, run.episode_returns);
            curve smooth = finite_points(run.frames, run.mean_returns);
            if (what_.runs.size() == 1)
                add_episodes(std::move(episodes));
            found = true;
            if (!smooth.y.empty())
                curves.push_back(std::move(smooth));
        }
        if (!found)
            return;
        empty_ = empty_ && curves.empty();
        if (curves.empty()) {
            add_strong({}, 3.0, colour, fmt::format("{}: no episode has ended yet", method));
            return;
        }
        if (curves.size() == 1) {
            add_strong({curves[0].x, curves[0].y}, 3.0, colour,
                       fmt::format("{}: mean of the last 100 episodes", method));
            return;
        }
        for (curve const& one : curves)
            faint_ += fmt::format("{} using 1:2 with lines linewidth 1 linecolor rgb '#90{}' notitle, ", add(one),
                                  colour.substr(1));
        spread const all = spread_of(curves);
        if (all.x.empty()) { // the runs have nothing in common
            add_strong({}, 1.0, colour, fmt::format("{}: each of {} runs", method, curves.size()));
            return;
        }
        spread_ = true;
        add_strong({all.x, all.mean}, 3.5, colour, fmt::format("{}: mean of {} runs", method, curves.size()));
        faint_ =
            fmt::format("{} using 1:2:3 with filledcurves fillstyle solid noborder linecolor rgb '#d8{}' notitle, ",
                        add(std::vector{all.x, all.low, all.high}), colour.substr(1)) +
            faint_;
    }

    /// A line with an entry in the key, or the entry alone if there are no points.
    void add_strong(curve const& points, double width, std::string_view colour, std::string const& title) {
        strong_ +=
            fmt::format("{} with lines linewidth {} linecolor rgb '{}' title {}, ",
                        points.x.empty() ? "NaN" : add(points) + " using 1:2", width, colour, gnuplot::literal(title));
    }

    void add_episodes(curve episodes) {
        if (episodes.x.empty())
            return;
        // Beyond some thousands the points are a solid block, and the SVG grows without end.
        std::size_t const step = thin(episodes.x, episodes.y, 4000);
        points_ = true;
        faint_ += fmt::format("{} using 1:2 with points pointtype 7 pointsize 0.4 linecolor rgb '#90444444' notitle, ",
                              add(episodes));
        strong_ += fmt::format("NaN with points pointtype 7 pointsize 0.8 linecolor rgb '#777777' title {}, ",
                               gnuplot::literal(step == 1 ? std::string("single episodes")
                                                          : fmt::format("single episodes (one of {} is drawn)", step)));
    }

    std::string add(curve const& one) { return add(std::vector{one.x, one.y}); }
    /// The name of a new data block; the first column is frames.
    std::string add(std::vector<std::vector<double>> columns) {
        for (double& x : columns[0])
            x /= unit_;
        auto const name = fmt::format("{}data{}", prefix_, blocks_++);
        data_ += gnuplot::data_block(name, columns);
        return '$' + name;
    }

    learning_curve const& what_;
    std::string prefix_;
    double last_frame_ = 0.0;
    double unit_ = 1.0;
    std::string unit_name_;
    std::string data_, faint_, strong_;
    std::size_t blocks_ = 0;
    bool spread_ = false; // mean and spread are drawn
    bool points_ = false; // single episodes are drawn
    bool empty_ = true;   // no run has a finite return
};

} // namespace detail

/// Draws returns over frames to `stem`.png and `stem`.svg: for a single run its episodes and their smoothed mean, for
/// several runs of a method each of them, their mean and their spread. Throws gmac::error, also if gnuplot is missing.
inline void plot_learning_curve(std::filesystem::path const& stem, learning_curve const& what) {
    std::vector<std::string> methods;
    detail::add_methods(methods, what);
    detail::learning_curve_plot const curves(what, methods, "");
    std::size_t const key_rows = (methods.size() + (curves.has_points() ? 1 : 0) + 1) / 2;
    std::string head = fmt::format(
        "{}set title font ',17' textcolor rgb '#222222'\nset ylabel 'return of an episode (reward units)'\n"
        "set key bmargin center vertical Left reverse maxrows {}\nset lmargin 11\nset rmargin 4\nset tmargin 3.6\n"
        "set bmargin {}\n",
        gnuplot::style, key_rows, 4.2 + 1.2 * static_cast<double>(key_rows));
    if (curves.has_spread())
        head += fmt::format("set label {} at graph 0.5, 1.02 center font ',11' textcolor rgb '#666666'\n",
                            gnuplot::literal(detail::spread_legend));
    gnuplot::draw(stem, {curves.data(), head + curves.plot(10.0), 1200, 720});
}

} // namespace gmac::examples::train
