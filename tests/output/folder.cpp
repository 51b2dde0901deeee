// SPDX-License-Identifier: Apache-2.0
#include "output/run_folder.hpp"
#include "output/shell_word.hpp"
#include "output/stop_signal.hpp"

#include "support/catch.hpp"
#include "support/says.hpp"
#include "support/scratch_folder.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>

using gmac::testing::contains;
using gmac::testing::message_of;
using gmac::testing::scratch_folder;
using gmac::testing::slurp;
using gmac::testing::spit;
using namespace gmac::examples::train;

namespace {

std::string refusal(std::filesystem::path const& path, bool overwrite = false) {
    return message_of([&] { (void)run_folder::create(path, overwrite); });
}
std::string resume_refusal(std::filesystem::path const& path) {
    return message_of([&] { (void)run_folder::resume(path); });
}

} // namespace

TEST_CASE("a run folder is made with its parents, and holds the configuration") {
    scratch_folder const folder;
    auto const path = folder / "runs/hopper/1";
    auto const run = run_folder::create(path);
    CHECK_FALSE(run.started());
    nlohmann::ordered_json config;
    config["seed"] = 18446744073709551615u;
    config["learning_rate"] = 2.5e-4;
    config["name"] = "Zürich";
    run.write_config(config);
    CHECK(run.started());
    CHECK_FALSE(run.finished());
    CHECK(run.read_config() == config);
    CHECK(slurp(path / "config.json") ==
          "{\n    \"seed\": 18446744073709551615,\n    \"learning_rate\": 0.00025,\n    \"name\": \"Zürich\"\n}\n");
    CHECK(run.metrics() == path / "metrics.csv");
    CHECK(run.checkpoint() == path / "checkpoint.safetensors");
    spit(path / "config.json", "{\"seed\": ");
    CHECK(message_of([&] { (void)run.read_config(); }) == (path / "config.json").string() + " is not JSON");
    spit(path / "config.json", "[]");
    CHECK(message_of([&] { (void)run.read_config(); }) == (path / "config.json").string() + " is not a JSON object");
    spit(path / "config.json", std::string(100'000, '[') + std::string(100'000, ']'));
    CHECK(message_of([&] { (void)run.read_config(); }) ==
          (path / "config.json").string() + " has more than 64 arrays and objects within each other");
    std::filesystem::remove(path / "config.json");
    REQUIRE(::mkfifo((path / "config.json").c_str(), 0600) == 0);
    CHECK(contains(message_of([&] { (void)run.read_config(); }), "it is not a regular file"));
}

TEST_CASE("a run that was killed while it wrote its config left nothing") {
    scratch_folder const folder;
    spit(folder / "config.json.partial", "{");
    CHECK(refusal(folder.path).empty());
    spit(folder / "config.json.partially.mine", "{");
    CHECK(contains(refusal(folder.path), "is not empty"));
}

TEST_CASE("a run is not written over unless that is asked for") {
    scratch_folder const folder;
    auto const path = folder / "run";
    { run_folder::create(path).write_config({{"seed", 1}}); }
    CHECK(contains(refusal(path), path.string() + " holds a run that was stopped before its first checkpoint"));
    CHECK(contains(resume_refusal(path), "stopped before its first checkpoint; start it again with --overwrite"));
    spit(path / "checkpoint.safetensors", "x");
    CHECK(contains(refusal(path), "holds a run that is not finished: go on with it by --resume " + path.string()));
    {
        auto const run = run_folder::resume(path);
        run.finish({{"mean_return", 3.5}});
        CHECK(run.finished());
    }
    CHECK(contains(refusal(path), "holds a finished run"));
    CHECK(contains(refusal(path), "--overwrite"));
    {
        auto const run = run_folder::resume(path);
        run.reopen();
        CHECK_FALSE(run.finished());
        CHECK(run.started());
    }
    for (auto const* const name : {"metrics.csv", "episodes.csv", "summary.json", "checkpoint.safetensors.partial",
                                   "learning_curve.png", "value_densities.svg", "events.out.tfevents.1.host.2.0"})
        spit(path / name, "x");
    spit(path / "notes.txt", "mine");
    spit(path / "holiday.png", "mine");
    std::filesystem::create_directory(path / "learning_curve.d");
    auto const files = [&] { return std::distance(std::filesystem::directory_iterator(path), {}); };
    auto const before = files();
    auto const run = run_folder::create(path, true);
    CHECK(files() == before); // nothing is removed yet
    CHECK(slurp(path / "metrics.csv") == "x");
    run.begin({{"seed", 2}});
    CHECK(run.started());
    CHECK(run.read_config()["seed"] == 2);
    CHECK_FALSE(run.finished());
    CHECK(slurp(path / "notes.txt") == "mine");
    CHECK(slurp(path / "holiday.png") == "mine");
    CHECK(files() == 4); // with learning_curve.d and the config
}

TEST_CASE("a folder that is moved stays the run's, and one that takes its place is left alone") {
    scratch_folder const folder;
    auto const path = folder / "run";
    auto const run = run_folder::create(path);
    run.begin({{"seed", 1}});
    std::filesystem::rename(path, folder / "moved");
    {
        auto const other = run_folder::create(path);
        other.begin({{"seed", 2}});
        run.finish({{"frames", 3}});
        CHECK(run.path() == std::filesystem::canonical(folder / "moved"));
        CHECK(other.path() == path);
        CHECK_FALSE(other.finished());
        CHECK(run.finished());
        CHECK(run.read_config()["seed"] == 1);
    }
    std::filesystem::remove_all(folder / "moved");
    CHECK(message_of([&] {
              run.finish({{"frames", 4}});
          }) == "the folder " + (folder / "moved").string() + " was removed or moved away while the run wrote into it");
    CHECK_FALSE(std::filesystem::exists(path / "summary.json"));
}

TEST_CASE("pictures are there if all of them are, drawn after the checkpoint") {
    scratch_folder const folder;
    auto const run = run_folder::create(folder.path);
    spit(run.checkpoint(), "x");
    for (auto const* const name :
         {"learning_curve.png", "learning_curve.svg", "value_densities.png", "value_densities.svg"}) {
        CHECK_FALSE(run.has_pictures());
        spit(folder / name, "x");
    }
    CHECK(run.has_pictures());
    using namespace std::chrono_literals;
    std::filesystem::last_write_time(run.checkpoint(),
                                     std::filesystem::last_write_time(folder / "learning_curve.svg") + 1s);
    CHECK_FALSE(run.has_pictures());
}

TEST_CASE("a shell reads a quoted word as the text it was") {
    scratch_folder const folder;
    CHECK(shell_word("runs/classic-cart_pole-gmac-1") == "runs/classic-cart_pole-gmac-1");
    for (std::string const text : {"", "a b", "it's", "''", "$HOME", "`ls`", "a;b&c|d", "*", "~", "\\", "two\nlines",
                                   "\"", "-n", "Zürich", "#x"}) {
        auto const file = folder / "said";
        REQUIRE(std::system(fmt::format("printf %s {} > {}", shell_word(text), file.string()).c_str()) == 0);
        CHECK(slurp(file) == text);
    }
}

TEST_CASE("a folder that is no run is never taken") {
    scratch_folder const folder;
    spit(folder / "thesis.tex", "mine");
    for (bool const overwrite : {false, true}) {
        CHECK(contains(refusal(folder.path, overwrite),
                       folder.path.string() + " is not empty and not the folder of a run"));
        CHECK(contains(refusal(folder / "thesis.tex", overwrite), "cannot create the folder"));
        CHECK(contains(refusal(folder / "thesis.tex/run", overwrite), "cannot create the folder"));
    }
    CHECK(contains(resume_refusal(folder.path), "there is no config.json"));
    CHECK(contains(resume_refusal(folder / "none"), "there is no such folder"));
    CHECK(contains(resume_refusal(folder / "thesis.tex"), "there is no such folder"));
    CHECK(slurp(folder / "thesis.tex") == "mine");
    CHECK(folder.files() == 1);
}

TEST_CASE("a folder that cannot be written is named") {
    scratch_folder const folder;
    std::filesystem::create_directory(folder / "locked");
    REQUIRE(::chmod((folder / "locked").c_str(), 0555) == 0);
    REQUIRE(::chmod(folder.path.c_str(), 0755) == 0);
    pid_t const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) { // root may write everywhere, so the child becomes nobody
        if (::geteuid() == 0 && ::setuid(65534) != 0)
            ::_exit(2);
        bool const inside = contains(refusal(folder / "locked/run"), "cannot create the folder ") &&
                            contains(refusal(folder / "locked/run"), "Permission denied");
        bool const itself = refusal(folder / "locked") ==
                            "cannot write to the folder " + (folder / "locked").string() + ": Permission denied";
        ::_exit(inside && itself ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("two processes do not train into one folder") {
    scratch_folder const folder;
    auto const path = folder / "run";
    {
        auto const run = run_folder::create(path);
        CHECK(refusal(path) == "the folder " + path.string() + " is in use: another process is training into it");
    }
    CHECK(refusal(path).empty());
}

TEST_CASE("a signal asks to stop, a second one stops") {
    for (auto const& [number, name] : {std::pair(SIGINT, "SIGINT"), {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}}) {
        {
            stop_signal const stop;
            CHECK_FALSE(stop.requested());
            CHECK(stop.name() == nullptr);
            REQUIRE(::raise(number) == 0);
            CHECK(stop.requested());
            CHECK(stop.number() == number);
            CHECK(std::string(stop.name()) == name);
        }
        stop_signal const fresh;
        CHECK_FALSE(fresh.requested());
    }
    auto const outcome_of = [](auto const& action) {
        pid_t const child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            for (int const number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ})
                ::signal(number, SIG_DFL);
            ::_exit(action());
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    };
    CHECK(outcome_of([] {
              stop_signal const stop;
              ::raise(SIGTERM);
              if (!stop.requested())
                  return 1;
              ::raise(SIGTERM);
              return 2;
          }) == 128 + SIGTERM);
    // A terminal that is closed may send it twice.
    CHECK(outcome_of([] {
              stop_signal const stop;
              ::raise(SIGHUP);
              ::raise(SIGHUP);
              return stop.number() == SIGHUP ? 3 : 1;
          }) == 3);
    // A broken pipe and a file that is too large are errors of the write. Afterwards all is as before.
    CHECK(outcome_of([] {
              {
                  stop_signal const stop;
                  ::raise(SIGPIPE);
                  ::raise(SIGXFSZ);
                  if (stop.requested())
                      return 1;
              }
              ::raise(SIGPIPE);
              return 2;
          }) == 128 + SIGPIPE);
    // nohup has SIGHUP ignored, a shell without job control SIGINT.
    CHECK(outcome_of([] {
              ::signal(SIGHUP, SIG_IGN);
              ::signal(SIGINT, SIG_IGN);
              stop_signal const stop;
              ::raise(SIGHUP);
              ::raise(SIGINT);
              return stop.requested() ? 1 : 4;
          }) == 4);
}
