// SPDX-License-Identifier: Apache-2.0
// Acts by a policy from a file: reads observations from the standard input, a line each with its numbers between blanks,
// and writes an action for each on a line of its own, at once. For an Atari game an observation is all pixels of a stack of
// frames, [frames, 84, 84].
//
//     gmac-train --env classic/cart_pole --out runs/pole
//     echo "0 0 0.05 0" | gmac-act runs/pole/policy.safetensors
#include "support/parse_options.hpp"

#include <gmac/deploy/policy_file.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>
#include <vector>

namespace {

// What `read` takes.
constexpr std::string_view kind_of(float) {
    return "a finite number";
}
constexpr std::string_view kind_of(std::uint8_t) {
    return "a pixel, a whole number from 0 to 255";
}

/// Whether `text` is a number that an observation may have.
template <class Number>
[[nodiscard]] bool read(std::string_view text, Number& number) {
    auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end != text.data() + text.size())
        return false;
    if constexpr (std::same_as<Number, float>) {
        if (problem == std::errc::result_out_of_range) // too large, or closer to zero than any
            number = std::strtof(std::string(text).c_str(), nullptr);
        return problem != std::errc::invalid_argument && std::isfinite(number);
    }
    return problem == std::errc();
}

/// Reads an observation from a line, or says what is wrong with it.
template <class Number>
void read(std::string_view text, std::size_t line, std::vector<Number>& observation) {
    std::string_view constexpr blanks = " \t\r";
    std::size_t count = 0;
    for (auto begin = text.find_first_not_of(blanks); begin != text.npos; begin = text.find_first_not_of(blanks)) {
        text.remove_prefix(begin);
        auto const word = text.substr(0, text.find_first_of(blanks));
        text.remove_prefix(word.size());
        Number number{};
        gmac::require(read(word, number), "line {}, number {}: {} is not {}", line, count + 1,
                      gmac::safetensors::in_quotes(std::string(word)), kind_of(number));
        if (count < observation.size())
            observation[count] = number;
        ++count;
    }
    gmac::require(count == observation.size(), "line {} has {} numbers, but an observation has {}", line, count,
                  observation.size());
}

template <class Policy>
void act(Policy const& policy, std::optional<double> risk) {
    auto const& range = policy.description().range;
    gmac::require(range.has_value() || !risk, "--risk is {}, but the policy has learned to act by one statistic only",
                  risk.value_or(0.0));
    gmac::require(!range.has_value() || risk,
                  "the policy has learned to act by {} of any parameter from {} to {}: choose one by --risk",
                  range ? gmac::name_of(range->kind) : "", range ? range->low : 0.0, range ? range->high : 0.0);
    auto memory = policy.make_memory(); // for one thread
    std::vector<typename Policy::observation_type> observation(policy.observation_size() - (risk ? 1 : 0));
    std::vector<float> action(policy.action_size());
    std::string text;
    for (std::size_t line = 1; std::getline(std::cin, text); ++line) {
        read(text, line, observation);
        if (risk)
            policy.act(observation, *risk, action, memory);
        else
            policy.act(observation, action, memory);
        fmt::print("{}\n", fmt::join(action, " "));
        if (std::fflush(stdout) != 0) // who sees only now and then what is done could not act by it
            throw std::system_error(errno, std::generic_category());
    }
    gmac::require(std::ferror(stdin) == 0, "the standard input cannot be read: {}",
                  gmac::detail::system_message(errno));
}

} // namespace

int main(int argc, char** argv) {
    return gmac::examples::run_main("gmac-act", [&] {
        CLI::App app(
            "gmac-act acts by a policy that gmac-train has learned: it reads observations from the standard input, a line\n"
            "each with its numbers between blanks, and writes an action for each on a line of its own, at once.",
            "gmac-act");
        std::string file;
        std::optional<double> risk;
        app.add_option("policy", file, "the policy.safetensors of a run")->required();
        gmac::examples::add_option(app, "--risk", risk,
                                   "parameter of the statistic to act by, of a policy that has learned a range "
                                   "(gmac-train --statistic cvar:0.05..1)");
        gmac::examples::parse_options(app, argc, argv);
        std::visit([&](auto const& policy) { act(policy, risk); }, gmac::load_any_policy(file));
    });
}
