// SPDX-License-Identifier: Apache-2.0
// Which settings a sweep tries, and which of them halving lets go on.
#include "sweep/configurations.hpp"
#include "sweep/halving.hpp"

#include "support/catch.hpp"
#include "support/says.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace gmac::examples::sweep;
using gmac::testing::message_of;

namespace {

std::vector<configuration> configurations(std::string const& more) {
    return configurations_of(parse_sweep(R"({"options": {"env": "x"}, "seeds": [1, 2], )" + more + "}", "a.json"));
}
std::vector<std::string> texts(std::vector<configuration> const& all) {
    std::vector<std::string> found;
    for (configuration const& one : all)
        found.push_back(fmt::format("{} {} {}", one.number, one.algorithm, text_of_settings(one)));
    return found;
}

} // namespace

TEST_CASE("a grid is all combinations, the last option changing first, for each algorithm") {
    CHECK(
        texts(
            configurations(R"("grid": {"clip": [0.1, 0.2], "epochs": [5, 10, 20]}, "algorithms": ["gmac", "ppo"])")) ==
        std::vector<std::string>{"1 gmac clip 0.1, epochs 5", "2 gmac clip 0.1, epochs 10",
                                 "3 gmac clip 0.1, epochs 20", "4 gmac clip 0.2, epochs 5",
                                 "5 gmac clip 0.2, epochs 10", "6 gmac clip 0.2, epochs 20", "7 ppo clip 0.1, epochs 5",
                                 "8 ppo clip 0.1, epochs 10", "9 ppo clip 0.1, epochs 20", "10 ppo clip 0.2, epochs 5",
                                 "11 ppo clip 0.2, epochs 10", "12 ppo clip 0.2, epochs 20"});
    CHECK(texts(configurations(R"("algorithms": ["gmac"])")) == std::vector<std::string>{"1 gmac as in options"});
}

TEST_CASE("a random search draws what Philox says, whatever the number of its draws") {
    // Drawn by a program in Python from the definition of Philox 4x32-10, and rounded to three digits there.
    std::vector<std::string> const expected{"learning-rate 0.000144, clip 0.261, epochs 4, steps 20",
                                            "learning-rate 0.000287, clip 0.249, epochs 9, steps 5",
                                            "learning-rate 1.78e-05, clip 0.291, epochs 3, steps 10",
                                            "learning-rate 0.000772, clip 0.296, epochs 8, steps 20"};
    for (std::size_t const count : {1u, 4u}) {
        auto const found = configurations(fmt::format(
            R"("random": {{"learning-rate": {{"log_uniform": [1e-5, 1e-3]}}, "clip": {{"uniform": [0.1, 0.3]}},
            "count": {}, "epochs": {{"integer": [3, 10]}}, "steps": {{"choice": [5, 10, 20]}}, "seed": 7}})",
            count));
        REQUIRE(found.size() == count);
        for (std::size_t i = 0; i < count; ++i)
            CHECK(text_of_settings(found[i]) == expected[i]);
    }
}

TEST_CASE("a random search draws no settings twice, and says if there are too few") {
    auto const search = [](int count) {
        return configurations(
            fmt::
                format(R"("random": {{"count": {}, "seed": 1, "a": {{"choice": [1, 2]}}, "b": {{"integer": [0, 2]}}}})",
                       count));
    };
    auto const all = search(6);
    std::set<std::string> different;
    for (auto const& one : all)
        different.insert(text_of_settings(one));
    CHECK(different.size() == 6);
    CHECK_THAT(message_of([&] { return search(7); }),
               gmac::testing::says("the random search is to draw 7 different settings, but it found only 6"));
    // Rounded to three digits, but not beyond the bounds.
    auto const narrow = configurations(R"("random": {"count": 1, "seed": 1, "a": {"uniform": [1.2341, 1.2342]}})");
    CHECK(narrow[0].varied[0].value == "1.2341"); // not 1.23
}

TEST_CASE("names of runs are short, harmless and different") {
    configuration one{3, "gmac", {{"learning-rate", "0.0003"}, {"epochs", "5"}, {"trunk", "a b/c"}}};
    CHECK(run_name(one, 12, 20) == "03-gmac-lr=0.0003-epochs=5-trunk=a_b_c-seed=12");
    one.varied = {{"learning-rate", "1"}, {"loss-ratio", "2"}}; // the same letters
    CHECK(run_name(one, 1, 9) == "3-gmac-learning-rate=1-loss-ratio=2-seed=1");
    one.varied = {{"trunk", std::string(300, 'x')}};
    std::string const long_name = run_name(one, 1, 9);
    CHECK(long_name.size() < 120);
    CHECK(long_name.starts_with("3-gmac-trunk=xxx"));
    CHECK(long_name.ends_with("xxx-seed=1"));
}

TEST_CASE("halving divides the frames by eta for each rung below the last, rounded up") {
    halving const how{.eta = 3, .rungs = 4};
    CHECK(frames_of_rung(how, 2'000'000, 3) == 2'000'000);
    CHECK(frames_of_rung(how, 2'000'000, 2) == 666'667); // by hand
    CHECK(frames_of_rung(how, 2'000'000, 1) == 222'223);
    CHECK(frames_of_rung(how, 2'000'000, 0) == 74'075);
    CHECK(frames_of_rung(how, 2, 0) == 1);
    CHECK(frames_of_rung(how, 18446744073709551615u, 3) == 18446744073709551615u);
}

TEST_CASE("halving lets those go on that fewer than a part of all are better than") {
    std::mt19937 random(1);
    for (int turn = 0; turn < 2000; ++turn) {
        std::size_t const count = 1 + random() % 12;
        halving const how{.eta = 2 + random() % 3, .rungs = 2};
        std::vector<std::optional<double>> scores;
        for (std::size_t i = 0; i < count; ++i)
            scores.push_back(random() % 5 == 0 ? std::nullopt : std::optional(static_cast<double>(random() % 6) - 3.0));
        // Brute force: how many come before each, where there is none or an equal one, the earlier.
        std::vector<std::size_t> expected;
        std::size_t const kept = count < how.eta ? 1 : count / how.eta;
        for (std::size_t i = 0; i < count; ++i) {
            std::size_t before = 0;
            for (std::size_t j = 0; j < count; ++j)
                if (scores[j] && scores[i] && (*scores[j] > *scores[i] || (*scores[j] == *scores[i] && j < i)))
                    ++before;
            if (scores[i] && before < kept)
                expected.push_back(i);
        }
        CHECK(promoted(how, scores) == expected);
    }
}

TEST_CASE("halving needs as many settings as it has places to lose") {
    auto const values = [](std::string const& list) {
        return configurations(R"("grid": {"a": )" + list +
                              R"(}, "algorithms": ["x", "y"], "halving": {"eta": 2, "rungs": 3})");
    };
    CHECK(values("[1, 2, 3, 4]").size() == 8);
    CHECK_THAT(message_of([&] { return values("[1, 2, 3]"); }),
               gmac::testing::says(
                   "halving with eta 2 and 3 rungs needs at least 4 settings of an algorithm, but there are 3"));
}
