// SPDX-License-Identifier: Apache-2.0
// The data of a page that compares runs, from folders whose numbers are known.
#include "report/comparison_data.hpp"
#include "train/our_environments.hpp"

#include "support/catch.hpp"
#include "support/says.hpp"
#include "support/scratch_folder.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using gmac::examples::report::comparison_data;
using json = nlohmann::ordered_json;
namespace fs = std::filesystem;

/// Folders of runs, made of a few numbers.
class made_runs {
public:
    struct what {
        std::string environment, algorithm;
        int seed = 1;
        std::vector<std::pair<double, double>> curve{}; ///< frames, mean return; a NaN before the first episode
        double evaluation = std::nan("");
        json settings = json::object();
    };
    void add(what const& made) {
        fs::path const run = folder_.path / fmt::format("run{}", runs_.size());
        fs::create_directory(run);
        json config{{"env", made.environment}, {"algorithm", made.algorithm}, {"seed", made.seed}, {"frames", 100}};
        config.update(made.settings);
        std::ofstream(run / "config.json") << config;
        std::ofstream metrics(run / "metrics.csv");
        metrics << "frames,seconds,mean_return\n";
        for (auto const& [frames, mean] : made.curve)
            metrics << fmt::format("{},{},{}\n", frames, frames / 10.0, mean);
        if (!std::isnan(made.evaluation))
            std::ofstream(run / "summary.json") << json{{"evaluation", {{"mean", made.evaluation}, {"episodes", 5}}}};
        runs_.push_back(run);
    }
    [[nodiscard]] json data(std::string const& baseline = {}) const { return comparison_data(known_, runs_, baseline); }

private:
    gmac::examples::train::registry known_ = gmac::examples::train::our_registry();
    gmac::testing::scratch_folder folder_;
    std::vector<fs::path> runs_;
};

double const unknown = std::nan("");

} // namespace

TEST_CASE("curves are means over the seeds where all of them have numbers", "[report]") {
    made_runs runs;
    runs.add({"classic/cart_pole", "gmac", 1, {{10, unknown}, {20, 100}, {60, 300}}});
    runs.add({"classic/cart_pole", "gmac", 2, {{20, 0}, {40, 200}, {50, 200}}});
    json const data = runs.data();
    CHECK(data["methods"] == json{"gmac"});
    CHECK(data["tasks"].size() == 1);
    json const& curve = data["tasks"][0]["methods"][0]["curve"];
    CHECK(curve["x"].front() == 20.0);
    CHECK(curve["x"].back() == 50.0);
    std::size_t const middle = (curve["x"].size() - 1) / 2; // 35: 175 and 150
    CHECK(curve["x"][middle] == 35.0);
    CHECK(curve["y"][middle].get<double>() == Approx(162.5));
    CHECK(curve["low"][middle].get<double>() == Approx(150));
    CHECK(curve["high"][middle].get<double>() == Approx(175));
    CHECK(data["overall"].is_null());
    CHECK(data["overall_problem"] == "");
    CHECK(data["settings"].empty());
    // Without evaluations the last means are the scores.
    CHECK(data["tasks"][0]["evaluated"] == false);
    CHECK(data["tasks"][0]["methods"][0]["scores"] == json{300.0, 200.0});
    CHECK(data["tasks"][0]["methods"][0]["mean"]["value"] == 250.0);
}

TEST_CASE("runs of one algorithm with other settings are other methods", "[report]") {
    made_runs runs;
    for (int seed = 1; seed <= 2; ++seed)
        for (double const entropy : {0.0, 0.01}) {
            json const settings{{"entropy-coefficient", entropy}, {"rom", fmt::format("{}", seed)}};
            runs.add({"classic/cart_pole", "gmac", seed, {{10, 1}, {20, 2}}, 10.0 * seed + entropy, settings});
        }
    runs.add({"classic/cart_pole", "ppo", 1, {{10, 1}, {20, 2}}, 15.0, {{"entropy-coefficient", 0.0}}});
    json const data = runs.data();
    json const methods{"gmac (entropy-coefficient 0.0)", "gmac (entropy-coefficient 0.01)", "ppo"};
    CHECK(data["methods"] == methods);
    json const& task = data["tasks"][0];
    CHECK(task["evaluated"] == true);
    CHECK(task["methods"][1]["scores"] == json{10.01, 20.01});
    // 10 and 20 against 10.01 and 20.01: one of four pairs is won; against 15: one of two.
    CHECK(task["improvement"][0][1]["value"] == 0.25);
    CHECK(task["improvement"][1][0]["value"] == 0.75);
    CHECK(task["improvement"][0][2]["value"] == 0.5);
    CHECK(task["improvement"][0][0].is_null());
    CHECK(task["profile"]["methods"].size() == 3);
    CHECK(task["profile"]["methods"][0]["share"].front() == 1.0);
    CHECK(task["profile"]["methods"][0]["share"].back() == 0.0);
    REQUIRE(data["settings"].size() == 1);
    CHECK(data["settings"][0]["name"] == "entropy-coefficient");
    CHECK(data["settings"][0]["values"] ==
          json{{"gmac (entropy-coefficient 0.0)", "0.0"}, {"gmac (entropy-coefficient 0.01)", "0.01"}, {"ppo", "0.0"}});
}

TEST_CASE("over several environments scores are in units of the baseline's mean", "[report]") {
    made_runs runs;
    std::vector<std::pair<double, double>> const curve{{10, 1}, {20, 2}};
    runs.add({"classic/cart_pole", "gmac", 1, curve, 30.0});
    runs.add({"classic/cart_pole", "ppo", 1, curve, 10.0});
    runs.add({"classic/cart_pole", "ppo", 2, curve, 30.0});
    runs.add({"bullet/hopper", "gmac", 1, curve, 100.0});
    runs.add({"bullet/hopper", "ppo", 1, curve, 200.0});
    json const data = runs.data();
    json const& overall = data["overall"];
    CHECK(overall["baseline"] == "ppo");
    CHECK(overall["tasks"] == json{"classic/cart_pole", "bullet/hopper"});
    // gmac: 30 / 20 and 100 / 200. ppo: 0.5, 1.5 and 1.
    CHECK(overall["methods"][0]["interquartile_mean"]["value"] == 1.0);
    CHECK(overall["methods"][1]["interquartile_mean"]["value"] == 1.0);
    CHECK(overall["methods"][1]["scores"] == json{0.5, 1.5, 1.0});
    // On cart-pole won, and a draw; on Hopper lost.
    CHECK(overall["improvement"][0][1]["value"] == 0.375);
    CHECK(runs.data("gmac")["overall"]["baseline"] == "gmac");
    CHECK(gmac::testing::message_of([&] { return runs.data("sac"); }) ==
          "the baseline is sac, but must be one of the methods of the runs: gmac, ppo");

    runs.add({"classic/pendulum", "gmac", 1, curve, -100.0});
    runs.add({"classic/pendulum", "ppo", 1, curve, -200.0});
    json const negative = runs.data();
    CHECK_FALSE(negative["overall"].contains("methods"));
    CHECK(negative["overall_problem"] ==
          "The mean of ppo on classic/pendulum is -200, in which no score can be measured, "
          "so there are no means over all environments.");
    CHECK(negative["overall"]["improvement"][0][1]["value"].get<double>() ==
          Approx((0.75 + 0.0 + 1.0) / 3.0).epsilon(1e-4));
    CHECK(negative["tasks"][2]["improvement"][0][1]["value"] == 1.0);
}

TEST_CASE("what the runs lack is told, and the rest is compared", "[report]") {
    made_runs runs;
    std::vector<std::pair<double, double>> const curve{{10, 1}, {20, 2}};
    runs.add({"classic/cart_pole", "gmac", 1, {{10, unknown}, {20, unknown}}});
    CHECK(
        gmac::testing::message_of([&] { return runs.data(); }) ==
        "there are 0 runs with a score, but two at least are needed to compare: run0: no episode has ended: it is left "
        "out");
    runs.add({"classic/cart_pole", "gmac", 2, curve});
    runs.add({"classic/cart_pole", "gmac", 2, curve});
    json const data = runs.data();
    CHECK(data["runs"].size() == 2);
    std::vector<std::string> told;
    for (auto const& problem : data["problems"])
        told.push_back(problem["where"].get<std::string>() + ": " + problem["what"].get<std::string>());
    CHECK(std::ranges::find(told, "run0: no episode has ended: it is left out") != told.end());
    CHECK(std::ranges::find(told,
                            "run2: it has the seed, the settings and the environment of run1: runs that are not "
                            "independent make intervals too narrow") != told.end());
}
