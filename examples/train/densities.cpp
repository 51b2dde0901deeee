// SPDX-License-Identifier: Apache-2.0
// gmac-ale-densities: a state of an Atari game beside what several runs made of its value as they were trained.
#include "atari_experiment.hpp"
#include "episode.hpp"
#include "output/density_history.hpp"

#include <gmac/agent/checkpoint.hpp>
#include <gmac/backends/tbb.hpp>
#include <gmac/core/error.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace train = gmac::examples::train;

/// A run, with its checkpoints from the earliest to the latest.
struct stored_run {
    train::settings settings;
    std::vector<fs::path> checkpoints;
    std::unique_ptr<train::atari_experiment> experiment;

    stored_run(fs::path const& folder, gmac::executor& tasks) {
        auto const latest = folder / "checkpoint.safetensors";
        gmac::require(fs::exists(latest), "{} has no checkpoint", folder.string());
        auto const metadata = gmac::read_metadata(latest);
        auto const found = metadata.find("settings");
        gmac::require(found != metadata.end(), "{} has no settings", latest.string());
        settings = train::from_json(nlohmann::ordered_json::parse(found->second));
        gmac::require(train::is_atari(settings.environment), "{} is a run on {}, which is no Atari game",
                      folder.string(), settings.environment);
        for (auto const& entry : fs::directory_iterator(folder))
            if (std::string const name = entry.path().filename().string();
                name.starts_with("checkpoint-") && name.ends_with(".safetensors"))
                checkpoints.push_back(entry.path());
        std::ranges::sort(checkpoints);
        if (checkpoints.empty())
            checkpoints.push_back(latest);
        experiment = std::make_unique<train::atari_experiment>(settings, tasks);
    }

    void load(fs::path const& checkpoint) {
        gmac::load_checkpoint(checkpoint, [&](gmac::archive& state) { experiment->persist(state); });
    }
};

/// The pixel maximum of the frames of a state.
std::vector<std::uint8_t> maximum_screen(std::vector<std::uint8_t> const& state, std::size_t pixels) {
    std::vector<std::uint8_t> screen(pixels);
    for (std::size_t i = 0; i < state.size(); ++i)
        screen[i % pixels] = std::max(screen[i % pixels], state[i]);
    return screen;
}

int run(int argc, char** argv) {
    std::vector<std::string> folders;
    std::string out = "value_densities";
    std::size_t step = 100;
    std::uint64_t seed = 1;
    CLI::App app(
        "gmac-ale-densities draws a state of an Atari game beside the densities of its value that several runs, one a\n"
        "method, had at the moments of which they kept checkpoints (gmac-train --keep-checkpoints N).");
    app.add_option("runs", folders, "folders of gmac-train on one game, such as those of iqac, iqac_e and gmac")
        ->required();
    app.add_option("--step", step, "of the state, in a game that the last run's latest agent plays")
        ->capture_default_str();
    app.add_option("--seed", seed, "of this game")->capture_default_str();
    app.add_option("--out", out, "picture without its ending: .png and .svg are written")->capture_default_str();
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& end) {
        return app.exit(end);
    }
    gmac::tbb_executor tasks(1);
    std::vector<std::uint8_t> state;
    train::density_picture picture;
    for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
        stored_run one(*folder, tasks);
        if (state.empty()) {
            one.load(one.checkpoints.back());
            state = one.experiment->state_after(step, seed);
            picture.title = fmt::format("{}, step {}", train::atari_game(one.settings.environment), step);
        }
        train::density_history history{.method = one.settings.algorithm, .moments = {}};
        for (auto const& checkpoint : one.checkpoints) {
            one.load(checkpoint);
            history.moments.push_back(train::panel_of(static_cast<std::size_t>(one.experiment->frames()), 0.0,
                                                      one.experiment->agent().value_distribution(state), 1.0));
        }
        picture.methods.insert(picture.methods.begin(), std::move(history));
    }
    picture.side = train::atari_game_environment::side;
    picture.screen = maximum_screen(state, picture.side * picture.side);
    train::plot_density_history(out, picture);
    fmt::print("{}.png and {}.svg are written\n", out, out);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (std::exception const& problem) {
        std::fprintf(stderr, "gmac-ale-densities: %s\n", problem.what());
        return 1;
    }
}
