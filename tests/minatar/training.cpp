// SPDX-License-Identifier: Apache-2.0
// gmac-train on MinAtar: bytes through the trunk of its authors.
#include "support/catch.hpp"

#include "../../examples/programs/train/image_experiment.hpp"
#include "../../examples/programs/train/trunk_text.hpp"
#include "deploy/trained.hpp"

#include <gmac/core/tbb_executor.hpp>
#include <gmac/storage/checkpoint.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace gmac::examples::train;
using gmac::testing::scratch_folder;

constexpr std::uint64_t update_frames = 4 * 16;

settings small_run(std::string const& game, std::string const& method) {
    settings run = default_settings("minatar/" + game, method);
    run.environments = 4;
    run.agent.steps = 16;
    run.agent.minibatch = 32;
    run.agent.epochs = 2;
    run.agent.shards = 3;
    run.agent.particles = 8;
    run.quantile_samples = run.quantile_embedding = run.quantile_hidden = 8;
    run.frames = 2 * update_frames;
    return run;
}

gmac::snapshot state_of(experiment& one) {
    return gmac::snapshot::of([&](gmac::archive& state) { one.persist(state); });
}

} // namespace

TEST_CASE("MinAtar: every game and method trains, goes on from a checkpoint bit for bit, for any number of threads") {
    gmac::tbb_executor one(1), two(2);
    for (std::string const game : {"asterix", "breakout", "freeway", "seaquest", "space_invaders"})
        for (std::string const method : {"gmac", "iqac", "iqac_e", "ppo"}) {
            if (game != "breakout" && method != "gmac")
                continue;
            CAPTURE(game, method);
            settings const run = small_run(game, method);
            auto const whole = make_minatar_experiment(run, one);
            std::vector<gmac::update_report> reports;
            whole->train({.frames = run.frames,
                          .on_update = [&](gmac::update_report const& report) { reports.push_back(report); }});
            REQUIRE(reports.size() == 2);
            for (auto const& report : reports)
                CHECK((std::isfinite(report.value_loss) && report.entropy > 0.5));

            scratch_folder folder;
            auto const file = folder.path / "checkpoint.safetensors";
            auto const first_half = make_minatar_experiment(run, two);
            first_half->train({.frames = update_frames});
            gmac::save_checkpoint(file, {}, [&](gmac::archive& state) { first_half->persist(state); });
            auto const second_half = make_minatar_experiment(run, two);
            gmac::load_checkpoint(file, [&](gmac::archive& state) { second_half->persist(state); });
            second_half->train({.frames = run.frames});
            CHECK(state_of(*second_half) == state_of(*whole));

            auto const games = whole->evaluate(3, [] { return false; });
            REQUIRE(games.size() == 3);
            for (auto const& played : games)
                CHECK(played.length > 0);
            CHECK_FALSE(whole->value_panels().empty());
        }
}

TEST_CASE("MinAtar: the settings reach the game and the trunk") {
    gmac::tbb_executor tasks(1);
    settings run = small_run("breakout", "ppo");
    // 16 filters of 3 x 3 x 4, 128 units, an actor of 3 actions and a value.
    CHECK(make_minatar_experiment(run, tasks)->parameter_count() ==
          (36 + 1) * 16 + (8 * 8 * 16 + 1) * 128 + 129 * 3 + 129);
    run.full_action_set = true;
    run.trunk = "conv:8x4x2,conv:4x2x1,32,16";
    validate(run);
    CHECK(make_minatar_experiment(run, tasks)->parameter_count() ==
          (64 + 1) * 8 + (32 + 1) * 4 + (3 * 3 * 4 + 1) * 32 + 33 * 16 + 17 * 6 + 17);
    settings const read = from_json(to_json(run));
    CHECK(read.trunk == run.trunk);
    CHECK(read.full_action_set == run.full_action_set);
    CHECK(features_of_convolutions(trunk_of(run)) == 3 * 3 * 4);
}
