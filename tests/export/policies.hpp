// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/scratch_folder.hpp"

#include <gmac/deploy/policy_file.hpp>
#include <gmac/deploy/value_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// One policy of each kind that a file can hold, with random weights, and what the library computes with it.
namespace gmac::testing {

struct subject {
    std::string name;
    any_policy<> policy;

    [[nodiscard]] bool images() const noexcept { return policy.index() == 1; }
};

/// One of each kind.
[[nodiscard]] std::vector<subject> policies();
void save(subject const& one, std::filesystem::path const& file);

/// A value of the same observations with random weights; its trunk is the policy's if `shared`.
[[nodiscard]] any_value<> value_for(subject const& one, value_outputs const& head, bool shared);

/// What a value says of the observations of a file that observe() wrote, in the order of deployed_value::predict.
[[nodiscard]] std::vector<normal_component<double>> expect(any_value<> const& value,
                                                           std::filesystem::path const& observations);

/// What the library computes for each observation.
struct answers {
    std::size_t outputs = 0, actions = 0; ///< numbers of each
    std::vector<float> output, action;
    std::vector<std::size_t> counts{}; ///< of the values of each discrete action; none of real ones
    std::vector<float> features{};     ///< of an actor that reads them
};

/// Writes so many observations, and returns what the library answers to them, by weights rounded to 127 steps of the largest
/// of their column if `int8`.
[[nodiscard]] answers observe(subject const& one, std::size_t count, std::filesystem::path const& file,
                              bool int8 = false);

/// The standard deviation of element `i` of the actions, by the definition of the actor in double precision.
[[nodiscard]] float deviation_of(subject const& one, answers const& given, std::size_t i);

/// Empty if `output` and `action` are the wanted ones to 1e-5 of the largest output of each observation, or of 1; a discrete
/// action may be another one only if its output is as large to that precision.
[[nodiscard]] inline std::string differences(answers const& wanted, std::span<float const> output,
                                             std::span<float const> action) {
    if (output.size() != wanted.output.size() || action.size() != wanted.action.size())
        return fmt::format("{} outputs and {} actions", output.size(), action.size());
    std::string text;
    for (std::size_t i = 0; i < wanted.output.size() / wanted.outputs && text.size() < 1000; ++i) {
        auto const right = std::span(wanted.output).subspan(i * wanted.outputs, wanted.outputs);
        float largest = 1.0f;
        for (float const x : right)
            largest = std::max(largest, std::abs(x));
        float const slack = 1e-5f * largest;
        for (std::size_t j = 0; j < right.size(); ++j)
            if (!(std::abs(output[i * wanted.outputs + j] - right[j]) <= slack))
                text += fmt::format("output {} of {}: {}, not {}\n", j, i, output[i * wanted.outputs + j], right[j]);
        for (std::size_t j = 0, first = 0; j < wanted.actions; ++j) {
            float const got = action[i * wanted.actions + j], best = wanted.action[i * wanted.actions + j];
            bool const real = wanted.counts.empty();
            std::size_t const count = real ? 0 : wanted.counts[j];
            bool const known = real || (got >= 0.0f && got < static_cast<float>(count));
            auto const own = right.subspan(first, count);
            first += count;
            float const distance = real    ? got - best
                                   : known ? own[static_cast<std::size_t>(got)] - own[static_cast<std::size_t>(best)]
                                           : -1.0f;
            if (!known || !(std::abs(distance) <= slack))
                text += fmt::format("action {} of {}: {}, not {}\n", j, i, got, best);
        }
    }
    return text;
}

[[nodiscard]] inline std::vector<float> read_floats(std::filesystem::path const& file) {
    std::string const bytes = slurp(file);
    std::vector<float> all(bytes.size() / sizeof(float));
    std::copy_n(bytes.data(), all.size() * sizeof(float), reinterpret_cast<char*>(all.data()));
    return all;
}

/// What gmac-export says to these arguments of the shell.
[[nodiscard]] inline program_outcome run_export(std::string const& arguments) {
    return run_program(fmt::format("'{}' {} 2>&1", GMAC_EXPORT, arguments));
}

} // namespace gmac::testing
