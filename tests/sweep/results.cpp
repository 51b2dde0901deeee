// SPDX-License-Identifier: Apache-2.0
// What a sweep says of its runs.
#include "sweep/results.hpp"

#include "support/catch.hpp"
#include "support/says.hpp"
#include "support/scratch_folder.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

using namespace gmac::examples::sweep;
using gmac::testing::contains;

namespace {

struct some_results {
    configuration first{1, "gmac", {{"clip", "0.1"}, {"hidden", "8,8"}}};
    configuration second{2, "gmac", {{"clip", "0.2"}, {"hidden", "16"}}};
    configuration third{3, "ppo", {{"clip", "0.2"}, {"hidden", "16"}}};
    std::vector<result>
        all{{.what = &first, .rung = 0, .scores = {1.0, 5.0}, .frames = 100.0, .seconds = 2.0},
            {.what = &second, .rung = 1, .scores = {2.0, std::nullopt}, .frames = 200.0, .seconds = 4.0},
            {.what = &third, .rung = 1, .scores = {0.0, 4.0, 8.0, 100.0}, .frames = 200.0, .seconds = 4.0}};

    some_results() {
        for (result& one : all)
            summarize(one);
        sort_best_first(all);
    }
};

} // namespace

TEST_CASE("results are in order of rungs and scores, and their estimates are interquartile means") {
    some_results const results;
    auto const& all = results.all;
    CHECK(all[0].what->number == 3);
    CHECK(all[1].what->number == 2);
    CHECK(all[2].what->number == 1);
    REQUIRE(all[0].found);
    CHECK(all[0].found->value == 6.0); // of 4 and 8
    CHECK(all[0].found->low >= 0.0);
    CHECK(all[0].found->low < 6.0);
    CHECK(all[0].found->high > 6.0);
    CHECK(all[0].found->high <= 100.0);
    CHECK_FALSE(all[1].found); // one run has no score
    CHECK(all[2].found->value == 3.0);
    CHECK(all[2].found->low == 1.0);
    CHECK(all[2].found->high == 5.0);
}

TEST_CASE("a sweep's tables tell settings, estimates and what is missing") {
    some_results const results;
    std::string const table = table_of(results.all);
    CHECK(
        contains(table,
                 "| # | algorithm | clip | hidden | interquartile mean | 95 % interval | runs | frames | seconds |\n"));
    CHECK(contains(table, "| 1 | gmac | 0.1 | 8,8 | 3 | 1 … 5 | 2 | 100 | 2.0 |\n"));
    CHECK(contains(table, "| 2 | gmac | 0.2 | 16 | | | 1 of 2 | 200 | 4.0 |\n"));
    std::string const csv = csv_of(results.all);
    CHECK(contains(
        csv, "number,algorithm,clip,hidden,interquartile_mean,low,high,runs,frames,seconds,scores\n3,ppo,0.2,16,6,"));
    CHECK(contains(csv, "\n2,gmac,0.2,16,nan,nan,nan,1,200,4,2 nan\n"));
    CHECK(contains(csv, "\n1,gmac,0.1,\"8,8\",3,1,5,2,100,2,1 5\n"));
}

TEST_CASE("a sweep's figure names settings, and is refused without any") {
    gmac::testing::scratch_folder const folder;
    some_results results;
    plot_results(folder / "sweep", results.all);
    CHECK(std::filesystem::file_size(folder / "sweep.png") > 1000);
    std::string const drawn = gmac::testing::slurp(folder / "sweep.svg");
    CHECK(contains(drawn, "3: clip 0.2, hidden 16"));
    CHECK(contains(drawn, "1: clip 0.1, hidden 8,8, after 100 frames")); // it was on a rung below
    CHECK_FALSE(contains(drawn, "2: clip"));
    CHECK(contains(drawn, "The best 2 of 3 settings"));
    results.all = {results.all[1]};
    CHECK_THAT(gmac::testing::message_of([&] { return plot_results(folder / "none", results.all), 0; }),
               gmac::testing::says("no settings have a score in all of their runs"));
}

TEST_CASE("the best settings are a file for --config") {
    some_results const results;
    sweep_file sweep;
    sweep.options = {{"env", "./my env.so"},
                     {"env-option:wind", "3"},
                     {"env-option:sea", "4"},
                     {"statistic", "cvar:0.1"}};
    std::string const text = config_of(sweep, results.all[0]);
    CHECK(
        contains(text,
                 "\nenv = \"./my env.so\"\nenv-option = wind=3\n# to be given on the command line: env-option = sea=4\n"
                 "statistic = cvar:0.1\nalgorithm = ppo\nclip = 0.2\nhidden = 16\n"));
}
