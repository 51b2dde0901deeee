// SPDX-License-Identifier: Apache-2.0
// gmac-train on MinAtar: bytes through the trunk of its authors.
#include "support/catch.hpp"

#include "../../examples/programs/train/image_experiment.hpp"
#include "../../examples/programs/train/minatar_games.hpp"
#include "../../examples/programs/train/our_environments.hpp"
#include "../../examples/programs/train/state_densities.hpp"
#include "../../examples/programs/train/trunk_text.hpp"
#include "deploy/trained.hpp"
#include "minatar/games.hpp"
#include "minatar/picture.hpp"
#include "support/says.hpp"

#include <gmac/core/tbb_executor.hpp>
#include <gmac/environment/vector_environment.hpp>
#include <gmac/storage/checkpoint.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace gmac::examples::train;
using gmac::testing::scratch_folder;

registry const known = our_registry();

constexpr std::uint64_t update_frames = 4 * 16;

settings small_run(std::string const& game, std::string const& method) {
    settings run = default_settings(known, "minatar/" + game, method);
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

/// Breakout, whose three actions are forbidden in turn.
struct taking_turns : minatar::game<minatar::breakout> {
    std::uint64_t steps = 0;

    taking_turns() = default;
    void action_mask(std::span<std::uint8_t> allowed) const { allowed[steps % 3] = 0; }
    void reset(gmac::random_stream& random, std::span<std::uint8_t> observation) {
        steps = 0;
        game::reset(random, observation);
    }
    gmac::transition step(int chosen, gmac::random_stream& random, std::span<std::uint8_t> observation) {
        ++steps;
        return game::step(chosen, random, observation);
    }
    void persist(gmac::archive& state) {
        state("steps", steps);
        game::persist(state);
    }
};

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
            auto const whole = make_image_experiment(known, run, one);
            std::vector<gmac::update_report> reports;
            whole->train({.frames = run.frames,
                          .on_update = [&](gmac::update_report const& report) { reports.push_back(report); }});
            REQUIRE(reports.size() == 2);
            for (auto const& report : reports)
                CHECK((std::isfinite(report.value_loss) && report.entropy > 0.5));

            scratch_folder folder;
            auto const file = folder.path / "checkpoint.safetensors";
            auto const first_half = make_image_experiment(known, run, two);
            first_half->train({.frames = update_frames});
            gmac::save_checkpoint(file, {}, [&](gmac::archive& state) { first_half->persist(state); });
            auto const second_half = make_image_experiment(known, run, two);
            gmac::load_checkpoint(file, [&](gmac::archive& state) { second_half->persist(state); });
            second_half->train({.frames = run.frames});
            CHECK(state_of(*second_half) == state_of(*whole));

            auto const games = whole->evaluate(evaluation::final, 3, [] { return false; });
            REQUIRE(games.size() == 3);
            for (auto const& played : games)
                CHECK((played.length > 0 && played.length <= minatar_score_steps));
            CHECK_FALSE(whole->value_panels().empty());
        }
}

TEST_CASE("MinAtar: the settings reach the game and the trunk") {
    gmac::tbb_executor tasks(1);
    settings run = small_run("breakout", "ppo");
    // 16 filters of 3 x 3 x 4, 128 units, an actor of 3 actions and a value.
    CHECK(make_image_experiment(known, run, tasks)->parameter_count() ==
          (36 + 1) * 16 + (8 * 8 * 16 + 1) * 128 + 129 * 3 + 129);
    run.full_action_set = true;
    run.trunk = "conv:8x4x2,conv:4x2x1,32,16";
    validate(known, run);
    CHECK(make_image_experiment(known, run, tasks)->parameter_count() ==
          (64 + 1) * 8 + (32 + 1) * 4 + (3 * 3 * 4 + 1) * 32 + 33 * 16 + 17 * 6 + 17);
    settings const read = from_json(known, to_json(run));
    CHECK(read.trunk == run.trunk);
    CHECK(read.full_action_set == run.full_action_set);
    CHECK(features_of_convolutions(trunk_of(run)) == 3 * 3 * 4);
}

TEST_CASE("MinAtar: games go on from a moment with chances of their own") {
    gmac::tbb_executor tasks(1);
    settings run = small_run("breakout", "ppo");
    run.agent.discount = 0.8;
    auto const experiment = make_image_experiment(known, run, tasks);
    auto const moment = experiment->moment_before_end(4, 7);
    CHECK(experiment->moment_after(moment.step, 7).state == moment.state);
    CHECK_NOTHROW(experiment->moment_after(moment.step + 3, 7));
    auto const after_end = fmt::format("the game of seed 7 ends with step {}: there is no state after {}",
                                       moment.step + 4, moment.step + 4);
    CHECK_THROWS_WITH(experiment->moment_after(moment.step + 4, 7), after_end);
    CHECK_THROWS_WITH(experiment->moment_before_end(1000, 7),
                      fmt::format("the game of seed 7 has {} steps: there is no state 1000 before its end",
                                  moment.step + 4));

    constexpr std::size_t plays = 20;
    auto const returns = experiment->returns_from(moment, plays, 5);
    REQUIRE(returns.size() == plays);
    CHECK(experiment->returns_from(moment, plays, 5) == returns);
    CHECK(experiment->returns_from(moment, plays, 6) != returns);
    // Each by itself, with the environment of the library.
    for (std::size_t i = 0; i < plays; ++i) {
        gmac::vector_environment<minatar::game<minatar::breakout>> world(1, 1);
        auto stored = moment.world.tensors();
        for (auto& tensor : stored)
            if (tensor.name == "streams") {
                auto const chances = gmac::stream_for(5, gmac::stream_purpose::evaluation, 2 * i);
                std::array<std::uint64_t, 3> const words{chances.seed(), chances.stream(), 0};
                std::memcpy(tensor.data.data(), words.data(), sizeof words);
            }
        gmac::snapshot(stored).restore([&](gmac::archive& state) { world.persist(state); }, gmac::unasked::ignore);
        auto random = gmac::stream_for(5, gmac::stream_purpose::evaluation, 2 * i + 1);
        std::vector<std::uint8_t> seen = moment.state, over(1), cut(1);
        std::vector<float> action(1), reward(1);
        double sum = 0.0, weight = 1.0;
        for (int t = 0; t < 42 && over[0] == 0; ++t, weight *= 0.8) { // 0.8^42 is 9e-5
            experiment->agent().sample({seen.data(), 1, seen.size()}, {&random, 1}, {action.data(), 1, 1}, {});
            world.step({action.data(), 1, 1}, {{seen.data(), 1, seen.size()}, {}, reward, over, cut});
            sum += weight * static_cast<double>(reward[0]);
        }
        CHECK(returns[i] == Approx(sum).margin(1e-12));
    }
}

TEST_CASE("MinAtar: where a game forbids actions, all that plays it plays by that") {
    gmac::tbb_executor tasks(1);
    settings const run = small_run("breakout", "ppo");
    // A batch refuses what is forbidden.
    image_experiment experiment(known, run, tasks, [](image_games_for, std::size_t count, std::uint64_t seed) {
        return std::make_unique<gmac::vector_environment<taking_turns>>(count, seed);
    });
    experiment.train({.frames = run.frames});
    CHECK(experiment.frames() == run.frames);
    CHECK(experiment.evaluate(evaluation::final, 3, [] { return false; }).size() == 3);
    CHECK_FALSE(experiment.value_panels().empty());
    auto const moment = experiment.moment_before_end(4, 7);
    CHECK(experiment.moment_after(moment.step, 7).state == moment.state);
    CHECK(experiment.returns_from(moment, 20, 5).size() == 20);
}

TEST_CASE("MinAtar: what a run and its critics made of a state, beside what games brought from there") {
    gmac::tbb_executor tasks(1);
    scratch_folder folder;
    settings run = small_run("seaquest", "gmac");
    run.critics = "iqac,ppo";
    auto const experiment = make_image_experiment(known, run, tasks);
    experiment->train({.frames = run.frames});
    gmac::save_checkpoint(folder.path / "checkpoint.safetensors", {{"settings", to_json(run).dump()}},
                          [&](gmac::archive& state) { experiment->persist(state); });
    auto const make = [&](settings const& stored) { return make_image_experiment(known, stored, tasks); };
    std::array<std::filesystem::path, 1> const runs{folder.path};
    auto const picture = state_densities(known, runs, {.step = 2, .before_end = true, .seed = 3, .plays = 50}, make);
    auto const moment = experiment->moment_before_end(2, 3);
    CHECK(picture.title == fmt::format("minatar/seaquest, step {}", moment.step));
    CHECK(picture.screen == minatar::picture(moment.state));
    REQUIRE(picture.methods.size() == 3);
    CHECK(picture.methods[0].method == "gmac");
    CHECK(picture.methods[1].method == "iqac on gmac");
    CHECK(picture.methods[2].method == "ppo on gmac");
    auto const returns = experiment->returns_from(moment, 50, 3);
    for (auto const& [method, moments] : picture.methods) {
        CAPTURE(method);
        REQUIRE(moments.size() == 1);
        CHECK(moments[0].panel.step == run.frames);
        CHECK(moments[0].returns == returns);
    }
    // 2 E|X - Y| - E|X - X'| - E|Y - Y'|, pair by pair.
    auto const mean_gap = [](std::vector<double> const& a, std::vector<double> const& b) {
        double sum = 0.0;
        for (double const x : a)
            for (double const y : b)
                sum += std::abs(x - y);
        return sum / static_cast<double>(a.size() * b.size());
    };
    auto const energy = [&](std::vector<double> const& a, std::vector<double> const& b) {
        return 2.0 * mean_gap(a, b) - mean_gap(a, a) - mean_gap(b, b);
    };
    auto const& quantiles = picture.methods[1].moments[0];
    REQUIRE(quantiles.panel.samples.size() == 8);
    CHECK(quantiles.distance == Approx(energy(quantiles.panel.samples, returns)).margin(1e-9));
    // Of a number, which is what PPO knows: a point.
    auto const& number = picture.methods[2].moments[0];
    CHECK(number.distance == Approx(energy({mean_of(number.panel)}, returns)).margin(1e-9));
    // Of the mixture, with a great many points in its place.
    auto const& mixture = picture.methods[0].moments[0];
    std::vector<double> points;
    gmac::random_stream random(1, 1);
    for (auto const& one : mixture.panel.components)
        for (int k = 0; k < static_cast<int>(std::lround(4000 * one.weight)); ++k)
            points.push_back(one.mean + one.deviation * random.normal<double>());
    CHECK(std::abs(mixture.distance - energy(points, returns)) < 0.02);

    CHECK_THROWS_WITH(state_densities(known, runs, {.step = 0, .before_end = true, .seed = 3}, make),
                      gmac::testing::says(
                          "the state is 0 steps before the end of a game, but must be at least 1 before it"));
}

TEST_CASE("MinAtar: a picture of an observation") {
    std::vector<std::uint8_t> seen(10 * 10 * 4);
    auto const empty = minatar::picture(seen);
    REQUIRE(empty.size() == 300);
    for (std::size_t i = 3; i < 300; ++i)
        CHECK(empty[i] == empty[i - 3]);
    // x = 3, y = 2: one channel, then a later one over it. x = 9, y = 9: the first channel.
    seen[(2 * 10 + 3) * 4 + 1] = 1;
    auto const one = minatar::picture(seen);
    seen[(2 * 10 + 3) * 4 + 3] = 1;
    seen[(9 * 10 + 9) * 4] = 1;
    auto const two = minatar::picture(seen);
    for (std::size_t i = 0; i < 300; ++i) {
        CAPTURE(i);
        CHECK((one[i] != empty[i]) == (i / 3 == 23));
        if (i / 3 != 23 && i / 3 != 99)
            CHECK(two[i] == empty[i]);
    }
    auto const pixel = [](std::vector<std::uint8_t> const& from, std::size_t cell) {
        return std::vector<std::uint8_t>(from.begin() + static_cast<std::ptrdiff_t>(3 * cell),
                                         from.begin() + static_cast<std::ptrdiff_t>(3 * cell + 3));
    };
    CHECK(pixel(two, 23) != pixel(one, 23));
    CHECK(pixel(two, 99) != pixel(empty, 99));
    CHECK(pixel(two, 99) != pixel(two, 23));
    CHECK_THROWS_WITH(minatar::picture(std::span(seen).first(399)),
                      "minatar: 399 bytes are no observation, which has 100 cells of 1 to 10 channels");
}
