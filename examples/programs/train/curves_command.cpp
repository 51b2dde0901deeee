// SPDX-License-Identifier: Apache-2.0
// One picture and one table of several runs.
#include "commands.hpp"
#include "evaluate/statistics.hpp"
#include "output/json_value.hpp"
#include "output/learning_figure.hpp"
#include "output/metrics_table.hpp"
#include "support/parse_options.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gmac::examples::train {

namespace {

namespace fs = std::filesystem;

struct line {
    std::string environment, algorithm;
    std::uint64_t seed = 0;
    double best = std::nan(""), last = 0.0, evaluation = std::nan("");
    double seconds = 0.0, frames = 0.0;
};

/// The panel of the environment, which is added if it is the first run on it.
learning_curve& panel_of(learning_figure& figure, std::string const& environment) {
    for (auto& panel : figure.panels)
        if (panel.title == environment)
            return panel;
    learning_curve panel{.title = environment, .runs = {}};
    if (environment == "bullet/hopper")
        panel.references = {{1010.0, "standing still"}, {1500.0, "hopping"}};
    figure.panels.push_back(std::move(panel));
    return figure.panels.back();
}

/// Adds the run in `folder` to the figure and returns its line of the table, if it has an update.
std::optional<line> add_run(fs::path const& folder, learning_figure& figure) {
    fs::path const config_path = folder / "config.json";
    auto const config = read_json(config_path);
    line result{.environment = json_value<std::string>(config, "/env", config_path),
                .algorithm = json_value<std::string>(config, "/algorithm", config_path),
                .seed = json_value<std::uint64_t>(config, "/seed", config_path)};
    csv_table table;
    if (fs::exists(folder / "metrics.csv"))
        table = read_csv(folder / "metrics.csv");
    if (table.rows() == 0)
        return std::nullopt;
    auto const& returns = table.column("mean_return");
    panel_of(figure, result.environment)
        .runs.push_back({.method = result.algorithm, .frames = table.column("frames"), .mean_returns = returns});
    for (double const value : returns)
        result.best = std::fmax(result.best, value); // a NaN is left out
    result.last = returns.back();
    result.seconds = table.column("seconds").back();
    result.frames = table.column("frames").back();
    if (fs::path const path = folder / "summary.json"; fs::exists(path)) {
        auto const summary = read_json(path);
        if (summary.contains("evaluation"))
            result.evaluation = json_value<double>(summary, "/evaluation/mean", path);
    }
    return result;
}

/// Each other algorithm beside the baseline, over the environments in which both have runs: by the evaluation of a run, or
/// the mean of its last 100 episodes if it has none.
void print_comparison(std::vector<line> const& lines, std::string const& baseline) {
    std::map<std::string, std::map<std::string, std::vector<double>>> scores; // algorithm, environment
    for (line const& one : lines) {
        double const score = std::isnan(one.evaluation) ? one.last : one.evaluation;
        require(!std::isnan(score), "--baseline: the run of {} on {} with seed {} has no episode that ended",
                one.algorithm, one.environment, one.seed);
        scores[one.algorithm][one.environment].push_back(score);
    }
    std::vector<std::string> known;
    for (auto const& [algorithm, all] : scores)
        known.push_back(algorithm);
    require(scores.contains(baseline), "--baseline is {}, but must be the algorithm of one of the runs: {}", baseline,
            fmt::join(known, ", "));
    fmt::print(
        "\n| algorithm | environments | runs | interquartile mean, {0} = 1 | chance of a run to be better than one of {0} "
        "|\n| --- | ---: | ---: | ---: | ---: |\n",
        baseline);
    for (auto const& [algorithm, all] : scores) {
        if (algorithm == baseline)
            continue;
        std::vector<std::vector<double>> ours, theirs;
        std::size_t runs = 0;
        bool alone = true; // one run each, which says nothing of how runs differ
        for (auto const& [environment, values] : all)
            if (auto const found = scores[baseline].find(environment); found != scores[baseline].end()) {
                require(mean(found->second) > 0.0,
                        "--baseline: the mean of {} on {} is {:.4g}, but must be positive: nothing can be measured in "
                        "it",
                        baseline, environment, mean(found->second));
                alone = alone && values.size() == 1 && found->second.size() == 1;
                ours.push_back(values);
                theirs.push_back(found->second);
                runs += values.size();
            }
        if (ours.empty()) {
            fmt::print(stderr, "{} has no environment in common with {} and is left out\n", algorithm, baseline);
            continue;
        }
        auto const text = [&](estimate const& one) {
            return alone ? fmt::format("{:.2f}", one.value)
                         : fmt::format("{:.2f} ({:.2f} … {:.2f})", one.value, one.low, one.high);
        };
        auto const [relative_mean, improvement] = compare(ours, theirs);
        fmt::print("| {} | {} | {} | {} | {} |\n", algorithm, ours.size(), runs, text(relative_mean),
                   text(improvement));
    }
}

void run(std::string const& program, std::string const& name, int argc, char const* const* argv) {
    std::vector<std::string> folders;
    std::string out, title, baseline;
    CLI::App
        app(fmt::format("{} draws the learning curves of several runs of {}, a panel an environment and one colour an "
                        "algorithm with its mean and spread over the runs, and prints a table of them.",
                        name, program),
            name);
    app.add_option("runs", folders, fmt::format("folders that {} has written", program))->required();
    add_option(app, "--out", out, "picture without its ending: .png and .svg are written; without it only the table");
    add_option(app, "--title", title, "of the picture; by default the environment");

    add_option(app, "--baseline", baseline,
               "algorithm that each other one is compared with, over the environments of both: by evaluations, or "
               "last means of 100 episodes where there are none, with 95 % intervals by "
               "the stratified bootstrap");
    parse_options(app, argc, argv);
    learning_figure figure;
    std::vector<line> lines;
    for (std::string const& folder : folders)
        if (auto const one = add_run(folder, figure))
            lines.push_back(*one);
        else
            fmt::print(stderr, "{} has no update yet and is left out\n", folder);
    require(!lines.empty(), "none of these runs has an update yet");
    fmt::print(
        "| environment | algorithm | seed | best mean of 100 | last mean of 100 | evaluation | seconds | frames/s |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (line const& one : lines)
        fmt::print("| {} | {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.0f} |\n", one.environment, one.algorithm,
                   one.seed, one.best, one.last, one.evaluation, one.seconds, one.frames / one.seconds);
    if (!baseline.empty())
        print_comparison(lines, baseline);
    if (out.empty())
        return;
    if (figure.panels.size() == 1) {
        auto& only = figure.panels.front();
        only.title = title.empty() ? only.title : title;
        plot_learning_curve(out, only);
    } else {
        figure.title = title.empty() ? "Learning curves" : title;
        plot_learning_figure(out, figure);
    }
}

} // namespace

int curves_command(std::string const& program, std::string const& name, int argc, char const* const* argv) {
    return run_main(name.c_str(), [&] { run(program, name, argc, argv); });
}

} // namespace gmac::examples::train
