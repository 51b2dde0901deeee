// SPDX-License-Identifier: Apache-2.0
// gmac-curves as its user meets it, on runs written by hand.
#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/scratch_folder.hpp"

#include <fmt/format.h>

#include <sys/stat.h>

#include <filesystem>
#include <string>

using gmac::testing::program_outcome;
using gmac::testing::run_program;
using gmac::testing::scratch_folder;
using gmac::testing::spit;

namespace {

void write_run(std::filesystem::path const& folder, std::string const& seed, std::string const& rows) {
    std::filesystem::create_directories(folder);
    spit(folder / "config.json", R"({"env": "classic/cart_pole", "algorithm": "gmac", "seed": )" + seed + "}");
    spit(folder / "metrics.csv", rows);
}

std::string const two_rows = "frames,seconds,mean_return\n100,0.5,nan\n200,1,20.25\n";

program_outcome curves(scratch_folder const& folder, std::string const& arguments) {
    return run_program(fmt::format("cd '{}' && '{}' {} 2>&1", folder.path.string(), GMAC_CURVES, arguments));
}

} // namespace

TEST_CASE("gmac-curves draws the runs that have an update, and names those that have none") {
    scratch_folder const folder;
    write_run(folder / "a", "18446744073709551615", two_rows);
    write_run(folder / "empty", "2", "");
    write_run(folder / "header", "3", "frames,seconds,mean_return\n");
    write_run(folder / "cut", "4", "frames,seconds,mean_return\n100,");
    write_run(folder / "none", "5", "");
    std::filesystem::remove(folder / "none/metrics.csv");
    auto const drawn = curves(folder, "empty a header cut none --out picture");
    CHECK(drawn.status == 0);
    for (std::string const name : {"empty", "header", "cut", "none"})
        CHECK(drawn.says(name + " has no update yet and is left out\n"));
    CHECK(drawn.says("| classic/cart_pole | gmac | 18446744073709551615 | 20.2 | 20.2 | nan | 1.0 | 200 |\n"));
    CHECK(std::filesystem::exists(folder / "picture.png"));
    CHECK(std::filesystem::exists(folder / "picture.svg"));
    auto const nothing = curves(folder, "empty none");
    CHECK(nothing.status == 1);
    CHECK(nothing.text.ends_with("gmac-curves: none of these runs has an update yet\n"));
}

TEST_CASE("gmac-curves compares algorithms with a baseline, over the environments that both have") {
    scratch_folder const folder;
    std::string folders;
    auto const add = [&](std::string const& environment, std::string const& algorithm, int seed,
                         std::string const& score, std::string const& evaluation = {}) {
        std::string const name = fmt::format("{}-{}-{}", environment, algorithm, seed);
        std::filesystem::create_directories(folder / name);
        spit(folder / (name + "/config.json"),
             fmt::format(R"({{"env": "{}", "algorithm": "{}", "seed": {}}})", environment, algorithm, seed));
        spit(folder / (name + "/metrics.csv"), "frames,seconds,mean_return\n200,1," + score + "\n");
        if (!evaluation.empty())
            spit(folder / (name + "/summary.json"), R"({"evaluation": {"mean": )" + evaluation + "}}");
        folders += name + " ";
    };
    add("x", "ppo", 1, "2");
    add("x", "ppo", 2, "2");
    add("x", "gmac", 1, "0", "1"); // the evaluation counts
    add("x", "gmac", 2, "3");
    add("y", "ppo", 1, "8");
    add("y", "ppo", 2, "4");
    add("y", "ppo", 3, "6");
    add("y", "gmac", 1, "8");
    add("y", "gmac", 2, "10");
    add("z", "gmac", 1, "100"); // not in the baseline
    add("w", "ppo", 1, "-10");  // which nobody is compared on
    auto const compared = curves(folder, folders + "--baseline ppo");
    INFO(compared.text);
    CHECK(compared.status == 0);
    // By hand: tests/evaluate/statistics.cpp.
    CHECK(compared.says(
        "| algorithm | environments | runs | interquartile mean, ppo = 1 | chance of a run to be better than "
        "one of ppo |"));
    CHECK(compared.says("| gmac | 2 | 4 | 1.42 ("));
    CHECK(compared.says(") | 0.71 ("));
    auto const single = curves(folder, "x-ppo-1 x-gmac-2 --baseline ppo");
    CHECK(single.says("| gmac | 1 | 1 | 1.50 | 1.00 |")); // one run each has no interval
    auto const unknown = curves(folder, folders + "--baseline dqn");
    CHECK(unknown.status == 1);
    CHECK(unknown.says("--baseline is dqn, but must be the algorithm of one of the runs: gmac, ppo"));
    add("x", "gmac", 3, "nan");
    auto const endless = curves(folder, folders + "--baseline ppo");
    CHECK(endless.status == 1);
    CHECK(endless.says("--baseline: the run of gmac on x with seed 3 has no episode that ended"));
}

TEST_CASE("gmac-curves says which file is wrong, and how") {
    scratch_folder const folder;
    write_run(folder / "a", "1", two_rows);
    auto const says = [&](std::string const& what) {
        auto const refused = curves(folder, "a");
        INFO(refused.text);
        CHECK(refused.status == 1);
        CHECK(refused.text == "gmac-curves: " + what + "\n");
    };
    auto const config = [&](std::string const& text, std::string const& what) {
        spit(folder / "a/config.json", text);
        says("a/config.json " + what);
    };
    config(std::string(100'000, '[') + std::string(100'000, ']'),
           "has more than 64 arrays and objects within each other");
    config("{", "is not JSON");
    config("[]", "has no text /env");
    config(R"({"env": 3})", "has no text /env");
    config(R"({"env": "x", "algorithm": "y", "seed": "1"})", "has no number /seed");
    for (std::string const seed : {"-1", "1.5"}) {
        spit(folder / "a/config.json", R"({"env": "x", "algorithm": "y", "seed": )" + seed + "}");
        says(seed == "-1" ? "/seed in a/config.json is -1, but must be in [0, 18446744073709551615]"
                          : "/seed in a/config.json is \"1.5\", but must be a whole number in decimal digits");
    }
    write_run(folder / "a", "1", two_rows);
    spit(folder / "a/summary.json", R"({"evaluation": [1]})");
    says("a/summary.json has no number /evaluation/mean");
    std::filesystem::remove(folder / "a/summary.json");
    std::filesystem::remove(folder / "a/metrics.csv");
    REQUIRE(::mkfifo((folder / "a/metrics.csv").c_str(), 0600) == 0);
    says("cannot read a/metrics.csv: it is not a regular file");
    std::filesystem::remove(folder / "a/metrics.csv");
    spit(folder / "a/metrics.csv", "frames,seconds\n1,2\n");
    says("there is no column mean_return, only frames, seconds");
    std::filesystem::remove_all(folder / "a");
    says("cannot read a/config.json: No such file or directory");
}
