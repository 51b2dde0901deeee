// SPDX-License-Identifier: Apache-2.0
// gmac-cliff: how far from the edge of classic/windy_cliff the agents of runs of gmac-train walk.
#include "exact.hpp"
#include "picture.hpp"
#include "support/parse_options.hpp"
#include "train/evaluate/statistics.hpp"
#include "train/output/json_value.hpp"
#include "walks.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/json.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace cliff = gmac::examples::cliff;
namespace train = gmac::examples::train;

constexpr std::array levels{1.0, 0.5, 0.25, 0.1, 0.05};

/// Runs that differ in their seeds only.
struct group {
    std::string name;
    std::vector<cliff::walks> runs;

    [[nodiscard]] cliff::panel panel() const {
        std::vector<double> heights;
        cliff::panel shown{.title = name};
        double falls = 0.0;
        auto const count = static_cast<double>(runs.size());
        for (cliff::walks const& run : runs) {
            heights.push_back(run.height);
            falls += run.fall / count;
            for (std::size_t i = 0; i < cliff::cells; ++i)
                shown.passed[i] += run.passed[i] / count;
        }
        auto const [lowest, highest] = std::ranges::minmax(heights);
        shown.explanation = fmt::format("height {:.2f} ({:.2f} to {:.2f}), {:.1f} of 100 fall", train::mean(heights),
                                        lowest, highest, 100.0 * falls);
        return shown;
    }
};

/// Plays the run's policy, prints its lines of the table, and puts them into their groups.
void add_run(fs::path const& folder, std::size_t episodes, std::uint64_t seed, std::vector<double> const& risks,
             std::vector<group>& groups) {
    fs::path const path = folder / "config.json";
    auto const config = gmac::read_json(path);
    auto const environment = train::json_value<std::string>(config, "/env", path);
    gmac::require(environment == "classic/windy_cliff",
                  "{} is a run on {}, but only those on classic/windy_cliff can be "
                  "looked at",
                  folder.string(), environment);
    auto const algorithm = train::json_value<std::string>(config, "/algorithm", path);
    std::string const statistic =
        config.contains("statistic") ? train::json_value<std::string>(config, "/statistic", path) : "mean";
    auto const trained_with = train::json_value<std::uint64_t>(config, "/seed", path);
    auto const policy = cliff::read_policy(folder / "policy.safetensors");
    auto const add = [&](double parameter, std::string const& by) {
        auto const run = cliff::play(policy, parameter, episodes, seed);
        fmt::print("| {} | {} | {} | {:.2f} | {:.3f} | {:.2f} | {:.2f} |\n", algorithm, by, trained_with, run.height,
                   run.fall, run.lower_mean(1.0), run.lower_mean(0.1));
        std::string const name = fmt::format("{}, {}", algorithm, by);
        auto const same = std::ranges::find(groups, name, &group::name);
        auto& mine = same == groups.end() ? groups.emplace_back(group{name, {}}) : *same;
        mine.runs.push_back(run);
    };
    auto const& range = policy.description().range;
    if (!range) {
        gmac::require(risks.empty(), "{}: it has learned to act by one statistic only, so --risk does not go with it",
                      folder.string());
        add(0.0, statistic);
        return;
    }
    std::vector<double> chosen = risks;
    if (risks.empty())
        std::ranges::copy_if(levels, std::back_inserter(chosen),
                             [&](double level) { return level >= range->low && level <= range->high; });
    gmac::require(!chosen.empty(), "{}: choose parameters of {} from {} to {} by --risk", folder.string(),
                  gmac::name_of(range->kind), range->low, range->high);
    for (double const parameter : chosen)
        add(parameter, fmt::format("{} at {}", statistic, parameter));
}

/// What the paths at each height bring; the best of a column is bold.
void print_paths(double discount) {
    std::array<std::array<double, levels.size()>, cliff::world::rows> values{};
    std::array<double, cliff::world::rows> falls{};
    std::array<double, levels.size()> best;
    best.fill(-std::numeric_limits<double>::infinity());
    for (std::size_t height = 1; height < values.size(); ++height) {
        auto const laws = cliff::laws_of(cliff::path_at(static_cast<int>(height)));
        falls[height] = laws.front().fall();
        auto const returns = cliff::returns_of(laws.front(), discount);
        for (std::size_t i = 0; i < levels.size(); ++i) {
            values[height][i] = cliff::lower_mean(returns, levels[i]);
            best[i] = (std::max)(best[i], values[height][i]);
        }
    }
    fmt::print(
        "| height | falls | mean | CVaR 0.5 | CVaR 0.25 | CVaR 0.1 | CVaR 0.05 |\n"
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (std::size_t height = 1; height < values.size(); ++height) {
        fmt::print("| {} | {:.3f} |", height, falls[height]);
        for (std::size_t i = 0; i < levels.size(); ++i)
            fmt::print(" {0}{1:.3f}{0} |", values[height][i] == best[i] ? "**" : "", values[height][i]);
        fmt::print("\n");
    }
}

/// The mean heights of what agents learn that take these statistics of the value for its mean, without error.
void print_learned(double discount) {
    fmt::print(
        "\n| lambda | mean | CVaR 0.5 | CVaR 0.25 | CVaR 0.1 | CVaR 0.05 |\n"
        "| ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (double const lambda : {0.0, 0.5, 0.8, 0.95}) {
        fmt::print("| {} |", lambda);
        for (double const level : levels)
            fmt::print(" {:.2f} |", cliff::height_of(cliff::learned_plan(level, lambda, discount)));
        fmt::print("\n");
    }
}

void run(int argc, char** argv) {
    std::vector<std::string> folders;
    std::string out;
    std::size_t episodes = 1000;
    std::uint64_t seed = 1'000'000;
    std::vector<double> risks;
    double discount = 0.99;
    bool exact = false;
    CLI::App app(
        "gmac-cliff plays the policies that gmac-train has learned on classic/windy_cliff with their most likely actions:\n"
        "the mean height of the steps above the cliff, the share of episodes that fall, and the mean and CVaR 0.1 of\n"
        "their returns, which are not discounted. With --out it draws where they walk, a map for each statistic.");
    app.add_option("runs", folders, "folders of runs of gmac-train on classic/windy_cliff");
    using gmac::examples::add_option;
    add_option(app, "--episodes", episodes, "of each run", 1);
    add_option(app, "--seed", seed, "of the wind");
    add_option(
        app, "--risk", risks,
        "parameters of the statistic to act by, separated by commas, of runs that have learned a range (gmac-train "
        "--statistic cvar:0.05..1); by default those of 1, 0.5, 0.25, 0.1 and 0.05 that are among them");
    add_option(app, "--out", out, "picture without its ending: .png and .svg are written");
    gmac::examples::
        add_flag(app, "--exact", exact,
                 "instead of runs: what the path at each height brings, and how high agents walk that learn "
                 "without error, computed exactly");
    add_option(app, "--discount", discount, "of the returns of --exact");
    gmac::examples::parse_options(app, argc, argv);
    gmac::require(exact ? folders.empty() && out.empty() : !folders.empty(),
                  "give folders of runs, or --exact without any and without --out");
    gmac::require(discount >= 0.0 && discount <= 1.0, "--discount is {}, but must be in [0, 1]", discount);
    if (exact) {
        print_paths(discount);
        print_learned(discount);
        return;
    }
    std::vector<group> groups;
    fmt::print(
        "| algorithm | statistic | seed | height | falls | mean return | CVaR 0.1 |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |\n");
    for (std::string const& folder : folders)
        add_run(folder, episodes, seed, risks, groups);
    std::vector<cliff::panel> panels;
    for (group const& one : groups) {
        panels.push_back(one.panel());
        fmt::print("{}: {}\n", one.name, panels.back().explanation);
    }
    if (!out.empty())
        cliff::draw(out, panels);
}

} // namespace

int main(int argc, char** argv) {
    return gmac::examples::run_main("gmac-cliff", [&] { run(argc, argv); });
}
