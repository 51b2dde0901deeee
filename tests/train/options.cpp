// SPDX-License-Identifier: Apache-2.0
// What gmac-train is told, on its command line and by files, and what it refuses to begin with.
#include "runs.hpp"

#include "support/catch.hpp"

#include <gmac/storage/checkpoint.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

using namespace gmac::testing;

namespace {

/// Refuses cart-pole with these options by this sentence, and leaves no folder behind.
void refused(std::string const& options, std::string const& message) {
    scratch const folder;
    auto const done =
        train(fmt::format("--env classic/cart_pole --no-pictures --out '{}' {}", folder / "run", options));
    INFO(options);
    INFO(done.text);
    CHECK(done.status == 1);
    CHECK(done.text.starts_with("gmac-train: "));
    CHECK(done.says(message));
    CHECK_FALSE(fs::exists(folder.path / "run"));
}

/// Runs of one small setting, each in a folder of its own, by name.
class short_runs {
public:
    explicit short_runs(std::string const& setting)
        : setting_(setting + " --hidden 8 --envs 4 --steps 32 --epochs 2 --quantile-hidden 8 --quantile-samples 8" +
                   quiet) {}

    void run(std::string const& name, std::string const& more) const {
        done(fmt::format("{} --out {} {}", setting_, folder_ / name, more));
    }
    void resume(std::string const& name, std::string const& more) const {
        done(fmt::format("--resume {} {}{}", folder_ / name, more, quiet));
    }
    [[nodiscard]] auto state(std::string const& name) const { return state_of(folder_.path / name); }
    [[nodiscard]] auto numbers(std::string const& name) const { return numbers_of(folder_.path / name); }

private:
    static void done(std::string const& arguments) {
        auto const result = train(arguments);
        INFO(result.text);
        REQUIRE(result.status == 0);
    }

    scratch folder_;
    std::string setting_;
};

} // namespace

TEST_CASE("numbers and names that could be read in two ways are refused") {
    refused("--discount ''", "--discount is empty");
    refused("--discount=", "--discount is empty");
    refused("--discount ' 0.9'", "--discount is \" 0.9\", but must be a decimal number, such as 0.25 or 1e-4");
    refused("--lambda nan", "--lambda is \"nan\", but must be a decimal number");
    refused("--learning-rate 1e400", "--learning-rate is 1e400, but a number can be no larger than");
    refused("--learning-rate 0x1p-10", "--learning-rate is \"0x1p-10\", but must be a decimal number");
    refused("--seed 99999999999999999999", "--seed is 99999999999999999999, but must be in [0, 18446744073709551615]");
    refused("--seed 0x10", "--seed is \"0x10\", but must be a whole number in decimal digits");
    refused("--seed +5", "--seed is \"+5\", but must be a whole number in decimal digits");
    refused("--envs ' 8'", "--envs is \" 8\", but must be a whole number in decimal digits");
    refused("--frames 1e6", "--frames is \"1e6\", but must be a whole number in decimal digits");
    refused("--hidden 64,,64", "a number of --hidden is \"\", but must be a whole number in decimal digits");
    refused("--max-gradient-norm ''", "--max-gradient-norm is empty");
    refused("--shared-trunk yes", "--shared-trunk is \"yes\", but must be true or false");
    refused("--schedule Linear", "--schedule is \"Linear\", but must be one of constant, linear, kl");
    refused("--optimiser 0", "--optimiser is \"0\", but must be one of adam, rmsprop");
    refused("--replacement systematic", "--replacement is \"systematic\", but must be one of independent, stratified");
    refused("--target-kl 0", "target_kl is 0, but must be finite and positive");
    refused("--schedule kl --learning-rate 0.1",
            "learning_rate is 0.1, but with the schedule kl it must be in [1e-05, 0.01]");
    refused("--clip-networks-separately true --shared-trunk true",
            "clip_networks_separately is true, but must be false with a shared trunk");
    refused("--eval-every 1e5", "--eval-every is \"1e5\", but must be a whole number in decimal digits");
    refused("--eval-episodes 0", "--eval-episodes is 0, but must be at least 1");
    refused("--target-return inf", "--target-return is inf, but must be finite");
    refused("--target-return", "--target-return needs a value");
    refused("--intrinsic boredom",
            "--intrinsic is \"boredom\", but must be one of none, td_error, energy_distance, cramer_distance, rnd");
    refused("--intrinsic rnd --intrinsic-coefficient -1",
            "exploration.coefficient is -1, but must be finite and not negative");
    refused("--intrinsic-discount 2", "exploration.discount is 2, but must be in [0, 1)");
    refused("--rnd-features 0", "random_network_distillation: features is 0, but must be in [1, 16777216]");
    refused("--rnd-learning-rate 0", "learning_rate is 0, but must be finite and positive");
    refused("--rnd-epochs 0", "random_network_distillation: epochs is 0, but must be at least 1");
    refused("--statistic median", "--statistic is \"median\", but must be mean, cvar:ALPHA, upper_cvar:ALPHA");
    refused("--statistic cvar", "--statistic is \"cvar\", but cvar is given as NAME:PARAMETER");
    refused("--statistic mean:1", "--statistic is \"mean:1\", but mean is given without a parameter");
    refused("--statistic cvar:0", "the probability of cvar is 0, but must be in (0, 1]");
    refused("--statistic cvar:", "the parameter of --statistic is \"\", but must be a decimal number");
    refused("--statistic wang:-4", "the parameter of wang is -4, but must be in [-3, 3]");
    refused("--statistic cvar:0.1..", "the second parameter of --statistic is \"\", but must be a decimal number");
    refused("--statistic cvar:..1", "the parameter of --statistic is \"\", but must be a decimal number");
    refused("--statistic cvar:0..1", "the probability of cvar is 0, but must be in (0, 1]");
    refused("--statistic cvar:0.5..0.1", "the parameters of cvar are from 0.5 to 0.1, but must rise");
    refused("--statistic cvar:0.5..0.5", "the parameters of cvar are from 0.5 to 0.5, but must rise");
    refused("--statistic cvar:0.1..0.5..1", "the second parameter of --statistic is \"0.5..1\", but must be");
    refused("--statistic cvar:0.1...5", "whose three dots can be read in two ways");
    refused("--exploring-starts 0.5", "--exploring-starts is an option of Windy cliff and does not go with");
    refused("--statistic cvar:0.1 --algorithm ppo",
            "--statistic is cvar:0.1, but must be mean with ppo, which learns no distribution");
    refused("--checkpoint-seconds nan", "--checkpoint-seconds is \"nan\", but must be a decimal number");
    refused("--checkpoint-seconds=-1", "--checkpoint-seconds is -1, but must be at least 0");
    refused("--threads 0", "--threads is 0, but must be at least 1");
    refused("--overwrite=", "--overwrite is empty");
    refused("--config ''", "--config is empty");
    refused("''", "argument ");
    refused("--learning_rate 0.1", "there is no option --learning_rate; did you mean --learning-rate?");
}

TEST_CASE("an option that follows one without its value is no value, and nothing is made or replaced") {
    scratch const folder;
    auto const done = train(fmt::format("--env classic/cart_pole --frames 256 {} --out --overwrite", quiet));
    CHECK(done.status == 1);
    CHECK(done.says("gmac-train: --out needs a value"));
    CHECK_FALSE(fs::exists("--overwrite"));
    CHECK(train("--env --algorithm ppo").status == 1);
    CHECK(train("--resume").says("gmac-train: --resume needs a value"));
}

TEST_CASE("an octal look is no octal number, and the seed is the one that was meant") {
    scratch const folder;
    auto const done = train(fmt::format("--env classic/cart_pole --envs 2 --steps 4 --frames 8 --seed 010 --out '{}'{}",
                                        folder / "run", quiet));
    INFO(done.text);
    REQUIRE(done.status == 0);
    CHECK(nlohmann::json::parse(slurp(folder.path / "run" / "config.json"))["seed"] == 10);
}

TEST_CASE("options of games do not go with another environment") {
    auto const refuses = [](std::string const& option, std::string const& games, std::string const& environment) {
        auto const done = train(fmt::format("--env {} --frames 8 {}", environment, option));
        INFO(done.text);
        CHECK(done.status == 1);
        CHECK(done.says(fmt::format("{} is an option of {} and does not go with {}", option.substr(0, option.find(' ')),
                                    games, environment)));
    };
    for (std::string const option :
         {"--preprocessing paper", "--preprocessing machado2018", "--mode 1", "--difficulty 0", "--rom x", "--roms x"})
        for (std::string const environment : {"classic/cart_pole", "minatar/breakout"})
            refuses(option, "Atari games", environment);
    for (std::string const option : {"--sticky 0.25", "--full-action-set true"})
        refuses(option, "Atari and MinAtar games", "classic/cart_pole");
    refuses("--trunk conv:16x3x1", "Images", "classic/cart_pole");
    refuses("--ramping true", "MinAtar games", "ale/breakout");
    refuses("--pushes 1", "Robots", "classic/cart_pole");
    refused("--sticky nan --preprocessing nonsense",
            "is an option of Atari and MinAtar games and does not go with classic/cart_pole");
}

TEST_CASE("a trunk that is none is refused, by what is wrong with it") {
    auto const refuses = [](std::string const& trunk, std::string const& sentence) {
        auto const done = train(fmt::format("--env minatar/breakout --frames 8 --trunk '{}'", trunk));
        INFO(done.text);
        CHECK(done.status == 1);
        CHECK(done.says(sentence));
    };
    refuses("128", "--trunk 128: there must be a convolution, like conv:16x3x1");
    refuses("conv:16x3", "--trunk conv:16x3: \"conv:16x3\" must be conv:FILTERSxKERNELxSTRIDE, like conv:16x3x1");
    refuses("128,conv:16x3x1", "convolutions come before the widths of the fully connected layers");
    refuses("conv:16x3x0", "--trunk conv:16x3x0: sizes must be at least 1");
    refuses("conv:16x3x1,", "--trunk conv:16x3x1, is \"\", but must be a whole number in decimal digits");
    refuses("conv:16x3x-1", "but must be in [0, 18446744073709551615]");
    refuses("conv:16x11x1", "--trunk: a window of 11 x 11 does not fit into an image of 10 x 10");
    refuses("conv:16x3x1,1000000000000", "--hidden 1000000000000");
}

TEST_CASE("settings are printed as a run would store them, and checked, without one") {
    scratch const folder;
    std::string const options = "--env classic/cart_pole --algorithm ppo --frames 256 --clip 0.125 --seed 9";
    auto const printed = train(fmt::format("{} --out '{}' --print-settings", options, folder / "run"));
    INFO(printed.text);
    CHECK(printed.status == 0);
    CHECK_FALSE(fs::exists(folder.path / "run"));
    auto const done = train(fmt::format("{} --out '{}' {}", options, folder / "run", quiet));
    REQUIRE(done.status == 0);
    CHECK(printed.text == slurp(folder.path / "run/config.json"));
    refused("--print-settings --clip -1", "clip");
    refused("--print-settings --clp 1", "there is no option --clp; did you mean --clip?");
    auto const none = train("--env classic/deep_sea:101 --print-settings");
    CHECK(none.status == 1);
    CHECK(none.says("the size is 101, but must be in [2, 100]"));
    auto const no_deviation = train("--env classic/cart_pole --state-dependent-exploration true --print-settings");
    INFO(no_deviation.text);
    CHECK(no_deviation.status == 1);
    CHECK(no_deviation.says("state-dependent-exploration"));
    std::ofstream(folder.path / "\xff.py").put('\n');
    auto const unreadable = train(fmt::format("--env '{}' --frames 9", folder / "\xff.py"));
    INFO(unreadable.text);
    CHECK(unreadable.status == 1);
    CHECK(unreadable.says("which is no text in UTF-8"));
    auto const long_name = train(fmt::format("--resume '{}/{}'", folder / "run", std::string(300, 'x')));
    INFO(long_name.text);
    CHECK(long_name.says("File name too long"));
    auto const resumed = train(fmt::format("--resume '{}' --print-settings", folder / "run"));
    CHECK(resumed.status == 1);
    CHECK(resumed.says("gmac-train: --print-settings does not go with --resume: the settings of the run are in " +
                       (folder / "run/config.json")));
}

TEST_CASE("a stored run whose settings the command line would refuse is refused, and stays as it is") {
    scratch const folder;
    REQUIRE(
        train(fmt::format("--env classic/cart_pole --envs 2 --steps 4 --frames 8 --out '{}'{}", folder / "run", quiet))
            .status == 0);
    auto const file = folder.path / "run" / "checkpoint.safetensors";
    auto const stored = gmac::read_checkpoint(file);
    auto const with = [&](std::string const& name, nlohmann::ordered_json const& value) {
        auto changed = stored;
        auto settings = nlohmann::ordered_json::parse(stored.metadata.at("settings"));
        settings[name] = value;
        changed.metadata["settings"] = settings.dump();
        gmac::write_checkpoint(file, changed);
    };
    auto const resumed = [&] { return train(fmt::format("--resume '{}' --frames 16{}", folder / "run", quiet)); };
    auto const refuses = [&](std::string const& name, nlohmann::ordered_json const& value, std::string const& message) {
        with(name, value);
        auto const before = files_in(folder.path / "run");
        auto const done = resumed();
        INFO(name << ": " << value);
        INFO(done.text);
        CHECK(done.status == 1);
        CHECK(done.says("the settings in " + file.string() + " cannot be used: " + message));
        CHECK(files_in(folder.path / "run") == before);
    };
    refuses("schedule", "linear ", "schedule is \"linear \", but must be one of constant, linear");
    refuses("schedule", 1, "schedule is 1, but must be text");
    refuses("activation", "none", "activation is \"none\", but must be one of tanh, relu");
    refuses("optimiser", "Adam", "optimiser is \"Adam\", but must be one of adam, rmsprop");
    refuses("steps", -4, "steps is -4, but must be in [0, 18446744073709551615]");
    refuses("steps", 4.5, "steps is \"4.5\", but must be a whole number in decimal digits");
    refuses("steps", "4", "steps is \"4\", but must be a number");
    refuses("steps", nullptr, "steps is null, but must be a number");
    refuses("steps", 0, "agent_options: steps is 0, but must be at least 1");
    refuses("envs", 0, "--envs is 0, but must be at least 1");
    refuses("discount", true, "discount is true, but must be a number");
    refuses("discount", 1.5, "agent_options: discount is 1.5, but must be in [0, 1]");
    refuses("learning-rate", "infinity", "agent_options: learning_rate is inf, but must be finite and positive");
    refuses("hidden", 64, "hidden is 64, but must be a list of numbers");
    refuses("hidden", nlohmann::ordered_json{64, -1}, "hidden is -1, but must be in [0, 18446744073709551615]");
    refuses("shared-trunk", "true", "shared-trunk is \"true\", but must be true or false");
    refuses("sticky", 0.25, "--sticky is an option of Atari and MinAtar games and does not go with classic/cart_pole");
    refuses("env", 3, "env is 3, but must be text");
    refuses("seeds", 3, "the settings have an unknown field \"seeds\"");

    // As it was, it goes on.
    gmac::write_checkpoint(file, stored);
    auto const done = resumed();
    INFO(done.text);
    CHECK(done.status == 0);
}

TEST_CASE("sizes that no memory holds are refused by name, with the bytes that they would take") {
    refused("--steps 9223372036854775808",
            "--particles 128 for --steps 9223372036854775808 in --envs 8 would take at "
            "least 7.56e+22 bytes of memory, but there are ");
    refused("--algorithm ppo --steps 9223372036854775808",
            "--steps 9223372036854775808 in --envs 8 would take at least ");
    refused("--envs 9223372036854775809 --steps 2",
            "--envs 9223372036854775809 with --hidden 64,64 would take at least ");
    refused("--algorithm iqac --quantile-embedding 9223372036854775808",
            "--quantile-embedding 9223372036854775808 would take at least 9.44e+21 bytes of memory, but there are ");
    refused("--algorithm iqac --quantile-hidden 9223372036854775808", " --quantile-hidden 9223372036854775808 ");
    refused("--algorithm iqac_e --quantile-samples 9223372036854775808", "--quantile-samples 9223372036854775808 ");
    refused("--hidden 16777216,16777216", "--hidden 16777216,16777216 would take at least 9.01e+15 bytes of memory");
    refused("--hidden 4294967296,64", "a width in hidden is 4294967296, but must be in [1, 16777216]");
    refused("--particles 9223372036854775808", "particles is 9223372036854775808, but must be in [1, 16777216]");
    refused("--eval-every 256 --eval-episodes 9223372036854775808", "--eval-episodes 9223372036854775808 would take");
    refused("--evaluation-episodes 9223372036854775808", "--evaluation-episodes 9223372036854775808 would take");
    refused("--intrinsic rnd --rnd-features 16777216", "--rnd-features 16777216 for --steps 32 in --envs 8 would take");
}

TEST_CASE("what a limited process cannot hold is refused by name before it is taken") {
    scratch const folder;
    auto const limited = [&](std::string const& options, int megabytes) {
        return run_program(
            fmt::format("ulimit -v {}; exec '{}' --env classic/cart_pole --threads 1 --out '{}' {} {} 2>&1",
                        1024 * megabytes, GMAC_TRAIN, folder / "run", quiet, options));
    };
    auto const many = limited("--envs 100000000 --steps 1 --algorithm ppo", 2000);
    INFO(many.text);
    CHECK(many.status == 1);
    CHECK(
        many.says("gmac-train: --envs 100000000 with --hidden 64,64 would take at least 256000000000 bytes of memory, "
                  "but there are 2097152000 bytes"));
    // Less than there is, if the program took nothing besides.
    auto const nearly = limited("--envs 1000 --steps 2000 --algorithm ppo", 170);
    INFO(nearly.text);
    CHECK(nearly.status == 1);
    CHECK(
        nearly.says("gmac-train: the run takes more memory than there is; --steps 2000 in --envs 1000 alone takes "
                    "88000000 bytes or more"));
    CHECK_FALSE(fs::exists(folder.path / "run"));
}

TEST_CASE("a run with a statistic is its own, with every method, and is resumed bit for bit") {
    for (std::string const method : {"gmac", "iqac_e", "dirac_energy", "c51"}) {
        INFO(method);
        short_runs const runs("--env classic/cart_pole --schedule constant --algorithm " + method);
        runs.run("mean", "--frames 512");
        runs.run("cautious", "--frames 512 --statistic mean_minus_deviations:0.5");
        runs.run("cut", "--frames 256 --statistic mean_minus_deviations:0.5");
        runs.resume("cut", "--frames 512");
        CHECK(runs.state("cut") == runs.state("cautious"));
        CHECK(runs.numbers("mean") != runs.numbers("cautious"));
        // A parameter for each episode.
        std::string const range = "--statistic mean_minus_deviations:-1..1 --normalize-observations true";
        runs.run("range", "--frames 512 " + range);
        runs.run("range-cut", "--frames 256 " + range);
        runs.resume("range-cut", "--frames 512");
        CHECK(runs.state("range-cut") == runs.state("range"));
    }
}

TEST_CASE("a run that explores is its own, with every method, and is resumed bit for bit") {
    for (auto const& [method, kind] :
         {std::pair("gmac", "energy_distance"), std::pair("gmac", "rnd"), std::pair("ppo", "td_error"),
          std::pair("gmac", "cramer_distance"), std::pair("iqac", "energy_distance"),
          std::pair("c51", "energy_distance"), std::pair("dirac_energy", "rnd")}) {
        INFO(method << " " << kind);
        short_runs const runs(fmt::format("--env classic/deep_sea:6 --algorithm {}", method));
        std::string const how = fmt::format("--intrinsic {} --rnd-features 4", kind);
        runs.run("plain", "--frames 512");
        runs.run("curious", "--frames 512 " + how);
        runs.run("less", "--frames 512 --intrinsic-coefficient 0.5 " + how);
        runs.run("cut", "--frames 256 " + how);
        runs.resume("cut", "--frames 512");
        CHECK(runs.state("cut") == runs.state("curious"));
        CHECK(runs.numbers("plain") != runs.numbers("curious"));
        CHECK(runs.numbers("less") != runs.numbers("curious"));
    }
}

TEST_CASE("a run with state-dependent exploration is its own, and is resumed bit for bit") {
    short_runs const runs("--env classic/pendulum --schedule constant");
    std::string const how = "--state-dependent-exploration true";
    runs.run("plain", "--frames 256");
    runs.run("smooth", "--frames 256 " + how);
    runs.run("anew", "--frames 256 --noise-steps 1 " + how);
    runs.run("cut", "--frames 128 " + how);
    runs.resume("cut", "--frames 256");
    CHECK(runs.state("cut") == runs.state("smooth"));
    CHECK(runs.numbers("plain") != runs.numbers("smooth"));
    CHECK(runs.numbers("anew") != runs.numbers("smooth"));
}

TEST_CASE("exploring starts are of the training, and not of evaluations") {
    scratch const folder;
    auto const run = [&](std::string const& share) {
        // Nothing is learned, so evaluations are the same if their episodes are.
        auto const done =
            train(fmt::format("--env classic/windy_cliff --frames 4096 --learning-rate 1e-30 --no-pictures "
                              "--evaluation-episodes 20 --out {} {}",
                              folder / ("run" + share), share.empty() ? "" : "--exploring-starts " + share));
        INFO(done.text);
        REQUIRE(done.status == 0);
        return nlohmann::json::parse(slurp(folder.path / ("run" + share) / "summary.json"))["evaluation"]["returns"];
    };
    auto const none = run("0");
    CHECK(run("1") == none);
    CHECK(run("") == none);
    auto const all = [&](std::string const& share) { return numbers_of(folder.path / ("run" + share)); };
    CHECK(all("1") != all("0"));
    CHECK(all("") != all("0"));
    CHECK(all("") != all("1"));
}
