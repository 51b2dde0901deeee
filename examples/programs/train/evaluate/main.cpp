// SPDX-License-Identifier: Apache-2.0
// gmac-evaluate: how well trained agents do, with intervals, as JSON and as a table.
#include "report.hpp"
#include "train/run_memory.hpp"

#include "support/parse_options.hpp"

#include <gmac/core/tbb_executor.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <thread>

namespace {

namespace train = gmac::examples::train;
using gmac::examples::add_option;

struct options {
    std::vector<std::string> runs;
    std::size_t episodes = 100;
    std::uint64_t seed = 1'000'000;
    std::optional<double> risk;
    train::bootstrap bootstrap;
    std::size_t threads = (std::max)(1u, std::thread::hardware_concurrency());
    std::string out;
};

void add_options(CLI::App& app, options& chosen) {
    app.add_option("runs", chosen.runs, "folders of runs of gmac-train, or checkpoints")->required();
    add_option(app, "--episodes", chosen.episodes, "played of each run, each in an environment of its own", 1);
    add_option(app, "--seed", chosen.seed, "of the environments and of the resamples; take one not used in training");
    add_option(app, "--risk", chosen.risk,
               "parameter of the statistic to act by, of runs that have learned a range (gmac-train --statistic "
               "cvar:0.05..1); by default one is drawn for each episode");
    add_option(app, "--level", chosen.bootstrap.level, "coverage of the bootstrap intervals, between 0 and 1");
    add_option(app, "--resamples", chosen.bootstrap.resamples, "of the bootstrap", 1);
    add_option(app, "--threads", chosen.threads, "the numbers do not depend on it", 1);
    add_option(app, "--out", chosen.out, "file for the JSON; a table is printed then instead of it");
}

void evaluate(options& chosen) {
    gmac::examples::require_memory(
        std::array{train::memory_of_environments("--episodes", chosen.episodes),
                   gmac::examples::memory_use{fmt::format("--resamples {}", chosen.bootstrap.resamples),
                                              static_cast<double>(chosen.bootstrap.resamples) * sizeof(double)}});
    gmac::tbb_executor tasks(chosen.threads);
    chosen.bootstrap.seed = chosen.seed;
    std::vector<train::run_score> runs;
    for (std::string const& path : chosen.runs)
        runs.push_back(train::score(path, chosen.episodes, chosen.seed, chosen.risk, chosen.bootstrap, tasks));
    auto const groups = train::group(runs, chosen.bootstrap);
    nlohmann::ordered_json json{{"episodes", chosen.episodes},
                                {"seed", chosen.seed},
                                {"level", chosen.bootstrap.level},
                                {"resamples", chosen.bootstrap.resamples}};
    if (chosen.risk)
        json["risk"] = *chosen.risk;
    json.update(train::to_json(runs, groups));
    std::string const text = json.dump(4, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
    if (chosen.out.empty()) {
        fmt::print("{}", text);
        return;
    }
    gmac::replace_file(chosen.out, text);
    fmt::print("{}", train::table(runs, groups));
}

} // namespace

int main(int argc, char** argv) {
    return gmac::examples::run_main("gmac-evaluate", [&] {
        CLI::App
            app("gmac-evaluate plays episodes with the most likely actions of agents that gmac-train has trained, and "
                "writes the mean, median and interquartile mean of their returns with bootstrap intervals, as JSON. "
                "Several runs of one environment and algorithm are also judged together.",
                "gmac-evaluate");
        options chosen;
        add_options(app, chosen);
        gmac::examples::parse_options(app, argc, argv);
        evaluate(chosen);
    });
}
