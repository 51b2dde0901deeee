// SPDX-License-Identifier: Apache-2.0
// gmac-ale-densities: a state of an Atari game beside what several runs made of its value as they were trained.
#include "atari_densities.hpp"
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

void run(int argc, char** argv) {
    std::vector<std::filesystem::path> folders;
    std::string out = "value_densities";
    std::size_t step = 100;
    std::uint64_t seed = 1;
    CLI::App app(
        "gmac-ale-densities draws a state of an Atari game beside the densities of its value that several runs, one a\n"
        "method, had at the moments of which they kept checkpoints (gmac-train --keep-checkpoints N).");
    app.add_option("runs", folders, "folders of gmac-train on one game, such as those of iqac, iqac_e and gmac")
        ->required();
    gmac::examples::add_option(app, "--step", step, "of the state, in a game that the last run's latest agent plays");
    gmac::examples::add_option(app, "--seed", seed, "of this game");
    gmac::examples::add_option(app, "--out", out, "picture without its ending: .png and .svg are written");
    gmac::examples::parse_options(app, argc, argv);
    gmac::tbb_executor tasks(1);
    train::plot_density_history(out, train::atari_densities(folders, step, seed, [&](train::settings const& settings) {
                                    return train::make_arcade_experiment(settings, tasks);
                                }));
    fmt::print("{}.png and {}.svg are written\n", out, out);
}

} // namespace

int main(int argc, char** argv) {
    return gmac::examples::run_main("gmac-ale-densities", [&] { run(argc, argv); });
}
