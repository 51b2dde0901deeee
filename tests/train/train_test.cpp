// SPDX-License-Identifier: Apache-2.0
// gmac-train as its user meets it: what it says, what it leaves, and that stopping it changes nothing.
#include "output/event_files.hpp"
#include "runs.hpp"

#include <gmac/deploy/policy_file.hpp>
#include <gmac/deploy/value_file.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

using namespace gmac::testing;

TEST_CASE("what is wrong is said, with what would be right") {
    scratch folder;
    auto const unknown = train("--env atari/pong");
    CHECK(unknown.status == 1);
    CHECK(unknown.says("unknown environment \"atari/pong\"; known are classic/cart_pole, classic/pendulum"));
    auto const algorithm = train("--env classic/cart_pole --algorithm dqn");
    CHECK(algorithm.status == 1);
    CHECK(algorithm.says("unknown algorithm \"dqn\"; known are gmac, ppo, iqac, iqac_e"));
    auto const preset = train("--preset slow");
    CHECK(preset.status == 1);
    CHECK(preset.says(
        "unknown preset \"slow\"; known are hopper-fast, walker2d-fast, half_cheetah-fast, ant-fast, humanoid-fast"));
    auto const nothing = train("");
    CHECK(nothing.status == 1);
    CHECK(nothing.says("say what to train by --env NAME, --preset NAME or --resume FOLDER"));
    auto const lambda = train("--env classic/cart_pole --lambda 1.5");
    CHECK(lambda.status == 1);
    CHECK(lambda.says("lambda is 1.5, but must be in [0, 1]"));
    auto const discount = train("--env classic/cart_pole --discount=-0.1");
    CHECK(discount.status == 1);
    CHECK(discount.says("discount is -0.1, but must be in [0, 1]"));
    auto const envs = train("--env classic/cart_pole --envs 0");
    CHECK(envs.status == 1);
    CHECK(envs.says("--envs is 0, but must be at least 1"));
    auto const word = train("--env classic/cart_pole --epochs ten");
    CHECK(word.status != 0);
    CHECK(word.says("--epochs is \"ten\", but must be a whole number in decimal digits"));
    auto const option = train("--env classic/cart_pole --lamda 0.9");
    CHECK(option.status != 0);
    CHECK(option.says("there is no option --lamda; did you mean --lambda?"));
    auto const seed = train("--env classic/cart_pole --seed=-1");
    CHECK(seed.status != 0);
    CHECK(seed.says("--seed is -1, but must be in [0, 18446744073709551615]"));
    auto const threads = train("--env classic/cart_pole --threads 0");
    CHECK(threads.status != 0);
    CHECK(threads.says("--threads is 0, but must be at least 1"));
    auto const frames = train("--env classic/cart_pole --frames 0");
    CHECK(frames.status == 1);
    CHECK(frames.says("--frames is 0, but must be at least 1"));
    for (auto const& [real, message] :
         {std::pair("variance-scale 0", "variance-scale is 0, but must be positive and finite"),
          std::pair("initial-deviation nan", "initial-deviation is \"nan\", but must be a decimal number"),
          std::pair("initial-deviation=-inf", "initial-deviation is -inf, but must be positive and finite"),
          std::pair("variance-floor inf", "variance-floor is inf, but must be finite and not negative"),
          std::pair("deviation-floor=-1", "deviation-floor is -1, but must be finite and not negative")}) {
        auto const bad = train(fmt::format("--env classic/pendulum --frames 256 --out {} --{}", folder / "bad", real));
        CHECK(bad.status == 1);
        CHECK(bad.says(fmt::format("--{}", message)));
        CHECK_FALSE(fs::exists(folder.path / "bad"));
    }
    for (auto const& [name, message] :
         {std::pair("classic/cart_pole", "classic/cart_pole, whose actions are discrete"),
          std::pair("minatar/breakout", "minatar/breakout, whose observations are images")}) {
        auto const bad = train(
            fmt::format("--env {} --frames 256 --out {} --state-dependent-exploration true", name, folder / "bad"));
        CHECK(bad.status == 1);
        CHECK(bad.says(fmt::format("--state-dependent-exploration is true, but must be false with {}", message)));
        CHECK_FALSE(fs::exists(folder.path / "bad"));
    }
    auto const name = train("--env classic/cart_pole --activation relo");
    CHECK(name.status != 0);
    CHECK(name.says("--activation is \"relo\", but must be one of tanh, relu"));
    std::ofstream(folder.path / "mistyped.toml") << "learnin-rate = 0.5\n";
    auto const mistyped = train(fmt::format("--env classic/cart_pole --config {}", folder / "mistyped.toml"));
    CHECK(mistyped.status != 0);
    CHECK(
        mistyped.says("line 1 of the file of --config: there is no option --learnin-rate; did you mean "
                      "--learning-rate?"));
    auto const file = train(fmt::format("--env classic/cart_pole --config {}", folder / "missing.toml"));
    CHECK(file.status != 0);
    CHECK(file.says("missing.toml"));
}

TEST_CASE("a folder that cannot be written or holds something else is left alone") {
    scratch folder;
    auto const forbidden = train("--env classic/cart_pole --frames 256 --out /proc/gmac" + quiet);
    CHECK(forbidden.status == 1);
    CHECK(forbidden.says("cannot create the folder /proc/gmac"));
    fs::create_directories(folder.path / "other");
    std::ofstream(folder.path / "other" / "thesis.txt") << "do not lose";
    for (std::string const more : {"", " --overwrite"}) {
        auto const other =
            train(fmt::format("--env classic/cart_pole --frames 256 --out {}{}{}", folder / "other", quiet, more));
        CHECK(other.status == 1);
        CHECK(other.says("not the folder of a run"));
        CHECK(fs::file_size(folder.path / "other" / "thesis.txt") == 11);
    }
}

TEST_CASE("a run leaves its files, and is replaced only on demand") {
    scratch folder;
    std::string const run = fmt::format("--env classic/cart_pole --frames 2048 --out {}", folder / "run");
    auto const first = train(run);
    INFO(first.text);
    REQUIRE(first.status == 0);
    CHECK(first.says("evaluation over 20 episodes"));
    for (char const* const name : {"config.json", "metrics.csv", "episodes.csv", "checkpoint.safetensors",
                                   "policy.safetensors", "value.safetensors", "summary.json"})
        CHECK(fs::exists(folder.path / "run" / name));
    // The policy is the actor's part of the checkpoint.
    auto policy = gmac::load_policy(folder.path / "run" / "policy.safetensors");
    CHECK(policy.observation_size() == 4);
    CHECK(std::get<gmac::discrete>(policy.action_space()).count == 2);
    CHECK(!policy.description().observation_clip);
    auto const whole = state_of(folder.path / "run");
    CHECK(check_part_of(whole, policy, "actor") == 6);
    // The value is the critic's.
    auto value = std::get<0>(gmac::load_value(folder.path / "run" / "value.safetensors"));
    CHECK(std::get<gmac::mixture_outputs>(value.description().head).components == 5);
    std::uint64_t count = 0;
    double squares = 0.0; // of the discounted returns by which rewards were divided
    gmac::load_checkpoint(
        folder.path / "run" / "checkpoint.safetensors",
        [&](gmac::archive& state) {
            state("environments.returns.count", count);
            state("environments.returns.squares", std::span(&squares, 1));
        },
        gmac::unasked::ignore);
    CHECK(value.description().reward_scale == Approx(std::sqrt(squares / static_cast<double>(count))));
    CHECK(check_part_of(whole, value, "critic") == 6);
    auto const table = gmac::examples::train::read_csv(folder.path / "run" / "metrics.csv");
    CHECK(table.rows() == 8); // updates of 8 x 32 frames
    CHECK(table.column("frames").back() == 2048.0);
    for (char const* const name : {"seconds", "mean_return", "median_return", "episodes", "policy_loss", "value_loss",
                                   "entropy", "approximate_kl", "clip_fraction", "explained_variance"})
        CHECK(table.column(name).size() == 8);
    CHECK(static_cast<double>(gmac::examples::train::read_csv(folder.path / "run" / "episodes.csv").rows()) ==
          table.column("episodes").back());
    auto const again = train(run);
    CHECK(again.status == 1);
    CHECK(again.says("holds a finished run"));
    CHECK(again.says("--overwrite"));
    CHECK(train(run + " --overwrite" + quiet).status == 0);
    auto const done = train(fmt::format("--resume {}{}", folder / "run", quiet));
    CHECK(done.status == 1);
    CHECK(done.says("has done its 2048 frames"));
    auto const other = train(fmt::format("--resume {} --frames 4096 --epochs 3", folder / "run"));
    CHECK(other.status == 1);
    CHECK(other.says("--epochs does not go with it"));
}

TEST_CASE("what was edited in config.json is told, since a resumed run has the settings of its checkpoint") {
    scratch folder;
    auto const path = folder.path / "run" / "config.json";
    REQUIRE(train(fmt::format("--env classic/cart_pole --frames 512 --out {}{}", folder / "run", quiet)).status == 0);
    auto const untouched = train(fmt::format("--resume {} --frames 1024{}", folder / "run", quiet));
    CHECK(untouched.status == 0);
    CHECK_FALSE(untouched.says("differs"));
    CHECK(untouched.says("\nmetrics and checkpoint are in "));
    std::ifstream file(path);
    auto config = nlohmann::json::parse(file); // sorted, which is no difference
    auto const before = config;
    config["learning-rate"] = 0.5;
    config["frames"] = 1536;
    std::ofstream(path) << config;
    auto const edited = train(fmt::format("--resume {} --frames 2048{}", folder / "run", quiet));
    CHECK(edited.status == 0);
    CHECK(
        edited.says("config.json differs from the checkpoint in learning-rate: the run goes on with the checkpoint's "
                    "settings\n"));
    std::ifstream again(path);
    CHECK(nlohmann::json::parse(again)["learning-rate"] == before["learning-rate"]);
}

TEST_CASE("a configuration file stands for options") {
    scratch folder;
    std::ofstream(folder.path / "run.toml")
        << "env = \"classic/pendulum\"\nalgorithm = \"ppo\"\nframes = 512\nsteps = 64\n"
           "hidden = [8, 8]\nshared-trunk = true\n";
    auto const result = train(fmt::format("--config {} --out {}{}", folder / "run.toml", folder / "run", quiet));
    INFO(result.text);
    CHECK(result.status == 0);
    CHECK(result.says("ppo on classic/pendulum"));
    std::ifstream file(folder.path / "run" / "config.json");
    auto const config = nlohmann::json::parse(file);
    CHECK(config["steps"] == 64);
    CHECK(config["hidden"] == std::vector<int>{8, 8});
    CHECK(config["shared-trunk"] == true);
    CHECK(config["discount"] == 0.9); // still the environment's own
}

TEST_CASE("the implicit quantile network has the size that is asked for, and keeps it") {
    scratch folder;
    auto const parameters = [&](std::string const& algorithm) {
        auto const result = train(
            fmt::format("--env classic/cart_pole --hidden 8 --envs 2 --steps 8 --frames 16 --epochs 1 --overwrite "
                        "--out {} --algorithm {}{}",
                        folder / "run", algorithm, quiet));
        INFO(result.text);
        REQUIRE(result.status == 0);
        auto const end = result.text.find(" parameters");
        return std::stoi(result.text.substr(result.text.rfind(' ', end - 1)));
    };
    // In place of PPO's layer from 8 features to a value: 4 cosines to 8 features, these to 16 units, and these to one.
    int const ppo = parameters("ppo");
    CHECK(parameters("iqac --quantile-samples 6 --quantile-embedding 4 --quantile-hidden 16") ==
          ppo - (8 + 1) + (4 * 8 + 8) + (8 * 16 + 16) + (16 + 1));
    std::ifstream file(folder.path / "run" / "config.json");
    auto const config = nlohmann::json::parse(file);
    CHECK(config["quantile-samples"] == 6);
    CHECK(config["quantile-embedding"] == 4);
    CHECK(config["quantile-hidden"] == 16);
    CHECK(train(fmt::format("--resume {} --frames 32{}", folder / "run", quiet)).status == 0);
    CHECK(parameters("iqac_e") == ppo - (8 + 1) + (64 * 8 + 8) + (8 * 256 + 256) + (256 + 1)); // the paper's
    auto const none = train("--env classic/cart_pole --algorithm iqac --quantile-samples 0");
    CHECK(none.status == 1);
    CHECK(none.says("--quantile-samples is 0, but must be at least 1"));
}

TEST_CASE("the atoms of a value distribution are options, which a stored run keeps, bit for bit") {
    scratch folder;
    auto const run = [&](std::string const& name, std::string const& more, int frames) {
        auto const result =
            train(fmt::format("--env classic/cart_pole --algorithm hl_gauss --hidden 8 --envs 2 --steps 32 "
                              "--schedule constant --frames {} --out {} {}{}",
                              frames, folder / name, more, quiet));
        INFO(result.text);
        CHECK(result.status == 0);
    };
    std::string const atoms = "--atom-minimum=-2 --atom-maximum 30 --atom-symlog true --histogram-deviation 1.5";
    run("default", "", 256);
    run("whole", atoms, 256);
    run("cut", atoms, 128);
    std::ifstream file(folder.path / "whole" / "config.json");
    auto const config = nlohmann::json::parse(file);
    CHECK(config["atom-minimum"] == -2.0);
    CHECK(config["atom-maximum"] == 30.0);
    CHECK(config["atom-symlog"] == true);
    CHECK(config["histogram-deviation"] == 1.5);
    CHECK(train(fmt::format("--resume {} --frames 256{}", folder / "cut", quiet)).status == 0);
    CHECK(numbers_of(folder.path / "cut") == numbers_of(folder.path / "whole"));
    CHECK(numbers_of(folder.path / "default") != numbers_of(folder.path / "whole"));
    auto const none = train("--env classic/cart_pole --algorithm c51 --atom-minimum 3 --atom-maximum 3");
    CHECK(none.status == 1);
    CHECK(none.says("--atom-minimum is 3 and --atom-maximum 3, but both must be finite and the minimum the lower one"));
    auto const flat = train("--env classic/cart_pole --algorithm hl_gauss --histogram-deviation 0");
    CHECK(flat.status == 1);
    CHECK(flat.says("--histogram-deviation is 0, but must be positive and finite"));
}

TEST_CASE("environments with a size or pushes are told apart, and resumed as they are") {
    auto const refuses = [](std::string const& what, std::string const& sentence) {
        auto const done = train(what + " --frames 8");
        INFO(done.text);
        CHECK(done.status == 1);
        CHECK(done.says(sentence));
    };
    refuses("--env classic/deep_sea", "unknown environment \"classic/deep_sea\"; known are");
    refuses("--env classic/deep_sea:ten", "the size of classic/deep_sea:ten is \"ten\", but must be a whole number");
    refuses("--env classic/deep_sea:1", "deep_sea: the size is 1, but must be in [2, 100]");
    scratch folder;
    std::vector<std::string> all{"--env classic/windy_cliff", "--env classic/deep_sea:5",
                                 "--env classic/deep_sea_stochastic:5"};
#if defined(GMAC_TRAIN_WITH_BULLET)
    refuses("--env bullet/hopper --pushes=-1", "--pushes is -1, but must be finite and not negative");
    all.emplace_back("--env bullet/hopper --pushes 9");
    all.emplace_back("--env bullet/hopper");
#endif
    std::vector<std::vector<std::vector<double>>> rewards;
    for (std::string const& what : all) {
        INFO(what);
        std::string const words = what +
                                  " --hidden 8 --envs 4 --steps 32 --minibatch 64 --epochs 1 --schedule constant "
                                  "--overwrite --out ";
        REQUIRE(train(fmt::format("{}{} --frames 512{}", words, folder / "whole", quiet)).status == 0);
        REQUIRE(train(fmt::format("{}{} --frames 256{}", words, folder / "cut", quiet)).status == 0);
        REQUIRE(train(fmt::format("--resume {} --frames 512{}", folder / "cut", quiet)).status == 0);
        CHECK(numbers_of(folder.path / "cut") == numbers_of(folder.path / "whole"));
        rewards.push_back(numbers_of(folder.path / "whole", "episodes"));
        CHECK_FALSE(rewards.back().front().empty());
    }
    for (std::size_t i = 1; i < rewards.size(); ++i)
        CHECK(rewards[i] != rewards[i - 1]);
}

TEST_CASE("every algorithm trains, on discrete and on real actions") {
    scratch folder;
    for (std::string const algorithm : {"gmac", "ppo", "iqac", "iqac_e", "dirac_huber_quantile", "dirac_expectile",
                                        "dirac_energy", "c51", "hl_gauss", "categorical_energy"})
        for (std::string const environment : {"classic/cart_pole", "classic/pendulum"}) {
            auto const result = train(
                fmt::
                    format("--env {} --algorithm {} --envs 4 --steps 32 --epochs 1 --frames 256 --overwrite --out {}{}",
                           environment, algorithm, folder / "run", quiet));
            INFO(result.text);
            CHECK(result.status == 0);
            auto const table = gmac::examples::train::read_csv(folder.path / "run" / "metrics.csv");
            REQUIRE(table.rows() == 2);
            CHECK(table.column("value_loss").back() != table.column("value_loss").front());
        }
}

namespace {

/// A run that is stopped by `signal` somewhere, again and again, and resumed each time ends where one that was never
/// stopped does, bit for bit; and so does a run on another number of threads.
void check_interruptions(std::string const& what, int signal) {
    scratch folder;
    REQUIRE(train(fmt::format("{} --threads 1 --out {}{}", what, folder / "whole", quiet)).status == 0);
    std::string words = fmt::format("{} --threads 2 --checkpoint-seconds 0 --keep-checkpoints 5 --out {}{}", what,
                                    folder / "cut", quiet);
    std::mt19937 random(7);
    std::size_t stops = 0;
    for (bool finished = false; !finished;) {
        REQUIRE(stops < 200);
        // Longer each time: on a busy machine an update may take as long as the first waits.
        auto const patience = std::chrono::milliseconds(60 + random() % 300 + 20 * stops);
        running_train run(words + " > /dev/null 2>&1");
        std::this_thread::sleep_for(patience);
        int const status = run.end(signal);
        // The signal may come when all is done, to a process that listens no more.
        finished = status == 0 || fs::exists(folder.path / "cut" / "summary.json");
        if (finished)
            break;
        ++stops;
        REQUIRE(status == 128 + signal); // by its own will, or before it listened
        if (fs::exists(folder.path / "cut" / "checkpoint.safetensors")) {
            CHECK(state_of(folder.path / "cut").tensors().size() > 10); // it loads, whatever moment it was
            words = fmt::format("--resume {} --threads 2 --checkpoint-seconds 0 {}", folder / "cut", quiet);
        } else {
            words += " --overwrite";
        }
    }
    CHECK(stops > 0);
    CHECK(state_of(folder.path / "whole") == state_of(folder.path / "cut"));
    CHECK(numbers_of(folder.path / "whole") == numbers_of(folder.path / "cut"));
    if (fs::exists(folder.path / "whole" / "evaluations.csv"))
        CHECK(numbers_of(folder.path / "whole", "evaluations") == numbers_of(folder.path / "cut", "evaluations"));
    // None of the kept checkpoints fell between a kill and a resume, which was not told of them.
    auto const files = files_in(folder.path / "cut");
    CHECK(std::ranges::count_if(files, [](auto const& file) { return file.first.starts_with("checkpoint-"); }) == 5);
    for (auto const& [name, content] : files)
        if (name.starts_with("checkpoint-"))
            CHECK(frames_in(folder.path / "cut", name) == std::stoull(name.substr(name.find('-') + 1)));
    // TensorBoard shows each update once, in either of its ways to read.
    auto const events = events_of(folder.path / "cut");
    std::vector<std::int64_t> steps;
    auto const table = gmac::examples::train::read_csv(folder.path / "cut" / "metrics.csv");
    for (double const frames : table.column("frames"))
        steps.push_back(static_cast<std::int64_t>(frames));
    CHECK(by_session_starts(events).at("update/value_loss") == steps);
    CHECK(by_preemption(events).at("update/value_loss") == steps);
    // Of the values it shows the same densities as if there had been no stop: at 100 updates, or at all if there are fewer.
    auto const densities = shown_histograms(events);
    std::size_t const shown = (std::min)(steps.size(), std::size_t{100});
    CHECK(densities.size() == 5 * shown);
    CHECK(by_session_starts(events).at("value_density/all_states").size() == shown);
    CHECK(densities == shown_histograms(events_of(folder.path / "whole")));
    for (auto const& [key, bytes] : densities) {
        histogram const read(bytes);
        double sum = 0.0;
        for (double const mass : read.buckets)
            sum += mass;
        CHECK(sum == Approx(1.0).margin(2e-3));
    }
}

} // namespace

TEST_CASE("SIGKILL at any moment leaves a checkpoint that goes on bit for bit") {
    check_interruptions("--env classic/cart_pole --schedule kl --early-stop true --eval-every 700 --frames 12000",
                        SIGKILL);
}

TEST_CASE("SIGTERM finishes the update, and the resumed run is the one that was never stopped") {
    check_interruptions("--env classic/pendulum --algorithm ppo --steps 128 --frames 16000", SIGTERM);
}

#if defined(GMAC_TRAIN_WITH_BULLET)
TEST_CASE("Hopper goes on bit for bit") {
    check_interruptions("--preset hopper-fast --steps 64 --envs 8 --frames 12000", SIGINT);
}
#endif

TEST_CASE("a checkpoint that is cut short is refused and left as it is") {
    scratch folder;
    REQUIRE(train(fmt::format("--env classic/cart_pole --frames 512 --out {}{}", folder / "run", quiet)).status == 0);
    auto const file = folder.path / "run" / "checkpoint.safetensors";
    auto const size = fs::file_size(file) / 2;
    fs::resize_file(file, size);
    auto const result = train(fmt::format("--resume {} --frames 1024", folder / "run"));
    CHECK(result.status == 1);
    CHECK(result.says("checkpoint.safetensors"));
    CHECK(fs::file_size(file) == size);
}
