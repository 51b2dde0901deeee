// SPDX-License-Identifier: Apache-2.0
#include "output/density_history.hpp"
#include "output/learning_figure.hpp"
#include "output/value_densities.hpp"

#include "support/catch.hpp"
#include "support/says.hpp"
#include "support/scratch_folder.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <string>
#include <thread>
#include <vector>

using gmac::testing::contains;
using gmac::testing::message_of;
using gmac::testing::scratch_folder;
using gmac::testing::slurp;
using gmac::testing::spit;
using namespace gmac::examples::train;

namespace {

double constexpr not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Width and height from the header of a PNG file, which must be whole.
std::pair<int, int> png_size(std::filesystem::path const& path) {
    auto const file = slurp(path);
    REQUIRE(file.size() > 100);
    CHECK(file.substr(0, 8) == "\x89PNG\r\n\x1a\n");
    CHECK(file.substr(file.size() - 8, 4) == "IEND");
    auto const number = [&](std::size_t place) {
        int value = 0;
        for (std::size_t i = 0; i < 4; ++i)
            value = value * 256 + static_cast<unsigned char>(file[place + i]);
        return value;
    };
    return {number(16), number(20)};
}

std::size_t count_of(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (auto place = text.find(part); place != std::string_view::npos; place = text.find(part, place + 1))
        ++count;
    return count;
}

learning_run rising(std::string method, double slope, double last = 10'000) {
    learning_run run{std::move(method)};
    for (double frames = 100; frames <= last; frames += 100) {
        run.frames.push_back(frames);
        run.mean_returns.push_back(frames < 300 ? not_a_number : slope * frames);
    }
    return run;
}

} // namespace

TEST_CASE("text cannot leave its quotes") {
    CHECK(gnuplot::literal("Hopper (seed 3), 2.5e-4") == "\"Hopper (seed 3), 2.5e-4\"");
    CHECK(gnuplot::literal("'\"`\\7") == "\"\\047\\042\\140\\1347\"");
    CHECK(gnuplot::literal("a\nb\x7f"
                           "ü") == "\"a b ü\"");
    CHECK(gnuplot::literal("") == "\"\"");
    CHECK(gnuplot::number(0.1) == "0.1");
    CHECK(gnuplot::number(1e6 + 1e-9) == "1000000.000000001");
    CHECK(gnuplot::number(not_a_number) == "NaN");
    CHECK(gnuplot::number(std::numeric_limits<double>::infinity()) == "NaN");
}

TEST_CASE("hostile text is drawn as it is and does nothing") {
    scratch_folder const folder;
    auto const victim = (folder / "victim").string();
    std::string const title =
        "'`touch " + victim + "`' \"$(touch " + victim + ")\" <b>&amp;</b> a_b^c {x} \\n @home %d";
    learning_curve curve{title, {rising(title, 1.0)}, {{50.0, title}}};
    plot_learning_curve(folder / "it's a $curve `x`", curve);
    CHECK_FALSE(std::filesystem::exists(victim));
    auto const svg = slurp(folder / "it's a $curve `x`.svg");
    CHECK(contains(svg, "&lt;b>&amp;amp;&lt;/b> a_b^c {x} \\n @home %d"));
    CHECK(png_size(folder / "it's a $curve `x`.png") == std::pair(1200, 720));
    CHECK(folder.files() == 2);
}

TEST_CASE("whatever a file's name is, the picture goes there") {
    scratch_folder const folder;
    gnuplot::picture const good{"", "plot x\n"};
    for (std::string const name :
         {"two\nlines", "\"", "'", "`x`", "$x", "a\\", "\x7f\x01\t", "-", "%d", "#", "ü\xff"}) {
        gnuplot::draw(folder / name, good);
        CHECK(png_size(folder / (name + ".png")) == std::pair(1200, 720));
        CHECK(slurp(folder / (name + ".svg")).ends_with("</svg>\n\n"));
    }
    CHECK(folder.files() == 22);
    CHECK_FALSE(std::filesystem::exists("-"));
    gnuplot::animate(folder / "film\n.gif", good, 5, 11.0);
    CHECK(slurp(folder / "film\n.gif").starts_with("GIF89a"));

    // Links stay, and what is no regular file is written into.
    std::filesystem::create_symlink("target", folder / "link.png");
    ::mkfifo((folder / "link.svg").c_str(), 0600);
    std::string svg;
    std::thread reader([&] { svg = slurp(folder / "link.svg"); });
    gnuplot::draw(folder / "link", good);
    reader.join();
    CHECK(std::filesystem::is_symlink(folder / "link.png"));
    CHECK(png_size(folder / "target") == std::pair(1200, 720));
    CHECK(svg.ends_with("</svg>\n\n"));
    CHECK(std::filesystem::is_fifo(folder / "link.svg"));
    std::filesystem::create_symlink("/dev/full", folder / "full.gif");
    CHECK(message_of([&] { gnuplot::animate(folder / "full.gif", good, 5, 11.0); }) ==
          "cannot write " + (folder / "full.gif").string() + ": No space left on device");
}

TEST_CASE("a picture that cannot be written whole is an error, and the old one stays") {
    scratch_folder const folder;
    spit(folder / "x.png", "old");
    pid_t const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) { // a file may have 2,000 bytes: less than the picture
        ::signal(SIGXFSZ, SIG_IGN);
        rlimit const limit{2000, 2000};
        bool const limited = ::setrlimit(RLIMIT_FSIZE, &limit) == 0;
        auto const message = message_of([&] { gnuplot::draw(folder / "x", {"", "plot x\n"}); });
        bool const good = limited && contains(message, "cannot write " + (folder / "x.png").string()) &&
                          contains(message, "File too large");
        ::_exit(good ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    CHECK(slurp(folder / "x.png") == "old");
    CHECK(folder.files() == 1);
}

TEST_CASE("a learning curve of one run has its episodes, its mean, its levels and units") {
    scratch_folder const folder;
    learning_run run{"GMAC"};
    for (int i = 1; i <= 10'000; ++i) {
        run.episode_frames.push_back(300.0 * i);
        run.episode_returns.push_back(std::sin(0.01 * i) * 100.0);
    }
    run.frames = {300.0, 3e6};
    run.mean_returns = {0.0, 50.0};
    plot_learning_curve(folder / "curve", {"Hopper", {run}, {{50.0, "standing still"}}});
    auto const svg = slurp(folder / "curve.svg");
    for (auto const* const text :
         {"Hopper", "environment frames (millions)", "return of an episode (reward units)", "standing still",
          "GMAC: mean of the last 100 episodes", "single episodes (one of 3 is drawn)"}) {
        INFO(text);
        CHECK(contains(svg, text));
    }
    CHECK(svg.size() < 1'000'000);
    CHECK(png_size(folder / "curve.png") == std::pair(1200, 720));
}

TEST_CASE("runs of one method are drawn with their mean and spread") {
    scratch_folder const folder;
    learning_curve curve{"two methods", {}};
    for (double const slope : {0.01, 0.02, 0.06})
        curve.runs.push_back(rising("GMAC", slope));
    curve.runs.push_back(rising("PPO", 0.01));
    curve.runs.push_back(rising("PPO", 0.03, 5000));
    plot_learning_curve(folder / "curves", curve);
    auto const svg = slurp(folder / "curves.svg");
    CHECK(contains(svg, "GMAC: mean of 3 runs"));
    CHECK(contains(svg, "PPO: mean of 2 runs"));
    CHECK(contains(svg, "thin lines: each run; band: from the lowest to the highest"));
    CHECK(contains(svg, "environment frames (thousands)"));
}

TEST_CASE("the key names no mean and no spread of which none is drawn") {
    scratch_folder const folder;
    learning_run const silent{"GMAC", {100, 200}, {not_a_number, not_a_number}};
    learning_run late{"GMAC", {20'000, 21'000}, {1.0, 2.0}}; // begins where the others have ended
    auto const key = [&](std::vector<learning_run> runs) {
        plot_learning_curve(folder / "x", {"key", std::move(runs)});
        return slurp(folder / "x.svg");
    };
    auto const check = [&](std::vector<learning_run> const& runs, std::string const& wanted, bool spread) {
        auto const svg = key(runs);
        INFO(wanted);
        CHECK(contains(svg, wanted));
        CHECK(contains(svg, "mean of") == contains(wanted, "mean of"));
        CHECK(contains(svg, "band: from the lowest") == spread);
    };
    auto const one = rising("GMAC", 1.0), other = rising("GMAC", 2.0);
    check({one, other}, "GMAC: mean of 2 runs", true);
    check({one, other, silent}, "GMAC: mean of 2 runs", true); // the third has no mean return
    check({one, silent}, "GMAC: mean of the last 100 episodes", false);
    check({one, late}, "GMAC: each of 2 runs", false);
    check({silent, silent}, "GMAC: no episode has ended yet", false);
    check({silent}, "GMAC: no episode has ended yet", false);
    check({one}, "GMAC: mean of the last 100 episodes", false);
    late.method = "PPO";
    check({one, late}, "GMAC: mean of the last 100 episodes", false);
    plot_learning_figure(folder / "y", {"figure", {{"a", {one, silent}}, {"b", {one}}}});
    CHECK_FALSE(contains(slurp(folder / "y.svg"), "band: from the lowest"));
}

TEST_CASE("a figure has a panel for each environment and one key, in which a method keeps its colour") {
    scratch_folder const folder;
    learning_figure figure{"three robots", {}};
    for (auto const* const name : {"Hopper", "Ant", "Humanoid"}) {
        learning_curve panel{name, {}};
        for (double const slope : {0.01, 0.03})
            panel.runs.push_back(rising("GMAC", slope));
        panel.runs.push_back(rising("PPO", 0.02));
        figure.panels.push_back(panel);
    }
    figure.panels[1].runs = {rising("IQAC", 0.02), rising("PPO", 0.05)};
    plot_learning_figure(folder / "figure", figure);
    auto const svg = slurp(folder / "figure.svg");
    for (auto const* const text : {"three robots", "Hopper", "Ant", "Humanoid", "GMAC", "IQAC", "PPO"}) {
        INFO(text);
        CHECK(count_of(svg, std::string(">") + text) == 1); // in the key, not in the panels
    }
    // Strong lines: one in each panel with the method, and one in the key.
    CHECK(count_of(svg, "<path stroke='rgb(  0, 114, 178)'  d=") == 3); // GMAC
    CHECK(count_of(svg, "<path stroke='rgb(213,  94,   0)'  d=") == 4); // PPO
    CHECK(count_of(svg, "<path stroke='rgb(  0, 158, 115)'  d=") == 2); // IQAC
    CHECK(png_size(folder / "figure.png") == std::pair(1320, 486));
    figure.panels.push_back(figure.panels[0]);
    plot_learning_figure(folder / "figure", figure);
    CHECK(png_size(folder / "figure.png") == std::pair(880, 870)); // two by two
    CHECK(contains(message_of([&] { plot_learning_figure(folder / "x", {"", {}}); }), "no panel"));
}

TEST_CASE("mean and spread are those of the curves where all are known") {
    std::vector<detail::curve> const curves{{{0, 10}, {0, 10}}, {{2, 4, 8}, {6, 6, 6}}};
    auto const all = detail::spread_of(curves);
    REQUIRE(all.x.size() == 400);
    CHECK(all.x.front() == 2);
    CHECK(all.x.back() == 8);
    for (std::size_t i = 0; i < all.x.size(); ++i) {
        CHECK(all.mean[i] == Approx((all.x[i] + 6.0) / 2.0));
        CHECK(all.low[i] == Approx((std::min)(all.x[i], 6.0)));
        CHECK(all.high[i] == Approx((std::max)(all.x[i], 6.0)));
    }
    std::vector<detail::curve> const apart{{{0, 1}, {0, 1}}, {{2, 3}, {0, 1}}};
    CHECK(detail::spread_of(apart).x.empty());

    std::vector<double> x{1, 2, 3, 4, 5, 6, 7};
    auto y = x;
    CHECK(detail::thin(x, y, 7) == 1);
    CHECK(detail::thin(x, y, 3) == 3);
    CHECK(x == std::vector<double>{3, 6});
    CHECK(y == x);
}

TEST_CASE("value densities have a panel for each state, with its step and its return") {
    scratch_folder const folder;
    value_densities what{"One episode", {}};
    for (std::uint64_t i = 0; i < 4; ++i)
        what.panels.push_back({i * 250, 100.0 + static_cast<double>(i), {{0.5, 90.0, 5.0}, {0.5, 110.0, 8.0}}, {}});
    plot_value_densities(folder / "four", what);
    auto svg = slurp(folder / "four.svg");
    for (auto const* const text : {"step 0", "step 750", "actual 103", "mean 100", "One episode",
                                   "discounted return from the state on (reward units)", "density per reward unit"}) {
        INFO(text);
        CHECK(contains(svg, text));
    }
    CHECK(count_of(svg, "discounted return from the state on") == 1);
    what.panels.push_back({990, 3.0, {{0.75, 3.0, 0.0}, {0.25, 5.0, 0.0}}, {}}); // point masses only
    what.panels.push_back({991, 2.0, {}, {1.0, 2.0, 2.5, 4.0}});
    what.panels.push_back({992, 2.0, {}, {2.0, 2.0}}); // samples without any spread
    plot_value_densities(folder / "seven", what);
    svg = slurp(folder / "seven.svg");
    CHECK(contains(svg, "mean 3.5"));
    CHECK(contains(svg, "mean 2.375"));
    CHECK(contains(svg, "short strokes: samples, smoothed"));
    auto const [width, height] = png_size(folder / "seven.png");
    CHECK(width == 1200);
    CHECK(height > 800);
    CHECK(folder.files() == 4);
}

TEST_CASE("the modes of a density have a tick, those of points and samples none") {
    auto const shown = [](value_panel const& source, detail::interval range = {.low = -10.0, .high = 10.0}) {
        std::vector<double> places;
        for (auto const& one : detail::shown_modes(detail::density_panel(source), range))
            places.push_back(one.location);
        return places;
    };
    // Far from each other: the means, but for what is a point, weighs less than a hundredth or lies outside.
    value_panel const panel{0, 0.0, {{0.5, -4.0, 0.1}, {0.295, 3.0, 0.1}, {0.005, 5.0, 0.1}, {0.2, 0.0, 0.0}}, {}};
    REQUIRE(shown(panel).size() == 2);
    CHECK(shown(panel)[0] == Approx(-4.0));
    CHECK(shown(panel)[1] == Approx(3.0));
    CHECK(shown(panel, {.low = 0.0, .high = 10.0}).size() == 1);
    CHECK(shown({0, 0.0, {{0.5, -1.0, 2.0}, {0.5, 1.0, 2.0}}, {}}).size() == 1);
    CHECK(shown({0, 0.0, {}, {1.0, 2.0, 9.0}}).empty());
    // The weights of a network sum to one but for their rounding.
    CHECK(shown({0, 0.0, {{0.5003, -1.0, 0.1}, {0.5, 1.0, 0.1}}, {}}).size() == 2);
    std::string const ticks = detail::mode_ticks(detail::density_panel(panel), {.low = -10.0, .high = 10.0}, 4.0);
    CHECK(count_of(ticks, "set arrow from first") == 2);
    CHECK(contains(ticks, "from first 3, graph "));
}

TEST_CASE("a state has a row a method and a column a moment, over what games brought") {
    scratch_folder const folder;
    density_picture what{.title = "minatar/breakout, step 7",
                         .side = 2,
                         .screen = std::vector<std::uint8_t>(12, 200),
                         .methods = {}};
    std::vector<double> const returns{0.0, 0.0, 0.0, 1.0};
    density_moment const wide{.panel = {.step = 200'000, .components = {{0.75, 0.0, 0.1}, {0.25, 1.0, 0.1}}},
                              .returns = returns,
                              .distance = 0.0123};
    density_moment const point{.panel = {.step = 400'000, .components = {{1.0, 0.25, 0.0}}},
                               .returns = returns,
                               .distance = 0.5};
    what.methods = {{.method = "gmac", .moments = {wide, wide, wide}},
                    {.method = "ppo on gmac", .moments = {point, point, point}}};
    plot_density_history(folder / "history", what);
    CHECK(png_size(folder / "history.png") == std::pair(240 + 3 * 300, 60 + 2 * 210));
    std::string const picture = slurp(folder / "history.svg");
    for (std::string const text : {"minatar/breakout, step 7", "state", "gmac, 0.2 M: 0.012 away",
                                   "ppo on gmac, 0.4 M: 0.5 away", "played", "predicted", "discounted return"})
        CHECK(contains(picture, text));
    CHECK(count_of(picture, "away") == 6);
    what.screen.pop_back();
    CHECK_THROWS_WITH(plot_density_history(folder / "history", what),
                      "value densities: the screen has 11 numbers, not 3 x 2 x 2");
}

TEST_CASE("the bars of a histogram have the area of their part of the values") {
    auto const bars = detail::histogram({-1.0, 0.0, 0.01, 0.99, 1.0, 3.0}, {.low = 0.0, .high = 1.0});
    REQUIRE(bars[0].size() == 40);
    CHECK(bars[0][0] == Approx(0.0125));
    // What lies outside is in the outermost bars.
    CHECK(bars[1].front() / 40 == Approx(0.5));
    CHECK(bars[1].back() / 40 == Approx(0.5));
    double sum = 0.0;
    for (double const density : bars[1])
        sum += density / 40;
    CHECK(sum == Approx(1.0));
}

TEST_CASE("a density integrates to one, and its panel shows nearly all of it") {
    value_panel const mixture{0, 0.0, {{0.2, -3.0, 0.01}, {0.5, 1.0, 1.0}, {0.3, 40.0, 6.0}}, {}};
    detail::density_panel const panel(mixture);
    auto const x = panel.places(panel.range);
    double area = 0.0;
    for (std::size_t i = 1; i < x.size(); ++i)
        area += 0.5 * (x[i] - x[i - 1]) *
                (detail::density_at(panel.components, x[i]) + detail::density_at(panel.components, x[i - 1]));
    CHECK(area == Approx(1.0).margin(5e-3));
    CHECK(panel.mean == Approx(0.2 * -3.0 + 0.5 + 12.0));
    CHECK(panel.range.low < -3.0);
    CHECK(panel.range.high > 50.0);
    // The median of two equal Gaussians lies between them.
    CHECK(detail::quantile({{0.5, 0.0, 1.0}, {0.5, 10.0, 1.0}}, 0.25) == Approx(0.0).margin(1e-3));
    CHECK(gnuplot::tick_step(1.0, 3.0) == Approx(0.2));
    CHECK(gnuplot::tick_step(0.05, 3.0) == Approx(0.02));
    CHECK(gnuplot::tick_step(1e6, 3.0) == Approx(2e5));

    // A spike does not share its axis with a wide density.
    std::vector<detail::density_panel> panels;
    value_panel const narrow{1, 2.0, {{1.0, 2.0, 0.1}}, {}};
    value_panel const wide{2, 2.0, {{1.0, 2.0, 30.0}}, {}};
    panels.emplace_back(narrow);
    panels.emplace_back(wide);
    auto ranges = detail::shown_ranges(panels);
    CHECK(ranges[0].width() < 1.0);
    CHECK(ranges[1].width() > 100.0);
    panels[0] = panels[1];
    ranges = detail::shown_ranges(panels);
    CHECK(ranges[0].low == ranges[1].low);
}

TEST_CASE("a narrow density far from zero is drawn, and its axis can be read") {
    CHECK(gnuplot::tick_format(-3.0, 40.0) == "%g");
    CHECK(gnuplot::tick_format(1e6 - 100.0, 1e6 + 100.0) == "%g");
    CHECK(gnuplot::tick_format(1e6 - 10.0, 1e6 + 10.0) == "%.7g"); // ticks 5 apart, as 1000005
    CHECK(gnuplot::tick_format(1e6, std::nextafter(1e6, 2e6)) == "%.17g");
    scratch_folder const folder;
    for (double const place : {0.0, 1e6, -1e6, 1e300, 1e-300}) {
        value_densities what{"narrow", {}};
        for (double const width : {1e-320, 1e-300, 1e-18, 1e-12, 1e-9, 1e-3, 1e9}) {
            double const deviation = std::abs(place) < 1.0 ? width : width * std::abs(place / 1e6);
            what.panels.push_back({0, place, {{0.5, place, deviation}, {0.5, place + deviation, deviation}}, {}});
            CAPTURE(place, width);
            detail::density_panel const panel(what.panels.back());
            CHECK(panel.range.low < panel.range.high);
            CHECK(gnuplot::number(panel.range.low) != gnuplot::number(panel.range.high));
            // What is drawn has the height of the density, or is an arrow.
            double highest = 0.0;
            for (double const at : panel.places(panel.range))
                highest = (std::max)(highest, detail::density_at(panel.components, at));
            CHECK(std::isfinite(highest));
            CHECK((highest > 0.0) == (panel.components[0].deviation > 0.0));
        }
        plot_value_densities(folder / "x", what);
        CHECK(png_size(folder / "x.png").first == 1200);
    }
    value_densities what{"narrow", {{0, 1e6, {{1.0, 1e6, 1e-9}}, {}}}};
    plot_value_densities(folder / "x", what);
    // The marks of the axis can be told from each other, on both sides of the mean.
    CHECK(contains(slurp(folder / "x.svg"), ">999999.99999999"));
    CHECK(contains(slurp(folder / "x.svg"), ">1000000.00000000"));
}

TEST_CASE("what cannot be drawn is refused") {
    scratch_folder const folder;
    auto const curve = [&](learning_curve const& what) {
        return message_of([&] { plot_learning_curve(folder / "x", what); });
    };
    CHECK(contains(curve({"", {}}), "there is no run with a point to draw"));
    CHECK(contains(curve({"", {{"GMAC"}}}), "there is no run with a point to draw"));
    CHECK(contains(curve({"", {{"GMAC", {1, 2}, {1}}}}), "run 1 of GMAC: 2 frames but 1 mean returns"));
    CHECK(contains(curve({"", {{"GMAC", {}, {}, {1}, {}}}}), "1 episode frames but 0 episode returns"));
    CHECK(contains(curve({"", {{"GMAC", {2, 1}, {1, 1}}}}), "the frames must not fall"));
    auto const densities = [&](std::vector<value_panel> panels) {
        return message_of([&] { plot_value_densities(folder / "x", {"", std::move(panels)}); });
    };
    CHECK(contains(densities({}), "there is no panel"));
    CHECK(contains(densities({{7, 0.0, {}, {}}}), "the panel of step 7 must have either components or samples"));
    CHECK(contains(densities({{7, 0.0, {{1, 0, 1}}, {1.0}}}), "either components or samples"));
    CHECK(contains(densities({{7, 0.0, {{0.5, 0, 1}}, {}}}), "the weights of step 7 add up to 0.5"));
    CHECK(contains(densities({{7, 0.0, {{1, 0, -1}}, {}}}), "deviation -1"));
    CHECK(contains(densities({{7, 0.0, {{1, not_a_number, 1}}, {}}}), "mean nan"));
    CHECK(contains(densities({{7, 0.0, {}, {not_a_number}}}), "the sample nan"));
    CHECK(contains(densities({{7, not_a_number, {{1, 0, 1}}, {}}}), "the return nan"));
    CHECK(folder.files() == 0);
}

TEST_CASE("a curve without a finite mean is still a picture") {
    scratch_folder const folder;
    learning_run run{"GMAC", {100, 200}, {not_a_number, not_a_number}};
    plot_learning_curve(folder / "x", {"nothing yet", {run}});
    run.mean_returns[1] = 5.0;
    plot_learning_curve(folder / "one point", {"one point", {run}});
    CHECK(folder.files() == 4);
}

TEST_CASE("gnuplot missing or failing is a clear message, and leaves the old picture") {
    scratch_folder const folder;
    CHECK(message_of([] { gnuplot::run("", "gnuplot-of-nowhere"); }) ==
          "no picture was drawn: the program gnuplot-of-nowhere is not installed (on Debian: apt-get install "
          "gnuplot-nox)");
    spit(folder / "x.png", "old");
    gnuplot::picture const broken{"", "plot sin(\n"};
    auto const message = message_of([&] { gnuplot::draw(folder / "x", broken); });
    CHECK(contains(message, "no picture was drawn: gnuplot ended with status 1"));
    CHECK(contains(message, "line")); // where gnuplot stopped
    CHECK(slurp(folder / "x.png") == "old");
    CHECK(folder.files() == 1);
    gnuplot::picture const good{"", "plot x\n"};
    CHECK(message_of([&] { gnuplot::draw(folder / "none/x", good); }) ==
          "cannot write " + (folder / "none/x.png.partial").string() + ": No such file or directory");
    gnuplot::draw(folder / "x", good);
    CHECK(png_size(folder / "x.png") == std::pair(1200, 720));
    // However much gnuplot has to say, it is heard to the end.
    std::string chatty;
    for (int i = 0; i < 20'000; ++i)
        chatty += "print 'a line that would fill a pipe'\n";
    CHECK(gnuplot::run(chatty).empty());
    CHECK(message_of([&] {
              gnuplot::draw(folder / "x", {"", ""});
          }) == "no picture was drawn: gnuplot was given nothing to draw");
    CHECK(contains(message_of([&] { gnuplot::run(chatty + "exit status 3\n"); }), "status 3"));
}
