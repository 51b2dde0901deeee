// SPDX-License-Identifier: Apache-2.0
// How well trained agents do, with intervals, as JSON and as a table.
#include "report.hpp"
#include "train/commands.hpp"
#include "train/run_memory.hpp"

#include "support/parse_options.hpp"

#include <gmac/core/tbb_executor.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <thread>

namespace gmac::examples::train {

namespace {

struct options {
    std::vector<std::string> runs;
    std::size_t episodes = 100;
    std::uint64_t seed = 1'000'000;
    std::optional<double> risk;
    train::bootstrap bootstrap;
    std::size_t threads = (std::max)(1u, std::thread::hardware_concurrency());
    std::string out;
};

void add_options(CLI::App& app, options& chosen, std::string const& program) {
    app.add_option("runs", chosen.runs, fmt::format("folders of runs of {}, or checkpoints", program))->required();
    add_option(app, "--episodes", chosen.episodes, "played of each run, each in an environment of its own", 1);
    add_option(app, "--seed", chosen.seed, "of the environments and of the resamples; take one not used in training");
    add_option(app, "--risk", chosen.risk,
               fmt::format("parameter of the statistic to act by, of runs that have learned a range ({} --statistic "
                           "cvar:0.05..1); by default one is drawn for each episode",
                           program));
    add_option(app, "--level", chosen.bootstrap.level, "coverage of the bootstrap intervals, between 0 and 1");
    add_option(app, "--resamples", chosen.bootstrap.resamples, "of the bootstrap", 1);
    add_option(app, "--threads", chosen.threads, "the numbers do not depend on it", 1);
    add_option(app, "--out", chosen.out, "file for the JSON; a table is printed then instead of it");
}

void evaluate(registry const& known, options& chosen) {
    require_memory(std::array{memory_of_environments("--episodes", chosen.episodes),
                              memory_use{fmt::format("--resamples {}", chosen.bootstrap.resamples),
                                         static_cast<double>(chosen.bootstrap.resamples) * sizeof(double)}});
    detail::require_options(chosen.bootstrap);
    tbb_executor tasks(chosen.threads);
    chosen.bootstrap.seed = chosen.seed;
    std::vector<run_score> runs;
    for (std::string const& path : chosen.runs)
        runs.push_back(score(known, path, chosen.episodes, chosen.seed, chosen.risk, chosen.bootstrap, tasks));
    auto const groups = group(runs, chosen.bootstrap);
    nlohmann::ordered_json json{{"episodes", chosen.episodes},
                                {"seed", chosen.seed},
                                {"level", chosen.bootstrap.level},
                                {"resamples", chosen.bootstrap.resamples}};
    if (chosen.risk)
        json["risk"] = *chosen.risk;
    json.update(to_json(runs, groups));
    std::string const text = json.dump(4, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
    if (chosen.out.empty()) {
        fmt::print("{}", text);
        return;
    }
    replace_file(chosen.out, text);
    fmt::print("{}", table(runs, groups));
}

} // namespace

int evaluate_command(registry const& known, std::string const& name, int argc, char const* const* argv) {
    return run_main(name.c_str(), [&] {
        CLI::App app(fmt::format("{} plays episodes with the most likely actions of agents that {} has trained, and "
                                 "writes the mean, median and interquartile mean of their returns with bootstrap "
                                 "intervals, as JSON. Several runs of one environment and algorithm are also judged "
                                 "together.",
                                 name, known.program),
                     name);
        options chosen;
        add_options(app, chosen, known.program);
        parse_options(app, argc, argv);
        evaluate(known, chosen);
    });
}

} // namespace gmac::examples::train
