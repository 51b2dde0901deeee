// SPDX-License-Identifier: Apache-2.0
// An episode of a trained agent, as a page that plays it.
#include "commands.hpp"
#include "experiment.hpp"
#include "output/stop_signal.hpp"
#include "report/report_page.hpp"
#include "stored_run.hpp"
#include "support/parse_options.hpp"

#include <gmac/core/error.hpp>
#include <gmac/core/tbb_executor.hpp>
#include <gmac/storage/files.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace gmac::examples::train {

namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

struct play_options {
    fs::path run, out;
    episode_choice episode;
};

[[nodiscard]] std::string_view ending_of(report::watched_episode const& played) {
    if (played.ended == "terminated")
        return "it ended";
    return played.ended == "cut" ? "it was cut by a time limit" : "it was played no further";
}

int play(registry const& known, play_options chosen) {
    fs::path const file = checkpoint_of(known, chosen.run);
    if (chosen.out.empty())
        chosen.out = file.parent_path() / "play.html";
    report::require_replaceable(chosen.out, report::play_page_mark, "of an episode");
    gmac::checkpoint const stored = read_checkpoint(file);
    settings const all = settings_of(known, stored, file);
    tbb_executor tasks(1);
    auto const agent = make_experiment(known, all, tasks);
    load_rank(stored, "checkpoint " + file.string(), nullptr, *agent);
    stop_signal const stop;
    try {
        auto const played = agent->watched(chosen.episode, [&] { return stop.requested(); });
        std::string const name = fs::weakly_canonical(file).parent_path().filename().string();
        json const data{{"run", name},
                        {"env", all.environment},
                        {"algorithm", all.algorithm},
                        {"seed", chosen.episode.seed},
                        {"frames", agent->frames()},
                        {"episode", report::episode_json(played)}};
        replace_file(chosen.out, report::play_page(data));
        double total = 0.0;
        for (auto const& step : played.steps)
            total += step.reward;
        fmt::print("{}: {} steps with rewards of {:.6g} in all; {}\n", chosen.out.string(), played.steps.size(), total,
                   ending_of(played));
        return 0;
    } catch (evaluation_stopped const&) {
        fmt::print("stopped by {}; nothing is written\n", stop.name());
        return 128 + stop.number();
    }
}

} // namespace

int play_command(registry const& known, std::string const& name, int argc, char const* const* argv) {
    return run_main(name.c_str(), [&] {
        CLI::App
            app(fmt::format("{} plays an episode with the most likely actions of an agent that {} has trained, and "
                            "writes it as a page\nthat opens in a browser and fetches nothing: the environment as it "
                            "draws itself, or its observations, beside the\ndensities of the return that the agent "
                            "expects and what came.",
                            name, known.program),
                name);
        play_options chosen;
        app.add_option("run", chosen.run, fmt::format("the folder of a run of {}, or a checkpoint", known.program))
            ->required();
        add_option(app, "--out", chosen.out, "the page; by default play.html beside the checkpoint");
        add_option(app, "--seed", chosen.episode.seed, "of the episode");
        add_option(app, "--risk", chosen.episode.risk,
                   fmt::
                       format("parameter of the statistic to act by, of a run that has learned a range ({} --statistic "
                              "cvar:0.05..1); by default one is drawn",
                              known.program));
        add_option(app, "--steps", chosen.episode.steps, "at most so many are played", 1);
        parse_options(app, argc, argv);
        return play(known, chosen);
    });
}

} // namespace gmac::examples::train
