// SPDX-License-Identifier: Apache-2.0
// The table of scores.
#include "support/catch.hpp"
#include "support/says.hpp"

#include "train/output/paper_comparison.hpp"
#include "train/output/score_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

namespace {

using namespace gmac::examples::ale;
using namespace gmac::examples::train;
using gmac::testing::says;

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
    std::vector<game_score> const runs{{"pong", "gmac", 20.0},  {"pong", "gmac", 21.0},    {"pong", "ppo", -20.7},
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

TEST_CASE("the paper's scores: what they come to, with and without the game that carries the mean") {
    auto const all = summarize_paper(), without = summarize_paper("demon_attack");
    // Computed from the article's table by another program.
    std::array const means{9.786, 6.633, 9.391, 11.193}, medians{1.248, 0.942, 1.488, 1.369},
        interquartile{1.495, 1.248, 1.769, 2.085}, rest{9.454, 6.346, 7.155, 7.216};
    std::array<std::size_t, 4> const above{0, 18, 35, 43};
    for (std::size_t m = 0; m < 4; ++m) {
        CAPTURE(paper_methods[m]);
        CHECK(all[m].scores.mean.value == Approx(means[m]).margin(5e-4));
        CHECK(all[m].scores.median.value == Approx(medians[m]).margin(5e-4));
        CHECK(all[m].scores.interquartile_mean.value == Approx(interquartile[m]).margin(5e-4));
        CHECK(without[m].scores.mean.value == Approx(rest[m]).margin(5e-4));
        CHECK(all[m].above_ppo == above[m]);
        CHECK(all[m].scores.mean.low < all[m].scores.mean.value);
        CHECK(all[m].scores.mean.value < all[m].scores.mean.high);
    }
    CHECK(all[3].best == 25);
    CHECK(std::ranges::is_sorted(paper_scores, {}, &paper_score::game));
    // The games are named as those of the references are; four of their 110 numbers differ a little.
    std::size_t known = 0, others = 0;
    for (auto const& row : paper_scores)
        if (auto const* const reference = find_reference(row.game)) {
            ++known;
            others += (row.random != reference->random ? 1u : 0u) + (row.human != reference->human ? 1u : 0u);
        }
    CHECK(known == 55);
    CHECK(others == 4);
}

} // namespace
