// SPDX-License-Identifier: Apache-2.0
// gmac-sweep as its user meets it, on runs of gmac-train that take a blink.
#include "train/runs.hpp"

#include "support/catch.hpp"

#include <gmac/storage/files.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace gmac::testing;

namespace {

/// A folder with a blank in its name, where gmac-sweep is run.
struct place : scratch {
    fs::path here = path / "a folder";
    place() { fs::create_directories(here); }

    [[nodiscard]] std::string line(std::string const& arguments) const {
        return fmt::format("cd '{}' && GMAC_TRAIN='{}' exec '{}' {}", here.string(), GMAC_TRAIN, GMAC_SWEEP, arguments);
    }
    [[nodiscard]] program_outcome sweep(std::string const& arguments) const {
        return run_program("exec 2>&1; " + line(arguments));
    }
    void write(std::string const& name, std::string const& text) const { spit(here / name, text); }
    /// A run of gmac-train by itself.
    void alone(std::string const& name, std::string const& options) const {
        auto const done =
            train(fmt::format("--env classic/cart_pole {} --out '{}' {}", options, (here / name).string(), quiet));
        INFO(done.text);
        REQUIRE(done.status == 0);
    }
    /// The same but for times.
    void check_same(std::string const& run, std::string const& other) const {
        INFO(run);
        CHECK(state_of(here / run) == state_of(here / other));
        CHECK(numbers_of(here / run) == numbers_of(here / other));
    }
};

using cells = std::vector<std::string>;

/// The rows of sweep.csv without their seconds; no cell of these has a comma in it.
std::vector<cells> rows_of(fs::path const& folder) {
    std::istringstream file(slurp(folder / "sweep.csv"));
    std::vector<cells> rows;
    for (std::string line; std::getline(file, line);) {
        std::istringstream row(line);
        rows.emplace_back();
        for (std::string cell; std::getline(row, cell, ',');)
            rows.back().push_back(cell);
        rows.back().erase(rows.back().end() - 2);
    }
    return rows;
}

std::string const small = R"("env": "classic/cart_pole", "hidden": [8], "envs": 4, "frames": )";
std::string const small_options = "--hidden 8 --envs 4 --frames ";

} // namespace

TEST_CASE("a sweep that was stopped and killed ends with the runs that gmac-train makes alone", "[sweep]") {
    place const at;
    at.write("two.json", "{\"options\": {" + small + R"(16384, "epochs": 2}, "algorithms": ["gmac"],
        "grid": {"learning-rate": [3e-4, 1e-3]}, "seeds": [1, 2]})");
    std::vector<std::string> const names{"1-gmac-lr=0.0003-seed=1", "1-gmac-lr=0.0003-seed=2", "2-gmac-lr=0.001-seed=1",
                                         "2-gmac-lr=0.001-seed=2"};
    fs::path const runs = at.here / "sweeps/two/runs";
    {
        running_program begun(at.line("two.json --jobs 2 >stopped 2>&1"));
        wait_until([&] { return frames_in(runs / names[1]) > 0; });
        CHECK(begun.end(SIGTERM) == 128 + SIGTERM);
    }
    CHECK(slurp(at.here / "stopped").ends_with("stopped by SIGTERM; the same command goes on\n"));
    // Both ended in order, before it did.
    for (std::size_t const i : {0u, 1u})
        if (!fs::exists(runs / names[i] / "summary.json"))
            CHECK(slurp(at.here / "sweeps/two/logs" / (names[i] + ".txt")).find("stopped by SIGINT after") !=
                  std::string::npos);
    {
        running_program killed(at.line("two.json --jobs 2 >killed 2>&1"));
        wait_until([&] { return frames_in(runs / names[2]) > 0; });
        CHECK(killed.end(SIGKILL) == 128 + SIGKILL); // its runs go on
    }
    auto const last = at.sweep("two.json --jobs 3");
    INFO(last.text);
    CHECK(last.status == 0);
    auto const rows = rows_of(at.here / "sweeps/two");
    REQUIRE(rows.size() == 3);
    CHECK(rows[0] == cells{"number", "algorithm", "learning-rate", "interquartile_mean", "low", "high", "runs",
                           "frames", "scores"});
    for (std::string const picture : {"sweep.png", "sweep.svg"})
        CHECK(fs::exists(at.here / "sweeps/two" / picture));
    std::vector<double> scores;
    for (std::size_t i = 0; i < names.size(); ++i) {
        at.alone("alone" + names[i], fmt::format("{}16384 --epochs 2 --learning-rate {} --seed {}", small_options,
                                                 i < 2 ? 3e-4 : 1e-3, 1 + i % 2));
        at.check_same("sweeps/two/runs/" + names[i], "alone" + names[i]);
        scores.push_back(gmac::examples::train::read_csv(at.here / ("alone" + names[i]) / "metrics.csv")
                             .column("mean_return")
                             .back());
    }
    bool const first = scores[0] + scores[1] >= scores[2] + scores[3];
    std::size_t const best = first ? 0 : 2;
    CHECK(rows[1][0] == (first ? "1" : "2"));
    CHECK(rows[1][3] == fmt::format("{}", (scores[best] + scores[best + 1]) / 2.0));
    CHECK(rows[1].back() == fmt::format("{} {}", scores[best], scores[best + 1]));
    // The best settings are a file of gmac-train; nothing is trained again.
    at.alone("from-file", fmt::format("--config '{}' --seed 1", (at.here / "sweeps/two/best-gmac.conf").string()));
    at.check_same("from-file", "alone" + names[best]);
    auto const again = at.sweep("two.json");
    CHECK(again.status == 0);
    CHECK_FALSE(again.says("frames in"));
    CHECK(rows_of(at.here / "sweeps/two") == rows);
}

TEST_CASE("halving goes by the frames of a rung, resumes the best, and is the same for any number of jobs", "[sweep]") {
    place const at;
    // 8 updates of 128 frames to the first rung, 16 to the second, 32 in all.
    at.write("halving.json", "{\"options\": {" + small + R"(4096, "epochs": 2}, "algorithms": ["gmac", "ppo"],
        "random": {"count": 4, "seed": 3, "learning-rate": {"log_uniform": [1e-4, 1e-2]}},
        "seeds": [1, 2], "halving": {"eta": 2, "rungs": 3}})");
    for (std::string const jobs : {"1", "4"}) {
        auto const done = at.sweep(fmt::format("halving.json --jobs {0} --out jobs{0}", jobs));
        INFO(done.text);
        CHECK(done.status == 0);
        for (std::string const algorithm : {"gmac", "ppo"}) {
            CHECK(done.says(algorithm + ": after 1024 frames 2 of 4 settings go on\n"));
            CHECK(done.says(algorithm + ": after 2048 frames 1 of 2 settings go on\n"));
        }
    }
    auto const rows = rows_of(at.here / "jobs1");
    CHECK(rows == rows_of(at.here / "jobs4"));
    REQUIRE(rows.size() == 9);
    // What each would have had after so many frames, by a run of all of them alone.
    std::map<std::string, std::map<double, std::map<std::string, double>>> means; // by algorithm, frames and number
    for (std::size_t i = 1; i < rows.size(); ++i) {
        cells const& row = rows[i];
        for (std::string const seed : {"1", "2"}) {
            std::string const name = fmt::format("alone-{}-{}", row[0], seed);
            at.alone(name, fmt::format("{}4096 --epochs 2 --algorithm {} --learning-rate {} --seed {}", small_options,
                                       row[1], row[2], seed));
            auto const table = gmac::examples::train::read_csv(at.here / name / "metrics.csv");
            for (double const frames : {1024.0, 2048.0, 4096.0}) {
                auto const& all = table.column("frames");
                auto const found = std::ranges::find(all, frames);
                REQUIRE(found != all.end());
                means[row[1]][frames][row[0]] +=
                    table.column("mean_return")[static_cast<std::size_t>(found - all.begin())] / 2.0;
            }
        }
    }
    for (std::string const algorithm : {"gmac", "ppo"}) {
        auto& of = means[algorithm];
        auto const best = [&](double frames, std::vector<std::string> numbers, std::size_t count) {
            std::ranges::sort(numbers, {}, [&](auto const& number) { // of equal ones the first
                return std::pair(-of[frames][number], std::stoi(number));
            });
            numbers.resize(count);
            return numbers;
        };
        std::vector<std::string> all;
        for (auto const& [number, mean] : of[1024.0])
            all.push_back(number);
        auto const second = best(1024.0, all, 2), third = best(2048.0, second, 1);
        for (cells const& row : rows) {
            if (row[1] != algorithm)
                continue;
            bool const is_third = row[0] == third[0];
            bool const is_second = std::ranges::find(second, row[0]) != second.end();
            INFO(algorithm << ' ' << row[0]);
            CHECK(row[7] == (is_third ? "4096" : is_second ? "2048" : "1024"));
            CHECK(std::stod(row[3]) == Approx(of[std::stod(row[7])][row[0]]).epsilon(1e-12));
            if (is_third)
                for (fs::directory_entry const& run : fs::directory_iterator(at.here / "jobs4/runs"))
                    if (std::string const name = run.path().filename().string(); name.starts_with(row[0] + "-"))
                        at.check_same("jobs4/runs/" + name,
                                      fmt::format("alone-{}-{}", row[0], name.substr(name.size() - 1)));
        }
        CHECK(fs::exists(at.here / "jobs1" / fmt::format("best-{}.conf", algorithm)));
    }
}

TEST_CASE("a run that fails is told, and the others are trained", "[sweep]") {
    place const at;
    at.write("some.json", "{\"options\": {" + small + R"(512}, "algorithms": ["ppo"], "seeds": [1, 2, 3]})");
    at.write("broken", "");
    std::string const command = fmt::format("some.json --program '{}' --jobs 2", GMAC_BROKEN_TRAIN);
    auto const failed = at.sweep(command);
    INFO(failed.text);
    CHECK(failed.status == 1);
    CHECK(
        failed.says("1-ppo-seed=2 has failed: it ended with status 3; its folder is sweeps/some/runs/1-ppo-seed=2, and "
                    "sweeps/some/logs/1-ppo-seed=2.txt ends with\n    $ "));
    CHECK(failed.says("\n    the disk is on fire\n"));
    CHECK(failed.says("| 1 | ppo | | | 2 of 3 | 512 |"));
    CHECK(failed.says("gmac-sweep: the run in sweeps/some/runs/1-ppo-seed=2 has failed"));
    CHECK(failed.says("no picture: no settings have a score in all of their runs"));
    CHECK(fs::exists(at.here / "sweeps/some/runs/1-ppo-seed=3/summary.json"));
    CHECK_FALSE(fs::exists(at.here / "sweeps/some/best-ppo.conf"));
    fs::remove(at.here / "broken");
    auto const mended = at.sweep(command);
    INFO(mended.text);
    CHECK(mended.status == 0);
    CHECK(mended.says("[1/1] 1-ppo-seed=2: 512 frames"));
    CHECK(fs::exists(at.here / "sweeps/some/best-ppo.conf"));
}

TEST_CASE("a sweep goes by evaluations if it is asked to", "[sweep]") {
    place const at;
    at.write("evaluated.json", "{\"options\": {" + small + R"(512, "evaluation-episodes": 3}, "algorithms": ["ppo"],
        "seeds": [1], "score": "evaluation"})");
    auto const done = at.sweep("evaluated.json");
    INFO(done.text);
    CHECK(done.status == 0);
    auto const alone =
        train(fmt::format("--env classic/cart_pole {}512 --algorithm ppo --seed 1 --no-pictures --no-report "
                          "--evaluation-episodes 3 --out '{}'",
                          small_options, at / "alone"));
    REQUIRE(alone.status == 0);
    std::string const summary = slurp(at.path / "alone/summary.json");
    CHECK(summary.find("\"mean\": " + rows_of(at.here / "sweeps/evaluated")[1][2]) != std::string::npos);
}

TEST_CASE("a sweep says what gmac-train has against its settings, before anything is written", "[sweep]") {
    place const at;
    auto const says = [&](std::string const& text, std::string const& what) {
        at.write("a.json", text);
        auto const refused = at.sweep("a.json");
        INFO(refused.text);
        CHECK(refused.status == 1);
        CHECK(refused.says("gmac-sweep: a.json: " + what));
        CHECK_FALSE(fs::exists(at.here / "sweeps"));
    };
    std::string const begin = R"({"seeds": [1], "options": {"env": "classic/cart_pole"}, )";
    says(R"({"seeds": [1], "options": {"env": "classic/cart_pol"}})",
         "/options/env: gmac-train: unknown environment \"classic/cart_pol\"; known are ");
    says(begin + R"("grid": {"clip": [0.1], "lerning-rate": [1]}})",
         "/grid/lerning-rate: gmac-train: there is no option --lerning-rate; did you mean --learning-rate?");
    says(begin + R"("grid": {"clip": [0.1, "much"]}})",
         "/grid/clip: gmac-train: --clip is \"much\", but must be a decimal number");
    says(begin + R"("grid": {"clip": [0.1], "max-gradient-norm": [-1]}})", "/grid/max-gradient-norm: gmac-train: ");
    says(R"({"seeds": [1], "options": {"env": "classic/cart_pole", "env-option:wind": 0.3}})",
         "/options/env-option:wind: gmac-train: there is no option --env-option");
    says(begin + R"("random": {"count": 1, "seed": 1, "epochs": {"uniform": [1.5, 1.6]}}})",
         "/random/epochs: gmac-train: --epochs is \"1.5");
    says(begin + R"("algorithms": ["gmac", "gamc"]})",
         "gamc, as in options: gmac-train: unknown algorithm \"gamc\"; known are gmac");
    says(begin + R"("grid": {"pushes": [1]}})",
         "/grid/pushes: gmac-train: --pushes is an option of Robots and does not go with");
    says(R"({"seeds": [1], "score": "evaluation", "options": {"env": "classic/cart_pole", "evaluation-episodes": 0}})",
         "/options/evaluation-episodes: \"score\" is \"evaluation\", so evaluation-episodes must not be 0");
    says(R"({"seeds": [1], "options": {"env": "classic/cart_pole", "target-return": 9}, "grid": {"clip": [1, 2]},
        "halving": {"eta": 2, "rungs": 2}})",
         "halving compares runs of the same frames, so target-return must not end them before");
}

TEST_CASE("a sweep uses no folder that is not its own", "[sweep]") {
    place const at;
    at.write("a.json", "{\"options\": {" + small + R"(256}, "algorithms": ["ppo"], "seeds": [1]})");
    at.write("b.json", "{\"options\": {" + small + R"(512}, "algorithms": ["ppo"], "seeds": [1]})");
    auto const listed = at.sweep("a.json --dry-run --threads 3");
    CHECK(listed.status == 0);
    std::string const program = GMAC_TRAIN; // in a folder whose name may have a blank
    CHECK(listed.text ==
          fmt::format("{0}{1}{0} --env=classic/cart_pole --hidden=8 --envs=4 --frames=256 --algorithm=ppo --seed=1 "
                      "--out=sweeps/a/runs/1-ppo-seed=1 --evaluation-episodes=0 --threads=3 --no-pictures "
                      "--no-report\n",
                      program.find(' ') == program.npos ? "" : "'", program));
    CHECK_FALSE(fs::exists(at.here / "sweeps"));
    CHECK(at.sweep("a.json --out mine").status == 0);
    CHECK(at.sweep("a.json --out mine --dry-run").text.empty());
    auto const refuses = [&](std::string const& arguments, std::string const& what) {
        auto const refused = at.sweep(arguments);
        INFO(refused.text);
        CHECK(refused.status != 0);
        CHECK(refused.says("gmac-sweep: " + what));
    };
    {
        gmac::detail::descriptor const used(::open((at.here / "mine").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        REQUIRE(::flock(used.get(), LOCK_EX) == 0);
        refuses("a.json --out mine", "the folder mine is in use: another gmac-sweep is at it\n");
    }
    std::string const before = slurp(at.here / "mine/sweep.csv");
    for (std::string const more : {"", " --dry-run"})
        refuses(
            "b.json --out mine" + more,
            "mine was begun with another file than b.json, see mine/sweep.json: choose another folder with --out\n");
    CHECK(slurp(at.here / "mine/sweep.csv") == before);
    refuses("a.json --out .", ". is not empty and not the folder of a sweep: choose another folder with --out\n");
    refuses("a.json --out a.json", "cannot create the folder a.json: ");
    refuses("c.json", "cannot read c.json: No such file or directory\n");
    refuses("a.json --program nowhere",
            "there is no program " + (at.here / "nowhere").string() + ": --program must be a file\n");
    refuses("a.json --jobs 0", "--jobs is 0, but must be at least 1\n");
    refuses("a.json --threads 0", "--threads is 0, but must be at least 1\n");
    refuses("a.json --program /bin/true", "what /bin/true --print-settings says is not JSON\n");
    refuses("a.json --program /bin/false", "a.json: ppo, as in options: /bin/false ended with status 1\n");
    refuses("a.json --program a.json", "cannot start " + (at.here / "a.json").string() + ": Permission denied\n");
}
