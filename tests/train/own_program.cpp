// SPDX-License-Identifier: Apache-2.0
// A program of one's own: examples/programs/own_program, and odd_program.cpp.
#include "runs.hpp"

#include <gmac/deploy/value_file.hpp>

#include "support/catch.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <variant>

using namespace gmac::testing;

namespace {

program_outcome mine(std::string const& arguments) {
    return run_program(fmt::format("'{}' {} 2>&1", GMAC_MY_TRAIN, arguments));
}
program_outcome odd(std::string const& arguments) {
    return run_program(fmt::format("'{}' {} 2>&1", GMAC_ODD_TRAIN, arguments));
}

std::string const small = " --hidden 8 --envs 4 --steps 64 --epochs 2" + quiet;

/// A short run that must succeed.
void done(program_outcome const& outcome) {
    INFO(outcome.text);
    REQUIRE(outcome.status == 0);
}

nlohmann::json json_in(fs::path const& file) {
    return nlohmann::json::parse(slurp(file));
}

double best_return(fs::path const& run) {
    return std::ranges::max(gmac::examples::train::read_csv(run / "episodes.csv").column("return"));
}

} // namespace

TEST_CASE("own program: --help knows its environment, options, presets and sub-commands, and nothing of others") {
    auto const help = mine("--help");
    CHECK(help.status == 0);
    for (char const* const part :
         {"Usage: my-train [OPTIONS]", "mine/cliff", "a walk along a cliff", "--env-option NAME=VALUE",
          "--env-option wind=0.1", "probability of a gust, in [0, 1]", "--env-option columns=12", "calm",
          "my-train evaluate --help", "play", "curves", "--algorithm", "hl_gauss"})
        CHECK(help.says(part));
    for (char const* const part : {"gmac-train", "--rom", "--pushes", "--ramping", "--exploring-starts", "cart_pole"})
        CHECK_FALSE(help.says(part));
    CHECK(help.text == mine("train --help").text);
    // The defaults are those of the environment for the algorithm.
    CHECK(help.says("--learning-rate FLOAT=0.001"));
    CHECK(mine("--algorithm ppo --help").says("--learning-rate FLOAT=0.0005"));
}

TEST_CASE("own program: options of the environment reach it, and are stored, and a resumed run has them, bit for bit") {
    scratch folder;
    // Of a schedule over the run the first half would be another one.
    std::string const options = " --schedule constant --env-option columns=3 --env-option wind=0";
    done(mine(fmt::format("--frames 8192 --out {}{}{}", folder / "whole", options, small)));
    CHECK(json_in(folder.path / "whole" / "config.json")["env-option"] ==
          nlohmann::json{{"columns", "3"}, {"wind", "0"}});
    // From corner to corner it takes a step up, one a column, and one down.
    CHECK(best_return(folder.path / "whole") == -4.0);

    done(mine(fmt::format("train --env mine/cliff --frames 4096 --out {}{}{}", folder / "halves", options, small)));
    done(mine(fmt::format("--resume {} --frames 8192{}", folder / "halves", quiet)));
    CHECK(state_of(folder.path / "halves") == state_of(folder.path / "whole"));
    CHECK(numbers_of(folder.path / "halves") == numbers_of(folder.path / "whole"));

    std::ofstream(folder.path / "wind.toml") << "env-option = wind=0.25\n";
    done(mine(fmt::format("--frames 8192 --out {} --config {}{}", folder / "wide", folder / "wind.toml", small)));
    CHECK(json_in(folder.path / "wide" / "config.json")["env-option"] ==
          nlohmann::json{{"columns", "12"}, {"wind", "0.25"}});
    CHECK(best_return(folder.path / "wide") <= -13.0);
}

TEST_CASE("own program: options of the environment that are none are refused, and leave nothing behind") {
    scratch folder;
    auto const refused = [&](std::string const& options, std::string const& message) {
        auto const outcome = mine(fmt::format("--out {} {}{}", folder / "run", options, small));
        INFO(outcome.text);
        CHECK(outcome.status == 1);
        CHECK(outcome.text.starts_with("my-train: "));
        CHECK(outcome.says(message));
        CHECK_FALSE(fs::exists(folder.path / "run"));
    };
    refused("--env-option gusts=1", "--env-option gusts: the environment has no such option, only wind, columns");
    refused("--env-option wind=strong", "--env-option wind is \"strong\", but must be a decimal number");
    refused("--env-option wind=inf", "--env-option wind is inf, but must be finite");
    refused("--env-option columns=4.5", "--env-option columns is \"4.5\", but must be a whole number");
    refused("--env-option wind", "--env-option is \"wind\", but must be NAME=VALUE");
    refused("--env-option wind=1 --env-option wind=0", "--env-option wind is given twice");
    refused("--env-option wind=2", "mine/cliff: wind is 2, but must be in [0, 1]"); // says the environment
    refused("--env classic/cart_pole", "unknown environment \"classic/cart_pole\"; known are mine/cliff");

    done(mine(fmt::format("--frames 256 --out {}{}", folder / "run", small)));
    auto const resumed = mine(fmt::format("--resume {} --env-option wind=0", folder / "run"));
    CHECK(resumed.status == 1);
    CHECK(resumed.says("--env-option does not go with it"));
}

TEST_CASE("own program: a preset is a start of its own") {
    scratch folder;
    done(mine(fmt::format("--preset calm --frames 512 --env-option wind=0.5 --out {}{}", folder / "run", small)));
    auto const config = json_in(folder.path / "run" / "config.json");
    CHECK(config["env"] == "mine/cliff");
    CHECK(config["env-option"] == nlohmann::json{{"columns", "5"}, {"wind", "0.5"}});
    CHECK(mine("--preset long-walk").says("unknown preset \"long-walk\"; known are calm"));
}

TEST_CASE("own program: its runs are evaluated, played, drawn, reported and acted by, by its sub-commands") {
    scratch folder;
    auto const run = folder / "run";
    done(mine(fmt::format("--frames 2048 --env-option columns=4 --out {}{}", run, small)));

    auto const evaluated = mine(fmt::format("evaluate {} --episodes 5", run));
    done(evaluated);
    auto const scores = nlohmann::json::parse(evaluated.text);
    CHECK(scores["runs"][0]["environment"] == "mine/cliff");
    CHECK(scores["runs"][0]["returns"].size() == 5);

    auto const played = mine(fmt::format("play {} --seed 7 --steps 30", run));
    done(played);
    CHECK(played.says("play.html: "));
    std::string const page = slurp(folder.path / "run" / "play.html");
    std::string const mark = "id=\"data\">";
    auto const begin = page.find(mark) + mark.size();
    auto const data = nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
    CHECK(data["env"] == "mine/cliff");
    CHECK(data["frames"] == 2048);
    auto const& episode = data["episode"];
    CHECK(episode["kind"] == "lines");
    CHECK(episode["steps"].get<int>() <= 30);
    // The walker is in the lower left corner at first.
    CHECK(episode["frames"][0]["lines"][2]["places"] == nlohmann::json({0, 0}));
    done(mine(fmt::format("play {} --seed 8 --steps 30", run))); // a page of before may go
    std::ofstream(folder.path / "thesis.html") << "do not lose";
    CHECK(mine(fmt::format("play {} --out {}", run, folder / "thesis.html")).says("which would be lost"));
    CHECK(slurp(folder.path / "thesis.html") == "do not lose");

    auto const curves = mine(fmt::format("curves {}", run));
    done(curves);
    CHECK(curves.says("| mine/cliff | gmac | 1 |"));

    done(mine(fmt::format("report {}", run)));
    std::string const report = slurp(folder.path / "run" / "report.html");
    CHECK(report.find("--env mine/cliff --algorithm gmac") != std::string::npos); // whose defaults it compares with
    CHECK(report.find("\"kind\":\"lines\"") != std::string::npos);

    auto const acted = run_program(fmt::format("echo 1 0 | '{}' act {}", GMAC_MY_TRAIN, run));
    done(acted);
    CHECK((acted.text >= "0" && acted.text < "4"));
}

TEST_CASE("own program: each sub-command calls itself by its name, and an unknown one is refused") {
    for (std::string const command : {"evaluate", "play", "report", "curves", "act"}) {
        CAPTURE(command);
        auto const help = mine(command + " --help");
        CHECK(help.status == 0);
        CHECK(help.says(fmt::format("Usage: my-train {} [OPTIONS]", command)));
        CHECK_FALSE(help.says("gmac-"));
        auto const unknown = mine(command + " --no-such-option");
        CHECK(unknown.status == 1);
        CHECK(unknown.text.starts_with(fmt::format("my-train {}: there is no option --no-such-option", command)));
    }
    CHECK(mine("evalute").says("my-train: there is no sub-command evalute; did you mean evaluate?"));
    CHECK(mine("runs/a").says("there is no sub-command runs/a; there are train, evaluate, play, report, curves, act"));
    scratch folder;
    fs::create_directory(folder.path / "empty");
    CHECK(mine(fmt::format("play {}", folder / "empty")).says("so it is not one of my-train"));
}

TEST_CASE("own program: a run that is stopped says how my-train goes on") {
    scratch folder;
    running_program train(fmt::format("exec '{}' --frames 100000000 --out {}{} > {} 2>&1", GMAC_MY_TRAIN,
                                      folder / "run", small, folder / "said"));
    wait_until([&] { return frames_in(folder.path / "run") > 0; });
    CHECK(train.end(SIGINT) == 128 + SIGINT);
    CHECK(slurp(folder.path / "said").find("go on with:  my-train --resume ") != std::string::npos);
}

TEST_CASE("own program: a run of another program is refused by its environment") {
    scratch folder;
    done(train(fmt::format("--env classic/cart_pole --frames 256 --out {}{}", folder / "pole", quiet)));
    auto const outcome = mine(fmt::format("evaluate {}", folder / "pole"));
    CHECK(outcome.status == 1);
    CHECK(outcome.says("unknown environment \"classic/cart_pole\"; known are mine/cliff"));
}

TEST_CASE("own program: what is registered wrongly is told when it starts") {
    for (auto const& [fault, message] :
         std::map<std::string, std::string>{{"environment-twice", "the environment mine/screen is registered twice"},
                                            {"method-twice", "the method ppo is registered twice"},
                                            {"blank", "\"my task\" is no name for an environment"},
                                            {"file", "\"./task\" is no name for an environment"},
                                            {"no-images",
                                             "mine/bytes: its observations are bytes, so its description "
                                             "must say what images these are"},
                                            {"option-twice", "mine/options: its option size is there twice"},
                                            {"preset",
                                             "the preset far: unknown environment \"mine/far\"; known are "
                                             "mine/screen, mine/chain"}}) {
        auto const outcome = run_program(fmt::format("GMAC_FAULT={} '{}' --help 2>&1", fault, GMAC_ODD_TRAIN));
        INFO(outcome.text);
        CHECK(outcome.status == 1);
        CHECK(outcome.text.starts_with("odd-train: "));
        CHECK(outcome.says(message));
    }
}

TEST_CASE("own program: with the methods that it names, and one of its own") {
    CHECK(odd("--env mine/chain --algorithm gmac").says("unknown algorithm \"gmac\"; known are ppo, three"));
    // The others are not in the program, nor compiled into it.
    auto const symbols = [](char const* program) {
        return run_program(fmt::format("nm -C '{}' | grep -c 'losses::hl_gauss'", program)).text;
    };
    CHECK(symbols(GMAC_ODD_TRAIN) == "0\n");
    CHECK(symbols(GMAC_MY_TRAIN) != "0\n");

    scratch folder;
    done(odd(fmt::format("--env mine/chain --algorithm three --critics ppo --frames 1024 --out {}{}", folder / "run",
                         small)));
    auto const value = std::get<0>(gmac::load_value(folder.path / "run" / "value.safetensors"));
    CHECK(std::get<gmac::mixture_outputs>(value.description().head).components == 3);
    done(odd(fmt::format("evaluate {} --episodes 2", folder / "run")));
}

TEST_CASE("own program: images of one's own") {
    scratch folder;
    std::string const run = " --env mine/screen --trunk conv:4x3x1,8 --envs 4 --steps 16 --epochs 1" + quiet;
    done(odd(fmt::format("--frames 128 --out {}{}", folder / "whole", run)));
    done(odd(fmt::format("--frames 64 --out {}{}", folder / "halves", run)));
    done(odd(fmt::format("--resume {} --frames 128{}", folder / "halves", quiet)));
    CHECK(state_of(folder.path / "halves") == state_of(folder.path / "whole"));
    done(odd(fmt::format("play {}", folder / "whole")));
    CHECK(slurp(folder.path / "whole" / "play.html").find("\"kind\":\"cells\"") != std::string::npos);
    CHECK(odd("--env mine/screen --algorithm three").says("unknown algorithm for images \"three\"; known are ppo"));
    CHECK(odd("--env mine/chain --trunk conv:4x3x1").says("--trunk is an option of"));
}
