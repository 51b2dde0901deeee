// SPDX-License-Identifier: Apache-2.0
// gmac-cliff on policies made by hand, whose law is known.
#include "support/program.hpp"
#include "cliff/exact.hpp"
#include "errors.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <gmac/deploy/policy_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace cliff = gmac::examples::cliff;
using gmac::testing::run_program;
using gmac::testing::scratch_folder;
using gmac::testing::spit;

/// A policy whose network is linear in the marks of row and column: the one that goes along the path at this height.
[[nodiscard]] gmac::deployed_policy<> policy_of(int height) {
    constexpr std::size_t rows = cliff::world::rows, inputs = rows + cliff::world::columns, actions = 4;
    gmac::deployed_policy<> policy(gmac::nn::mlp<gmac::backends::simd<float>>({inputs, inputs},
                                                                              {.function = gmac::nn::activation::relu}),
                                   {gmac::actors::categorical{}, gmac::discrete{actions}});
    auto const numbers = policy.parameters();
    for (std::size_t i = 0; i < inputs; ++i)
        numbers[i * inputs + i] = 1.0f;
    auto const layer = numbers.subspan(inputs * inputs + inputs); // weights [inputs, actions], then biases
    for (std::size_t row = 0; row < static_cast<std::size_t>(height); ++row)
        layer[row * actions + 0] = 2.0f;
    layer[(inputs - 1) * actions + 2] = 3.0f;
    layer[inputs * actions + 1] = 1.0f;
    return policy;
}

void write_run(std::filesystem::path const& folder, std::string const& statistic, int seed, int height) {
    std::filesystem::create_directories(folder);
    spit(folder / "config.json",
         fmt::format(R"({{"env": "classic/windy_cliff", "algorithm": "gmac", {}"seed": {}}})",
                     statistic.empty() ? "" : fmt::format("\"statistic\": \"{}\", ", statistic), seed));
    gmac::save_policy(folder / "policy.safetensors", policy_of(height));
}

gmac::testing::program_outcome look(scratch_folder const& folder, std::string const& arguments) {
    return run_program(fmt::format("cd '{}' && '{}' {} 2>&1", folder.path.string(), GMAC_CLIFF, arguments));
}

/// The numbers of the first line of the text that begins so, whose columns are separated by bars.
[[nodiscard]] std::vector<double> numbers_after(std::string const& text, std::string const& beginning) {
    auto const at = text.find(beginning);
    REQUIRE(at != std::string::npos);
    std::istringstream line(text.substr(at + beginning.size(), text.find('\n', at) - at - beginning.size()));
    std::vector<double> numbers;
    for (std::string word; line >> word;)
        if (word != "|")
            numbers.push_back(std::stod(word));
    return numbers;
}

} // namespace

TEST_CASE("gmac-cliff finds the height, the falls and the returns of policies whose law is known", "[cliff]") {
    scratch_folder const folder;
    write_run(folder / "mean-1", "", 1, 1);
    write_run(folder / "risk-1", "cvar:0.1", 1, 3);
    write_run(folder / "risk-2", "cvar:0.1", 2, 4);
    auto const done = look(folder, "mean-1 risk-1 risk-2 --episodes 4000");
    INFO(done.text);
    REQUIRE(done.status == 0);
    struct row {
        std::string beginning;
        int height;
    };
    for (row const& one :
         {row{"| gmac | mean | 1 |", 1}, row{"| gmac | cvar:0.1 | 1 |", 3}, row{"| gmac | cvar:0.1 | 2 |", 4}}) {
        auto const path = cliff::path_at(one.height);
        auto const law = cliff::laws_of(path).front();
        auto const returns = cliff::returns_of(law, 1.0);
        auto const found = numbers_after(done.text, one.beginning);
        REQUIRE(found.size() == 4);
        // Half of the last digit and four standard errors.
        auto const error = [&](double level) { return gmac::testing::lower_mean_error(returns, level, 4000); };
        CHECK(found[0] == Approx(cliff::height_of(path)).margin(0.005 + 0.04));
        CHECK(found[1] == Approx(law.fall()).margin(0.0005 + 4.0 * std::sqrt(law.fall() / 4000)));
        CHECK(found[2] == Approx(cliff::lower_mean(returns, 1.0)).margin(0.005 + 4.0 * error(1.0)));
        CHECK(found[3] == Approx(cliff::lower_mean(returns, 0.1)).margin(0.005 + 4.0 * error(0.1)));
    }
    CHECK(done.says("gmac, mean: height 1.00 (1.00 to 1.00)"));
    CHECK(done.says("gmac, cvar:0.1: height 3."));
    CHECK(look(folder, "mean-1 risk-1 risk-2 --episodes 4000").text == done.text);
}

TEST_CASE("gmac-cliff plays a policy for a range of statistics by each of the parameters", "[cliff]") {
    scratch_folder const folder;
    write_run(folder / "all", "cvar:0.1..1", 3, 2);
    // The same path whatever it is told.
    auto const path = policy_of(2);
    std::size_t const inputs = path.observation_size();
    gmac::deployed_policy<> told(gmac::nn::mlp<gmac::backends::simd<float>>({inputs + 1, inputs},
                                                                            {.function = gmac::nn::activation::none}),
                                 {path.description().actor,
                                  path.action_space(),
                                  {},
                                  gmac::statistic_range{gmac::statistic_kind::cvar, 0.1, 1.0}});
    std::ranges::fill(told.parameters(), 0.0f);
    for (std::size_t i = 0; i < inputs; ++i) // passes the observation on to the layer of the policy above
        told.parameters()[i * inputs + i] = 1.0f;
    auto const from = path.parameters().last(inputs * cliff::actions + cliff::actions);
    std::ranges::copy(from, told.parameters().last(from.size()).begin());
    gmac::save_policy(folder / "all" / "policy.safetensors", told);
    auto const done = look(folder, "all --episodes 500 --risk 1,0.25");
    INFO(done.text);
    REQUIRE(done.status == 0);
    for (char const* const level : {"1", "0.25"})
        CHECK(numbers_after(done.text, fmt::format("| gmac | cvar:0.1..1 at {} | 3 |", level))[0] ==
              Approx(cliff::height_of(cliff::path_at(2))).margin(0.05));
    auto const by_default = look(folder, "all --episodes 5");
    CHECK(by_default.status == 0);
    for (char const* const level : {"1", "0.5", "0.25", "0.1"})
        CHECK(by_default.says(fmt::format("| gmac | cvar:0.1..1 at {} | 3 |", level)));
    CHECK_FALSE(by_default.says("at 0.05"));
    write_run(folder / "one", "cvar:0.1", 1, 2);
    auto const one = look(folder, "one --episodes 5 --risk 0.1");
    CHECK(one.status == 1);
    CHECK(one.says("one: it has learned to act by one statistic only, so --risk does not go with it"));
    auto const outside = look(folder, "all --episodes 5 --risk 0.05");
    CHECK(outside.status == 1);
    CHECK(outside.says("the parameter of cvar is 0.05, but the policy has learned those from 0.1 to 1"));
}

#if defined(GMAC_WITH_GNUPLOT)
TEST_CASE("gmac-cliff draws a map for each statistic", "[cliff]") {
    scratch_folder const folder;
    write_run(folder / "a", "mean", 1, 1);
    write_run(folder / "b", "cvar:0.1", 1, 3);
    auto const done = look(folder, "a b --episodes 20 --out map");
    INFO(done.text);
    REQUIRE(done.status == 0);
    std::string const drawn = gmac::testing::slurp(folder / "map.svg");
    CHECK(drawn.find("gmac, mean") != std::string::npos);
    CHECK(drawn.find("gmac, cvar:0.1") != std::string::npos);
    CHECK(drawn.find("goal") != std::string::npos);
    CHECK(std::filesystem::file_size(folder / "map.png") > 1000);
}
#endif

TEST_CASE("gmac-cliff says what is wrong", "[cliff]") {
    scratch_folder const folder;
    auto const refuses = [&](std::string const& arguments, std::string const& sentence) {
        auto const done = look(folder, arguments);
        INFO(done.text);
        CHECK(done.status == 1);
        CHECK(done.says(sentence));
    };
    refuses("", "give folders of runs, or --exact without any and without --out");
    refuses("--exact run", "give folders of runs, or --exact without any and without --out");
    refuses("--exact --discount 1.5", "--discount is 1.5, but must be in [0, 1]");
    refuses("missing", "missing/config.json");
    refuses("a --episodes 0", "--episodes is 0, but must be at least 1");
    std::filesystem::create_directories(folder / "pole");
    spit(folder / "pole" / "config.json", R"({"env": "classic/cart_pole", "algorithm": "gmac", "seed": 1})");
    refuses("pole", "pole is a run on classic/cart_pole, but only those on classic/windy_cliff can be looked at");
    write_run(folder / "other", "mean", 1, 1);
    gmac::save_policy(folder / "other" / "policy.safetensors",
                      gmac::deployed_policy<>(gmac::nn::mlp<gmac::backends::simd<float>>({4, 4}),
                                              {gmac::actors::categorical{}, gmac::discrete{4}}));
    refuses("other", "the policy takes 4 numbers, and its actions are not those of classic/windy_cliff");
}
