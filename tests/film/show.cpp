// SPDX-License-Identifier: Apache-2.0
// gmac-play --checkpoint as a user runs it, on runs of gmac-train that have hardly begun.
#include "gif.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/scratch_folder.hpp"

#include <gmac/storage/checkpoint.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

using gmac::testing::gif;
using gmac::testing::read_gif;
using gmac::testing::slurp;
using gmac::testing::spit;

namespace {

using gmac::testing::program_outcome;
using gmac::testing::run_program;
using gmac::testing::scratch_folder;

void train(scratch_folder const& folder, std::string const& name, std::string const& what) {
    auto const done = run_program(
        fmt::format("'{}' {} --envs 2 --steps 32 --frames 64 --epochs 1 --hidden 8 --quantile-hidden 8 --no-pictures "
                    "--evaluation-episodes 0 --out '{}' 2>&1",
                    GMAC_TRAIN, what, (folder / name).string()));
    INFO(done.text);
    REQUIRE(done.status == 0);
}

program_outcome play(std::string const& arguments, std::string const& environment = "") {
    return run_program(fmt::format("{} '{}' {} 2>&1", environment, GMAC_PLAY, arguments));
}

} // namespace

TEST_CASE("every robot can be looked at", "[film]") {
    scratch_folder const folder;
    for (std::string const robot : {"hopper", "walker2d", "half_cheetah", "ant", "humanoid"}) {
        train(folder, robot, "--env bullet/" + robot);
        auto const done = play(fmt::format("--checkpoint '{}' --steps 7 --every 3", (folder / robot).string()));
        INFO(done.text);
        REQUIRE(done.status == 0);
        gif const drawn = read_gif(folder / robot / "play.gif");
        CHECK(drawn.frames() == 3); // steps 0, 3 and 6
        CHECK(drawn.delays.back() == 5);
        CHECK(drawn.width == 800);
    }
}

TEST_CASE("every algorithm can be looked at, from the checkpoint alone and with all options", "[film]") {
    scratch_folder const folder;
    for (std::string const algorithm : {"gmac", "ppo", "iqac", "dirac_energy"}) {
        train(folder, algorithm, "--env bullet/hopper --algorithm " + algorithm);
        std::filesystem::rename(folder / algorithm / "checkpoint.safetensors", folder / "stored");
        auto const out = folder / (algorithm + ".gif");
        auto const done =
            play(fmt::format("--checkpoint '{}' --steps 4 --every 1 --seed 5 --width 500 --height 300 --out '{}'",
                             (folder / "stored").string(), out.string()));
        INFO(done.text);
        REQUIRE(done.status == 0);
        gif const drawn = read_gif(out);
        CHECK(drawn.frames() == 4);
        CHECK(drawn.width == 500);
        CHECK(drawn.height == 300);
    }
}

TEST_CASE("an episode is recorded, in three dimensions, without gnuplot", "[film]") {
    scratch_folder const folder;
    for (auto const& [robot, shapes] : {std::pair("hopper", 4), std::pair("ant", 13)}) {
        train(folder, robot, fmt::format("--env bullet/{}", robot));
        auto const file = folder / "an episode.json";
        auto const done = play(fmt::format("--checkpoint '{}' --steps 7 --every 3 --json '{}'",
                                           (folder / robot).string(), file.string()),
                               "PATH=/nowhere");
        INFO(done.text);
        REQUIRE(done.status == 0);
        CHECK_FALSE(std::filesystem::exists(folder / robot / "play.gif"));
        auto const all = nlohmann::json::parse(slurp(file));
        CHECK(all["format"] == "gmac-episode-1");
        CHECK(all["seconds"] == Approx(3 * 0.0165));
        CHECK(all["radii"].size() == static_cast<std::size_t>(shapes));
        CHECK(all["sides"].size() == all["radii"].size());
        REQUIRE(all["frames"].size() == 3); // steps 0, 3 and 6
        double earned = 0.0;
        for (auto const& frame : all["frames"]) {
            REQUIRE(frame["shapes"].size() == 6 * all["radii"].size());
            double const width = all["range"][1].get<double>() - all["range"][0].get<double>();
            double mass = 0.0, mean = 0.0;
            for (std::size_t i = 0; i < frame["density"].size(); ++i) {
                double const share = frame["density"][i].get<double>() * width / 120.0;
                mass += share;
                mean += share * (all["range"][0].get<double>() + width * static_cast<double>(i) / 120.0);
            }
            CHECK(mass == Approx(1.0).margin(0.03)); // a little is beyond the range
            CHECK(mean == Approx(frame["mean"].get<double>()).margin(0.03 * width));
            CHECK(earned <= frame["earned"].get<double>()); // it stands and earns for that
            earned = frame["earned"].get<double>();
        }
        if (shapes == 13)
            continue;
        // The hopper's torso stands over its leg at first, from 1.05 m to 1.45 m, and whatever it does its parts hang together.
        auto const& first = all["frames"][0]["shapes"];
        for (auto const& [place, metres] :
             {std::pair(0, 0.0), std::pair(2, 1.45), std::pair(3, 0.0), std::pair(5, 1.05)})
            CHECK(first[static_cast<std::size_t>(place)] == Approx(metres).margin(1e-4));
        for (auto const& frame : all["frames"])
            for (std::size_t const joint : {3u, 9u}) // the lower end of a part, the upper one of the next
                for (std::size_t i = 0; i < 3; ++i)
                    CHECK(frame["shapes"][joint + i].get<double>() ==
                          Approx(frame["shapes"][joint + 3 + i].get<double>()).margin(3e-4));
        CHECK(all["frames"][2]["shapes"] != first);
    }
}

TEST_CASE("the same seed gives the same film", "[film]") {
    scratch_folder const folder;
    train(folder, "run", "--env bullet/walker2d");
    for (auto const& [name, seed] : {std::pair("a", 3), std::pair("b", 3), std::pair("c", 4)})
        REQUIRE(play(fmt::format("--checkpoint '{}' --steps 10 --seed {} --out '{}'", (folder / "run").string(), seed,
                                 (folder / name).string()))
                    .status == 0);
    CHECK(slurp(folder / "a") == slurp(folder / "b"));
    CHECK(slurp(folder / "a") != slurp(folder / "c"));
}

TEST_CASE("what cannot be looked at is said", "[film]") {
    scratch_folder const folder;
    auto const says = [&](std::string const& arguments, std::string const& message, std::string const& env = "") {
        auto const failed = play(arguments, env);
        INFO(failed.text);
        CHECK(failed.status == 1);
        CHECK(failed.says(message));
    };
    auto const checkpoint = [&](char const* name) {
        return fmt::format("--checkpoint '{}'", (folder / name).string());
    };
    says(checkpoint("missing"), "there is no file or folder");
    std::filesystem::create_directory(folder / "empty");
    says(checkpoint("empty"), "has no checkpoint.safetensors");
    train(folder, "cart", "--env classic/cart_pole");
    says(checkpoint("cart"), "it is of a run on classic/cart_pole, but only robots");
    gmac::save_checkpoint(folder / "other", {}, [](gmac::archive& state) {
        double number = 1.0;
        state("number", number);
    });
    says(checkpoint("other"), "has no settings, so gmac-train did not write it");

    train(folder, "hopper", "--env bullet/hopper");
    auto const negative = play(checkpoint("hopper") + " --steps=-1");
    CHECK(negative.status != 0);
    CHECK(negative.says("--steps is -1, but must be in [0, 18446744073709551615]"));
    auto const file = folder / "hopper" / "checkpoint.safetensors";
    auto stored = gmac::read_checkpoint(file);
    auto& settings = stored.metadata["settings"];
    settings.replace(settings.find("\"gmac\""), 6, "\"dqn\"");
    gmac::write_checkpoint(folder / "dqn", stored);
    says(checkpoint("dqn"), "unknown algorithm \"dqn\"");
    settings.replace(settings.find("\"dqn\""), 5, "\"ppo\"");
    gmac::write_checkpoint(folder / "ppo", stored);
    says(checkpoint("ppo"), "parameters.");
    says(checkpoint("hopper"), "gnuplot is not installed", "PATH=/nowhere");
    says(checkpoint("hopper") + " --every 0", "--every is 0");
    says(checkpoint("hopper") + " --width 5", "--width is 5, but must be from 400 to 4000");
    says(checkpoint("hopper") + " --env bullet/hopper", "--env does not go with --checkpoint");
    says("--every 3", "--env is missing");
    auto bytes = slurp(file);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    spit(file, bytes);
    says(checkpoint("hopper"), "the checkpoint is corrupted");
    CHECK_FALSE(std::filesystem::exists(folder / "hopper" / "play.gif"));
}
