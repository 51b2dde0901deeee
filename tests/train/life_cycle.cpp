// SPDX-License-Identifier: Apache-2.0
// A run of gmac-train from its begin to its end, with everything that comes between: kills, signals, refusals, folders
// that are moved, files that are changed.
#include "runs.hpp"

#include <gmac/deploy/policy_file.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

using namespace gmac::testing;

namespace {

std::string const cart_pole = "--env classic/cart_pole --frames 2048"; // eight updates
std::string const endless = "--env classic/cart_pole --frames 1000000000 --checkpoint-seconds 0";

nlohmann::json json_in(fs::path const& file) {
    return nlohmann::json::parse(slurp(file));
}

/// A run of eight updates that is killed while it is evaluated, in `folder`/run.
void kill_in_evaluation(scratch const& folder, int signal, int expected, std::string const& output) {
    running_train run(fmt::format("{} --no-pictures --evaluation-episodes 20000 --out {} > {} 2>&1", cart_pole,
                                  folder / "run", output));
    wait_until([&] { return frames_in(folder.path / "run") == 2048; });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    REQUIRE(run.end(signal) == expected);
    REQUIRE(!fs::exists(folder.path / "run" / "summary.json"));
}

} // namespace

TEST_CASE("a run that was killed during its evaluation is finished by a resume, as if it had not been") {
    scratch folder;
    REQUIRE(train(fmt::format("{} --no-pictures --out {}", cart_pole, folder / "whole")).status == 0);
    kill_in_evaluation(folder, SIGKILL, 128 + SIGKILL, "/dev/null");
    auto const run = folder.path / "run", whole = folder.path / "whole";
    std::ofstream(run / "policy.safetensors") << "older than the checkpoint";
    auto const told = train(cart_pole + " --out " + run.string());
    CHECK(told.status == 1);
    CHECK(told.says("holds a run that is not finished: go on with it by --resume"));
    auto const resumed = train(fmt::format("--resume {} --no-pictures", run.string()));
    INFO(resumed.text);
    CHECK(resumed.status == 0);
    CHECK(resumed.says("all 2048 frames are done"));
    CHECK(resumed.says("evaluation over 20 episodes"));
    CHECK(slurp(run / "policy.safetensors") == slurp(whole / "policy.safetensors"));
    CHECK(json_in(run / "summary.json")["evaluation"] == json_in(whole / "summary.json")["evaluation"]);
    CHECK(numbers_of(run) == numbers_of(whole));

    auto const before = files_in(run);
    auto const done = train(fmt::format("--resume {} --no-pictures", run.string()));
    CHECK(done.status == 1);
    CHECK(done.says("has done its 2048 frames: to train on, ask for more by --frames"));
    CHECK(files_in(run) == before);
}

TEST_CASE("a finished run gets what it lacks, and keeps what it has") {
    scratch folder;
    auto const run = folder.path / "run";
    REQUIRE(train(fmt::format("{} --out {}{}", cart_pole, run.string(), quiet)).status == 0);
    auto const policy = slurp(run / "policy.safetensors");
    auto const seconds = json_in(run / "summary.json")["seconds"];
    fs::remove(run / "policy.safetensors");
    REQUIRE(train(fmt::format("--resume {}{}", run.string(), quiet)).status == 0);
    CHECK(slurp(run / "policy.safetensors") == policy);
    auto const value = slurp(run / "value.safetensors"); // a run of an older gmac-train has none
    fs::remove(run / "value.safetensors");
    REQUIRE(train(fmt::format("--resume {}{}", run.string(), quiet)).status == 0);
    CHECK(slurp(run / "value.safetensors") == value);
    auto const resumed = train("--resume " + run.string());
    INFO(resumed.text);
    CHECK(resumed.status == 0);
    CHECK(resumed.says("evaluation over 20 episodes"));
    CHECK(json_in(run / "summary.json")["evaluation"]["episodes"] == 20);
    CHECK(json_in(run / "summary.json")["seconds"] == seconds);
    for (char const* const name :
         {"learning_curve.png", "learning_curve.svg", "value_densities.png", "value_densities.svg"})
        CHECK(fs::exists(run / name));
    CHECK(train("--resume " + run.string()).says("has done its 2048 frames"));
    fs::remove(run / "learning_curve.svg");
    fs::create_symlink("/dev/full", run / "learning_curve.svg");
    auto const full = train("--resume " + run.string());
    CHECK(full.status == 1);
    CHECK(full.says(
        fmt::format("gmac-train: cannot write {}: No space left on device", (run / "learning_curve.svg").string())));
    CHECK_FALSE(full.says("pictures are in"));
    fs::remove(run / "learning_curve.svg");
    CHECK(train("--resume " + run.string()).says("checkpoint and pictures are in"));
    CHECK(train(fmt::format("--resume {} --keep-checkpoints 1 --frames 2048{}", run.string(), quiet)).status == 1);
}

TEST_CASE("a finished run that was extended and killed goes on or is finished, whatever was left") {
    scratch folder;
    auto const run = folder.path / "run";
    REQUIRE(train(fmt::format("{} --out {}{}", cart_pole, run.string(), quiet)).status == 0);
    auto const numbers = numbers_of(run);
    // As it is if the kill falls before the checkpoint of the first update.
    fs::remove(run / "summary.json");
    auto const table = slurp(run / "metrics.csv");
    std::string row = table.substr(table.rfind('\n', table.size() - 2) + 1);
    row.replace(0, 4, "2304");
    std::ofstream(run / "metrics.csv", std::ios::app) << row;
    auto const resumed = train(fmt::format("--resume {}{}", run.string(), quiet));
    INFO(resumed.text);
    CHECK(resumed.status == 0);
    CHECK(fs::exists(run / "summary.json"));
    CHECK(numbers_of(run) == numbers);
    // Afterwards the checkpoint knows how far the run shall go.
    {
        running_train extended(fmt::format("--resume {} --frames 1000000000 --checkpoint-seconds 1e9 {} > /dev/null",
                                           run.string(), quiet));
        wait_until([&] { return frames_in(run) > 2048; });
        REQUIRE(extended.end(SIGKILL) == 128 + SIGKILL);
    }
    CHECK(frames_in(run) == 2304); // written with the first update, not after 1e9 seconds
    CHECK(!fs::exists(run / "summary.json"));
    running_train onwards(fmt::format("--resume {} --checkpoint-seconds 0 {} > /dev/null", run.string(), quiet));
    wait_until([&] { return frames_in(run) > 2304; });
    CHECK(onwards.end(SIGTERM) == 128 + SIGTERM);
    CHECK(json_in(run / "config.json")["frames"] == 1000000000);
}

TEST_CASE("the first signal during the evaluation is heeded, and told") {
    for (auto const& [signal, name] : {std::pair(SIGTERM, "SIGTERM"), {SIGINT, "SIGINT"}}) {
        scratch folder;
        kill_in_evaluation(folder, signal, 128 + signal, folder / "output");
        auto const text = slurp(folder.path / "output");
        INFO(text);
        CHECK(
            text.ends_with(fmt::format("stopped by {} during the evaluation; all frames are done; finish with:  "
                                       "gmac-train --resume {} --evaluation-episodes 20000 --no-pictures\n",
                                       name, folder / "run")));
    }
}

TEST_CASE("a closed terminal is as SIGTERM, unless nohup says otherwise") {
    scratch folder;
    {
        running_train run(fmt::format("{} --out {}{} > {} 2>&1", endless, folder / "run", quiet, folder / "output"));
        wait_until([&] { return frames_in(folder.path / "run") > 0; });
        run.signal(SIGHUP);
        CHECK(run.end(SIGHUP) == 128 + SIGHUP); // twice, as a terminal may send it
    }
    CHECK(slurp(folder.path / "output").find("stopped by SIGHUP after ") != std::string::npos);
    auto const rows = gmac::examples::train::read_csv(folder.path / "run" / "metrics.csv").column("frames");
    CHECK(static_cast<double>(frames_in(folder.path / "run")) == rows.back());
    running_train immune(fmt::format("{} --out {}{} > /dev/null", endless, folder / "immune", quiet), "trap '' HUP; ");
    wait_until([&] { return frames_in(folder.path / "immune") > 0; });
    immune.signal(SIGHUP);
    auto const frames = frames_in(folder.path / "immune");
    wait_until([&] { return frames_in(folder.path / "immune") > frames + 1024; });
    CHECK(immune.end(SIGTERM) == 128 + SIGTERM);
}

TEST_CASE("a reader of the progress that goes away does not end the training") {
    scratch folder;
    auto const result = run_program(fmt::format("( '{}' {} --out {}{} 2>&1; echo $? > {} ) | head -1", GMAC_TRAIN,
                                                cart_pole, folder / "run", quiet, folder / "status"));
    CHECK(result.says("gmac on classic/cart_pole"));
    CHECK(slurp(folder.path / "status") == "0\n");
    CHECK(frames_in(folder.path / "run") == 2048);
    CHECK(fs::exists(folder.path / "run" / "summary.json"));
    // Nobody reads anything.
    run_program(fmt::format("( '{}' {} --overwrite --out {}{} 2>&1; echo $? > {} ) | true", GMAC_TRAIN, cart_pole,
                            folder / "run", quiet, folder / "status"));
    CHECK(slurp(folder.path / "status") == "0\n");
}

TEST_CASE("with closed standard streams a run is as any other") {
    scratch folder;
    REQUIRE(train(fmt::format("{} --out {}{}", cart_pole, folder / "usual", quiet)).status == 0);
    CHECK(run_program(fmt::format("'{}' {} --out {}{} <&- >&- 2>&-", GMAC_TRAIN, cart_pole, folder / "closed", quiet))
              .status == 0);
    CHECK(numbers_of(folder.path / "closed") == numbers_of(folder.path / "usual"));
    CHECK(slurp(folder.path / "closed" / "episodes.csv") == slurp(folder.path / "usual" / "episodes.csv"));
    CHECK(state_of(folder.path / "closed") == state_of(folder.path / "usual"));
}

TEST_CASE("--overwrite removes nothing if the new run is refused") {
    scratch folder;
    auto const run = folder.path / "run";
    REQUIRE(train(fmt::format("{} --keep-checkpoints 2 --out {}{}", cart_pole, run.string(), quiet)).status == 0);
    auto const before = files_in(run);
    REQUIRE(before.size() == 11);
    for (std::string const absurd :
         {"--threads 5000", "--steps 1000000000000", "--trunk-gain 1e300", "--hidden 1000000000,1000000000"}) {
        CAPTURE(absurd);
        auto const refused = run_program(fmt::format("ulimit -v 8000000; '{}' {} {} --overwrite --out {}{} 2>&1",
                                                     GMAC_TRAIN, cart_pole, absurd, run.string(), quiet));
        INFO(refused.text);
        CHECK(refused.status == 1);
        CHECK(files_in(run) == before);
    }
    // Nor before its first update is done.
    {
        running_train other(
            fmt::format("{} --steps 1000000 --overwrite --out {}{} > /dev/null", endless, run.string(), quiet));
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        REQUIRE(other.end(SIGKILL) == 128 + SIGKILL);
    }
    CHECK(files_in(run) == before);
}

TEST_CASE("a refused resume changes nothing") {
    scratch folder;
    auto const run = folder.path / "run";
    REQUIRE(train(fmt::format("{} --out {}{}", cart_pole, run.string(), quiet)).status == 0);
    auto const refused = [&](std::string const& message) {
        auto const before = files_in(run);
        auto const result = train(fmt::format("--resume {} --frames 4096{}", run.string(), quiet));
        INFO(result.text);
        CHECK(result.status == 1);
        CHECK(result.says(message));
        CHECK(files_in(run) == before);
    };
    for (std::string const name : {"metrics.csv", "episodes.csv"}) {
        auto const text = slurp(run / name);
        std::string dos;
        for (char const c : text)
            dos += c == '\n' ? "\r\n" : std::string(1, c);
        std::ofstream(run / name, std::ios::binary) << dos;
        refused(name + ", line 1: it ends with a carriage return");
        std::ofstream(run / name, std::ios::binary) << "frames,other\n256,1\n";
        refused("the row has the columns ");
        std::ofstream(run / name, std::ios::binary) << text;
    }
    auto const file = run / "checkpoint.safetensors";
    auto const checkpoint = gmac::read_checkpoint(file);
    auto tensors = checkpoint.state.tensors();
    auto const weights = std::ranges::find_if(tensors, [](auto const& tensor) {
        return tensor.name.starts_with("parameters.actor_trunk");
    });
    REQUIRE(weights != tensors.end());
    float const nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(weights->data.data(), &nan, sizeof nan);
    gmac::write_checkpoint(file, {checkpoint.metadata, gmac::snapshot(tensors)});
    refused(weights->name + " has the value nan, but all must be finite");
    for (std::string const seconds : {"abc", "-1", "nan", ""}) {
        auto metadata = checkpoint.metadata;
        metadata["seconds"] = seconds;
        gmac::write_checkpoint(file, {metadata, checkpoint.state});
        refused(fmt::format("its seconds are \"{}\", but must be a number", seconds));
    }
}

TEST_CASE("a run whose folder is moved goes on in it, and leaves the next run at the old path alone") {
    scratch folder;
    running_train run(fmt::format("{} --checkpoint-seconds 1 --seed 7 --out {}{} > {} 2>&1",
                                  "--env classic/cart_pole --frames 1000000000", folder / "run", quiet,
                                  folder / "output"));
    wait_until([&] { return frames_in(folder.path / "run") > 0; });
    // Between two checkpoints: a folder that is moved in the very moment of a write ends the run, with a sentence.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    fs::rename(folder.path / "run", folder.path / "moved");
    REQUIRE(train(fmt::format("{} --out {}{}", cart_pole, folder / "run", quiet)).status == 0);
    auto const other = files_in(folder.path / "run");
    auto const frames = frames_in(folder.path / "moved");
    wait_until([&] { return frames_in(folder.path / "moved") > frames + 2048; });
    CHECK(run.end(SIGTERM) == 128 + SIGTERM);
    CHECK(files_in(folder.path / "run") == other);
    CHECK(slurp(folder.path / "output").find("gmac-train --resume " + folder / "moved") != std::string::npos);
    auto const rows = gmac::examples::train::read_csv(folder.path / "moved" / "metrics.csv").column("frames");
    CHECK(static_cast<double>(frames_in(folder.path / "moved")) == rows.back());
    CHECK(json_in(folder.path / "moved" / "config.json")["seed"] == 7);

    running_train gone(fmt::format("{} --out {}{} > {} 2>&1", endless, folder / "gone", quiet, folder / "output"));
    wait_until([&] { return frames_in(folder.path / "gone") > 0; });
    fs::rename(folder.path / "gone", folder.path / "going");
    std::error_code ignored; // a file that is written just now may come in between
    while (fs::exists(folder.path / "going"))
        fs::remove_all(folder.path / "going", ignored);
    CHECK(gone.wait() == 1);
    // Which of the two depends on whether it was writing a file at that time.
    auto const text = slurp(folder.path / "output");
    INFO(text);
    CHECK((text.find("was removed or moved away while the run wrote into it") != std::string::npos ||
           text.find("gmac-train: cannot write ") != std::string::npos));
}

TEST_CASE("checkpoints are kept however many are asked for, and a resume goes on keeping them") {
    scratch folder;
    auto const kept_in = [&](std::string const& name) {
        std::vector<std::uint64_t> frames;
        for (auto const& [file, content] : files_in(folder.path / name))
            if (file.starts_with("checkpoint-"))
                frames.push_back(frames_in(folder.path / name, file));
        return frames;
    };
    std::vector<std::uint64_t> const all{256, 512, 768, 1024, 1280, 1536, 1792, 2048};
    REQUIRE(train(fmt::format("{} --keep-checkpoints 9223372036854775808 --out {}{}", cart_pole, folder / "all", quiet))
                .status == 0);
    CHECK(kept_in("all") == all);
    REQUIRE(train(fmt::format("{} --keep-checkpoints 2 --out {}{}", cart_pole, folder / "two", quiet)).status == 0);
    CHECK(kept_in("two") == std::vector<std::uint64_t>{1024, 2048});
    // A resume has been told nothing of them.
    auto const more = train(fmt::format("--resume {} --frames 4096{}", folder / "two", quiet));
    REQUIRE(more.status == 0);
    CHECK(kept_in("two") == std::vector<std::uint64_t>{1024, 2048, 4096});
    // One that is missing at the checkpoint's own frames is made up for.
    fs::remove(folder.path / "two" / "checkpoint-000000002048.safetensors");
    fs::copy(folder.path / "all" / "checkpoint-000000001024.safetensors",
             folder.path / "all" / "checkpoint.safetensors", fs::copy_options::overwrite_existing);
    fs::remove(folder.path / "all" / "checkpoint-000000001024.safetensors");
    REQUIRE(train(fmt::format("--resume {}{}", folder / "all", quiet)).status == 0);
    CHECK(kept_in("all") == all);
    for (std::string const never : {"nan", "-1"}) {
        auto const refused = train(fmt::format("{} --checkpoint-seconds={}", cart_pole, never));
        CHECK(refused.status != 0);
        CHECK(refused.says("--checkpoint-seconds"));
    }
}

TEST_CASE("the hint says how to go on with all that was asked for, for a shell to read") {
    scratch folder;
    auto const run = folder.path / "it's a run";
    std::string const asked =
        "--threads 3 --checkpoint-seconds 0 --keep-checkpoints 7 --evaluation-episodes 0 --no-pictures";
    auto const quoted = [](fs::path const& path) { return "\"" + path.string() + "\""; };
    running_train first(fmt::format("--env classic/cart_pole --frames 1000000000 {} --out {} > {} 2>&1", asked,
                                    quoted(run), folder / "output"));
    wait_until([&] { return frames_in(run) > 0; });
    REQUIRE(first.end(SIGTERM) == 128 + SIGTERM);
    auto const text = slurp(folder.path / "output");
    std::string const mark = "; go on with:  gmac-train ";
    REQUIRE(text.find(mark) != std::string::npos);
    auto const hint = text.substr(text.find(mark) + mark.size(), text.size() - text.find(mark) - mark.size() - 1);
    CHECK(hint == fmt::format("--resume '{}' {}", (folder / "it") + "'\\''s a run", asked));
    auto const frames = frames_in(run);
    running_train second(hint + " > /dev/null");
    wait_until([&] { return frames_in(run) > frames; });
    CHECK(second.end(SIGTERM) == 128 + SIGTERM);
}

TEST_CASE("tables that were changed or lost are told of") {
    scratch folder;
    auto const run = folder.path / "run";
    REQUIRE(train(fmt::format("{} --out {}{}", cart_pole, run.string(), quiet)).status == 0);
    auto const resume = [&](int frames) {
        auto const result = train(fmt::format("--resume {} --frames {}{}", run.string(), frames, quiet));
        REQUIRE(result.status == 0);
        return result;
    };
    CHECK_FALSE(resume(2304).says("was changed"));
    // The second row is removed.
    auto text = slurp(run / "metrics.csv");
    auto const begin = text.find("\n512,") + 1;
    text.erase(begin, text.find('\n', begin) + 1 - begin);
    std::ofstream(run / "metrics.csv", std::ios::binary) << text;
    auto const fewer = resume(2560);
    CHECK(fewer.says("metrics.csv was changed: up to frame 2304 it has 8 rows, checksum "));
    CHECK(fewer.says("but had 9 rows, checksum "));
    CHECK_FALSE(fewer.says("episodes.csv was changed"));
    CHECK_FALSE(resume(2816).says("was changed")); // told once
    fs::remove(run / "episodes.csv");
    auto const gone = resume(3072);
    CHECK(gone.says("episodes.csv is gone: it had "));
    CHECK_FALSE(gone.says("metrics.csv was changed"));
}

TEST_CASE("a jump of the learning rate is told") {
    scratch folder;
    auto const run = folder.path / "run";
    REQUIRE(train(fmt::format("{} --out {}{}", cart_pole, run.string(), quiet)).status == 0);
    auto const more = train(fmt::format("--resume {} --frames 4096{}", run.string(), quiet));
    // 1e-3 falls linearly to zero at 2048, or to half of it there and to zero at 4096.
    CHECK(more.says("with 4096 frames instead of 2048 the learning rate jumps from 0 to 0.0005"));
    auto const rates = gmac::examples::train::read_csv(run / "metrics.csv").column("learning_rate");
    CHECK(rates.at(8) == Approx(0.0005));
    REQUIRE(
        train(fmt::format("{} --schedule constant --overwrite --out {}{}", cart_pole, run.string(), quiet)).status ==
        0);
    CHECK_FALSE(train(fmt::format("--resume {} --frames 4096{}", run.string(), quiet)).says("jumps"));
}

TEST_CASE("more threads than can help are told of") {
    scratch folder;
    unsigned const cores = std::max(1u, std::thread::hardware_concurrency());
    auto const threads = [&](unsigned number) {
        return train(fmt::format("{} --threads {} --overwrite --out {}{}", cart_pole, number, folder / "run", quiet));
    };
    CHECK(threads(9).says("9 threads for 8 environments"));
    CHECK_FALSE(threads(1).says("threads for"));
    CHECK(threads(cores + 1).says(fmt::format("{} threads share {} cores", cores + 1, cores)));
}
