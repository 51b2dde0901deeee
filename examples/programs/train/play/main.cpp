// SPDX-License-Identifier: Apache-2.0
// gmac-play: a film of a trained robot, or the trace of one that repeats recorded actions.
#include "minatar/trace.hpp"
#include "replay.hpp"
#include "show.hpp"
#include "support/parse_options.hpp"

#include <gmac/core/error.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <fstream>
#include <string>

namespace {

namespace train = gmac::examples::train;
using gmac::examples::add_flag;
using gmac::examples::add_option;

void add_show_options(CLI::App& app, train::show_options& chosen) {
    char const* const group = "A film of what was learned";
    add_option(app, "--checkpoint", chosen.checkpoint,
               "a checkpoint or the folder of a run of gmac-train on a robot; an episode with the most likely "
               "actions is drawn beside the predicted distribution of the return")
        ->group(group);
    add_option(app, "--out", chosen.out, "the animated GIF; by default play.gif beside the checkpoint")->group(group);
    add_option(app, "--json", chosen.json,
               "instead of the GIF, or beside it with --out: the episode as JSON, which docs/playground replays in 3D")
        ->group(group);
    add_option(app, "--seed", chosen.seed, "of the episode")->group(group);
    add_option(app, "--risk", chosen.risk,
               "parameter of the statistic to act by, of a run that has learned a range (gmac-train --statistic "
               "cvar:0.05..1); by default one is drawn")
        ->group(group);
    add_option(app, "--steps", chosen.steps, "steps of 0.0165 s at most")->group(group);
    add_option(app, "--every", chosen.every, "steps from one frame to the next")->group(group);
    add_option(app, "--width", chosen.width, "of the film, in pixels")->group(group);
    add_option(app, "--height", chosen.height, "of the film, in pixels")->group(group);
}

void add_replay_options(CLI::App& app, train::replay_options& chosen) {
    char const* const group = "A trace of recorded actions";
    add_option(app, "--env", chosen.environment, "The robot: " + train::known_robots())->group(group);
    add_option(app, "--joints", chosen.joints,
               "CSV without header, one row: the initial angles of the actuated joints in rad, in the order of the "
               "actions; the robot starts at rest")
        ->group(group);
    add_option(app, "--actions", chosen.actions, "CSV without header: one row a step, one column an actuated joint")
        ->group(group);
    add_option(app, "--trace", chosen.trace, "Where the CSV goes; row 0 is the reset, row t is after step t")
        ->group(group);
    add_flag(app, "--merged", chosen.merged,
             "One link for a joint and its body: faster, and equal to PyBullet's motion only to rounding")
        ->group(group);
}

/// Plays a recorded game of MinAtar again and says that it was repeated. Throws gmac::error at the first step that differs.
void repeat_game(std::string const& recording, std::string const& environment) {
    std::ifstream file(recording);
    gmac::require(file.good(), "cannot read {}", recording);
    minatar::replayed const done = minatar::replay(file, recording);
    gmac::require(environment.empty() || environment == "minatar/" + done.game, "{} is a game of minatar/{}, not of {}",
                  recording, done.game, environment);
    fmt::print("{}: {} steps and {} resets repeated exactly, reward {}\n", done.game, done.steps, done.resets,
               done.reward);
}

/// Throws gmac::error unless the options given are all that one of the two needs, and none of the other.
void check(CLI::App const& app) {
    auto const given = [&app](char const* option) { return app.count(option) > 0; };
    bool const shows = given("--checkpoint");
    for (char const* const option : {"--env", "--joints", "--actions", "--trace"}) {
        gmac::require(!shows || !given(option), "{} does not go with --checkpoint, which says what to play", option);
        gmac::require(shows || given(option),
                      "{} is missing: give --checkpoint FILE, or --env, --joints, --actions and --trace", option);
    }
    for (char const* const option :
         {"--out", "--json", "--seed", "--risk", "--steps", "--every", "--width", "--height"})
        gmac::require(shows || !given(option), "{} goes with --checkpoint only", option);
}

} // namespace

int main(int argc, char** argv) {
    return gmac::examples::run_main("gmac-play", [&] {
        CLI::App
            app("Draws an episode of a trained robot, or repeats actions on a robot in Bullet and writes observations, "
                "rewards and states as CSV.",
                "gmac-play");
        train::show_options shown;
        train::replay_options replayed;
        add_show_options(app, shown);
        add_replay_options(app, replayed);
        std::string recording;
        add_option(app, "--replay", recording,
                   "A recorded game of MinAtar (docs/minatar.md): its steps are repeated and compared")
            ->group("A recorded game");
        gmac::examples::parse_options(app, argc, argv);
        if (!recording.empty()) {
            auto const given = app.get_options([](CLI::Option const* one) { return one->count() > 0; });
            gmac::require(given.size() == 1 + app.count("--env"), "--replay goes with --env only");
            repeat_game(recording, replayed.environment);
            return;
        }
        check(app);
        if (app.count("--checkpoint") > 0)
            train::show(shown);
        else
            train::replay(replayed);
    });
}
