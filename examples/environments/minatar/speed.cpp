// SPDX-License-Identifier: Apache-2.0
// gmac-minatar-speed: steps per second of processor time, one game after the other.
#include "games.hpp"

#include "support/parse_options.hpp"

#include <gmac/core/random.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string_view>
#include <vector>

namespace {

/// Random actions, new episodes after ends, observations written. Of several runs the fastest: what disturbs makes slower.
template <class Rules>
double steps_per_second(int steps, int runs) {
    double best = 0.0;
    for (int run = 0; run < runs; ++run) {
        minatar::game<Rules> world;
        gmac::random_stream chances(1), choices(2);
        auto const actions = static_cast<std::uint32_t>(world.action_space().count);
        std::vector<std::uint8_t> observation(world.observation_size());
        world.reset(chances, observation);
        std::clock_t const start = std::clock();
        for (int i = 0; i < steps; ++i)
            if (world.step(static_cast<int>(choices.below(actions)), chances, observation).terminated)
                world.reset(chances, observation);
        best = std::max(best, steps * double{CLOCKS_PER_SEC} / static_cast<double>(std::clock() - start));
    }
    return best;
}

void run(int argc, char** argv) {
    CLI::App app("Steps per second of processor time of the MinAtar games with random actions, observations written.",
                 "gmac-minatar-speed");
    int steps = 2'000'000, runs = 5;
    gmac::examples::add_option(app, "--steps", steps, "of a run", 1);
    gmac::examples::add_option(app, "--runs", runs, "the fastest counts", 1);
    gmac::examples::parse_options(app, argc, argv);
    for (std::string_view const name : minatar::game_names)
        fmt::print("{:14} {:12.0f}\n", name,
                   minatar::visit_game(name, [&]<class Rules>() { return steps_per_second<Rules>(steps, runs); }));
}

} // namespace

int main(int argc, char** argv) {
    return gmac::examples::run_main("gmac-minatar-speed", [&] { run(argc, argv); });
}
