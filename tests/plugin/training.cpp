// SPDX-License-Identifier: Apache-2.0
// gmac-train on environments of shared libraries.
#include "train/runs.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace gmac::testing;

namespace {

/// All that two environments have other defaults for.
std::string const what =
    " --frames 2048 --envs 8 --steps 32 --minibatch 64 --epochs 2 --learning-rate 0.001 --schedule linear --lambda 0.8 "
    "--discount 0.98 --entropy-coefficient 0 --max-gradient-norm 0.5 --hidden 8 --shared-trunk false "
    "--normalize-rewards true --normalize-observations false" +
    quiet;

} // namespace

TEST_CASE("a run on the library is the run on the environment that is compiled in, bit for bit", "[plugin]") {
    scratch const folder;
    for (auto const& [name, environment] : {std::pair("in", "classic/cart_pole"), std::pair("out", GMAC_CART_POLE)}) {
        auto const done = train(fmt::format("--env '{}' --out {} {}", environment, folder / name, what));
        INFO(done.text);
        REQUIRE(done.status == 0);
    }
    CHECK(numbers_of(folder.path / "in") == numbers_of(folder.path / "out"));
    CHECK(slurp(folder.path / "in" / "policy.safetensors") == slurp(folder.path / "out" / "policy.safetensors"));
}

TEST_CASE("a run on a library of C is resumed bit for bit, from another folder, and evaluated", "[plugin]") {
    scratch const folder;
    fs::copy_file(GMAC_CORRIDOR, folder.path / "corridor.so");
    auto const in = [&](std::string const& where, std::string const& arguments) {
        auto const done = run_program(fmt::format("cd '{}' && '{}' {} 2>&1", where, GMAC_TRAIN, arguments));
        INFO(done.text);
        REQUIRE(done.status == 0);
    };
    fs::create_directory(folder.path / "elsewhere");
    in(folder.path.string(), "--env ./corridor.so --schedule constant --frames 8192" + quiet); // runs/corridor-gmac-1
    in(folder.path.string(), "--env ./corridor.so --schedule constant --frames 4096 --out cut" + quiet);
    in(folder / "elsewhere", "--resume ../cut --frames 8192" + quiet);
    CHECK(state_of(folder.path / "cut") == state_of(folder.path / "runs" / "corridor-gmac-1"));
    auto const evaluated = run_program(fmt::format("'{}' '{}' --episodes 20 2>&1", GMAC_EVALUATE, folder / "cut"));
    INFO(evaluated.text);
    CHECK(evaluated.status == 0);
    CHECK(evaluated.text.find("corridor.so") != std::string::npos);

    fs::remove(folder.path / "corridor.so");
    auto const gone = train(fmt::format("--resume {} --frames 16384{}", folder / "cut", quiet));
    CHECK(gone.status == 1);
    CHECK(gone.says(fmt::format("there is no file {}", (fs::canonical(folder.path) / "corridor.so").string())));
}

#ifdef GMAC_CORRIDOR_PY
TEST_CASE("a run on a program of Python is resumed bit for bit, checked, and evaluated", "[plugin]") {
    scratch const folder;
    std::string const settings = fmt::format("--env '{}' --schedule constant{}", GMAC_CORRIDOR_PY, quiet);
    auto const run = [&](std::string const& arguments) {
        auto const done = train(arguments);
        INFO(done.text);
        REQUIRE(done.status == 0);
        return done.text;
    };
    run(fmt::format("{} --frames 4096 --out {}", settings, folder / "whole"));
    // What it draws of itself is in the report.
    run(fmt::format("--env '{}' --frames 2048 --no-pictures --evaluation-episodes 0 --out {}", GMAC_CORRIDOR_PY,
                    folder / "shown"));
    auto const observed = nlohmann::json::parse(slurp(folder.path / "shown" / "observed.json"));
    CHECK(observed["episode"]["kind"] == "lines");
    CHECK(observed["episode"]["frames"][0]["lines"].size() == 3);
    run(fmt::format("{} --frames 2048 --out {}", settings, folder / "cut"));
    run(fmt::format("--resume {} --frames 4096{}", folder / "cut", quiet));
    CHECK(state_of(folder.path / "cut") == state_of(folder.path / "whole"));
    CHECK(numbers_of(folder.path / "cut") == numbers_of(folder.path / "whole"));
    std::string const found = run(fmt::format("--env '{}' --check-environment", GMAC_CORRIDOR_PY));
    CHECK(found.find("WRONG") == std::string::npos);
    CHECK(found.find("observations of 1 elements, 2 actions") != std::string::npos);
    auto const evaluated = run_program(fmt::format("'{}' '{}' --episodes 20 2>&1", GMAC_EVALUATE, folder / "cut"));
    INFO(evaluated.text);
    CHECK(evaluated.status == 0);
}

TEST_CASE("a run on a program that stores no states says so when it is resumed, and plays other episodes", "[plugin]") {
    scratch const folder;
    fs::path const script = folder.path / "forgetful.py";
    std::ofstream(script) << fmt::format(R"(#!/usr/bin/env python3
import sys
sys.path.insert(0, '{}')
import corridor, gmac_environment
del corridor.Corridor.save_state, corridor.Corridor.load_state

class Forgetful(corridor.Corridor):
    def reset(self, seed=None):
        if seed is not None:
            print(seed, file=open('{}', 'a'))
        return super().reset(seed)

gmac_environment.serve(Forgetful)
)",
                                         fs::path(GMAC_CORRIDOR_PY).parent_path().string(), folder / "seeds");
    fs::permissions(script, fs::perms::owner_all);
    std::string const told = "stores no states: all environments begin new episodes";
    auto const begun =
        train(fmt::format("--env '{}' --frames 2048{} --out {}", script.string(), quiet, folder / "run"));
    INFO(begun.text);
    CHECK(begun.status == 0);
    CHECK_FALSE(begun.says(told));
    auto const resumed = train(fmt::format("--resume {} --frames 4096{}", folder / "run", quiet));
    INFO(resumed.text);
    CHECK(resumed.status == 0);
    CHECK(resumed.says(told));
    // Its random numbers are not those of the beginning.
    std::ifstream file(folder.path / "seeds");
    std::set<std::string> const seeds{std::istream_iterator<std::string>(file), {}};
    CHECK(seeds.size() == 2 * 16);
}
#endif

TEST_CASE("a run with several actions at once is checked, resumed bit for bit, and evaluated", "[plugin]") {
    scratch const folder;
    std::string const settings =
        fmt::format("--env '{}' --schedule constant --normalize-rewards false{}", GMAC_DIALS, quiet);
    auto const run = [&](std::string const& arguments) {
        auto const done = train(arguments);
        INFO(done.text);
        REQUIRE(done.status == 0);
        return done.text;
    };
    std::string const found = run(fmt::format("--env '{}' --check-environment", GMAC_DIALS));
    CHECK(found.find("WRONG") == std::string::npos);
    CHECK(found.find("observations of 10 elements, 3 discrete actions at once, of 3, 4, 2") != std::string::npos);
    run(fmt::format("{} --frames 8192 --out {}", settings, folder / "whole"));
    run(fmt::format("{} --frames 4096 --out {}", settings, folder / "cut"));
    run(fmt::format("--resume {} --frames 8192{}", folder / "cut", quiet));
    CHECK(state_of(folder.path / "cut") == state_of(folder.path / "whole"));
    auto const policy = slurp(folder.path / "cut" / "policy.safetensors");
    CHECK(policy.find("\\\"kind\\\":\\\"multi_categorical\\\"") != std::string::npos);
    CHECK(policy.find("\\\"actions\\\":[3,4,2]") != std::string::npos);
    auto const evaluated = run_program(fmt::format("'{}' '{}' --episodes 20 2>&1", GMAC_EVALUATE, folder / "cut"));
    INFO(evaluated.text);
    CHECK(evaluated.status == 0);
}

TEST_CASE("gmac-train says what is wrong with an environment, and trains nothing", "[plugin]") {
    scratch const folder;
    auto const checked = [&](std::string const& environment, std::string const& options = "") {
        return run_program(fmt::format("cd '{}' && '{}' --env '{}' --check-environment {} 2>&1", folder.path.string(),
                                       GMAC_TRAIN, environment, options.empty() ? "" : "--env-options " + options));
    };
    for (std::string const sound : {GMAC_CORRIDOR, GMAC_CART_POLE, GMAC_EXPORTED}) {
        auto const done = checked(sound);
        INFO(done.text);
        CHECK(done.status == 0);
        CHECK(done.says("ok      they can be played: observations of "));
        CHECK_FALSE(done.says("WRONG"));
    }
    auto const endless = checked(GMAC_FAULTY);
    INFO(endless.text);
    CHECK(endless.status == 1);
    CHECK(endless.says("WRONG   episodes end: none ended in 1000 steps of 3 environments"));
    CHECK(endless.says("WRONG   a stored state goes on as it was: "));
    CHECK(endless.says("load failed: load always fails"));
    auto const unwritten = checked(GMAC_FAULTY, "unwritten");
    CHECK(unwritten.status == 1);
    CHECK(unwritten.says("environment 1, step 3 of its episode: observation element 1 is nan, but must be finite"));
    CHECK(checked(GMAC_FAULTY, "behind").says("step writes past the end of the 6 observations"));
    auto const images = run_program(fmt::format("'{}' --env minatar/breakout --check-environment 2>&1", GMAC_TRAIN));
    CHECK(images.status == 1);
    CHECK(
        images.says("--check-environment looks at environments with real observations, and minatar/breakout shows "
                    "images"));
    CHECK(fs::is_empty(folder.path));
}

TEST_CASE("the commands of docs/plugins.md make the libraries", "[plugin]") {
    scratch const folder;
    std::istringstream page(slurp(fs::path(GMAC_SOURCE) / "docs" / "plugins.md"));
    int made = 0;
    for (std::string line; std::getline(page, line);) {
        bool const rust = line.starts_with("    rustc ");
#ifndef GMAC_WITH_RUST
        if (rust)
            continue;
#endif
        if (!rust && !line.starts_with("    c++ ") && !line.starts_with("    cc "))
            continue;
        std::string const output = "-o ";
        auto const at = line.find(output);
        REQUIRE(at != std::string::npos);
        line.insert(at + output.size(), folder.path.string() + "/");
        auto const done = run_program(fmt::format("cd '{}' && {} 2>&1", GMAC_SOURCE, line));
        INFO(done.text);
        CHECK(done.status == 0);
        ++made;
    }
    std::vector<std::string> names{"cart_pole", "corridor"};
#ifdef GMAC_WITH_RUST
    names.push_back("corridor_rs");
#endif
    CHECK(made == static_cast<int>(names.size()));
    for (std::string const& name : names) {
        auto const done =
            train(fmt::format("--env {}.so --frames 2048 --out {}{}", folder / name, folder / name, quiet));
        INFO(done.text);
        CHECK(done.status == 0);
    }
    // Rust's corridor is that of C, number by number.
    if (names.size() == 3)
        CHECK(numbers_of(folder.path / names[2]) == numbers_of(folder.path / names[1]));
}

#ifdef GMAC_CORRIDOR_PY
TEST_CASE("the script of docs/plugins.md trains on what Gymnasium makes", "[plugin]") {
    scratch const folder;
    std::string const page = slurp(fs::path(GMAC_SOURCE) / "docs" / "plugins.md"), fence = "```python\n";
    auto const begin = page.find(fence) + fence.size();
    fs::path const script = folder.path / "pole.py";
    std::ofstream(script) << page.substr(begin, page.find("```", begin) - begin);
    fs::permissions(script, fs::perms::owner_all);
    fs::copy_file(fs::path(GMAC_CORRIDOR_PY).parent_path() / "gmac_environment.py",
                  folder.path / "gmac_environment.py");
    // What stands for Gymnasium, which is no package of Debian: its interface, with observations that are arrays.
    fs::copy_file(fs::path(GMAC_WORLDS).parent_path() / "gymnasium.py", folder.path / "gymnasium.py");
    auto const done = train(fmt::format("--env {} --frames 1024 --out {}{}", script.string(), folder / "run", quiet));
    INFO(done.text);
    CHECK(done.status == 0);
    for (std::string const name : {"Pendulum-v1", "Switches-v1"}) {
        auto const other = train(fmt::format("--env {} --env-options {} --frames 1024 --out {}{}", script.string(),
                                             name, folder / name, quiet));
        INFO(other.text);
        CHECK(other.status == 0);
    }
    auto const unknown =
        train(fmt::format("--env {} --env-options Chess-v1 --out {}", script.string(), folder / "none"));
    CHECK(unknown.status == 1);
    CHECK(unknown.says("pole.py: there is no environment: LookupError: no environment Chess-v1"));
    CHECK_FALSE(fs::exists(folder.path / "none"));
}
#endif

TEST_CASE("options of libraries go with libraries, and the library is told them", "[plugin]") {
    scratch const folder;
    auto const told =
        train(fmt::format("--env '{}' --env-options walls --out {}{}", GMAC_CORRIDOR, folder / "a", quiet));
    CHECK(told.status == 1);
    CHECK(told.says(fmt::format("{}: the environments cannot be made: the corridor has no options", GMAC_CORRIDOR)));
    CHECK_FALSE(fs::exists(folder.path / "a"));
    auto const other = train("--env classic/cart_pole --env-options walls");
    CHECK(other.status == 1);
    CHECK(other.says("--env-options is an option of Environments of your own and does not go with classic/cart_pole"));
    auto const missing = train("--env ./missing.so");
    CHECK(missing.status == 1);
    CHECK(missing.says("missing.so"));
    auto const unknown = train("--env classic/missing");
    CHECK(unknown.says("ale/GAME, and your own: a shared library, FILE.so, or a program, ./FILE"));
}
