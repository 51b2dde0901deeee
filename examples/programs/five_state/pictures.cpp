// SPDX-License-Identifier: Apache-2.0
#include "pictures.hpp"

#include "train/output/gnuplot.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>

namespace gmac::examples::five_state {

namespace {

namespace gnuplot = train::gnuplot;

/// How a method looks: one colour for each statistic.
struct look {
    std::string_view title;
    std::string_view colour;
};
constexpr std::array<look, methods.size()> looks{{{"Huber quantile, naive", "#d55e00"},
                                                  {"Huber quantile, imputed", "#d55e00"},
                                                  {"quantile, naive", "#0072b2"},
                                                  {"quantile, imputed", "#0072b2"},
                                                  {"expectile, naive", "#cc79a7"},
                                                  {"expectile, imputed", "#cc79a7"},
                                                  {"sample energy", "#009e73"},
                                                  {"Gaussian mixture energy", "#b8860b"}}};
constexpr std::string_view truth_colour = "#9a9a9a";
constexpr double widest = 1.65; ///< values are drawn from −widest to widest
constexpr double kernel = 0.05; ///< deviation of the normal kernel by which points become a density

[[nodiscard]] bool is_points(distribution const& value) {
    return value.component(0).deviation == 0.0;
}

[[nodiscard]] distribution smoothed(distribution const& value) {
    std::vector<component> parts(value.components().begin(), value.components().end());
    for (component& part : parts)
        part.deviation = std::hypot(part.deviation, kernel);
    return distribution(parts);
}

[[nodiscard]] std::vector<double> places(std::size_t count) {
    std::vector<double> x;
    for (std::size_t i = 0; i <= count; ++i)
        x.push_back(widest * (2.0 * static_cast<double>(i) / static_cast<double>(count) - 1.0));
    return x;
}

[[nodiscard]] std::vector<double> map(std::vector<double> const& x, std::function<double(double)> const& function) {
    std::vector<double> y;
    for (double const place : x)
        y.push_back(function(place));
    return y;
}

[[nodiscard]] std::string label(std::string_view text, std::string_view where, int size = 12,
                                std::string_view colour = "#222222") {
    return fmt::format("set label {} at {} front font ',{}' textcolor rgb '{}'\n", gnuplot::literal(text), where, size,
                       colour);
}

[[nodiscard]] std::string capitalised(std::string text) {
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    return text;
}

/// Four columns of two panels: above the naive methods and the sample energy, below the imputed and the mixture.
class eight_panels {
public:
    eight_panels(std::string_view title, std::string_view explanation, std::string_view y_label) {
        picture_.width = 1400;
        picture_.height = 660;
        picture_.plot =
            fmt::format("{}set key off\nset multiplot\n{}{}", gnuplot::style, label(title, at(0.5, 30, "center"), 17),
                        label(explanation, at(0.5, 58, "center"), 11, "#666666"));
        for (int row = 0; row < 2; ++row)
            picture_.plot +=
                label(y_label, fmt::format("screen 0.017, {:.4f} center rotate", down(top(row) + height / 2)));
    }

    /// Adds the commands of a panel, with its own data. `ranges` are commands too.
    void add(std::size_t method, result const& shown, std::string_view data, std::string_view plot) {
        auto const column = static_cast<double>(method / 2);
        int const row = static_cast<int>(method % 2);
        double const left = (84.0 + 330.0 * column) / picture_.width;
        double const right = (84.0 + 330.0 * column + 286.0) / picture_.width;
        picture_.data += data;
        picture_.plot += fmt::format(
            "set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\nset tmargin at screen "
            "{:.4f}\nset bmargin at screen {:.4f}\nset xrange [{}:{}]\nset xtics -1, 1\n",
            left, right, down(top(row)), down(top(row) + height), -widest, widest);
        picture_.plot += fmt::format("set xlabel {}\n", gnuplot::literal(row == 1 ? "return from S1" : ""));
        picture_.plot += label(looks[method].title, "graph 0, 1 left offset 0, 0.8", 13, looks[method].colour);
        picture_.plot +=
            label(fmt::format("{:.2g}", shown.energy_distance), "graph 1, 1 right offset 0, 0.8", 11, "#444444");
        picture_.plot += plot;
        picture_.plot += "\nunset label\n";
    }

    void draw(std::filesystem::path const& stem) {
        picture_.plot += "unset multiplot\n";
        gnuplot::draw(stem, picture_);
    }

private:
    static constexpr double height = 200.0;
    [[nodiscard]] static double top(int row) { return 112.0 + 268.0 * row; }
    [[nodiscard]] double down(double pixels) const { return 1.0 - pixels / picture_.height; }
    [[nodiscard]] std::string at(double x, double pixels, std::string_view align) const {
        return fmt::format("screen {}, {:.4f} {}", x, down(pixels), align);
    }

    gnuplot::picture picture_{};
};

void draw_densities(std::filesystem::path const& stem, chain const& world, std::span<result const> all) {
    eight_panels
        panels(fmt::format("{} chain: what eight methods learn for the value of S1",
                           capitalised(std::string(world.name))),
               fmt::format("grey: the truth; strokes: the {} learned points, above them smoothed by a normal kernel of "
                           "deviation {}; numbers: energy distance to the truth",
                           points, kernel),
               "density");
    distribution const truth = world.truth();
    auto const x = places(660);
    auto const true_density = map(x, [&](double at) { return truth.pdf(at); });
    std::vector<std::vector<double>> learned;
    double highest = std::ranges::max(true_density);
    for (result const& one : all) {
        distribution const shown = is_points(one.learned) ? smoothed(one.learned) : one.learned;
        learned.push_back(map(x, [&](double at) { return shown.pdf(at); }));
        highest = (std::max)(highest, std::ranges::max(learned.back()));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        std::string data = gnuplot::data_block(fmt::format("curves{}", i), std::array{x, true_density, learned[i]});
        std::string plot = fmt::format(
            "set yrange [0:{:.4g}]\nset ytics 0, 1\nplot $curves{} using 1:2 with filledcurves y1=0 fillstyle solid 0.45 "
            "noborder linecolor rgb '{}', '' using 1:3 with filledcurves y1=0 fillstyle solid 0.22 noborder linecolor rgb "
            "'{}', '' using 1:3 with lines linewidth 2.2 linecolor rgb '{}'",
            1.05 * highest, i, truth_colour, looks[i].colour, looks[i].colour);
        if (is_points(all[i].learned)) {
            std::vector<double> at;
            for (component const& one : all[i].learned.components())
                at.push_back(one.mean);
            std::vector const height(at.size(), 0.065 * highest);
            data += gnuplot::data_block(fmt::format("points{}", i), std::array{at, height});
            plot += fmt::format(", $points{} using 1:2 with impulses linewidth 1.4 linecolor rgb '#222222'", i);
        }
        panels.add(i, all[i], data, plot);
    }
    panels.draw(stem);
}

void draw_cdfs(std::filesystem::path const& stem, chain const& world, std::span<result const> all) {
    eight_panels panels(
        fmt::format("{} chain: learned and true distribution functions of S1", capitalised(std::string(world.name))),
        "grey: the truth; numbers: the energy distance, twice the integral of the squared difference between the two",
        "probability");
    distribution const truth = world.truth();
    auto const grid = places(660);
    for (std::size_t i = 0; i < all.size(); ++i) {
        distribution const& learned = all[i].learned;
        // A step is drawn upright: its place comes twice, as the limit from below and as the value.
        std::vector<double> x = grid;
        for (component const& one : learned.components())
            if (one.deviation == 0.0) {
                x.push_back(std::nextafter(one.mean, -10.0));
                x.push_back(one.mean);
            }
        std::ranges::sort(x);
        auto const true_cdf = map(x, [&](double at) { return truth.cdf(at); });
        auto const learned_cdf = map(x, [&](double at) { return learned.cdf(at); });
        std::string const data = gnuplot::data_block(fmt::format("curves{}", i), std::array{x, true_cdf, learned_cdf});
        panels.add(
            i, all[i], data,
            fmt::format("set yrange [0:1]\nset ytics 0, 0.5\nplot $curves{0} using 1:2:3 with filledcurves fillstyle "
                        "solid 0.2 noborder linecolor rgb '{2}', '' using 1:2 with lines linewidth 3.5 linecolor "
                        "rgb '{1}', '' using 1:3 with lines linewidth 2 linecolor rgb '{2}'",
                        i, truth_colour, looks[i].colour));
    }
    panels.draw(stem);
}

struct curve {
    std::size_t method;
    std::string_view title;
    std::string_view dashes; ///< as gnuplot wants them
};
constexpr std::array<curve, 7> curves{{{0, looks[0].title, "(8, 5)"},
                                       {1, looks[1].title, "1"},
                                       {4, looks[4].title, "(8, 5)"},
                                       {5, looks[5].title, "1"},
                                       {2, "quantile, naive and imputed alike", "1"},
                                       {6, looks[6].title, "1"},
                                       {7, looks[7].title, "1"}}};

/// The commands and data of one chain's curves.
void add_distances(gnuplot::picture& picture, std::size_t c, std::span<result const> of_chain) {
    double const floor = energy(chains[c].best_points(points), chains[c].truth());
    double const left = 0.075 + 0.482 * static_cast<double>(c);
    picture.plot += fmt::format("set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\n", left, left + 0.415);
    picture.plot += label(fmt::format("{} chain", chains[c].name), "graph 0, 1 left offset 0, 0.9", 14);
    picture.plot += label(fmt::format("the best {} points: {:.5f}", points, floor),
                          fmt::format("graph 0.01, first {:.6g} left offset 0, -0.7", floor), 10, "#666666");
    picture.plot += fmt::format("plot {:.6g} with lines dashtype 3 linewidth 1.5 linecolor rgb '#666666'", floor);
    for (curve const& one : curves) {
        result const& shown = of_chain[one.method];
        picture.data +=
            gnuplot::data_block(fmt::format("distance{}x{}", c, one.method), std::array{shown.steps, shown.distances});
        picture.plot += fmt::format(", $distance{}x{} using 1:2 with lines linewidth 2 dashtype {} linecolor rgb '{}'",
                                    c, one.method, one.dashes, looks[one.method].colour);
    }
    picture.plot += "\nunset label\nunset arrow\n";
}

/// The key of both panels: columns of two.
[[nodiscard]] std::string key() {
    std::string commands;
    for (std::size_t i = 0; i < curves.size(); ++i) {
        double const left = 0.085 + 0.235 * static_cast<double>(i / 2);
        double const height = i % 2 == 0 ? 0.078 : 0.035;
        commands += fmt::format(
            "set arrow from screen {0:.4f}, {1} to screen {2:.4f}, {1} nohead linewidth 2.5 dashtype {3} "
            "linecolor rgb '{4}'\n",
            left, height, left + 0.03, curves[i].dashes, looks[curves[i].method].colour);
        commands += label(curves[i].title, fmt::format("screen {:.4f}, {}", left + 0.037, height), 12);
    }
    return commands;
}

void draw_distances(std::filesystem::path const& stem, std::span<result const> all) {
    gnuplot::picture picture{.data = {}, .plot = {}, .width = 1400, .height = 640};
    picture.plot = fmt::format(
        "{}set key off\nset multiplot\nset logscale y\nset format y '%g'\nset yrange [2e-5:2]\nset xrange [0:{:.9g}]\nset xlabel "
        "'steps of the optimiser'\nset tmargin at screen 0.855\nset bmargin at screen 0.23\nset grid noxtics\n",
        gnuplot::style, all.front().steps.back());
    picture.plot += label("Energy distance of the learned value of S1 to the truth", "screen 0.5, 0.955 center", 17);
    picture.plot += label("energy distance", "screen 0.014, 0.54 center rotate") + key();
    for (std::size_t c = 0; c < chains.size(); ++c)
        add_distances(picture, c, all.subspan(c * methods.size(), methods.size()));
    picture.plot += "unset multiplot\n";
    gnuplot::draw(stem, picture);
}

} // namespace

void make_folder(std::filesystem::path const& folder) {
    std::error_code problem;
    std::filesystem::create_directories(folder, problem);
    require(!problem, "cannot make the folder {}: {}", folder.string(), problem.message());
}

std::vector<std::filesystem::path> draw_pictures(std::filesystem::path const& folder, std::span<result const> all) {
    require(all.size() == chains.size() * methods.size(), "draw_pictures: there are {} results, but must be {}",
            all.size(), chains.size() * methods.size());
    make_folder(folder);
    std::vector<std::filesystem::path> stems;
    for (std::size_t c = 0; c < chains.size(); ++c) {
        auto const of_chain = all.subspan(c * methods.size(), methods.size());
        stems.push_back(folder / fmt::format("densities-{}", chains[c].name));
        draw_densities(stems.back(), chains[c], of_chain);
        stems.push_back(folder / fmt::format("cdfs-{}", chains[c].name));
        draw_cdfs(stems.back(), chains[c], of_chain);
    }
    stems.push_back(folder / "distances");
    draw_distances(stems.back(), all);
    return stems;
}

} // namespace gmac::examples::five_state
