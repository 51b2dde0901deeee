// SPDX-License-Identifier: Apache-2.0
// gmac-densities: a state of a game beside what several runs made of its value as they were trained.
#include "evaluate/statistics.hpp"
#include "our_environments.hpp"
#include "state_densities.hpp"
#include "support/parse_options.hpp"

#include <gmac/core/tbb_executor.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace {

namespace train = gmac::examples::train;

void print_distances(train::density_picture const& picture) {
    fmt::print("{:24}{:>10}{:>12}{:>12}{:>12}\n", "method", "frames", "distance", "predicted", "played");
    for (auto const& [method, moments] : picture.methods)
        for (auto const& moment : moments)
            fmt::print("{:24}{:>10}{:>12.4f}{:>12.3f}{:>12.3f}\n", method, moment.panel.step, moment.distance,
                       train::mean_of(moment.panel), train::mean(moment.returns));
}

void run(int argc, char** argv) {
    std::vector<std::filesystem::path> folders;
    std::string out = "value_densities";
    train::state_choice choice;
    CLI::App app(
        "gmac-densities draws a state of an Atari game or a game of MinAtar beside the densities of its value that runs had\n"
        "at the moments of which they kept checkpoints (gmac-train --keep-checkpoints N): the method of each run, and the\n"
        "critics that watched it (--critics). With --plays they are compared with what games brought that went on from there.");
    app.add_option("runs", folders, "folders of gmac-train on one game")->required();
    gmac::examples::add_option(app, "--step", choice.step,
                               "of the state, in a game that the last run's latest agent plays");
    gmac::examples::add_flag(app, "--before-end", choice.before_end, "counts --step back from the end of the game");
    gmac::examples::add_option(app, "--seed", choice.seed, "of this game");
    gmac::examples::
        add_option(app, "--plays", choice.plays,
                   "games that go on from the state, with actions as in training, for each moment of a run");
    gmac::examples::add_option(app, "--out", out, "picture without its ending: .png and .svg are written");
    gmac::examples::parse_options(app, argc, argv);
    gmac::tbb_executor tasks(1);
    auto const known = train::our_registry();
    auto const picture = train::state_densities(known, folders, choice, [&](train::settings const& settings) {
        return train::make_image_experiment(known, settings, tasks);
    });
    if (choice.plays > 0)
        print_distances(picture);
    train::plot_density_history(out, picture);
    fmt::print("{}.png and {}.svg are written\n", out, out);
}

} // namespace

int main(int argc, char** argv) {
    return gmac::examples::run_main("gmac-densities", [&] { run(argc, argv); });
}
