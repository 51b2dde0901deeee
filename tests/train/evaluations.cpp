// SPDX-License-Identifier: Apache-2.0
// What gmac-train does on its way: evaluations, the best policy, the end at a target; and how it learns, if it is told so.
#include "classic/cart_pole.hpp"
#include "output/event_files.hpp"
#include "runs.hpp"

#include <gmac/deploy/policy_file.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

using namespace gmac::testing;

namespace {

std::string const cart_pole = "--env classic/cart_pole --seed 5 --frames 2048"; // eight updates of 256

program_outcome finish(std::string const& arguments) {
    auto const done = train(arguments + quiet);
    INFO(done.text);
    CHECK(done.status == 0);
    return done;
}

nlohmann::json json_in(fs::path const& file) {
    return nlohmann::json::parse(slurp(file));
}

std::vector<double> column(fs::path const& folder, std::string const& name, std::string const& table = "evaluations") {
    return gmac::examples::train::read_csv(folder / (table + ".csv")).column(name);
}

/// The mean return of a policy's most likely actions in so many cart-poles of a seed, one episode each.
double mean_return(gmac::deployed_policy<> const& policy, std::size_t poles, std::uint64_t seed) {
    gmac::vector_environment<classic::cart_pole> worlds(poles, seed);
    std::vector<float> observations(4 * poles), finals(4 * poles), rewards(poles), actions(poles);
    std::vector<std::uint8_t> terminated(poles), truncated(poles), done(poles);
    gmac::matrix_view<float> const seen(observations.data(), poles, 4), last(finals.data(), poles, 4);
    auto memory = policy.make_memory();
    double sum = 0.0;
    worlds.reset(seen);
    while (std::ranges::count(done, 0) > 0) {
        for (std::size_t i = 0; i < poles; ++i)
            policy.act(std::span(observations).subspan(4 * i, 4), std::span(actions).subspan(i, 1), memory);
        worlds.step({actions.data(), poles, 1}, {seen, last, rewards, terminated, truncated});
        for (std::size_t i = 0; i < poles; ++i) {
            sum += done[i] ? 0.0 : static_cast<double>(rewards[i]);
            done[i] = done[i] || terminated[i] || truncated[i];
        }
    }
    return sum / static_cast<double>(poles);
}

} // namespace

TEST_CASE("evaluations on the way change nothing of a run, and leave the best policy") {
    scratch folder;
    auto const plain = folder.path / "plain", run = folder.path / "run";
    finish(fmt::format("{} --out {}", cart_pole, plain.string()));
    finish(fmt::format("{} --keep-checkpoints 8 --eval-every 500 --eval-episodes 3 --out {}", cart_pole, run.string()));
    CHECK(numbers_of(run) == numbers_of(plain));
    CHECK(state_of(run) == state_of(plain));
    CHECK(slurp(run / "policy.safetensors") == slurp(plain / "policy.safetensors"));
    CHECK_FALSE(fs::exists(plain / "evaluations.csv"));
    CHECK_FALSE(fs::exists(plain / "best_policy.safetensors"));

    auto const frames = column(run, "frames"), means = column(run, "mean_return");
    CHECK(frames == std::vector<double>{512.0, 1024.0, 1536.0, 2048.0});
    CHECK(column(run, "update") == std::vector<double>{2.0, 4.0, 6.0, 8.0});
    CHECK(column(run, "episodes") == std::vector<double>(4, 3.0));
    for (std::size_t i = 0; i < means.size(); ++i) {
        CHECK(column(run, "lowest_return")[i] <= means[i]);
        CHECK(column(run, "highest_return")[i] >= means[i]);
        CHECK(column(run, "mean_length")[i] == means[i]); // each step of a pole is worth 1
    }
    auto const best = std::size_t(std::ranges::max_element(means) - means.begin()); // the first of them
    auto const file = run / "best_policy.safetensors";
    auto const notes = gmac::read_checkpoint(file).metadata;
    CHECK(notes.at("frames") == fmt::format("{}", frames[best]));
    CHECK(notes.at("mean_return") == fmt::format("{}", means[best]));
    CHECK(notes.at("episodes") == "3");
    CHECK(mean_return(gmac::load_policy(file), 3, 3'000'005) == Approx(means[best]));
    // Its parameters are those of the checkpoint that was kept then.
    auto const kept =
        gmac::read_checkpoint(run / fmt::format("checkpoint-{:012}.safetensors", std::uint64_t(frames[best]))).state;
    auto best_policy = gmac::load_policy(file);
    CHECK(check_part_of(kept, best_policy, "actor") == 6);
    std::vector<std::int64_t> steps;
    for (double const at : frames)
        steps.push_back(static_cast<std::int64_t>(at));
    auto const events = events_of(run);
    CHECK(by_session_starts(events).at("evaluation/mean_return") == steps);
    CHECK(by_preemption(events).at("evaluation/mean_length") == steps);
    CHECK(by_preemption(events).at("update/value_loss").size() == 8);
}

TEST_CASE("an evaluation on the way that a signal ends is made when the run goes on") {
    for (int const signal : {SIGTERM, SIGKILL}) {
        scratch folder;
        auto const whole = folder.path / "whole", cut = folder.path / "cut";
        std::string const words = cart_pole + " --eval-every 1024 --eval-episodes 20000 --out ";
        finish(words + whole.string());
        {
            running_train run(
                fmt::format("{}{} --checkpoint-seconds 0 {} > {} 2>&1", words, cut.string(), quiet, folder / "output"));
            wait_until([&] { return frames_in(cut) == 1024; });
            REQUIRE(run.end(signal) == 128 + signal);
        }
        auto const text = slurp(folder.path / "output");
        INFO(text);
        if (signal == SIGTERM)
            CHECK(text.find("stopped by SIGTERM during the evaluation after 1024 frames; go on with:  gmac-train "
                            "--resume ") != std::string::npos);
        CHECK(frames_in(cut) == 1024);
        CHECK(gmac::examples::train::read_csv(cut / "evaluations.csv").rows() == 0);
        finish("--resume " + cut.string());
        for (std::string const name : {"frames", "update", "mean_return", "median_return", "mean_length"})
            CHECK(column(cut, name) == column(whole, name));
        CHECK(column(cut, "frames") == std::vector<double>{1024.0, 2048.0});
        CHECK(numbers_of(cut) == numbers_of(whole));
        CHECK(state_of(cut) == state_of(whole));
        CHECK(slurp(cut / "best_policy.safetensors") == slurp(whole / "best_policy.safetensors"));
    }
}

TEST_CASE("a run ends where an evaluation reaches the target, and goes on for a higher one") {
    scratch folder;
    auto const whole = folder.path / "whole", run = folder.path / "run";
    std::string const words = cart_pole + " --eval-every 256 --eval-episodes 4";
    finish(fmt::format("{} --out {}", words, whole.string()));
    auto const means = column(whole, "mean_return");
    // A target that an evaluation in the middle is the first to reach.
    std::size_t first = 1;
    while (first + 2 < means.size() &&
           means[first] <= *std::max_element(means.begin(), means.begin() + std::ptrdiff_t(first)))
        ++first;
    double const target = means[first];
    REQUIRE(*std::max_element(means.begin(), means.begin() + std::ptrdiff_t(first)) < target);
    auto const told = finish(fmt::format("{} --target-return {} --out {}", words, target, run.string()));
    auto const frames = 256 * (first + 1);
    CHECK(told.says(fmt::format("the target return of {} is reached after {} frames", target, frames)));
    CHECK(frames_in(run) == frames);
    CHECK(column(run, "frames").back() == static_cast<double>(frames));
    auto const summary = json_in(run / "summary.json");
    CHECK(summary["frames"] == frames);
    CHECK(summary["target_return"]["asked"] == target);
    CHECK(summary["target_return"]["reached"] == true);
    CHECK(json_in(run / "config.json")["target-return"] == target);

    auto const before = files_in(run);
    auto const refused = train(fmt::format("--resume {} --frames 4096{}", run.string(), quiet));
    CHECK(refused.status == 1);
    CHECK(
        refused.says(fmt::format("has reached its target return of {} after {} frames: to train on, ask for a higher "
                                 "one by --target-return",
                                 target, frames)));
    CHECK(files_in(run) == before);
    // What it lacks it gets.
    fs::remove(run / "summary.json");
    CHECK(finish("--resume " + run.string()).says("is reached: what else the run lacks follows"));
    CHECK(frames_in(run) == frames);
    finish(fmt::format("--resume {} --target-return 1e9", run.string()));
    CHECK(numbers_of(run) == numbers_of(whole));
    CHECK(state_of(run) == state_of(whole));
    CHECK(column(run, "mean_return") == means);
    CHECK(json_in(run / "summary.json")["target_return"]["reached"] == false);
}

TEST_CASE("without evaluations the last hundred episodes reach the target, once there are so many") {
    scratch folder;
    auto const run = folder.path / "run";
    finish(fmt::format("--env classic/cart_pole --frames 100000 --target-return 15 --out {}", run.string()));
    auto const episodes = column(run, "episodes", "metrics"), means = column(run, "mean_return", "metrics");
    REQUIRE(means.size() > 1);
    for (std::size_t i = 0; i < means.size(); ++i)
        CHECK((episodes[i] >= 100.0 && means[i] >= 15.0) == (i + 1 == means.size()));
    CHECK(std::ranges::count_if(means, [](double mean) { return mean >= 15.0; }) > 1); // but of fewer episodes
    CHECK(json_in(run / "summary.json")["target_return"]["reached"] == true);
    CHECK(train(fmt::format("--resume {}{}", run.string(), quiet)).says("has reached its target return of 15 after "));
}

TEST_CASE("a best policy that cannot be read is replaced by the next one, and that is told") {
    scratch folder;
    auto const run = folder.path / "run";
    finish(fmt::format("{} --eval-every 256 --eval-episodes 2 --out {}", cart_pole, run.string()));
    std::ofstream(run / "best_policy.safetensors") << "rubbish";
    auto const told = finish(fmt::format("--resume {} --frames 2304", run.string()));
    CHECK(told.says("best_policy.safetensors cannot be read, and the next evaluation replaces it: "));
    CHECK(gmac::read_checkpoint(run / "best_policy.safetensors").metadata.at("frames") == "2304");
    // One that is better than what comes stays.
    auto file = gmac::read_checkpoint(run / "best_policy.safetensors");
    file.metadata["mean_return"] = "501";
    gmac::write_checkpoint(run / "best_policy.safetensors", file);
    finish(fmt::format("--resume {} --frames 2560", run.string()));
    CHECK(gmac::read_checkpoint(run / "best_policy.safetensors").metadata.at("frames") == "2304");
    CHECK(column(run, "frames").back() == 2560.0);
}

TEST_CASE("a table of evaluations that was changed or lost is told of, one row more than the checkpoint knew is not") {
    scratch folder;
    auto const run = folder.path / "run";
    finish(fmt::format("{} --frames 1024 --keep-checkpoints 2 --eval-every 256 --eval-episodes 2 --out {}",
                       "--env classic/cart_pole", run.string()));
    CHECK_FALSE(finish(fmt::format("--resume {} --frames 1280", run.string())).says("was changed"));
    // A checkpoint that is kept was written before the evaluation.
    fs::copy(run / "checkpoint-000000001024.safetensors", run / "checkpoint.safetensors",
             fs::copy_options::overwrite_existing);
    CHECK_FALSE(finish(fmt::format("--resume {} --frames 1280", run.string())).says("was changed"));
    CHECK(column(run, "frames") == std::vector<double>{256.0, 512.0, 768.0, 1024.0, 1280.0});
    auto text = slurp(run / "evaluations.csv");
    auto const begin = text.find("\n512,") + 1;
    text.erase(begin, text.find('\n', begin) + 1 - begin);
    std::ofstream(run / "evaluations.csv", std::ios::binary) << text;
    CHECK(finish(fmt::format("--resume {} --frames 1536", run.string()))
              .says("evaluations.csv was changed: up to frame 1280 it has 4 rows, checksum "));
    std::ofstream(run / "evaluations.csv", std::ios::binary) << "frames,other\n256,1\n";
    auto const before = files_in(run);
    auto const refused = train(fmt::format("--resume {} --frames 1792{}", run.string(), quiet));
    CHECK(refused.status == 1);
    CHECK(refused.says("the row has the columns "));
    CHECK(files_in(run) == before);
}

TEST_CASE("how a run learns is stored with it and gone on with, bit for bit") {
    scratch folder;
    std::string const words =
        "--env classic/cart_pole --hidden 8 --envs 2 --steps 64 --minibatch 32 --epochs 4 --schedule kl --target-kl 0.004 "
        "--learning-rate 0.002 --learning-rate-minimum 0.0005 --learning-rate-maximum 0.009 --early-stop true "
        "--clip-networks-separately true --replacement stratified --out ";
    auto const whole = folder.path / "whole", cut = folder.path / "cut";
    finish(words + whole.string() + " --frames 2048 --threads 2");
    finish(words + cut.string() + " --frames 1024 --threads 1");
    finish("--resume " + cut.string() + " --frames 2048");
    CHECK(numbers_of(cut) == numbers_of(whole));
    CHECK(state_of(cut) == state_of(whole));
    auto const config = json_in(whole / "config.json");
    CHECK(config["schedule"] == "kl");
    CHECK(config["target-kl"] == 0.004);
    CHECK(config["learning-rate-minimum"] == 0.0005);
    CHECK(config["learning-rate-maximum"] == 0.009);
    CHECK(config["early-stop"] == true);
    CHECK(config["clip-networks-separately"] == true);
    CHECK(config["replacement"] == "stratified");
    auto const rates = column(whole, "learning_rate", "metrics"), epochs = column(whole, "epochs", "metrics");
    CHECK(std::ranges::min(rates) < std::ranges::max(rates));
    CHECK(std::ranges::min(rates) >= 0.0005);
    CHECK(std::ranges::max(rates) <= 0.009);
    CHECK(std::ranges::min(epochs) < 4.0);
    CHECK(std::ranges::max(epochs) <= 4.0);
    for (std::string const option : {"--replacement stratified", "--clip-networks-separately true", "--early-stop true",
                                     "--schedule kl", "--target-kl 0.004"}) {
        auto const other = folder.path / "other";
        std::string less = words; // without this option
        less.erase(less.find(option), option.size());
        finish(fmt::format("{}{} --frames 1024 --overwrite", less, other.string()));
        CAPTURE(option);
        CHECK(column(other, "value_loss", "metrics").back() != column(whole, "value_loss", "metrics")[7]);
    }
    // As many epochs as were asked for need no column, nor has the table of an older run one.
    finish(fmt::format("{} --out {}", cart_pole, folder / "usual"));
    CHECK(slurp(folder.path / "usual" / "metrics.csv").find(",epochs") == std::string::npos);
}
