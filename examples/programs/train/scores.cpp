// SPDX-License-Identifier: Apache-2.0
// gmac-scores: the table of scores of a folder of runs on Atari games.
#include "output/json_value.hpp"
#include "output/metrics_table.hpp"
#include "output/paper_comparison.hpp"
#include "output/score_table.hpp"
#include "support/is_there.hpp"
#include "support/parse_options.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/json.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace train = gmac::examples::train;

/// Adds the run in `folder`, if it is one on an Atari game with a finished episode. What has a config.json that is no run's
/// is left out.
void add_run(fs::path const& folder, std::vector<train::game_score>& runs) {
    fs::path const path = folder / "config.json";
    std::string environment, algorithm;
    try {
        auto const config = gmac::read_json(path);
        environment = train::json_value<std::string>(config, "/env", path);
        algorithm = train::json_value<std::string>(config, "/algorithm", path);
    } catch (gmac::error const& problem) {
        fmt::print(stderr, "{} is left out: {}\n", folder.string(), problem.what());
        return;
    }
    if (!environment.starts_with("ale/") || !fs::exists(folder / "episodes.csv"))
        return;
    auto const episodes = train::read_csv(folder / "episodes.csv");
    if (episodes.rows() == 0) {
        fmt::print(stderr, "{} has no finished game and is left out\n", folder.string());
        return;
    }
    runs.push_back({environment.substr(4), algorithm, train::last_hundred(episodes.column("return"))});
}

/// The columns of the paper's own scores.
void add_paper(std::vector<train::game_score>& runs) {
    for (train::paper_score const& row : train::paper_scores)
        for (std::size_t m = 0; m < row.methods.size(); ++m)
            runs.push_back({std::string(row.game), fmt::format("{} (paper)", train::paper_methods[m]), row.methods[m]});
}

void run(int argc, char** argv) {
    std::vector<std::string> folders;
    bool paper = false;
    std::string picture;
    CLI::App app(
        "gmac-scores prints the table of scores of runs on Atari games: the mean of the last 100 games of each, and\n"
        "mean and median of the human-normalised scores; and what the paper's own table says.");
    app.add_option("folders", folders, "runs of gmac-train, or folders that hold them at any depth");
    gmac::examples::add_flag(app, "--paper", paper,
                             "the paper's 61 scores beside them, and what they come to, with intervals over games");
    gmac::examples::add_option(app, "--paper-picture", picture,
                               "draws what the paper's scores come to as FILE.png and FILE.svg");
    gmac::examples::parse_options(app, argc, argv);
    gmac::require(paper || !picture.empty() || !folders.empty(), "name folders of runs, or ask for --paper");
    std::vector<train::game_score> runs;
    for (fs::path const folder : folders) {
        gmac::require(gmac::examples::is_folder(folder), "there is no folder {}", folder.string());
        std::error_code unseen; // of what cannot be looked into
        if (fs::exists(folder / "config.json", unseen))
            add_run(folder, runs);
        for (auto const& entry :
             fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied))
            if (entry.is_directory(unseen) && fs::exists(entry.path() / "config.json", unseen))
                add_run(entry.path(), runs);
    }
    gmac::require(folders.empty() || !runs.empty(),
                  "there is no run on an Atari game with a finished game in these folders");
    if (paper)
        add_paper(runs);
    if (!runs.empty())
        fmt::print("{}", train::score_table(runs));
    if (paper)
        fmt::print("\nThe paper's scores, over the 55 games that have a random and a human score\n\n{}",
                   train::paper_table());
    if (!picture.empty())
        train::plot_paper_comparison(picture);
}

} // namespace

int main(int argc, char** argv) {
    return gmac::examples::run_main("gmac-scores", [&] { run(argc, argv); });
}
