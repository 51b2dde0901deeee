// SPDX-License-Identifier: Apache-2.0
// The report as gmac-train and gmac-report write it.
#include "support/program.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "train/runs.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>

namespace fs = std::filesystem;
using gmac::testing::program_outcome;
using gmac::testing::run_program;
using gmac::testing::scratch_folder;
using gmac::testing::slurp;
using gmac::testing::spit;
using json = nlohmann::ordered_json;

namespace {

program_outcome train(std::string const& arguments) {
    auto const done =
        run_program(fmt::format("'{}' --no-pictures --evaluation-episodes 0 {} 2>&1", GMAC_TRAIN, arguments));
    INFO(done.text);
    CHECK(done.status == 0);
    return done;
}
/// A run that has hardly begun.
fs::path small_run(scratch_folder const& folder, std::string const& name, std::string const& what) {
    fs::path const run = folder.path / name;
    train(fmt::format(
        "{} --envs 2 --steps 32 --frames 128 --minibatch 32 --epochs 1 --hidden 8 --quantile-hidden 8 --out '{}'", what,
        run.string()));
    return run;
}
program_outcome make_report(std::string const& arguments) {
    return run_program(fmt::format("'{}' {} 2>&1", GMAC_REPORT, arguments));
}
std::string quoted(fs::path const& path) {
    return "'" + path.string() + "'";
}

/// The data in a page.
json data_in(fs::path const& file) {
    std::string const page = slurp(file);
    CHECK(page.size() < 1'500'000);
    std::size_t const begin = page.find("id=\"data\">") + 10;
    return json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

} // namespace

TEST_CASE("a finished run has its report, with an episode and a calibration", "[report]") {
    scratch_folder const folder;
    for (auto const& [environment, kind, picture] : {
             std::tuple("classic/cart_pole", "lines", "lines"), {"classic/pendulum", "lines", "lines"},
                 {"classic/deep_sea:5", "lines", "lines"}, {"minatar/breakout", "cells", "cells"},
#if defined(GMAC_TRAIN_WITH_BULLET)
                 {"bullet/hopper", "robot", "shapes"},
#endif
         }) {
        INFO(environment);
        auto const run = small_run(folder, std::string(environment).substr(8), fmt::format("--env {}", environment));
        json const data = data_in(run / "report.html");
        CHECK(data["problems"].empty());
        CHECK(data["run"]["finished"] == true);
        CHECK(data["machines"].size() == 1);
        CHECK(data["observed"]["frames"] == 128);
        CHECK(data["observed"]["episode"]["kind"] == kind);
        auto const& frames = data["observed"]["episode"]["frames"];
        CHECK(frames.size() > 1);
        CHECK(frames[0].contains(picture));
        CHECK(frames[0]["density"].size() == 121);
        CHECK(data["observed"]["calibration"]["states"] > 100);

        // Played again it is the same.
        std::string const before = slurp(run / "observed.json");
        fs::remove(run / "observed.json");
        CHECK(make_report(quoted(run)).status == 0);
        CHECK(slurp(run / "observed.json") == before);
        CHECK(data_in(run / "report.html") == data);
    }
}

TEST_CASE("every kind of value is played; a number has no spread", "[report]") {
    scratch_folder const folder;
    for (std::string const algorithm : {"ppo", "iqac", "dirac_energy", "c51"}) {
        INFO(algorithm);
        auto const run = small_run(folder, algorithm, "--env classic/cart_pole --algorithm " + algorithm);
        json const seen = data_in(run / "report.html")["observed"];
        CHECK(seen["calibration"]["spread"] == (algorithm != "ppo"));
        CHECK(seen["episode"]["frames"][0].contains(algorithm == "ppo" ? "points" : "density"));
    }
}

TEST_CASE("an agent that acts by a range of statistics is played", "[report]") {
    scratch_folder const folder;
    auto const run = small_run(folder, "run", "--env classic/cart_pole --statistic cvar:0.1..1");
    CHECK(data_in(run / "report.html")["observed"]["calibration"]["states"] > 100);
}

TEST_CASE("a report that is not wanted is not made", "[report]") {
    scratch_folder const folder;
    auto const run = small_run(folder, "run", "--env classic/cart_pole --no-report");
    CHECK_FALSE(fs::exists(run / "report.html"));
    CHECK_FALSE(fs::exists(run / "observed.json"));
    CHECK(fs::exists(run / "machine.json"));

    auto const done = make_report(quoted(run) + " --no-play --out " + quoted(folder.path / "a page.html"));
    CHECK(done.status == 0);
    CHECK(done.says("a page.html is written"));
    CHECK_FALSE(fs::exists(run / "report.html"));
    CHECK(data_in(folder.path / "a page.html")["observed"].is_null());
}

TEST_CASE("a run that goes on has one list of machines, and is played anew", "[report]") {
    scratch_folder const folder;
    auto const run = small_run(folder, "run", "--env classic/cart_pole");
    train("--resume " + quoted(run) + " --frames 256");
    json const data = data_in(run / "report.html");
    CHECK(data["machines"].size() == 2);
    CHECK(data["machines"][1]["frames"] == 128);
    CHECK(data["observed"]["frames"] == 256);

    // What was played before the checkpoint is of another agent.
    fs::last_write_time(run / "observed.json",
                        fs::last_write_time(run / "checkpoint.safetensors") - std::chrono::hours(1));
    spit(run / "observed.json.old", slurp(run / "observed.json"));
    CHECK(make_report(quoted(run)).status == 0);
    CHECK(fs::last_write_time(run / "observed.json") >= fs::last_write_time(run / "checkpoint.safetensors"));
    CHECK(slurp(run / "observed.json") == slurp(run / "observed.json.old"));
}

TEST_CASE("a run that is stopped has its report, and is played by gmac-report", "[report]") {
    scratch_folder const folder;
    auto const run = folder.path / "run";
    gmac::testing::running_train stopped(
        fmt::format("--env classic/cart_pole --frames 1000000000 --no-pictures --out {} > /dev/null", quoted(run)));
    gmac::testing::wait_until([&] { return gmac::testing::frames_in(run) > 0; });
    CHECK(stopped.end(SIGINT) == 128 + SIGINT);
    json const data = data_in(run / "report.html");
    CHECK(data["run"]["finished"] == false);
    CHECK(data["run"]["frames"] > 0);
    CHECK(data["observed"].is_null());
    CHECK(data["problems"].empty());
    CHECK(make_report(quoted(run)).status == 0);
    CHECK(data_in(run / "report.html")["observed"]["frames"] == data["run"]["frames"]);
}

TEST_CASE("a new run in the place of another has nothing of its report", "[report]") {
    scratch_folder const folder;
    auto const run = small_run(folder, "run", "--env classic/cart_pole");
    train(fmt::format(
        "--env classic/pendulum --envs 2 --steps 32 --frames 64 --minibatch 32 --epochs 1 --hidden 8 --no-report "
        "--overwrite --out '{}'",
        run.string()));
    CHECK_FALSE(fs::exists(run / "report.html"));
    CHECK_FALSE(fs::exists(run / "observed.json"));
    CHECK(json::parse(slurp(run / "machine.json"))["processes"].size() == 1);
}

TEST_CASE("a report that cannot be written takes nothing from the run", "[report]") {
    scratch_folder const folder;
    auto const begun = small_run(folder, "begun", "--env classic/cart_pole");
    for (char const* const name : {"report.html", "observed.json", "machine.json"}) {
        fs::remove(begun / name);
        fs::create_directories(begun / name / "in the way");
    }
    auto const done = train("--resume " + quoted(begun) + " --frames 256");
    CHECK(fs::exists(begun / "machine.json.damaged" / "in the way"));
    CHECK(done.says("the report has no episode and no calibration: "));
    CHECK(done.says("no report: "));
    CHECK(json::parse(slurp(begun / "summary.json"))["frames"] == 256);
}

TEST_CASE("a damaged run has a report of what is left", "[report]") {
    scratch_folder const folder;
    auto const run = small_run(folder, "run", "--env classic/cart_pole");
    fs::remove(run / "observed.json");
    spit(run / "checkpoint.safetensors", "no checkpoint");
    spit(run / "machine.json", "{");
    auto const done = make_report(quoted(run));
    INFO(done.text);
    CHECK(done.status == 0);
    CHECK(done.says("machine.json: "));
    CHECK(done.says("checkpoint.safetensors: "));
    json const data = data_in(run / "report.html");
    CHECK(data["problems"].size() == 2);
    CHECK(data["metrics"]["rows"] == 2);
    CHECK(data["observed"].is_null());
}

TEST_CASE("gmac-report says what it cannot do", "[report]") {
    scratch_folder const folder;
    auto const refused = [&](std::string const& arguments, std::string const& what) {
        auto const done = make_report(arguments);
        INFO(done.text);
        CHECK(done.status == 1);
        CHECK(done.says(what));
    };
    refused(quoted(folder.path / "nowhere"), "there is no folder");
    refused(quoted(folder.path), "has no config.json and no metrics.csv, so it is no run of gmac-train");
    auto const run = small_run(folder, "run", "--env classic/cart_pole");
    refused(quoted(run) + " --out " + quoted(folder.path / "no" / "such" / "page.html"), "page.html");
    fs::path const notes = folder.path / "notes.txt";
    std::ofstream(notes) << "mine";
    refused(quoted(run) + " --out " + quoted(notes), "is there, and is no page of a run, which would be lost");
    CHECK(slurp(notes) == "mine");
    for (int turn = 0; turn < 2; ++turn) // a page may be written anew
        CHECK(make_report(quoted(run) + " --out " + quoted(folder.path / "page.html")).status == 0);
    CHECK(make_report("").status != 0);
}
