// SPDX-License-Identifier: Apache-2.0
// gmac-bench-scale: what training on several ranks costs. Run by mpirun.
#include "model.hpp"
#include "timed_ranks.hpp"

#include <gmac/core/random.hpp>
#include <gmac/distributed/mpi.hpp>
#include <gmac/gmac.hpp>

#include "bullet/locomotion.hpp"
#include "bullet/robots.hpp"
#include "support/parse_options.hpp"
#include "support/run_main.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace gmac::bench;
namespace bullet = gmac::examples::bullet;

/// Screens of 84 x 84 bytes in the place of a game's: they cost nothing and mean nothing.
struct noise {
    using observation_type = std::uint8_t;
    std::size_t steps = 0;

    static std::size_t observation_size() { return 84 * 84; }
    static gmac::discrete action_space() { return {4}; }
    static gmac::observation_history history() { return {.frames = 4, .padding = gmac::history_padding::zeros}; }
    void reset(gmac::random_stream& random, std::span<std::uint8_t> screen) {
        steps = 0;
        draw(random, screen);
    }
    gmac::transition step(int action, gmac::random_stream& random, std::span<std::uint8_t> screen) {
        draw(random, screen);
        return {.reward = action == 1 ? 1.0 : 0.0, .terminated = ++steps == 500};
    }
    static void draw(gmac::random_stream& random, std::span<std::uint8_t> screen) {
        std::array<std::uint32_t, 84 * 84 / 4> words{};
        random.fill(words);
        for (std::size_t i = 0; i < screen.size(); ++i)
            screen[i] = static_cast<std::uint8_t>(words[i / 4] >> (i % 4 * 8));
    }
};

/// Runs some updates after a first one, and counts the time of each part.
template <class Agent>
measured_update measure(Agent& agent, timed_ranks& ranks, std::size_t updates) {
    static_cast<void>(agent.update());
    ranks.sums = ranks.of_values = ranks.others = {};
    measured_update sum;
    std::vector<double> times;
    std::uint64_t const before = agent.frames();
    for (std::size_t i = 0; i < updates; ++i) {
        double const said = ranks.sums.seconds, before_values = ranks.of_values.seconds,
                     of_steps = ranks.others.seconds;
        ranks.begin_update();
        gmac::update_report const report = agent.update();
        double const learning = report.learning_seconds - (ranks.sums.seconds - said);
        double const environment = report.environment_seconds - (ranks.others.seconds - of_steps);
        double const inference =
            report.inference_seconds + report.target_seconds - (ranks.of_values.seconds - before_values);
        sum.environment += environment;
        sum.inference += inference;
        sum.learning += learning;
        times.push_back(environment + inference + learning);
    }
    double const count = static_cast<double>(updates);
    double mean = 0.0, squares = 0.0;
    for (double const time : times)
        mean += time / count;
    for (double const time : times)
        squares += (time - mean) * (time - mean);
    auto const& options = agent.options();
    std::size_t const rows = agent.experience().rows();
    sum.frames = static_cast<double>(agent.frames() - before) / count;
    for (double* const part : {&sum.environment, &sum.inference, &sum.learning})
        *part /= count;
    sum.deviation = updates > 1 ? std::sqrt(squares / (count - 1.0)) : 0.0;
    sum.gradient_calls = static_cast<double>(options.epochs * ((rows + options.minibatch - 1) / options.minibatch));
    sum.gradient_bytes =
        sum.gradient_calls * static_cast<double>((agent.parameters().size() + 2) * sizeof(typename Agent::scalar));
    // Two sums of advantages an epoch, two of the explained variance, one of the report; two gatherings of running statistics
    // and one of episodes.
    sum.small_calls = static_cast<double>(2 * options.epochs + 6);
    return sum;
}

/// The mean over the ranks.
[[nodiscard]] double mean_of(gmac::communicator& ranks, double value) {
    ranks.all_reduce(std::span<double>(&value, 1));
    return value / static_cast<double>(ranks.size());
}

void print(measured_update const& here, timed_ranks& timed, std::size_t updates) {
    double const count = static_cast<double>(updates);
    traffic said;
    for (traffic const& part : {timed.sums, timed.of_values, timed.others}) {
        said.seconds += part.seconds / count;
        said.bytes += part.bytes;
    }
    double const alone = here.environment + here.inference + here.learning;
    double const waited = mean_of(timed, said.seconds);
    std::array<double, 3> const parts{mean_of(timed, here.environment), mean_of(timed, here.inference),
                                      mean_of(timed, here.learning)};
    double const whole = mean_of(timed, alone + said.seconds);
    if (timed.rank() > 0)
        return;
    fmt::print("{:>6} {:>8} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}\n", "ranks", "frames", "environment", "inference",
               "learning", "all-reduce", "bytes", "frames/s");
    fmt::print("{:>6} {:>8.0f} {:>10.1f} ms {:>9.1f} ms {:>9.1f} ms {:>9.1f} ms {:>12.0f} {:>12.0f}\n", timed.size(),
               here.frames, 1e3 * parts[0], 1e3 * parts[1], 1e3 * parts[2], 1e3 * waited,
               static_cast<double>(said.bytes) / count, here.frames / whole);
}

void predict(measured_update one, double machines_measured) {
    one.frames /= machines_measured;
    constexpr std::array networks{network{"10 Gbit/s, 25 us", 25e-6, 1.25e9},
                                  network{"100 Gbit/s, 3 us", 3e-6, 1.25e10}};
    fmt::print("\nPredicted of these times: frames/s, and which part of {} times one machine's that is\n", "R");
    fmt::print("{:>10}", "machines");
    for (network const& by : networks)
        fmt::print(" {:>28}", by.name);
    fmt::print("\n");
    for (double machines = 1.0; machines <= 1024.0; machines *= 4.0) {
        fmt::print("{:>10.0f}", machines);
        for (network const& by : networks) {
            double const seconds = update_seconds(one, by, machines), alone = update_seconds(one, by, 1.0);
            fmt::print(" {:>20.0f} {:>5.1f} %", machines * one.frames / seconds, 100.0 * alone / seconds);
        }
        fmt::print("\n");
    }
}

template <class Agent>
void run(Agent& agent, timed_ranks& timed, std::size_t updates) {
    measured_update const found = measure(agent, timed, updates);
    print(found, timed, updates);
    if (timed.rank() == 0)
        predict(found, static_cast<double>(timed.size()));
}

/// The preset hopper-fast.
void hopper(timed_ranks& timed, std::size_t updates, std::optional<std::size_t> minibatch) {
    auto const& robot = bullet::find_robot("hopper");
    gmac::vector_environment<bullet::locomotion> worlds(16, gmac::seed_of_rank(1, timed.rank()),
                                                        [&](std::size_t) { return bullet::locomotion(robot); });
    gmac::normalized_environments seen(worlds);
    gmac::agents::gmac<gmac::actors::diagonal_gaussian> agent(seen,
                                                              {.minibatch = minibatch.value_or(64),
                                                               .learning_rate = 3e-4,
                                                               .discount = 0.985,
                                                               .entropy_coefficient = 0.005,
                                                               .max_gradient_norm = 0.5,
                                                               .hidden = {64, 64},
                                                               .shared_trunk = false},
                                                              {.seed = 1, .ranks = &timed});
    run(agent, timed, updates);
}

void atari(timed_ranks& timed, std::size_t updates, std::optional<std::size_t> minibatch) {
    using trunk = gmac::nn::image_trunk<gmac::backends::simd<float>>;
    gmac::vector_environment<noise> worlds(64, gmac::seed_of_rank(1, timed.rank()));
    auto options = gmac::atari_options();
    options.minibatch = minibatch.value_or(options.minibatch);
    gmac::agents::gmac<gmac::actors::categorical, gmac::backends::simd<float>, trunk>
        agent(worlds, trunk(gmac::nn::image_trunk_options{}), options, {.seed = 1, .ranks = &timed});
    run(agent, timed, updates);
}

} // namespace

int main(int argc, char** argv) {
    return gmac::distributed::run(argc, argv, [&](gmac::communicator& ranks) {
        return gmac::examples::run_main("gmac-bench-scale", [&] {
            std::string setting = "hopper";
            std::size_t updates = 5;
            std::optional<std::size_t> minibatch;
            CLI::App app(
                "gmac-bench-scale times updates on the ranks that mpirun starts, and predicts them on machines.");
            gmac::examples::add_option(app, "--setting", setting, "hopper or atari (screens of noise)");
            gmac::examples::add_option(app, "--updates", updates, "that are timed, after a first one");
            gmac::examples::add_option(app, "--minibatch", minibatch, "states of each rank");
            gmac::examples::parse_options(app, argc, argv);
            gmac::require(setting == "hopper" || setting == "atari", "--setting is {}, but must be hopper or atari",
                          setting);
            gmac::require(updates > 0, "--updates is 0, but must be at least 1");
            timed_ranks timed(ranks);
            setting == "hopper" ? hopper(timed, updates, minibatch) : atari(timed, updates, minibatch);
        });
    });
}
