// SPDX-License-Identifier: Apache-2.0
// The table of scores.
#include "samples/says.hpp"
#include "support/catch.hpp"

#include "../../examples/programs/train/output/score_table.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace {

using namespace gmac::examples::train;
using gmac::test::says;

TEST_CASE("the mean of the last hundred games") {
    std::vector<double> returns(250);
    std::iota(returns.begin(), returns.end(), 0.0);
    CHECK(last_hundred(returns) == 199.5);
    CHECK(last_hundred(std::vector{3.0, 5.0}) == 4.0);
    CHECK(std::isnan(last_hundred(std::vector<double>())));
}

TEST_CASE("human-normalised scores: random play is 0, the tester 1, better players above") {
    auto const& pong = *find_reference("pong");
    CHECK(human_normalized(pong, -20.7) == 0.0);
    CHECK(human_normalized(pong, 14.6) == 1.0);
    CHECK(human_normalized(pong, 21.0) == Approx(41.7 / 35.3));
    CHECK(find_reference("tetris") == nullptr);
    CHECK(std::ranges::is_sorted(reference_scores, {}, &reference_score::game));
    for (auto const& one : reference_scores)
        CHECK(one.human > one.random);
}

TEST_CASE("the table has a line a game, a column a method, and mean and median over the games that count") {
    std::vector<run_score> const runs{{"pong", "gmac", 20.0},  {"pong", "gmac", 21.0},    {"pong", "ppo", -20.7},
                                      {"boxing", "gmac", 0.1}, {"freeway", "gmac", 29.6}, {"tetris", "ppo", 12.0}};
    // gmac: (20.5 + 20.7) / 35.3 = 1.16714, 0 and 1; ppo: 0, since Tetris has no reference.
    CHECK(score_table(runs) ==
          "| game | random | human | gmac | ppo |\n"
          "| --- | ---: | ---: | ---: | ---: |\n"
          "| boxing | 0.1 | 12.1 | 0.1 | |\n"
          "| freeway | 0.0 | 29.6 | 29.6 | |\n"
          "| pong | -20.7 | 14.6 | 20.5 | -20.7 |\n"
          "| tetris | | | | 12.0 |\n"
          "| mean, % of human | 0.0 | 100.0 | 72.2 | 0.0 |\n"
          "| median, % of human | 0.0 | 100.0 | 100.0 | 0.0 |\n");
    CHECK_THROWS_WITH(score_table({{"pong", "gmac", std::numeric_limits<double>::quiet_NaN()}}),
                      says("must be finite"));
}

} // namespace
