// SPDX-License-Identifier: Apache-2.0
// gmac-five-state as its user meets it.
#include "five_state/experiment.hpp"

#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/scratch_folder.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace {

namespace fs = std::filesystem;
namespace five_state = gmac::examples::five_state;

using gmac::testing::program_outcome;
using gmac::testing::scratch_folder;
using gmac::testing::slurp;

/// Standard output, and with `both` standard error too.
program_outcome run(std::string const& arguments, bool both = true, std::string const& before = "") {
    return gmac::testing::run_program(
        fmt::format("{} '{}' {} {}", before, GMAC_FIVE_STATE, arguments, both ? "2>&1" : ""));
}

} // namespace

TEST_CASE("--json prints what the eight methods find on both chains, and they differ as they must") {
    program_outcome const found = run("--json", false);
    REQUIRE(found.status == 0);
    auto const all = nlohmann::json::parse(found.text);
    REQUIRE(all.is_array());
    REQUIRE(all.size() == 16);
    std::map<std::pair<std::string, std::string>, double> distance;
    for (auto const& one : all) {
        std::string const chain = one.at("chain");
        std::string const method = one.at("method");
        distance[{chain, method}] = one.at("energy_distance");
        double const variance = one.at("variance");
        double const mean = one.at("mean");
        double const true_mean = chain == "symmetric" ? 0.0 : 0.6;
        bool const collapses = method == "huber_quantile" || method == "expectile";
        INFO(chain << ", " << method);
        CHECK(std::abs(mean - true_mean) < (collapses ? 0.3 : 0.05));
        if (collapses)
            CHECK(variance < 0.1);
        else
            CHECK(variance > 0.6);
    }
    REQUIRE(distance.size() == 16);
    for (std::string const chain : {"symmetric", "asymmetric"}) {
        CHECK(distance.at({chain, "huber_quantile"}) > 0.3);
        CHECK(distance.at({chain, "expectile"}) > 0.3);
        CHECK(distance.at({chain, "sample_energy"}) < 0.02);
        CHECK(distance.at({chain, "gaussian_mixture_energy"}) < 0.02);
        CHECK(distance.at({chain, "quantile"}) == distance.at({chain, "quantile_imputed"}));
        CHECK(distance.at({chain, "huber_quantile_imputed"}) < 0.1 * distance.at({chain, "huber_quantile"}));
        CHECK(distance.at({chain, "expectile_imputed"}) < 0.1 * distance.at({chain, "expectile"}));
    }
    // The numbers are those of the functions, to the last digit.
    CHECK(distance.at({"asymmetric", "sample_energy"}) ==
          five_state::learn(five_state::chains[1], "sample_energy", {}).energy_distance);
}

#if defined(GMAC_WITH_GNUPLOT)
TEST_CASE("the table has a line for each method, and pictures are drawn") {
    scratch_folder const folder;
    program_outcome const found = run(fmt::format("--steps 40 --out '{}/new/pictures'", folder.path.string()));
    INFO(found.text);
    REQUIRE(found.status == 0);
    for (auto const method : five_state::methods)
        CHECK(found.says(fmt::format("\n{} ", method)));
    CHECK(found.says("symmetric chain: r4 is -1 with probability 0.5"));
    CHECK(found.says("asymmetric chain: r4 is -1 with probability 0.2"));
    CHECK(found.says("0.00404")); // the best fifteen points
    for (std::string const name :
         {"densities-symmetric", "densities-asymmetric", "cdfs-symmetric", "cdfs-asymmetric", "distances"}) {
        fs::path const stem = folder.path / "new/pictures" / name;
        CHECK(found.says(stem.string()));
        CHECK(slurp(stem.string() + ".png").substr(1, 3) == "PNG");
        std::string const drawing = slurp(stem.string() + ".svg");
        CHECK(drawing.find("Huber quantile, naive") != std::string::npos);
        CHECK(drawing.find("Gaussian mixture energy") != std::string::npos);
        CHECK(drawing.find("</svg>") != std::string::npos);
    }
    CHECK(std::distance(fs::directory_iterator(folder.path / "new/pictures"), {}) == 10);

    program_outcome const json = run(fmt::format("--json --steps 40 --out '{}/json'", folder.path.string()), false);
    CHECK(json.status == 0);
    CHECK(nlohmann::json::parse(json.text).size() == 16);
    CHECK(fs::exists(folder.path / "json/distances.png"));
}
#endif

TEST_CASE("without gnuplot the numbers are printed, and what is missing is said") {
    scratch_folder const folder;
    program_outcome const found = run(fmt::format("--steps 3 --out '{}'", folder.path.string()), true, "PATH=/nowhere");
    CHECK(found.status == 1);
    CHECK(found.says("gaussian_mixture_energy"));
    CHECK(found.says("gmac-five-state: no picture was drawn: the program gnuplot is not installed"));
    CHECK(run("--steps 3 --json", true, "PATH=/nowhere").status == 0);
}

TEST_CASE("bad options are refused before anything is learned") {
    for (auto const& [arguments, message] :
         {std::pair("--steps 0", "steps is 0, but there must be at least one"), std::pair("--steps few", "--steps"),
          std::pair("--steps=-1", "--steps is -1"), std::pair("--episodes=-1", "--episodes is -1"),
          std::pair("--seed=-1", "--seed is -1"), std::pair("--lambda 2", "lambda is 2, but must be in [0, 1]"),
          std::pair("--kappa -1", "kappa is -1, but must be positive"),
          std::pair("--learning-rate nan", "--learning-rate is \"nan\", but must be a decimal number"),
          std::pair("--episode 3", "there is no option --episode; did you mean --episodes?"),
          std::pair("--out /dev/null/here --steps 1", "/dev/null/here")}) {
        program_outcome const found = run(arguments);
        INFO(found.text);
        CHECK(found.status != 0);
        CHECK(found.says(message));
        CHECK_FALSE(found.says("huber_quantile"));
    }
    program_outcome const help = run("--help");
    CHECK(help.status == 0);
    for (std::string const option : {"--json", "--seed", "--steps", "--out", "--lambda", "--kappa", "--episodes"})
        CHECK(help.says(option));
}
