// SPDX-License-Identifier: Apache-2.0
// gmac-act acts from a file as the agent does.
#include "deploy/program.hpp"
#include "deploy/trained.hpp"
#include "support/catch.hpp"

#include <gmac/deploy/value_file.hpp>

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>

using namespace gmac;
using namespace gmac::testing;

namespace {

/// Observations of two numbers, a line each.
void write_lines(std::string const& path, std::vector<float> const& numbers) {
    std::ofstream file(path);
    for (std::size_t i = 0; i < numbers.size(); i += 2)
        file << fmt::format("{} {}\n", numbers[i], numbers[i + 1]);
}

} // namespace

TEST_CASE("gmac-act acts as the agent whose policy it was given", "[deploy]") {
    trained<real_agent, gmac::testing::continuous_line> const subject;
    scratch_folder folder;
    auto const file = (folder.path / "policy.safetensors").string();
    auto const input = (folder.path / "observations.txt").string();
    save_policy(file, deploy(subject.agent, subject.normalized));
    std::vector<float> const raw = raw_observations(10), seen = normalised(raw, subject.normalized);
    write_lines(input, raw);

    auto const result = act(fmt::format("{} <{}", file, input));
    INFO(result.text);
    CHECK(result.status == 0);
    std::istringstream words(result.text);
    auto agents_own = subject.agent.policy();
    for (std::size_t i = 0; i < 10; ++i) {
        float action = 0.0f, wanted = 0.0f;
        REQUIRE(words >> action);
        agents_own.act(std::span(seen).subspan(2 * i, 2), {&wanted, 1});
        CHECK(action == wanted);
    }
    CHECK((words >> std::ws).eof());

    auto const none = act("</dev/null");
    CHECK(none.status != 0);
    CHECK(none.text.find("policy is required") != std::string::npos);
    auto const risk = act(fmt::format("{} --risk 0.5 <{}", file, input));
    CHECK(risk.status == 1);
    CHECK(risk.text.ends_with("--risk is 0.5, but the policy has learned to act by one statistic only\n"));
    auto const missing = act(fmt::format("{}.missing <{}", file, input));
    CHECK(missing.status == 1);
    CHECK(missing.text.find("cannot read " + file + ".missing") != std::string::npos);
}

TEST_CASE("gmac-act tells the distribution that a run expects", "[deploy]") {
    scratch_folder folder;
    auto const path = folder.path.string();
    nn::mlp<backends::simd<float>> const trunk({2, 1}, {.function = nn::activation::none});
    // Two normal distributions of deviation 2 at −2 and 6, farther by 2 for each unit of the first number.
    deployed_value<> value(trunk, {mixture_outputs{2, 1.0, 1.0}, {}, 2.0, 0.9});
    value.parameters()[0] = 1.0f;
    auto const layer = value.parameters().subspan(3); // [1, 6], then [6]
    layer[2] = layer[3] = 1.0f;
    layer[6 + 2] = -1.0f;
    layer[6 + 3] = 3.0f;
    layer[6 + 4] = layer[6 + 5] = -1000.0f; // softplus 0
    save_value(folder.path / "value.safetensors", value);
    auto const numbers = [](std::string const& text) {
        std::istringstream words(text);
        return std::vector<double>(std::istream_iterator<double>(words), {});
    };
    auto const on = [&](std::string const& input, std::string const& arguments) {
        std::ofstream(folder.path / "input") << input;
        return act(fmt::format("{} <'{}/input'", arguments, path));
    };
    auto const lines = on("0 5\n1 7\n", fmt::format("'{}' --distribution", path));
    INFO(lines.text);
    REQUIRE(lines.status == 0);
    auto const got = numbers(lines.text);
    REQUIRE(got.size() == 22);
    double const tenth = 1.2815515655446004;    // the normal distribution's quantile at 0.9
    double const pulled = 8.0 * std::exp(-8.0); // what a mode is from its component's mean, to the other one
    double const low = -2.0 - 2.0 * tenth, high = 6.0 + 2.0 * tenth;
    std::vector<double> const wanted{2.0,  std::sqrt(20.0), low, -2.0,         2.0, 6.0,
                                     high, -2.0 + pulled,   0.5, 6.0 - pulled, 0.5};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        bool const spread = i == 1 || i == 8 || i == 10;
        CHECK(got[i] == Approx(wanted[i]).margin(2e-4)); // the other's tail is 3e-5
        CHECK(got[11 + i] == Approx(wanted[i] + (spread ? 0.0 : 2.0)).margin(2e-4));
    }

    // Points have no modes.
    deployed_value<> points(trunk, {point_outputs{4}});
    for (std::size_t i = 0; i < 4; ++i)
        points.parameters()[3 + 4 + i] = static_cast<float>(i);
    save_value(folder.path / "points.safetensors", points);
    CHECK(numbers(on("0 0", fmt::format("'{}/points.safetensors' --distribution", path)).text) ==
          std::vector<double>{1.5, 1.118034, 0.0, 0.0, 1.0, 2.0, 3.0});

    deployed_policy<> const policy(trunk, {actors::categorical{}, discrete{3}});
    save_policy(folder.path / "policy.safetensors", policy);
    CHECK(on("0 0", fmt::format("'{}'", path)).text == "0\n");
    CHECK(on("0 0", fmt::format("'{}/policy.safetensors' --distribution", path))
              .text.find("this is a policy, not a "
                         "value") != std::string::npos);
    CHECK(on("0 0", fmt::format("'{}' --distribution --risk 0.1", path)).text.find("--risk is 0.1, but") !=
          std::string::npos);
    value.parameters()[0] = 4.0f; // 4 · 3e38 is no float
    save_value(folder.path / "value.safetensors", value);
    auto const far = on("3e38 0", fmt::format("'{}' --distribution", path));
    CHECK(far.status == 1);
    CHECK(far.text.find("line 1: the network's outputs are not finite") != std::string::npos);
}

TEST_CASE("gmac-act does no action that a line's mask forbids", "[deploy]") {
    deployed_policy<> policy(nn::mlp<backends::simd<float>>({2, 1}, {.function = nn::activation::none}),
                             {actors::categorical{}, discrete{3}});
    policy.parameters()[0] = 1.0f; // the trunk is the first number, the logits 0, 2 and 3 times that
    policy.parameters()[4] = 2.0f;
    policy.parameters()[5] = 3.0f;
    scratch_folder folder;
    auto const file = (folder.path / "policy.safetensors").string();
    save_policy(file, policy);
    auto const after = [&](std::string const& text, std::string const& options = "--masks") {
        std::ofstream(folder.path / "input") << text;
        return act(fmt::format("'{}' {} <'{}'", file, options, (folder.path / "input").string()));
    };
    CHECK(after("1 9 1 1 1\n1 9 1 1 0\n1 9 1 0 0\n-1 9 0 1 1\n").text == "2\n1\n0\n1\n");
    CHECK(after("1 9", "").text == "2\n");
    auto const fails = [&](std::string const& text, std::string const& why) {
        auto const result = after(text);
        INFO(result.text);
        CHECK(result.status == 1);
        CHECK(result.text.ends_with(why + "\n"));
    };
    fails("1 9 1 1 1\n1 9 1 1\n", "line 2 has 4 numbers, but an observation has 2, and its mask 3");
    fails("1 9 1 0.5 1\n", "line 1, number 4: 0.5 is of the mask, but not 0 or 1");
    fails("1 9 0 0 0\n", "line 1: its mask forbids all of the 3 actions");
    CHECK(
        after("", "--masks --distribution").text.ends_with("--masks is for actions, and --distribution tells none\n"));
    deployed_policy<> const real(nn::mlp<backends::simd<float>>({2, 1}, {.function = nn::activation::none}),
                                 {actors::diagonal_gaussian{}, box::uniform(1, -1.0f, 1.0f)});
    save_policy(file, real);
    fails("0 0 1", "--masks is for discrete actions, but the policy's are real numbers");
}

TEST_CASE("gmac-act takes one observation a line, to the last token", "[deploy]") {
    deployed_policy<> policy(nn::mlp<backends::simd<float>>({2, 1}, {.function = nn::activation::none}),
                             {actors::diagonal_gaussian{}, box::uniform(1, -HUGE_VALF, HUGE_VALF)});
    policy.parameters()[0] = 1.0f; // the action is the first number, and nothing of the second
    policy.parameters()[3] = 1.0f;
    scratch_folder folder;
    auto const file = (folder.path / "policy.safetensors").string();
    auto const input = (folder.path / "observations.txt").string();
    save_policy(file, policy);
    auto const after = [&](std::string const& text) {
        std::ofstream(input, std::ios::binary) << text;
        return act(fmt::format("{} <{}", file, input));
    };
    for (std::string const text : {"0.5 1\n-3 2\n", "0.5 1\n-3 2", "\t0.5  1 \r\n -3\t2\r\n"}) {
        auto const result = after(text);
        CHECK(result.status == 0);
        CHECK(result.text == "0.5\n-3\n");
    }
    CHECK(after("").text.empty());
    CHECK(after("1e-60 -1e-400\n").text == "0\n"); // closer to zero than a float can be
    CHECK(after("3.4028235e38 1").text == "3.4028235e+38\n");

    for (auto const& [text, line, found] :
         {std::tuple("1 2\n3 4 5\n", 2, "3"), std::tuple("1 2 3 4\n", 1, "4"), std::tuple("1\n2\n", 1, "1"),
          std::tuple("1 2\n\n3 4\n", 2, "0"), std::tuple("1 2\n3", 2, "1"), std::tuple(" ", 1, "0")}) {
        auto const result = after(text);
        CHECK(result.status == 1);
        CHECK(result.text.ends_with(
            fmt::format("gmac-act: line {} has {} numbers, but an observation has 2\n", line, found)));
    }
    for (std::string const word : {"left", "1e39", "-1e999", "nan", "inf", "0x10", "1,5", "1.5f", "--1", "1e", "."}) {
        for (std::string const end : {"", "\n"}) {
            auto const result = after("1 2\n3 " + word + end);
            CHECK(result.status == 1);
            CHECK(result.text == fmt::format("1\ngmac-act: line 2, number 2: \"{}\" is not a finite number\n", word));
        }
        CHECK(after("1 2 " + word).status == 1);
    }
    CHECK(after("1 " + std::string(100'000, 'x')).text.size() < 200);
    CHECK(after("1 2" + std::string("\0", 1)).status == 1);

    after("1 2\n3 4\n");
    auto const full = gmac::testing::run_program(fmt::format("'{}' {} <{} 2>&1 >/dev/full", GMAC_ACT, file, input));
    CHECK(full.text == "gmac-act: the standard output could not be written: No space left on device\n");
    CHECK(full.status == 1);
    CHECK(act(fmt::format("{} <{}", file, folder.path.string())).text ==
          "gmac-act: the standard input cannot be read: Is a directory\n");
}

TEST_CASE("gmac-act acts by the statistic that it is told", "[deploy]") {
    // The action is the last number.
    deployed_policy<> policy(nn::mlp<backends::simd<float>>({2, 1}, {.function = nn::activation::none}),
                             {actors::diagonal_gaussian{},
                              box::uniform(1, -HUGE_VALF, HUGE_VALF),
                              {},
                              statistic_range{statistic_kind::wang, -1.0, 1.0}});
    policy.parameters()[1] = 1.0f;
    policy.parameters()[3] = 1.0f;
    scratch_folder folder;
    auto const file = (folder.path / "policy.safetensors").string();
    save_policy(file, policy);
    auto const input = (folder.path / "observations.txt").string();
    std::ofstream(input) << "7\n";
    auto const with = [&](std::string const& options) { return act(fmt::format("{} {} <{}", file, options, input)); };
    CHECK(with("--risk 0.25").text == "0.25\n");
    CHECK(with("--risk -1").text == "-1\n");
    CHECK(with("").text ==
          "gmac-act: the policy has learned to act by wang of any parameter from -1 to 1: choose one by --risk\n");
    CHECK(with("--risk 2").text ==
          "gmac-act: the parameter of wang is 2, but the policy has learned those from -1 to 1\n");
}
