// SPDX-License-Identifier: Apache-2.0
// gmac-evaluate as a user runs it.
#include "support/program.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <gmac/storage/checkpoint.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

using gmac::testing::slurp;
using gmac::testing::spit;

namespace {

using gmac::testing::program_outcome;
using gmac::testing::run_program;
using gmac::testing::scratch_folder;
using nlohmann::json;

std::string run(scratch_folder const& folder, std::string const& name, std::string const& what) {
    std::string const path = (folder / name).string();
    auto const done =
        run_program(fmt::format("'{}' {} --frames 1024 --no-pictures --evaluation-episodes 12 --out '{}' 2>&1",
                                GMAC_TRAIN, what, path));
    INFO(done.text);
    REQUIRE(done.status == 0);
    return path;
}

program_outcome evaluate(std::string const& arguments, std::string const& redirection = "2>&1") {
    return run_program(fmt::format("'{}' {} {}", GMAC_EVALUATE, arguments, redirection));
}

json evaluated(std::string const& arguments) {
    auto const done = evaluate(arguments, "2>/dev/null");
    INFO(done.text);
    REQUIRE(done.status == 0);
    return json::parse(done.text);
}

double mean(std::vector<double> const& values) {
    double sum = 0.0;
    for (double const value : values)
        sum += value;
    return sum / static_cast<double>(values.size());
}

} // namespace

TEST_CASE("a run is judged by the episodes that gmac-train would have played", "[evaluate]") {
    scratch_folder const folder;
    std::string const path = run(folder, "run", "--env classic/pendulum --seed 4");
    auto const summary = json::parse(slurp(folder / "run" / "summary.json"));
    auto const report = evaluated(fmt::format("'{}' --episodes 12 --seed 1000004", path));
    REQUIRE(report["runs"].size() == 1);
    CHECK(report["groups"].empty());
    auto const& one = report["runs"][0];
    CHECK(one["returns"] == summary["evaluation"]["returns"]);
    CHECK(one["return"]["mean"]["value"] == summary["evaluation"]["mean"]);
    CHECK(one["return"]["median"]["value"] == summary["evaluation"]["median"]);
    CHECK(one["run"] == path);
    CHECK(one["environment"] == "classic/pendulum");
    CHECK(one["algorithm"] == "gmac");
    CHECK(one["training_seed"] == 4);
    CHECK(one["frames"].get<int>() >= 1024);
    CHECK(report["level"] == 0.95);
    CHECK(report["episodes"] == 12);

    auto const returns = one["returns"].get<std::vector<double>>();
    CHECK(one["return"]["minimum"] == *std::ranges::min_element(returns));
    CHECK(one["return"]["maximum"] == *std::ranges::max_element(returns));
    for (char const* const statistic : {"mean", "median", "interquartile_mean"}) {
        auto const& estimate = one["return"][statistic];
        CHECK(estimate["interval"][0] < estimate["value"]);
        CHECK(estimate["interval"][1] > estimate["value"]);
    }
    CHECK(one["continuity_cost"] > 0.0);
    CHECK(one["continuity_cost"] < 100.0);
    // Pendulum's episodes have 200 steps each.
    CHECK(one["lengths"] == std::vector<int>(12, 200));
    CHECK(one["length"]["mean"] == 200.0);
}

TEST_CASE("the JSON depends on the seed, but not on the threads, and an episode of cart-pole earns its length",
          "[evaluate]") {
    scratch_folder const folder;
    std::string const path = run(folder, "run", "--env classic/cart_pole --algorithm iqac --quantile-hidden 8");
    auto const text = [&](int seed, int threads) {
        return evaluate(fmt::format("'{}' --episodes 30 --seed {} --threads {}", path, seed, threads)).text;
    };
    std::string const first = text(1, 1);
    CHECK(text(1, 1) == first);
    CHECK(text(1, 2) == first);
    CHECK(text(1, 7) == first);
    CHECK(text(2, 1) != first);
    auto const report = json::parse(first);
    CHECK(report["runs"][0]["returns"] == report["runs"][0]["lengths"]);
    CHECK(report["runs"][0]["continuity_cost"].is_null());
}

TEST_CASE("runs of one environment and algorithm are judged together, a run as one value", "[evaluate]") {
    scratch_folder const folder;
    std::string const what = "--env classic/cart_pole --algorithm ";
    std::string const paths =
        fmt::format("'{}' '{}' '{}' '{}'", run(folder, "a", what + "gmac --seed 1"),
                    run(folder, "b", what + "ppo --seed 1"), run(folder, "c", what + "gmac --seed 2"),
                    run(folder, "d", "--env classic/pendulum --algorithm gmac"));
    auto const report = evaluated(paths + " --episodes 9 --level 0.5 --resamples 50");
    REQUIRE(report["runs"].size() == 4);
    REQUIRE(report["groups"].size() == 1);
    auto const& group = report["groups"][0];
    CHECK(group["environment"] == "classic/cart_pole");
    CHECK(group["algorithm"] == "gmac");
    CHECK(group["training_seeds"] == std::vector<int>{1, 2});
    double const a = mean(report["runs"][0]["returns"].get<std::vector<double>>());
    double const c = mean(report["runs"][2]["returns"].get<std::vector<double>>());
    auto const& together = group["mean_return_of_a_run"];
    CHECK(together["mean"]["value"].get<double>() == Approx(0.5 * (a + c)));
    CHECK(together["minimum"].get<double>() == Approx((std::min)(a, c)));
    CHECK(together["maximum"].get<double>() == Approx((std::max)(a, c)));

    auto const table = evaluate(fmt::format("{} --episodes 9 --out '{}'", paths, (folder / "x.json").string()));
    REQUIRE(table.status == 0);
    CHECK(table.says("| classic/cart_pole | ppo | 1 |"));
    CHECK(table.says("| classic/cart_pole | gmac | means of 2 runs |"));
    CHECK(std::ranges::count(table.text, '\n') == 7);
    CHECK(json::parse(slurp(folder / "x.json"))["runs"][0]["returns"] == report["runs"][0]["returns"]);
}

TEST_CASE("--out writes into what is no file, and follows links", "[evaluate]") {
    scratch_folder const folder;
    std::string const path = run(folder, "run", "--env classic/cart_pole");
    auto const out = [&](std::string const& place, std::string const& redirection = "2>&1") {
        return evaluate(fmt::format("'{}' --episodes 2 --out '{}'", path, place), redirection);
    };
    auto const whole = out((folder / "x.json").string());
    REQUIRE(whole.status == 0);
    auto const text = slurp(folder / "x.json");
    CHECK(out("/dev/null").text == whole.text);
    CHECK(std::filesystem::is_character_file("/dev/null"));
    CHECK(out("/dev/stdout").text == text + whole.text);
    CHECK(out("/dev/stdout", "> '" + (folder / "both").string() + "'").status == 0);
    CHECK(slurp(folder / "both") == text + whole.text);
    std::filesystem::create_symlink("target", folder / "link");
    CHECK(out((folder / "link").string()).status == 0);
    CHECK(std::filesystem::is_symlink(folder / "link"));
    CHECK(slurp(folder / "target") == text);
    auto const full = out("/dev/full");
    CHECK(full.status == 1);
    CHECK(full.text == "gmac-evaluate: cannot write /dev/full: No space left on device\n");
    CHECK(std::filesystem::is_character_file("/dev/full"));
    CHECK(evaluate("'" + path + "' --episodes 2", "2>&1 >/dev/full").status == 1);
}

TEST_CASE("what cannot be evaluated is said", "[evaluate]") {
    scratch_folder const folder;
    auto const says = [&](std::string const& arguments, std::string const& message) {
        auto const failed = evaluate(arguments);
        INFO(failed.text);
        CHECK(failed.status != 0);
        CHECK(failed.says(message));
    };
    says("", "runs is required");
    says((folder / "missing").string(), "there is no file or folder");
    spit(folder / "text", "no checkpoint, but a text that is long enough");
    says((folder / "text").string(), "this is no safetensors file");
    std::string const path = run(folder, "run", "--env classic/cart_pole");
    says(path + " --level 1.5", "the level is 1.5, but must be between 0 and 1");
    says(path + " --episodes 0", "--episodes is 0, but must be at least 1");
    for (std::string const option : {"--episodes", "--seed", "--resamples", "--threads"})
        says(path + " " + option + "=-1", option + " is -1, but must be in [0, 18446744073709551615]");
    says(path + " --out /proc/gmac/x", "/proc/gmac");
    says(path + " --out ''", "--out is empty");
    says(path + " --out --episodes", "--out needs a value");
    says("''", "argument 1 is empty");
    says(path + " --level 0.9x", "--level is \"0.9x\", but must be a decimal number");
    says(path + " --episode 3", "there is no option --episode; did you mean --episodes?");
    for (std::string const option : {"--episodes", "--resamples"})
        says(path + " " + option + " 18446744073709551615", option + " 18446744073709551615 would take at least ");

    auto const file = folder / "run" / "checkpoint.safetensors";
    auto const with = [&](auto&& change) { // of the settings in a checkpoint that is signed anew
        auto stored = gmac::read_checkpoint(file);
        change(stored.metadata["settings"]);
        gmac::write_checkpoint(folder / "changed", stored);
        return (folder / "changed").string();
    };
    says(with([](std::string& settings) { settings.assign(100'000, '['); }),
         "has more than 64 arrays and objects within each other");
    for (auto const& [widths, message] :
         {std::pair{"[8589934592, 8589934592]", "a width in hidden is 8589934592, but must be in [1, "},
          std::pair{"[1000000]", "units, which is more than the file holds"},
          std::pair{"[64, 18446744073709551615]", "a width in hidden is 18446744073709551615, but must be in [1, "}})
        says(with([&](std::string& settings) {
                 auto all = json::parse(settings);
                 all["hidden"] = json::parse(widths);
                 settings = all.dump();
             }),
             message);
    std::filesystem::resize_file(file, 500);
    says(path, "truncated");
}

TEST_CASE("a run that has learned a range of statistics is evaluated by any of them, and others by none",
          "[evaluate]") {
    scratch_folder const folder;
    std::string const path = run(folder, "run", "--env classic/cart_pole --statistic mean_minus_deviations:-1..3");
    auto const with = [&](std::string const& risk) {
        return evaluate(fmt::format("'{}' --episodes 12 --seed 1000001 {}", path, risk));
    };
    auto const drawn = json::parse(with("").text);
    CHECK(drawn["runs"][0]["returns"] == json::parse(slurp(folder / "run" / "summary.json"))["evaluation"]["returns"]);
    CHECK_FALSE(drawn.contains("risk"));
    auto const one = json::parse(with("--risk 3").text);
    CHECK(one["risk"] == 3.0);
    CHECK(one["runs"][0]["returns"] != drawn["runs"][0]["returns"]);
    CHECK(with("--risk 4")
              .text.find("the parameter of mean_minus_deviations is 4, but the policy has learned those "
                         "from -1 to 3") != std::string::npos);
    std::string const plain = run(folder, "plain", "--env classic/cart_pole");
    CHECK(evaluate(fmt::format("'{}' --risk 1", plain))
              .text.find("--risk is 1, but the run has learned to act by one statistic only, mean") !=
          std::string::npos);
}
