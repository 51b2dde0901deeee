// SPDX-License-Identifier: Apache-2.0
// gmac-train on Atari games, with the scripted emulator: bytes through the paper's convolutional trunk.
#include "support/catch.hpp"
#include "support/says.hpp"

#include "../../examples/programs/train/atari_games.hpp"
#include "../../examples/programs/train/image_experiment.hpp"
#include "../../examples/programs/train/our_environments.hpp"
#include "../../examples/programs/train/state_densities.hpp"
#include "deploy/trained.hpp"
#include "scripted.hpp"

#include <gmac/core/tbb_executor.hpp>
#include <gmac/deploy/policy_file.hpp>
#include <gmac/storage/checkpoint.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace scripted = gmac::testing::scripted;

namespace {

using namespace gmac::examples::train;
using gmac::testing::says;
using gmac::testing::scratch_folder;

registry const known = our_registry();

constexpr std::uint64_t update_frames = 3 * 8;

/// A run with the paper's settings but for its size.
settings small_run(std::string const& method) {
    settings run = default_settings(known, "ale/scripted", method);
    run.environments = 3;
    run.agent.steps = 8;
    run.agent.minibatch = 12;
    run.agent.epochs = 2;
    run.agent.shards = 3;
    run.agent.hidden = {16};
    run.agent.particles = 8;
    run.quantile_samples = run.quantile_embedding = run.quantile_hidden = 8;
    run.frames = 2 * update_frames;
    return run;
}

std::unique_ptr<image_experiment> make(settings const& run, gmac::executor& tasks) {
    auto const emulator = [](gmac::examples::ale::preprocessing const&) { return scripted::three_lives(); };
    return std::make_unique<image_experiment>(known, run, tasks, games_of(emulator, preprocessing_of(run), tasks));
}

gmac::snapshot state_of(experiment& one) {
    return gmac::snapshot::of([&](gmac::archive& state) { one.persist(state); });
}

void save(std::filesystem::path const& file, settings const& run, experiment& one) {
    gmac::save_checkpoint(file, {{"settings", to_json(run).dump()}}, [&](gmac::archive& state) { one.persist(state); });
}

TEST_CASE("Atari: each method trains, goes on from a checkpoint bit for bit, and does not depend on the threads") {
    gmac::tbb_executor one(1), two(2);
    for (std::string const method : {"gmac", "iqac", "iqac_e", "ppo"}) {
        CAPTURE(method);
        settings const run = small_run(method);
        auto const whole = make(run, one);
        gmac::snapshot const untrained = state_of(*whole);
        std::vector<gmac::update_report> reports;
        whole->train(
            {.frames = run.frames, .on_update = [&](gmac::update_report const& report) { reports.push_back(report); }});
        REQUIRE(reports.size() == 2);
        for (auto const& report : reports)
            CHECK((std::isfinite(report.value_loss) && std::isfinite(report.policy_loss) && report.entropy > 0.5));
        gmac::snapshot const trained = state_of(*whole);
        CHECK(whole->frames() == run.frames);
        CHECK(!(trained == untrained));

        scratch_folder folder;
        auto const first_half = make(run, two);
        first_half->train({.frames = update_frames});
        save(folder.path / "checkpoint.safetensors", run, *first_half);
        auto const second_half = make(run, two);
        gmac::load_checkpoint(folder.path / "checkpoint.safetensors",
                              [&](gmac::archive& state) { second_half->persist(state); });
        CHECK(second_half->frames() == update_frames);
        second_half->train({.frames = run.frames});
        CHECK(state_of(*second_half) == trained);

        auto const threads = make(run, two);
        threads->train({.frames = run.frames});
        CHECK(state_of(*threads) == trained);
    }
}

TEST_CASE("Atari: whole games are evaluated in raw rewards, and values of a game are in clipped ones") {
    gmac::tbb_executor tasks(1);
    settings run = small_run("ppo");
    auto const experiment = make(run, tasks);
    CHECK_THROWS_AS(experiment->evaluate(evaluation::final, 3, [] { return true; }), evaluation_stopped);
    auto const games = experiment->evaluate(evaluation::final, 3, [] { return false; });
    REQUIRE(games.size() == 3);
    // 100 frames of a game, of which up to 30 are its start and 8 fire; frame 35 pays 7 if it is none of the start.
    for (auto const& game : games) {
        CHECK((game.reward_sum == 24.0 || game.reward_sum == 17.0));
        CHECK(game.length >= 17);
        CHECK(game.length <= 25);
    }
    // A life: its last step brings nothing after it, and a reward of 7 is worth 1.
    auto const panels = experiment->value_panels();
    REQUIRE(!panels.empty());
    for (auto const& panel : panels) {
        CHECK(panel.return_to_go >= 0.0);
        CHECK(panel.return_to_go <= 1.0);
        CHECK(panel.components.size() == 1); // PPO's value
    }
    auto const state = experiment->moment_after(2, 1).state;
    CHECK(state.size() == 4 * 84 * 84);
    CHECK(state == experiment->moment_after(2, 1).state);
    CHECK(state != experiment->moment_after(3, 1).state);
}

TEST_CASE("Atari: the policy file of a run acts as its agent, bit for bit") {
    gmac::tbb_executor tasks(1);
    for (std::string const method : {"gmac", "iqac"}) {
        auto const experiment = make(small_run(method), tasks);
        experiment->train({.frames = update_frames});
        scratch_folder folder;
        experiment->save_policy(folder.path / "policy.safetensors", {});
        using backend = gmac::backends::simd<float>;
        using policy_type = gmac::deployed_policy<backend, gmac::nn::image_trunk<backend>>;
        auto policy = std::get<policy_type>(gmac::load_any_policy(folder.path / "policy.safetensors"));

        auto const whole = state_of(*experiment);
        auto const own = gmac::snapshot::of([&](gmac::archive& state) { policy.persist(state); });
        CHECK(own.tensors().size() == 10);
        for (auto const& tensor : own.tensors()) {
            auto const stored =
                std::ranges::find(whole.tensors(), "parameters." + tensor.name, &gmac::snapshot::tensor::name);
            REQUIRE(stored != whole.tensors().end());
            CHECK(stored->data == tensor.data);
        }

        auto memory = policy.make_memory();
        for (std::uint64_t seed = 3; seed < 15; ++seed) {
            auto const state = experiment->moment_after(0, seed).state;
            std::array<float, 1> trained{-1.0f}, deployed{-2.0f};
            experiment->agent().act(state, trained, {});
            policy.act(state, deployed, memory);
            CHECK(trained == deployed);
        }
    }
}

TEST_CASE("Atari: the settings of a run change single things of its preprocessing") {
    settings run = small_run("ppo");
    CHECK(preprocessing_of(run).sticky == 0.0);
    run.preprocessing = "machado2018";
    CHECK(preprocessing_of(run).sticky == 0.25);
    CHECK(preprocessing_of(run).full_action_set);
    run.sticky = 0.125;
    run.full_action_set = false;
    CHECK(preprocessing_of(run).sticky == 0.125);
    CHECK(!preprocessing_of(run).full_action_set);
}

TEST_CASE("Atari: what has no place is refused") {
    gmac::tbb_executor tasks(1);
    auto run = small_run("dirac_energy");
    CHECK_THROWS_WITH(make(run, tasks), says("unknown algorithm for images \"dirac_energy\"; known are gmac, ppo"));
    run = small_run("gmac");
    run.trunk = "conv:8x85x1";
    CHECK_THROWS_WITH(make(run, tasks), says("kernel is 85, but must fit into images of 84 x 84 pixels"));
}

TEST_CASE("Atari: value densities of one state by several runs, at the moments that were kept") {
    gmac::tbb_executor tasks(1);
    scratch_folder folder;
    std::vector<std::filesystem::path> runs;
    for (std::string const method : {"iqac", "gmac"}) {
        settings const run = small_run(method);
        runs.push_back(folder.path / method);
        std::filesystem::create_directories(runs.back());
        auto const experiment = make(run, tasks);
        save(runs.back() / "checkpoint.safetensors", run, *experiment);
        if (method == "gmac")
            for (std::uint64_t frames : {update_frames, 2 * update_frames}) {
                experiment->train({.frames = frames});
                save(runs.back() / ("checkpoint-0" + std::to_string(frames) + ".safetensors"), run, *experiment);
            }
    }
    auto const picture =
        state_densities(known, runs, {.step = 3}, [&](settings const& run) { return make(run, tasks); });
    CHECK(picture.title == "ale/scripted, step 3");
    REQUIRE(picture.screen.size() == 3 * 84 * 84);
    CHECK(std::ranges::max(picture.screen) > 0);
    REQUIRE(picture.methods.size() == 2);
    CHECK(picture.methods[0].method == "iqac");
    REQUIRE(picture.methods[0].moments.size() == 1);
    CHECK(picture.methods[0].moments[0].panel.samples.size() == 8);
    CHECK(picture.methods[1].method == "gmac");
    REQUIRE(picture.methods[1].moments.size() == 2);
    CHECK(picture.methods[1].moments[0].panel.step == update_frames);
    CHECK(picture.methods[1].moments[1].panel.step == 2 * update_frames);
    CHECK(picture.methods[1].moments[0].panel.components.size() == 5);
    CHECK_THROWS_WITH(state_densities(known, {&folder.path, 1}, {.step = 3},
                                      [&](settings const& run) { return make(run, tasks); }),
                      says("has no checkpoint"));
}

} // namespace
