// SPDX-License-Identifier: Apache-2.0
// Acts by a policy from a file: reads observations from the standard input, a line each with its numbers between blanks,
// and writes an action for each on a line of its own, at once. For an Atari game an observation is all pixels of a stack of
// frames, [frames, 84, 84].
//
//     gmac-train --env classic/cart_pole --out runs/pole
//     echo "0 0 0.05 0" | gmac-act runs/pole
//     echo "0 0 0.05 0" | gmac-act runs/pole --distribution
#include "support/parse_options.hpp"
#include "train/commands.hpp"

#include <gmac/deploy/policy_file.hpp>
#include <gmac/deploy/value_file.hpp>
#include <gmac/distributions/gaussian_mixture.hpp>
#include <gmac/distributions/modes.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <optional>
#include <span>
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

/// Reads an observation, with a mask of so many numbers after it, from a line, or says what is wrong with it. Of actions with
/// these numbers of values a mask must leave one.
template <class Number>
void read(std::string_view text, std::size_t line, std::span<std::size_t const> counts,
          std::vector<Number>& observation, std::vector<std::uint8_t>& mask) {
    std::string_view constexpr blanks = " \t\r";
    std::size_t count = 0;
    for (auto begin = text.find_first_not_of(blanks); begin != text.npos; begin = text.find_first_not_of(blanks)) {
        text.remove_prefix(begin);
        auto const word = text.substr(0, text.find_first_of(blanks));
        text.remove_prefix(word.size());
        Number number{};
        gmac::require(read(word, number), "line {}, number {}: {} is not {}", line, count + 1,
                      gmac::safetensors::in_quotes(std::string(word)), kind_of(number));
        if (count < observation.size()) {
            observation[count] = number;
        } else if (count - observation.size() < mask.size()) {
            gmac::require(number == Number(0) || number == Number(1),
                          "line {}, number {}: {} is of the mask, but not 0 or 1", line, count + 1, word);
            mask[count - observation.size()] = number == Number(1);
        }
        ++count;
    }
    gmac::require(count == observation.size() + mask.size(), "line {} has {} numbers, but an observation has {}{}",
                  line, count, observation.size(), mask.empty() ? "" : fmt::format(", and its mask {}", mask.size()));
    for (std::size_t k = 0, first = 0; k < counts.size() && !mask.empty(); first += counts[k], ++k) {
        bool const any = std::ranges::count(std::span(mask).subspan(first, counts[k]), 1) > 0;
        gmac::require(any || counts.size() > 1, "line {}: its mask forbids all of the {} actions", line, counts[k]);
        gmac::require(any, "line {}: its mask forbids all of the {} values of component {}", line, counts[k], k);
    }
}

/// Calls answer(observation, mask, line) for each line, which has a mask of actions with these numbers of values after the
/// observation; what it prints is written at once, since who sees it only now and then could not act by it. The parameter
/// `risk` is added as a network of a range wants it.
template <class Network, class Answer>
void answer_lines(Network const& network, std::optional<double> risk, std::span<std::size_t const> counts,
                  Answer&& answer) {
    auto const& range = network.description().range;
    gmac::require(range.has_value() || !risk, "--risk is {}, but the policy has learned to act by one statistic only",
                  risk.value_or(0.0));
    gmac::require(!range.has_value() || risk,
                  "the policy has learned to act by {} of any parameter from {} to {}: choose one by --risk",
                  range ? gmac::name_of(range->kind) : "", range ? range->low : 0.0, range ? range->high : 0.0);
    using number = typename Network::observation_type;
    std::vector<number> observation(network.observation_size() - (risk ? 1 : 0)), seen;
    std::vector<std::uint8_t> mask(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
    std::string text;
    for (std::size_t line = 1; std::getline(std::cin, text); ++line) {
        read(text, line, counts, observation, mask);
        seen = observation;
        if (risk)
            seen.push_back(static_cast<number>(range->number_of(*risk)));
        answer(seen, mask, line);
        if (std::fflush(stdout) != 0)
            throw std::system_error(errno, std::generic_category());
    }
    gmac::require(std::ferror(stdin) == 0, "the standard input cannot be read: {}",
                  gmac::detail::system_message(errno));
}

template <class Policy>
void act(Policy const& policy, std::optional<double> risk, bool masked) {
    auto memory = policy.make_memory(); // for one thread
    std::vector<float> action(policy.action_size());
    auto const counts = gmac::action_counts(policy.action_space());
    gmac::require(!masked || !counts.empty(), "--masks is for discrete actions, but the policy's are real numbers");
    answer_lines(policy, risk, masked ? counts : std::span<std::size_t const>(),
                 [&](auto const& observation, auto const& mask, std::size_t) {
                     policy.act(observation, action, memory, mask);
                     fmt::print("{}\n", fmt::join(action, " "));
                 });
}

/// Mean, deviation, five quantiles, and the modes of a mixture.
template <class Value>
void tell_distribution(Value const& value, std::optional<double> risk) {
    auto memory = value.make_memory();
    answer_lines(value, risk, {}, [&](auto const& observation, auto const&, std::size_t line) {
        auto const parts = value.predict(observation, memory);
        gmac::require(std::ranges::all_of(parts,
                                          [](auto const& part) {
                                              return std::isfinite(part.weight) && std::isfinite(part.mean) &&
                                                     std::isfinite(part.deviation);
                                          }),
                      "line {}: the network's outputs are not finite", line);
        gmac::gaussian_mixture<double> const returns(std::vector(parts.begin(), parts.end()));
        std::vector<double> numbers{returns.mean(), std::sqrt(returns.variance())};
        for (double const fraction : {0.05, 0.25, 0.5, 0.75, 0.95})
            numbers.push_back(returns.quantile(fraction));
        if (std::holds_alternative<gmac::mixture_outputs>(value.description().head))
            for (auto const& mode : gmac::modes(returns)) {
                numbers.push_back(mode.location);
                numbers.push_back(mode.mass);
            }
        fmt::print("{:.7g}\n", fmt::join(numbers, " "));
    });
}

/// A file, or the one in the folder of a run.
[[nodiscard]] std::filesystem::path file_of(std::filesystem::path const& run, char const* name) {
    return std::filesystem::is_directory(run) ? run / name : run;
}

} // namespace

int gmac::examples::train::act_command(std::string const& program, std::string const& name, int argc,
                                       char const* const* argv) {
    return run_main(name.c_str(), [&] {
        CLI::App
            app(fmt::format("{} acts by a policy that {} has learned: it reads observations from the standard input, a "
                            "line\neach with its numbers between blanks, and writes an action for each on a line of "
                            "its own, at once.",
                            name, program),
                name);
        std::filesystem::path run;
        std::optional<double> risk;
        bool distribution = false, masked = false;
        app.add_option("policy", run, "the folder of a run, or its policy.safetensors")->required();
        add_option(app, "--risk", risk,
                   fmt::format("parameter of the statistic to act by, of a policy that has learned a range "
                               "({} --statistic cvar:0.05..1)",
                               program));
        add_flag(
            app, "--distribution", distribution,
            "instead of the action tell the distribution of the discounted return that the run's value.safetensors "
            "predicts: mean, deviation, quantiles at 0.05, 0.25, 0.5, 0.75 and 0.95, then place and mass of each mode "
            "of a mixture");
        add_flag(
            app, "--masks", masked,
            "after its observation each line has a 1 for each discrete action that may be taken and a 0 for each that "
            "may not; of several at once those of the first, then those of the second, and so on");
        parse_options(app, argc, argv);
        require(!distribution || !masked, "--masks is for actions, and --distribution tells none");
        if (distribution)
            std::visit([&](auto const& value) { tell_distribution(value, risk); },
                       load_value(file_of(run, "value.safetensors")));
        else
            std::visit([&](auto const& policy) { ::act(policy, risk, masked); },
                       load_any_policy(file_of(run, "policy.safetensors")));
    });
}
