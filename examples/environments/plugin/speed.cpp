// SPDX-License-Identifier: Apache-2.0
// gmac-plugin-speed: steps per second of a shared library, or of a program in a process of its own.
#include "support/parse_options.hpp"

#include <gmac/core/random.hpp>
#include <gmac/environment/plugin/environments.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace {

/// Actions at random in the space; every one must be allowed.
void choose(gmac::action_space const& space, gmac::random_stream& random, std::vector<float>& actions) {
    auto const counts = gmac::action_counts(space);
    for (std::size_t i = 0; i < actions.size(); ++i)
        if (!counts.empty()) {
            actions[i] = static_cast<float>(random.below(static_cast<std::uint32_t>(counts[i % counts.size()])));
        } else {
            auto const& bounds = std::get<gmac::box>(space);
            std::size_t const j = i % bounds.size();
            actions[i] = bounds.low[j] + random.uniform<float>() * (bounds.high[j] - bounds.low[j]);
        }
}

/// Of several runs the fastest: what disturbs makes slower. By the clock on the wall, since a program has another process.
double steps_per_second(gmac::plugin_environments& worlds, int steps, int runs) {
    std::size_t const count = worlds.size(), size = worlds.observation_size();
    std::size_t const action = gmac::action_size(worlds.action_space());
    std::vector<float> observations(count * size), finals(count * size), rewards(count), actions(count * action);
    std::vector<std::uint8_t> terminated(count), truncated(count);
    gmac::matrix_view<float> const seen(observations.data(), count, size);
    gmac::step_result const result{seen, {finals.data(), count, size}, rewards, terminated, truncated};
    gmac::random_stream random(2);
    worlds.reset(seen);
    double best = 0.0;
    for (int run = 0; run < runs; ++run) {
        auto const start = std::chrono::steady_clock::now();
        for (int i = 0; i < steps; ++i) {
            choose(worlds.action_space(), random, actions);
            worlds.step({actions.data(), count, action}, result);
        }
        std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
        best = std::max(best, static_cast<double>(count) * steps / took.count());
    }
    return best;
}

void run(int argc, char** argv) {
    CLI::App app("Steps per second of an environment of your own, FILE.so or a program, with random actions.",
                 "gmac-plugin-speed");
    std::string file, options;
    std::size_t count = 64;
    int steps = 3000, runs = 5;
    app.add_option("file", file, "shared library or program")->required();
    gmac::examples::add_option(app, "--envs", count, "environments stepped together", std::size_t{1});
    gmac::examples::add_option(app, "--env-options", options, "text that they are given");
    gmac::examples::add_option(app, "--steps", steps, "of a run, of each environment", 1);
    gmac::examples::add_option(app, "--runs", runs, "the fastest counts", 1);
    gmac::examples::parse_options(app, argc, argv);
    gmac::plugin_environments worlds(file, count, /*seed*/ 1, options);
    gmac::require(worlds.action_masks().empty(), "{} forbids actions, which are drawn here from all", file);
    fmt::print("{:.0f}\n", steps_per_second(worlds, steps, runs));
}

} // namespace

int main(int argc, char** argv) {
    return gmac::examples::run_main("gmac-plugin-speed", [&] { run(argc, argv); });
}
