// SPDX-License-Identifier: Apache-2.0
// gmac-scores: the table of scores of a folder of runs on Atari games.
#include "output/metrics_table.hpp"
#include "output/score_table.hpp"
#include "support/parse_options.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace train = gmac::examples::train;

/// Adds the run in `folder`, if it is one on an Atari game with a finished episode.
void add_run(fs::path const& folder, std::vector<train::run_score>& runs) {
    auto const bytes = gmac::read_file(folder / "config.json");
    auto const config =
        nlohmann::json::parse(std::string_view(reinterpret_cast<char const*>(bytes.data()), bytes.size()), nullptr,
                              false);
    gmac::require(!config.is_discarded(), "{} is not JSON", (folder / "config.json").string());
    std::string const environment = config.at("env");
    if (!environment.starts_with("ale/") || !fs::exists(folder / "episodes.csv"))
        return;
    auto const episodes = train::read_csv(folder / "episodes.csv");
    if (episodes.rows() == 0) {
        fmt::print(stderr, "{} has no finished game and is left out\n", folder.string());
        return;
    }
    runs.push_back({environment.substr(4), config.at("algorithm"), train::last_hundred(episodes.column("return"))});
}

/// Lines of game,method,score below a header, for numbers that were published elsewhere.
void add_published(fs::path const& path, std::vector<train::run_score>& runs) {
    std::ifstream file(path);
    gmac::require(file.good(), "cannot read {}", path.string());
    std::string line;
    std::getline(file, line);
    gmac::require(line == "game,method,score", "{} begins with \"{}\", but must with game,method,score", path.string(),
                  line);
    while (std::getline(file, line)) {
        auto const first = line.find(','), second = line.rfind(',');
        gmac::require(first != std::string::npos && second > first, "{}: \"{}\" is not game,method,score",
                      path.string(), line);
        runs.push_back(
            {line.substr(0, first), line.substr(first + 1, second - first - 1), std::stod(line.substr(second + 1))});
    }
}

void run(int argc, char** argv) {
    std::vector<std::string> folders;
    std::string published;
    CLI::App app(
        "gmac-scores prints the table of scores of runs on Atari games: the mean of the last 100 games of each, and\n"
        "mean and median of the human-normalised scores.");
    app.add_option("folders", folders, "runs of gmac-train, or folders that hold them at any depth")->required();
    app.add_option("--published", published, "a file of game,method,score with this header, for more columns");
    gmac::examples::parse_options(app, argc, argv);
    std::vector<train::run_score> runs;
    for (fs::path const folder : folders) {
        gmac::require(fs::is_directory(folder), "there is no folder {}", folder.string());
        if (fs::exists(folder / "config.json"))
            add_run(folder, runs);
        for (auto const& entry : fs::recursive_directory_iterator(folder))
            if (entry.is_directory() && fs::exists(entry.path() / "config.json"))
                add_run(entry.path(), runs);
    }
    gmac::require(!runs.empty(), "there is no run on an Atari game with a finished game in these folders");
    if (!published.empty())
        add_published(published, runs);
    fmt::print("{}", train::score_table(runs));
}

} // namespace

int main(int argc, char** argv) {
    return gmac::examples::run_main("gmac-scores", [&] { run(argc, argv); });
}
