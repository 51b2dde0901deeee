// SPDX-License-Identifier: Apache-2.0
// The page of a run, or of several beside each other.
#include "report/comparison_data.hpp"
#include "report/report_data.hpp"
#include "report/report_page.hpp"
#include "report/report_server.hpp"
#include "support/is_there.hpp"
#include "support/parse_options.hpp"
#include "train/commands.hpp"
#include "train/experiment.hpp"
#include "train/output/stop_signal.hpp"
#include "train/run_report.hpp"
#include "train/stored_run.hpp"

#include <gmac/core/error.hpp>
#include <gmac/core/tbb_executor.hpp>
#include <gmac/storage/checkpoint.hpp>
#include <gmac/storage/files.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace gmac::examples::train {

namespace {

namespace fs = std::filesystem;

/// Whether the agent was played since the checkpoint was written.
bool is_observed(fs::path const& run, fs::path const& checkpoint) {
    std::error_code none;
    auto const trained = fs::last_write_time(checkpoint, none);
    auto const played = fs::last_write_time(run / "observed.json", none);
    return !none && played >= trained;
}

/// Plays the agent of the checkpoint; what goes wrong is returned.
std::optional<std::string> observe(registry const& known, fs::path const& run, fs::path const& checkpoint) {
    try {
        gmac::checkpoint const stored = read_checkpoint(checkpoint);
        tbb_executor tasks((std::max)(1u, std::thread::hardware_concurrency()));
        auto const experiment = make_experiment(known, settings_of(known, stored, checkpoint), tasks);
        load_rank(stored, "checkpoint " + checkpoint.string(), nullptr, *experiment);
        return observe_run(run, *experiment, [] { return false; });
    } catch (std::exception const& problem) {
        return problem.what();
    }
}

using json = nlohmann::ordered_json;

json data_of(registry const& known, fs::path const& run, bool play) {
    std::optional<std::string> problem;
    fs::path const checkpoint = run / "checkpoint.safetensors";
    if (play && !is_observed(run, checkpoint))
        problem = fs::exists(checkpoint) ? observe(known, run, checkpoint) : "there is no checkpoint to play";
    json data = report::report_data(known, run);
    if (problem)
        data["problems"].push_back({{"where", "checkpoint.safetensors"}, {"what", *problem}});
    return data;
}

/// Serves until a signal, and follows a run that another process trains.
void serve(report::report_server& server, fs::path const& run) {
    stop_signal const stop;
    auto const written = [&](char const* name) {
        std::error_code none;
        return fs::last_write_time(run / name, none);
    };
    auto const state = [&] {
        return std::array{written("metrics.csv"), written("observed.json"), written("summary.json")};
    };
    for (auto shown = state(); !stop.requested(); std::this_thread::sleep_for(std::chrono::milliseconds(200)))
        if (auto const now = state(); now != shown) {
            shown = now;
            server.changed();
        }
}

void run_command(registry const& known, std::string const& name, int argc, char const* const* argv) {
    std::vector<fs::path> runs;
    fs::path out;
    std::string baseline;
    bool no_play = false;
    std::optional<std::uint16_t> port;
    CLI::App app(
        fmt::format(
            "{} makes the report of a run of {}, one page that opens in a browser and fetches nothing: what was\n"
            "run, returns, losses, an episode beside the densities of the predicted return, and how right these are. "
            "For the last\ntwo it plays the agent of the checkpoint, unless that was done since the checkpoint was "
            "written. Of several runs it\nmakes a page that compares them: curves, interquartile means, the "
            "probability of improvement, performance profiles.",
            name, known.program),
        name);
    app.add_option("run", runs, fmt::format("folders of {}", known.program))->required();

    add_option(app, "--out", out,
               "file of the page; by default report.html in the folder of one run, comparison.html here of "
               "several");
    add_option(app, "--baseline", baseline,
               "of several runs the method in whose units scores are put over several environments; by "
               "default ppo, or the first");
    add_flag(app, "--no-play", no_play, "plays nothing: the page of a run shows what was played before, or nothing");
    add_option(
        app, "--serve", port,
        "shows the page of a run in browsers on this machine, too, at http://127.0.0.1:PORT/ until Ctrl-C; 0 is a "
        "port that is free")
        ->type_name("PORT");
    parse_options(app, argc, argv);
    for (fs::path const& run : runs) {
        require(is_folder(run), "there is no folder {}", run.string());
        require(is_there(run / "config.json") || is_there(run / "metrics.csv") || is_there(run / "summary.json"),
                "{} has no config.json and no metrics.csv, so it is no run of {}", run.string(), known.program);
    }
    bool const one = runs.size() == 1;
    require(!one || baseline.empty(), "--baseline is for several runs, but there is one");
    require(one || !port, "--serve is for one run, but there are {}", runs.size());
    auto const server = port ? report::serve_report(known, runs.front(), *port) : nullptr;
    bool const beside_run = one && out.empty();
    if (out.empty())
        out = one ? runs.front() / "report.html" : fs::path("comparison.html");
    if (!beside_run)
        report::require_replaceable(out, one ? report::report_page_mark : report::comparison_page_mark,
                                    one ? "of a run" : "that compares runs");
    json const data = one ? data_of(known, runs.front(), !no_play) : report::comparison_data(known, runs, baseline);
    replace_file(out, one ? report::report_page(data) : report::comparison_page(data));
    fmt::print("{} is written\n", out.string());
    for (auto const& one_problem : data["problems"])
        fmt::print("{}: {}\n", one_problem["where"].get<std::string>(), one_problem["what"].get<std::string>());
    if (server) {
        fmt::print("the report is at {}\n", server->address());
        std::fflush(stdout);
        serve(*server, runs.front());
    }
}

} // namespace

int report_command(registry const& known, std::string const& name, int argc, char const* const* argv) {
    return run_main(name.c_str(), [&] { run_command(known, name, argc, argv); });
}

} // namespace gmac::examples::train
