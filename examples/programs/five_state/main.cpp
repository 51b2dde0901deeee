// SPDX-License-Identifier: Apache-2.0
#include "experiment.hpp"
#include "pictures.hpp"

#include "support/memory.hpp"
#include "support/parse_options.hpp"

#include <gmac/core/error.hpp>
#include <gmac/distributions/energy.hpp>
#include <gmac/version.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>

namespace {

namespace five_state = gmac::examples::five_state;
using gmac::examples::add_flag;
using gmac::examples::add_option;

struct request {
    five_state::options options;
    std::filesystem::path out;
    bool json = false;
};

void describe(CLI::App& app, request& asked) {
    auto& options = asked.options;
    app.set_version_flag("--version",
                         fmt::format("gmac {}.{}.{}", GMAC_VERSION_MAJOR, GMAC_VERSION_MINOR, GMAC_VERSION_PATCH));
    add_option(
        app, "--out", asked.out,
        "folder for the pictures (PNG and SVG); runs/five-state unless --json is given, which draws none by itself");
    add_flag(app, "--json", asked.json,
             "prints a JSON array with an object for each chain and method, and nothing else");
    add_option(app, "--seed", options.seed, "of the episodes and of what the tables start from");
    add_option(app, "--steps", options.steps, "steps of the optimiser");
    add_option(app, "--episodes", options.episodes, "new episodes for each step");
    add_option(app, "--learning-rate", options.learning_rate, "of Adam at the start; falls linearly to 0");
    add_option(app, "--lambda", options.lambda,
               "of SR(λ): 0 for one-step targets; the closer to 1, the fewer of the naive methods' mistakes pile up");
    add_option(app, "--kappa", options.kappa, "threshold of the Huber loss");
}

void print_json(std::span<five_state::result const> all) {
    char const* before = "[";
    for (auto const& one : all) {
        // JSON has no infinity or NaN.
        gmac::require(std::isfinite(one.energy_distance) && std::isfinite(one.mean) && std::isfinite(one.variance),
                      "{} on the {} chain has an energy distance of {}, a mean of {} and a variance of {}", one.method,
                      one.chain, one.energy_distance, one.mean, one.variance);
        fmt::print(
            "{}\n  {{\"chain\": \"{}\", \"method\": \"{}\", \"energy_distance\": {}, \"mean\": {}, \"variance\": {}}}",
            before, one.chain, one.method, one.energy_distance, one.mean, one.variance);
        before = ",";
    }
    fmt::print("\n]\n");
}

[[nodiscard]] five_state::chain const& chain_of(five_state::result const& one) {
    return one.chain == five_state::chains[0].name ? five_state::chains[0] : five_state::chains[1];
}

void print_head(five_state::chain const& world) {
    auto const truth = world.truth();
    fmt::print("\n{} chain: r4 is -1 with probability {}, else 1; S1 has mean {:.4f} and variance {:.4f}\n", world.name,
               world.minus_probability, truth.mean(), truth.variance());
    fmt::print("{:<26}{:>16}{:>16}{:>10}{:>10}\n", "", "energy distance", "best possible", "mean", "variance");
}

void print_row(five_state::chain const& world, five_state::result const& one) {
    // Five normal components can be the truth, fifteen points cannot.
    bool const by_points = one.learned.component(0).deviation == 0.0;
    double const floor = by_points ? gmac::energy(world.best_points(five_state::points), world.truth()) : 0.0;
    fmt::print("{:<26}{:>16.5f}{:>16.5f}{:>10.4f}{:>10.4f}\n", one.method, one.energy_distance, floor, one.mean,
               one.variance);
    std::fflush(stdout);
}

void run(request const& asked) {
    five_state::validate(asked.options);
    double const samples =
        static_cast<double>(asked.options.episodes) * (five_state::chain::states + 1) * five_state::points;
    gmac::examples::require_memory(std::array{
        gmac::examples::memory_use{fmt::format("--episodes {}", asked.options.episodes), samples * sizeof(double)}});
    bool const pictures = !asked.json || !asked.out.empty();
    auto const folder = asked.out.empty() ? std::filesystem::path("runs/five-state") : asked.out;
    if (pictures)
        five_state::make_folder(folder); // if it cannot be, that is better known before
    auto const all = five_state::learn_all(asked.options, [&](five_state::result const& one) {
        if (asked.json)
            return;
        auto const& world = chain_of(one);
        if (one.method == five_state::methods.front())
            print_head(world);
        print_row(world, one);
    });
    if (asked.json)
        print_json(all);
    if (!pictures)
        return;
    auto const stems = five_state::draw_pictures(folder, all);
    if (!asked.json) {
        fmt::print("\npictures, each as .png and .svg:\n");
        for (auto const& stem : stems)
            fmt::print("  {}\n", stem.string());
    }
}

} // namespace

int main(int argc, char** argv) {
    return gmac::examples::run_main("gmac-five-state", [&] {
        request asked;
        CLI::App app(
            "gmac-five-state learns the value distributions of a chain of five states by eight methods\n"
            "and compares what they find for the first state with the truth.");
        describe(app, asked);
        gmac::examples::parse_options(app, argc, argv);
        run(asked);
    });
}
