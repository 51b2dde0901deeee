// SPDX-License-Identifier: Apache-2.0
// What the page is made of, from folders that are whole, damaged, half written or of before.
#include "report/machine.hpp"
#include "report/report_data.hpp"
#include "report/report_page.hpp"
#include "report/watched_episode.hpp"
#include "train/our_environments.hpp"

#include <gmac/core/error.hpp>

#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace report = gmac::examples::report;
namespace train = gmac::examples::train;
using gmac::testing::scratch_folder;
using gmac::testing::slurp;
using gmac::testing::spit;
using json = nlohmann::ordered_json;

namespace {

train::registry const known = train::our_registry();

json cart_pole() {
    auto settings = train::default_settings(known, "classic/cart_pole", "gmac");
    settings.frames = 5'000;
    settings.agent.learning_rate = 0.25;
    return train::to_json(settings);
}

/// A small run, finished.
void write_run(std::filesystem::path const& run) {
    spit(run / "config.json", cart_pole().dump());
    spit(run / "machine.json",
         R"({"format": "gmac-machine-1", "processes": [{"processor": "one"}, {"processor": "two"}]})");
    spit(run / "metrics.csv", "frames,seconds,mean_return,value_loss\n1000,1.5,nan,0.5\n2000,3,20,0.25\n");
    spit(run / "episodes.csv", "frames,return,length\n1500,10,10\n1900,30,30\n");
    spit(run / "evaluations.csv", "frames,mean_return,lowest_return,highest_return\n2000,25,20,30\n");
    spit(run / "summary.json", R"({"frames": 2000, "evaluation": {"episodes": 2, "mean": 40}})");
    spit(run / "observed.json", R"({"format": "gmac-observed-1", "frames": 2000})");
}

/// The sentence about a file; empty if there is none.
std::string said(json const& data, std::string const& file) {
    std::string all;
    for (auto const& one : data["problems"])
        if (one["where"] == file)
            all += one["what"].get<std::string>() + "; ";
    return all;
}
bool says(json const& data, std::string const& file, std::string const& part) {
    return said(data, file).find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a whole run is shown, and nothing is wrong with it", "[report]") {
    scratch_folder const folder;
    write_run(folder.path);
    json const data = report::report_data(known, folder.path);
    INFO(data.dump(2));
    CHECK(data["problems"].empty());
    CHECK(data["run"]["env"] == "classic/cart_pole");
    CHECK(data["run"]["frames"] == 2000);
    CHECK(data["run"]["frames_asked"] == 5000);
    CHECK(data["run"]["seconds"] == 3);
    CHECK(data["run"]["updates"] == 2);
    CHECK(data["run"]["episodes"] == 2);
    CHECK(data["run"]["finished"] == true);
    CHECK(data["defaults"] == "--env classic/cart_pole --algorithm gmac");
    CHECK(data["machines"].size() == 2);
    CHECK(data["metrics"]["each"] == 1);
    CHECK(data["metrics"]["x"] == json{1000, 2000});
    CHECK(data["metrics"]["columns"]["mean_return"]["mean"] == json{nullptr, 20});
    CHECK(data["episodes"]["return"] == json{10, 30});
    CHECK(data["evaluations"]["columns"]["highest_return"]["mean"] == json::array({30}));
    CHECK(data["summary"]["evaluation"]["mean"] == 40);
    CHECK(data["observed"]["frames"] == 2000);

    std::vector<std::string> differ;
    for (auto const& one : data["settings"])
        if (one["value"] != one["default"])
            differ.push_back(one["name"]);
    CHECK(differ == std::vector<std::string>{"frames", "learning-rate"});
    for (auto const& one : data["settings"])
        CHECK(one["group"] != "Robots"); // which do not go with it
}

TEST_CASE("settings are compared with the preset that is nearer", "[report]") {
    scratch_folder const folder;
    write_run(folder.path);
    auto settings = train::preset_settings(known, "walker2d-fast");
    settings.algorithm = "iqac";
    settings.seed = 4;
    spit(folder.path / "config.json", train::to_json(settings).dump());
    json const data = report::report_data(known, folder.path);
    CHECK(data["defaults"] == "--preset walker2d-fast --algorithm iqac");
    for (auto const& one : data["settings"])
        CHECK(one["value"] == one["default"]);
    CHECK(data["run"]["seed"] == 4);
}

TEST_CASE("what is damaged or missing is said, and the rest is shown", "[report]") {
    scratch_folder const folder;
    auto const& run = folder.path;
    auto const with = [&](std::string const& file, std::string const& content) {
        write_run(run);
        spit(run / file, content);
        json const data = report::report_data(known, run);
        // Each file is shown but this one.
        if (file != "metrics.csv")
            CHECK(data["metrics"]["rows"] == 2);
        if (file != "episodes.csv")
            CHECK(data["episodes"]["rows"] == 2);
        CHECK_FALSE(report::report_page(data).empty());
        return data;
    };
    for (std::string const file : {"config.json", "machine.json", "summary.json", "observed.json"}) {
        INFO(file);
        CHECK(says(with(file, "{\"env\": \"classic/ca"), file, "is not JSON"));
        CHECK(says(with(file, "[1, 2]"), file, "is not a JSON object"));
        CHECK(says(with(file, ""), file, "is not JSON"));
        CHECK(says(with(file, std::string(100, '[')), file, "within each other"));
    }
    CHECK(says(with("observed.json", R"({"format": "gmac-observed-9"})"), "observed.json", "is not gmac-observed-1"));
    CHECK(says(with("config.json", R"({"env": "of/the/future", "algorithm": "gmac"})"), "config.json", "no defaults"));
    CHECK(says(with("config.json", R"({"env": 3})"), "config.json", "no defaults"));

    auto data =
        with("metrics.csv",
             "frames,seconds,mean_return,value_loss\n1000,1,20,0.5\n2000,x,20,1\n3000,3,20\n4000,4,30,1\n5000,");
    CHECK(data["metrics"]["x"] == json{1000, 4000});
    CHECK(
        said(data, "metrics.csv") ==
        "line 3 has a cell that is not a number, and 1 more cannot be read: they are left out; the last line is cut off, "
        "and left out; ");
    data = with("metrics.csv", "");
    CHECK(says(data, "metrics.csv", "no update"));
    CHECK(data["run"]["frames"].is_null());
    data = with("metrics.csv", std::string("\0\x01\xff binary \n\n", 14));
    CHECK(says(data, "metrics.csv", "line 2 has a cell that is not a number"));
    data = with("episodes.csv", "frames,return,length\n");
    CHECK(data["episodes"]["rows"] == 2 - 2);
    CHECK(data["problems"].empty());
    data = with("episodes.csv", "length\n5\n");
    CHECK(data["episodes"]["return"].empty());
}

TEST_CASE("a run that is older, or has only begun, is shown", "[report]") {
    scratch_folder const folder;
    write_run(folder.path);
    for (char const* const file : {"machine.json", "observed.json", "evaluations.csv", "summary.json"})
        std::filesystem::remove(folder.path / file);
    json data = report::report_data(known, folder.path);
    CHECK(data["problems"].size() == 1);
    CHECK(says(data, "machine.json", "there is none"));
    CHECK(data["run"]["finished"] == false);
    CHECK(data["observed"].is_null());

    // Fields that this version has and that one had not, and the other way round.
    spit(folder.path / "config.json",
         R"({"env": "classic/cart_pole", "algorithm": "gmac", "frames": 9, "old-option": 3})");
    data = report::report_data(known, folder.path);
    CHECK(data["settings"].size() == 2);
    CHECK(data["settings"][1]["group"] == "Other");
    CHECK_FALSE(data["settings"][1].contains("default"));

    json const nothing = report::report_data(known, folder.path / "nowhere");
    CHECK(says(nothing, "config.json", "there is none"));
    CHECK(says(nothing, "metrics.csv", "no update"));
}

TEST_CASE("a number that is none is said, with where it begins, unless it is of before the first episode", "[report]") {
    scratch_folder const folder;
    write_run(folder.path);
    spit(folder.path / "metrics.csv",
         "frames,mean_return,value_loss,entropy\n1000,nan,0.5,1\n2000,20,nan,1\n3000,20,inf,1\n4000,20,nan,1\n");
    json const data = report::report_data(known, folder.path);
    CHECK(data["problems"].size() == 1);
    CHECK(said(data, "metrics.csv") ==
          "value_loss is not a finite number in 3 of 4 updates, first after 2000 frames; ");
    CHECK(data["metrics"]["columns"]["value_loss"]["mean"] == json{0.5, nullptr, nullptr, nullptr});
}

TEST_CASE("a long run is thinned, and keeps its mean and its extremes", "[report]") {
    scratch_folder const folder;
    write_run(folder.path);
    constexpr int rows = 10'007;
    std::string metrics = "frames,value_loss\n", episodes = "frames,return,length\n";
    double sum = 0.0;
    for (int i = 0; i < rows; ++i) {
        double const value = i == 777 ? 1e6 : i == 9'999 ? -1e6 : std::sin(0.01 * i);
        sum += value;
        metrics += fmt::format("{},{}\n", 10 * i, value);
        episodes += fmt::format("{},{},{}\n", 10 * i, value, i);
    }
    spit(folder.path / "metrics.csv", metrics);
    spit(folder.path / "episodes.csv", episodes);
    json const data = report::report_data(known, folder.path);
    auto const& thin = data["metrics"];
    CHECK(thin["rows"] == rows);
    CHECK(thin["each"] == 26);
    REQUIRE(thin["x"].size() == 385);
    auto const& column = thin["columns"]["value_loss"];
    double low = 0.0, high = 0.0, total = 0.0;
    for (std::size_t i = 0; i < 385; ++i) {
        low = std::min(low, column["low"][i].get<double>());
        high = std::max(high, column["high"][i].get<double>());
        total += column["mean"][i].get<double>() * (i + 1 < 385 ? 26.0 : rows - 26.0 * 384);
        CHECK(column["low"][i] <= column["mean"][i]);
        CHECK(column["high"][i] >= column["mean"][i]);
    }
    CHECK(low == -1e6);
    CHECK(high == 1e6);
    CHECK(total == Approx(sum).margin(200.0)); // five digits of a million, two times, and of the rest

    auto const& some = data["episodes"];
    CHECK(some["rows"] == rows);
    CHECK(some["return"].size() <= 2'403);
    CHECK(some["return"].size() > 2'000);
    CHECK(std::count(some["return"].begin(), some["return"].end(), json(1'000'000)) == 1);
    CHECK(std::count(some["return"].begin(), some["return"].end(), json(-1'000'000)) == 1);
    for (std::size_t i = 0; i < some["return"].size(); ++i) // each is a real one
        CHECK(some["frames"][i].get<int>() == 10 * some["length"][i].get<int>());
    CHECK(report::report_page(data).size() < 400'000);
}

TEST_CASE("the page holds its data, whatever texts they have", "[report]") {
    scratch_folder const folder;
    write_run(folder.path);
    spit(folder.path / "summary.json",
         "{\"evaluation\": {\"mean\": 1}, \"note\": \"</script><!-- \\u2028 \xff @data@\"}");
    json data = report::report_data(known, folder.path);
    data["run"]["name"] = "a </script><script>alert(1)</script>\u2028\u2029 @live@ run";
    std::string const page = report::report_page(data);
    std::size_t const begin = page.find("id=\"data\">") + 10, end = page.find("</script>", begin);
    REQUIRE(end != std::string::npos);
    std::string const inside = page.substr(begin, end - begin);
    CHECK(inside.find('<') == std::string::npos);
    CHECK(inside.find("\u2028") == std::string::npos);
    json const again = json::parse(inside);
    CHECK(again["run"]["name"] == data["run"]["name"]);
    CHECK(again["settings"] == data["settings"]);
    CHECK(page.find("start_report({live: false})") != std::string::npos);
    CHECK(report::report_page(data, true).find("start_report({live: true})") != std::string::npos);
    for (char const* const address : {"http://", "https://", "src=", "@import", "url("}) {
        std::size_t const at = page.find(address);
        // The name of SVG is no address that is asked for.
        CHECK((at == std::string::npos || page.compare(at, 26, "http://www.w3.org/2000/svg") == 0));
    }
}

TEST_CASE("machines are listed, one for each process", "[report]") {
    scratch_folder const folder;
    auto const file = folder.path / "machine.json";
    report::append_machine(file, 3, 0);
    report::append_machine(file, 1, 500);
    json all = json::parse(slurp(file));
    REQUIRE(all["processes"].size() == 2);
    CHECK(all["processes"][0]["threads"] == 3);
    CHECK(all["processes"][1]["frames"] == 500);
    for (char const* const name : {"began", "processor", "system", "compiler", "vectors", "gmac"})
        CHECK(all["processes"][1][name].get<std::string>().size() > 2);
    CHECK(all["processes"][0]["memory_bytes"] > 1e6);

    spit(file, "{\"processes\": [");
    report::append_machine(file, 2, 0);
    CHECK(json::parse(slurp(file))["processes"].size() == 1);
    CHECK(slurp(file.string() + ".damaged") == "{\"processes\": [");
}

TEST_CASE("an episode is subsampled to fit, with the density of each frame", "[report]") {
    report::watched_episode episode{.kind = "numbers", .step_seconds = 0.02, .ended = "cut", .known = 900};
    for (std::size_t i = 0; i < 1'000; ++i)
        episode.steps.push_back(
            {.picture = {{"numbers", {i}}},
             .reward = 0.5,
             .value = {.step = i, .return_to_go = 1.0, .components = {{0.5, 0.0, 1.0}, {0.5, 4.0, 1.0}}}});
    json const all = report::episode_json(episode, 100);
    CHECK(all["every"] == 10);
    CHECK(all["steps"] == 1'000);
    CHECK(all["total"] == 500);
    CHECK(all["seconds"].get<double>() == Approx(0.2));
    REQUIRE(all["frames"].size() == 100);
    auto const& frame = all["frames"][50];
    CHECK(frame["step"] == 500);
    CHECK(frame["earned"] == 250);
    CHECK(frame["mean"] == 2);
    CHECK(frame["numbers"] == json::array({500}));
    CHECK_FALSE(frame.contains("cut"));
    CHECK(all["frames"][95]["cut"] == true);
    double const low = all["range"][0].get<double>(), width = all["range"][1].get<double>() - low;
    double mass = 0.0, mean = 0.0;
    for (std::size_t j = 0; j < frame["density"].size(); ++j) {
        mass += frame["density"][j].get<double>() * width / 120.0;
        mean += frame["density"][j].get<double>() * width / 120.0 * (low + width * static_cast<double>(j) / 120.0);
    }
    CHECK(mass == Approx(1.0).margin(0.02));
    CHECK(mean == Approx(2.0).margin(0.05));

    for (auto& step : episode.steps)
        step.picture = {{"grey", std::string(10'000, 'x')}};
    json const small = report::episode_json(episode, 1'000, 500'000);
    CHECK(small["every"] == 21);
    CHECK(small.dump().size() < 600'000);

    // What is narrower than the gap between two places keeps its mass.
    episode.steps[0].value.components = {{1.0, 1.2345, 1e-5}};
    json const narrow = report::episode_json(episode, 1'000, 500'000);
    double const gap = (narrow["range"][1].get<double>() - narrow["range"][0].get<double>()) / 120.0;
    double within = 0.0;
    for (auto const& height : narrow["frames"][0]["density"])
        within += height.get<double>() * gap;
    CHECK(within == Approx(1.0).margin(0.01));

    // A number has no density, but is a point.
    for (auto& step : episode.steps)
        step.value.components = {{1.0, 3.0, 0.0}};
    json const point = report::episode_json(episode, 10)["frames"][0];
    CHECK_FALSE(point.contains("density"));
    CHECK(point["points"] == json::array({json::array({3, 1})}));
    episode.steps.clear();
    CHECK_THROWS_AS(report::episode_json(episode), gmac::error);
}

TEST_CASE("a screen is runs of sixteen greys", "[report]") {
    // 20 pixels of grey 10: runs of 16 and of 4; then one of 15: bytes fa, 3a, 0f.
    std::vector<std::uint8_t> pixels(20, 0xa7);
    pixels.push_back(0xff);
    CHECK(report::runs_of_greys(pixels) == "+joP");
    CHECK(report::runs_of_greys(std::vector<std::uint8_t>{0x10, 0x20}) == "AQI=");
    CHECK(report::runs_of_greys(std::vector<std::uint8_t>{0x10}) == "AQ==");
    CHECK(report::runs_of_greys({}).empty());
}
