// SPDX-License-Identifier: Apache-2.0
#include "train/runs.hpp"

#include "support/catch.hpp"
#include "support/program.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace {

using namespace gmac::testing;

/// gmac-train as mpirun starts it.
[[nodiscard]] std::string line_of(int ranks, std::string const& arguments) {
    return fmt::format("'{}' -n {} '{}' {}", GMAC_MPIRUN, ranks, GMAC_TRAIN, arguments);
}
[[nodiscard]] program_outcome train_on(int ranks, std::string const& arguments) {
    return run_program(line_of(ranks, arguments) + " 2>&1");
}
[[nodiscard]] std::size_t count_of(std::string_view part, std::string const& text) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

/// Cart-pole, 256 frames an update and rank.
std::string const cart_pole = " --env classic/cart_pole --schedule constant --epochs 2" + quiet;

/// Of a file that may be somebody else's.
[[nodiscard]] std::string text_of(fs::path const& file) {
    std::ifstream from(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(from), {}};
}

/// The process that has this rank; 0 if there is none.
[[nodiscard]] int process_of(int rank, fs::path const& out) {
    for (auto const& entry : fs::directory_iterator("/proc")) {
        std::string const name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos)
            continue;
        std::string const arguments = text_of(entry.path() / "cmdline"), variables = text_of(entry.path() / "environ");
        bool const ours = arguments.find(out.string()) != std::string::npos && !arguments.starts_with(GMAC_MPIRUN);
        if (ours && variables.find(fmt::format("OMPI_COMM_WORLD_RANK={}", rank)) != std::string::npos)
            return std::stoi(name);
    }
    return 0;
}

} // namespace

TEST_CASE("on one rank a run is that of the plain program") {
    scratch const folder;
    REQUIRE(train(cart_pole + "--frames 2048 --out '" + folder / "plain" + "'").status == 0);
    REQUIRE(train_on(1, cart_pole + "--frames 2048 --out '" + folder / "one" + "'").status == 0);
    CHECK(state_of(folder / "plain") == state_of(folder / "one"));
    CHECK(numbers_of(folder / "plain") == numbers_of(folder / "one"));
}

TEST_CASE("a run on ranks is reproducible, and resumed on as many it goes on bit for bit") {
    scratch const folder;
    auto const on_two = [&](std::string const& arguments) {
        auto const done = train_on(2, arguments);
        INFO(done.text);
        REQUIRE(done.status == 0);
        return done.text;
    };
    std::string const all = cart_pole + " --intrinsic rnd --critics iqac ";
    on_two(all + "--frames 4096 --out '" + folder / "whole" + "'");
    on_two(all + "--frames 4096 --out '" + folder / "again" + "'");
    on_two(all + "--frames 2048 --out '" + folder / "parts" + "'");
    on_two("--frames 4096 --resume '" + folder / "parts" + "'");
    auto const whole = state_of(folder / "whole");
    CHECK(whole == state_of(folder / "again"));
    CHECK(whole == state_of(folder / "parts"));
    CHECK(numbers_of(folder / "whole") == numbers_of(folder / "parts"));
    CHECK(numbers_of(folder / "whole", "episodes") == numbers_of(folder / "parts", "episodes"));

    auto const stored = gmac::read_checkpoint(fs::path(folder / "whole") / "checkpoint.safetensors");
    CHECK(stored.metadata.at("ranks") == "2");
    CHECK(numbers_of(folder / "whole")[0] == std::vector<double>{512, 1024, 1536, 2048, 2560, 3072, 3584, 4096});
    // The environments of both ranks are there, and what is learned only once.
    std::size_t own = 0;
    for (auto const& tensor : stored.state.tensors())
        if (tensor.name.starts_with("rank1.")) {
            ++own;
            CHECK(tensor.name.find("parameters") == std::string::npos);
        }
    CHECK(own > 3);
}

TEST_CASE("a run goes on on another number of ranks, and says what begins anew") {
    scratch const folder;
    std::string const out = folder / "run";
    REQUIRE(train_on(2, cart_pole + "--frames 2048 --out '" + out + "'").status == 0);
    auto const alone = train("--frames 3072 --resume '" + out + "'");
    INFO(alone.text);
    CHECK(alone.status == 0);
    CHECK(
        alone.says("the checkpoint is of a run on 2 ranks and this is one on one rank: all environments begin new "
                   "episodes"));
    CHECK(frames_in(out) == 3072);
    auto const more = train_on(3, "--frames 4096 --resume '" + out + "'");
    INFO(more.text);
    CHECK(more.status == 0);
    CHECK(more.says("the checkpoint is of a run on one rank and this is one on 3 ranks"));
    CHECK(frames_in(out) == 3072 + 2 * 768);
    // Other programs look at such a run as at any other.
    CHECK(train("play --out '" + out + "/play.html' '" + out + "'").status == 0);
    CHECK(train("evaluate --episodes 2 '" + out + "'").status == 0);
}

TEST_CASE("what is wrong with the command line is told once, and no rank waits") {
    auto const wrong = train_on(2, "--env classic/cart_poel");
    CHECK(wrong.status != 0);
    CHECK(count_of("classic/cart_poel", wrong.text) == 1);
    auto const help = train_on(2, "--help");
    CHECK(help.status == 0);
    CHECK(count_of("--checkpoint-seconds", help.text) == 1);
    CHECK(count_of("there is no sub-command", train_on(2, "trian").text) == 1);
    scratch const folder;
    auto const missing = train_on(2, "--resume '" + folder / "none" + "'");
    CHECK(missing.status != 0);
    CHECK(missing.says("none"));
}

TEST_CASE("a signal to rank 0 stops all ranks in order, and a killed rank ends the job with a whole checkpoint") {
    scratch const folder;
    for (int const number : {SIGTERM, SIGKILL}) {
        std::string const out = folder / fmt::format("run{}", number);
        std::string const output = out + ".text";
        running_program job("exec " +
                            line_of(2, cart_pole + "--checkpoint-seconds 0.1 --frames 100000000 --out '" + out + "'") +
                            " >'" + output + "' 2>&1");
        wait_until([&] { return frames_in(out) > 2048; });
        int const rank = number == SIGTERM ? 0 : 1;
        int const process = process_of(rank, out);
        REQUIRE(process > 0);
        ::kill(process, number);
        int const status = job.wait();
        std::string const text = slurp(output);
        INFO(text);
        CHECK(status == 128 + number);
        CHECK(text.find(number == SIGTERM ? "stopped by SIGTERM" : "rank 1 with PID") != std::string::npos);
        std::uint64_t const frames = frames_in(out);
        auto const resumed = train_on(2, fmt::format("--frames {} --resume '{}'", frames + 1024, out));
        INFO(resumed.text);
        CHECK(resumed.status == 0);
        CHECK(frames_in(out) == frames + 1024);
    }
}

TEST_CASE("an evaluation that a signal has ended is made up on as many ranks, and checkpoints are kept") {
    scratch const folder;
    std::string const out = folder / "run", output = folder / "text";
    std::string const all =
        cart_pole + "--eval-every 1024 --eval-episodes 20000 --keep-checkpoints 2 --frames 2048 --out '" + out + "'";
    running_program job("exec " + line_of(2, all) + " >'" + output + "' 2>&1");
    wait_until([&] { return frames_in(out) == 512; });
    int const process = process_of(0, out);
    REQUIRE(process > 0);
    wait_until([&] { return fs::exists(fs::path(out) / "checkpoint-000000001024.safetensors"); });
    ::kill(process, SIGTERM); // twenty thousand episodes are not played yet
    CHECK(job.wait() == 128 + SIGTERM);
    std::string const text = slurp(output);
    INFO(text);
    CHECK(text.find("during the evaluation after 1024 frames") != std::string::npos);
    CHECK(frames_in(out) == 1024);
    // Played now, in less time.
    auto stored = gmac::read_checkpoint(fs::path(out) / "checkpoint.safetensors");
    std::string& settings = stored.metadata.at("settings");
    settings.replace(settings.find("20000"), 5, "2");
    gmac::write_checkpoint(fs::path(out) / "checkpoint.safetensors", stored);
    auto const resumed = train_on(2, "--resume '" + out + "'");
    INFO(resumed.text);
    CHECK(resumed.status == 0);
    CHECK(numbers_of(out, "evaluations")[0] == std::vector<double>{1024, 2048});
    CHECK(numbers_of(out, "evaluations")[1] == std::vector<double>{2, 4});
    CHECK(frames_in(out, "checkpoint-000000002048.safetensors") == 2048);
}

TEST_CASE("evaluations on the way, a target and pictures go with ranks") {
    scratch const folder;
    std::string const out = folder / "run";
    auto const done = train_on(2,
                               "--env classic/cart_pole --frames 4096 --eval-every 1024 --eval-episodes 2 "
                               "--target-return 1 --no-pictures --out '" +
                                   out + "'");
    INFO(done.text);
    CHECK(done.status == 0);
    CHECK(done.says("the target return of 1 is reached"));
    CHECK(frames_in(out) == 1024);
    CHECK(fs::exists(fs::path(out) / "best_policy.safetensors"));
    CHECK(fs::exists(fs::path(out) / "report.html"));
}
