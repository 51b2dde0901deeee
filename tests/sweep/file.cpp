// SPDX-License-Identifier: Apache-2.0
// Files of gmac-sweep: what they say, and what is wrong with them.
#include "sweep/sweep_file.hpp"

#include "support/catch.hpp"
#include "support/says.hpp"

#include <string>
#include <utility>
#include <vector>

using namespace gmac::examples::sweep;
using gmac::testing::message_of;

namespace {

sweep_file parse(std::string const& text) {
    return parse_sweep(text, "a.json");
}
/// With options and seeds, and what else there is.
std::string with(std::string const& more) {
    return R"({"options": {"env": "x"}, "seeds": [1], )" + more + "}";
}
std::string message(std::string const& text) {
    return message_of([&] { return parse(text); });
}

} // namespace

TEST_CASE("a sweep's file gives options, a grid, algorithms, seeds and halving") {
    auto const sweep = parse(R"({
        "options": {"env": "classic/cart_pole", "frames": 1e6, "hidden": [64, 32], "early-stop": true, "lambda": 0.95},
        "grid": {"learning-rate": [1e-4, 0.0003], "hidden-text": ["a b", [8, 8]]},
        "algorithms": ["gmac", "ppo"], "seeds": [3, 18446744073709551615], "halving": {"eta": 2, "rungs": 3},
        "score": "last"})");
    // As on the command line: frames are a whole number, lists have commas.
    CHECK(sweep.options == std::vector<setting>{{"env", "classic/cart_pole"},
                                                {"frames", "1000000"},
                                                {"hidden", "64,32"},
                                                {"early-stop", "true"},
                                                {"lambda", "0.95"}});
    REQUIRE(sweep.parameters.size() == 2);
    CHECK(sweep.parameters[0].name == "learning-rate");
    CHECK(std::get<choice>(sweep.parameters[0].values) == choice{"0.0001", "0.0003"});
    CHECK(std::get<choice>(sweep.parameters[1].values) == choice{"a b", "8,8"});
    CHECK_FALSE(sweep.random);
    CHECK(sweep.algorithms == std::vector<std::string>{"gmac", "ppo"});
    CHECK(sweep.seeds == std::vector<std::uint64_t>{3, 18446744073709551615u});
    REQUIRE(sweep.halving);
    CHECK(sweep.halving->eta == 2);
    CHECK(sweep.halving->rungs == 3);
    CHECK(sweep.score == score_kind::last);
}

TEST_CASE("a sweep's file gives distributions for a random search") {
    auto const sweep = parse(with(R"("score": "evaluation", "random": {"count": 20, "seed": 5,
        "a": {"log_uniform": [1e-5, 1e-3]}, "b": {"uniform": [0, 1]}, "c": {"integer": [-2, 9]}, "d": {"choice": [5, "x"]}})"));
    REQUIRE(sweep.random);
    CHECK(sweep.random->count == 20);
    CHECK(sweep.random->seed == 5);
    REQUIRE(sweep.parameters.size() == 4);
    auto const bounds = [&](std::size_t i) { return std::get<interval>(sweep.parameters[i].values); };
    CHECK(bounds(0).space == spacing::logarithmic);
    CHECK(bounds(0).low == 1e-5);
    CHECK(bounds(0).high == 1e-3);
    CHECK(bounds(1).space == spacing::even);
    CHECK(bounds(2).space == spacing::whole);
    CHECK(bounds(2).low == -2.0);
    CHECK(std::get<choice>(sweep.parameters[3].values) == choice{"5", "x"});
    CHECK(sweep.score == score_kind::evaluation);
}

TEST_CASE("files that ask for the same have the same text, whatever their blanks") {
    CHECK(parse(with(R"("grid": {"clip": [0.1]})")).text == parse(with("\n \"grid\" :{\"clip\":[ 0.1] }")).text);
    CHECK(parse(with(R"("grid": {"clip": [0.1]})")).text != parse(with(R"("grid": {"clip": [0.2]})")).text);
    CHECK(parse(parse(with(R"("grid": {"clip": [0.1]})")).text).text == parse(with(R"("grid": {"clip": [0.1]})")).text);
}

TEST_CASE("what is wrong with a sweep's file is said with its place and what would be right") {
    std::vector<std::pair<std::string, std::string>> const wrong{
        {"", "a.json is not JSON: parse error at line 1, column 1"},
        {"{\"options\": {\n\"env\" 1}}", "a.json is not JSON: parse error at line 2, column 7"},
        {std::string("{}\0", 3), "a.json is not JSON: it has a byte that is 0"},
        {std::string(100, '['), "a.json has more than 64 arrays and objects within each other"},
        {with(R"("grid": {"clip": [0.1], "clip": [0.2]})"), "a.json has \"clip\" twice in one object"},
        {"[]", "a.json is [], but must be an object, such as {\"options\""},
        {with(R"("grids": {})"),
         "a.json has \"grids\", but may have only options, grid, random, algorithms, seeds, halving, score"},
        {R"({"seeds": [1]})", "a.json lacks \"options\", such as \"options\": {\"env\": \"classic/cart_pole\"}"},
        {R"({"options": {"env": "x"}})", "a.json lacks \"seeds\", such as \"seeds\": [1, 2, 3]"},
        {R"({"options": 3, "seeds": [1]})", "a.json: /options is 3, but must be an object, such as {\"env\""},
        {R"({"options": {"a": null}, "seeds": [1]})",
         "a.json: /options/a is null, but must be a number, true or false, a text that is not empty, or a list"},
        {R"({"options": {"a": [1, "2"]}, "seeds": [1]})", "a.json: /options/a is [1,\"2\"], but must be"},
        {R"({"options": {"a": ""}, "seeds": [1]})", "a.json: /options/a is \"\", but must be"},
        {R"({"options": {"--clip": 1}, "seeds": [1]})",
         "a.json: /options has \"--clip\", but options are written without their dashes"},
        {R"({"options": {"a b": 1}, "seeds": [1]})", "a.json: /options has \"a b\", but must have names of options"},
        {R"({"options": {"seed": 1}, "seeds": [1]})",
         "a.json: /options has \"seed\", which is not an option of a sweep: write \"seeds\": [1, 2, 3] beside"},
        {with(R"("grid": {"algorithm": ["ppo"]})"), "write \"algorithms\": [\"gmac\"] beside \"options\""},
        {with(R"("grid": {"threads": [1]})"), "use --threads of gmac-sweep"},
        {with(R"("grid": [1])"), "a.json: /grid is [1], but must be an object, such as {\"clip\": [0.1, 0.2]}"},
        {with(R"("grid": {})"), "a.json: /grid has no option that is to be varied"},
        {with(R"("grid": {"clip": 0.1})"),
         "a.json: /grid/clip is 0.1, but must be a list of values, such as [0.1, 0.2]"},
        {with(R"("grid": {"clip": []})"), "a.json: /grid/clip is [], but must be a list of values"},
        {with(R"("grid": {"clip": [0.1, {}]})"), "a.json: /grid/clip/1 is {}, but must be a number"},
        {with(R"("grid": {"clip": [0.1, 1e-1]})"), "a.json: /grid/clip has 0.1 twice"},
        {with(R"("grid": {"env": ["y"]})"), "a.json: /grid/env is in \"options\", too"},
        {with(R"("grid": {"a": [1]}, "random": {})"), "a.json has \"grid\" and \"random\", but may have one of them"},
        {with(R"("random": 1)"), "a.json: /random is 1, but must be an object, such as {\"count\": 20"},
        {with(R"("random": {"seed": 1})"), "a.json: /random lacks \"count\", a whole number"},
        {with(R"("random": {"count": 1})"), "a.json: /random lacks \"seed\", a whole number"},
        {with(R"("random": {"count": 0, "seed": 1})"),
         "a.json: /random/count is 0, but must be a whole number, at least 1"},
        {with(R"("random": {"count": 1.5, "seed": 1})"), "a.json: /random/count is 1.5, but must be a whole number"},
        {with(R"("random": {"count": 1, "seed": -1})"), "a.json: /random/seed is -1, but must be a whole number"},
        {with(R"("random": {"count": 1, "seed": 1})"), "a.json: /random has no option that is to be varied"},
        {with(R"("random": {"count": 1, "seed": 1, "a": [1]})"),
         "a.json: /random/a is [1], but must be an object with one member, log_uniform, uniform, integer or choice"},
        {with(R"("random": {"count": 1, "seed": 1, "a": {"normal": [0, 1]}})"),
         "a.json: /random/a has \"normal\", but must have log_uniform, uniform, integer or choice"},
        {with(R"("random": {"count": 1, "seed": 1, "a": {"uniform": [1]}})"),
         "a.json: /random/a/uniform is [1], but must be two numbers, such as [1e-5, 1e-3]"},
        {with(R"("random": {"count": 1, "seed": 1, "a": {"uniform": [1, "2"]}})"),
         "a.json: /random/a/uniform/1 is \"2\", but must be a number"},
        {with(R"("random": {"count": 1, "seed": 1, "a": {"uniform": [2, 1]}})"),
         "a.json: /random/a/uniform is [2,1], but must be two numbers of which the first is the lower one"},
        {with(R"("random": {"count": 1, "seed": 1, "a": {"log_uniform": [0, 1]}})"),
         "a.json: /random/a/log_uniform is [0,1], but must be two positive numbers"},
        {with(R"("random": {"count": 1, "seed": 1, "a": {"integer": [0, 1.5]}})"),
         "a.json: /random/a/integer is [0,1.5], but must be two whole numbers"},
        {with(R"("random": {"count": 1, "seed": 1, "a": {"choice": 3}})"),
         "a.json: /random/a/choice is 3, but must be a list"},
        {with(R"("algorithms": "gmac")"),
         "a.json: /algorithms is \"gmac\", but must be a list, such as [\"gmac\", \"ppo\"]"},
        {with(R"("algorithms": [1])"), "a.json: /algorithms/0 is 1, but must be a text"},
        {with(R"("algorithms": ["ppo", "ppo"])"), "a.json: /algorithms has ppo twice"},
        {R"({"options": {}, "seeds": []})", "a.json: /seeds is [], but must be a list, such as [1, 2, 3]"},
        {R"({"options": {}, "seeds": [-1]})", "a.json: /seeds/0 is -1, but must be a whole number, at least 0"},
        {R"({"options": {}, "seeds": [2, 1, 2]})", "a.json: /seeds has 2 twice"},
        {with(R"("halving": 3)"), "a.json: /halving is 3, but must be an object, such as {\"eta\": 3, \"rungs\": 3}"},
        {with(R"("halving": {"eta": 3})"), "a.json: /halving lacks \"rungs\", a whole number, at least 2"},
        {with(R"("halving": {"eta": 1, "rungs": 2})"),
         "a.json: /halving/eta is 1, but must be a whole number, at least 2"},
        {with(R"("halving": {"eta": 2, "rungs": 2, "stages": 2})"),
         "a.json: /halving has \"stages\", but may have only"},
        {with(R"("halving": {"eta": 2, "rungs": 2}, "grid": {"frames": [1, 2]})"),
         "a.json: /halving: frames cannot be varied, since the rungs do"},
        {with(R"("halving": {"eta": 2, "rungs": 2}, "score": "evaluation")"),
         "a.json: /halving goes by the last returns, so \"score\" must be \"last\""},
        {with(R"("score": "best")"), "a.json: /score is \"best\", but must be \"last\""}};
    for (auto const& [text, says] : wrong) {
        INFO(text);
        CHECK_THAT(message(text), gmac::testing::says(says));
    }
    CHECK_THAT(message_of([] { return read_sweep("/nowhere/a.json"); }),
               gmac::testing::says("cannot read /nowhere/a.json: No such file or directory"));
}
