// SPDX-License-Identifier: Apache-2.0
// gmac-curves: one picture and one table of several runs of gmac-train.
#include "output/learning_figure.hpp"
#include "output/metrics_table.hpp"
#include "support/parse_options.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace train = gmac::examples::train;

nlohmann::json read_json(fs::path const& path) {
    auto const bytes = gmac::read_file(path);
    auto json = nlohmann::json::parse(std::string_view(reinterpret_cast<char const*>(bytes.data()), bytes.size()),
                                      nullptr, false);
    gmac::require(!json.is_discarded(), "{} is not JSON", path.string());
    return json;
}

struct line {
    std::string environment, algorithm;
    double seed = 0.0, best = 0.0, last = 0.0, seconds = 0.0, frames = 0.0;
    double evaluation = std::nan("");
};

/// The panel of the environment, which is added if it is the first run on it.
train::learning_curve& panel_of(train::learning_figure& figure, std::string const& environment) {
    for (auto& panel : figure.panels)
        if (panel.title == environment)
            return panel;
    train::learning_curve panel{.title = environment, .runs = {}};
    if (environment == "bullet/hopper")
        panel.references = {{1010.0, "standing still"}, {1500.0, "hopping"}};
    figure.panels.push_back(std::move(panel));
    return figure.panels.back();
}

/// Adds the run in `folder` to the figure and returns its line of the table.
line add_run(fs::path const& folder, train::learning_figure& figure) {
    auto const config = read_json(folder / "config.json");
    auto const table = train::read_csv(folder / "metrics.csv");
    auto const& returns = table.column("mean_return");
    line result{.environment = config.at("env"), .algorithm = config.at("algorithm"), .seed = config.at("seed")};
    panel_of(figure, result.environment)
        .runs.push_back({.method = result.algorithm, .frames = table.column("frames"), .mean_returns = returns});
    result.best = -HUGE_VAL;
    for (double const value : returns)
        if (value > result.best)
            result.best = value;
    gmac::require(!returns.empty(), "{} has no update yet", (folder / "metrics.csv").string());
    result.last = returns.back();
    result.seconds = table.column("seconds").back();
    result.frames = table.column("frames").back();
    if (fs::exists(folder / "summary.json")) {
        auto const summary = read_json(folder / "summary.json");
        if (summary.contains("evaluation"))
            result.evaluation = summary.at("evaluation").at("mean");
    }
    return result;
}

void run(int argc, char** argv) {
    std::vector<std::string> folders;
    std::string out, title;
    CLI::App app(
        "gmac-curves draws the learning curves of several runs of gmac-train, a panel an environment and one colour an "
        "algorithm with its mean and spread over the runs, and prints a table of them.");
    app.add_option("runs", folders, "folders that gmac-train has written")->required();
    app.add_option("--out", out, "picture without its ending: .png and .svg are written; without it only the table");
    app.add_option("--title", title, "of the picture; by default the environment");
    gmac::examples::parse_options(app, argc, argv);
    train::learning_figure figure;
    std::vector<line> lines;
    for (std::string const& folder : folders)
        lines.push_back(add_run(folder, figure));
    fmt::print(
        "| environment | algorithm | seed | best mean of 100 | last mean of 100 | evaluation | seconds | frames/s |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (line const& one : lines)
        fmt::print("| {} | {} | {:.0f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.0f} |\n", one.environment,
                   one.algorithm, one.seed, one.best, one.last, one.evaluation, one.seconds, one.frames / one.seconds);
    if (out.empty())
        return;
    if (figure.panels.size() == 1) {
        auto& only = figure.panels.front();
        only.title = title.empty() ? only.title : title;
        train::plot_learning_curve(out, only);
    } else {
        figure.title = title.empty() ? "Learning curves" : title;
        train::plot_learning_figure(out, figure);
    }
}

} // namespace

int main(int argc, char** argv) {
    return gmac::examples::run_main("gmac-curves", [&] { run(argc, argv); });
}
