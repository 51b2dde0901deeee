// SPDX-License-Identifier: Apache-2.0
// gmac-extension: trains with a head and a loss that are not the library's, and prints what was learned.
#include "extension/logistic_mixture.hpp"
#include "support/run_main.hpp"

#include <gmac/gmac.hpp>

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <span>

/// Five fields in a row. On each one may take 0.3 and leave, or go on; who goes on from the last one gets 2 or loses 1,
/// give or take 0.1, as a coin falls. Going on is better by 0.2 on average.
struct gamble {
    static constexpr int fields = 5;
    int field = 0;

    static std::size_t observation_size() { return fields; }
    static gmac::discrete action_space() { return {2}; }

    void reset(gmac::random_stream&, std::span<float> observation) {
        field = 0;
        observe(observation);
    }
    gmac::transition step(int action, gmac::random_stream& random, std::span<float> observation) {
        bool const leaves = action == 0;
        bool const falls = !leaves && ++field == fields;
        double const prize = (random.uniform<double>() < 0.5 ? -1.0 : 2.0) + 0.1 * random.normal<double>();
        observe(observation);
        return {.reward = leaves ? 0.3 : falls ? prize : 0.0, .terminated = leaves || falls};
    }
    void observe(std::span<float> observation) const {
        for (int i = 0; i < fields; ++i)
            observation[static_cast<std::size_t>(i)] = i == field ? 1.0f : 0.0f;
    }
};

using head_type = my::logistic_mixture<3>;
using agent_type = gmac::actor_critic<gmac::actors::categorical, head_type, my::logistic_energy>;

/// The quantiles of the return from the first field on: as the agent expects them, and as they are.
void print_values(agent_type const& agent, double discount) {
    auto policy = agent.policy();
    gmac::random_stream unused;
    std::array<float, gamble::fields> const start{1.0f};
    auto const outputs = policy.value_outputs({start.data(), 1, start.size()}, unused);
    auto const expected = agent.head().transform(head_type::row(outputs, 0));
    double const shrink = std::pow(discount, gamble::fields - 1);
    struct {
        float fraction;
        double prize; // of one who goes on
    } constexpr quantiles[] = {{0.1f, -1.0842}, {0.25f, -1.0}, {0.75f, 2.0}, {0.9f, 2.0842}};
    fmt::print("quantile of the return   expected    true\n");
    for (auto const& [fraction, prize] : quantiles)
        fmt::print("{:22.0f} % {:10.2f} {:7.2f}\n", 100.0 * static_cast<double>(fraction),
                   head_type::quantile(expected, fraction), shrink * prize);
}

void learn() {
    gmac::vector_environment<gamble> worlds(32, /*seed*/ 1);
    gmac::agent_options options{.steps = 32, .minibatch = 256, .epochs = 4, .learning_rate = 2e-3};
    options.hidden = {32, 32};
    agent_type agent(worlds, options, {.seed = 1});
    agent.train({.frames = 100'000, .on_update = [](gmac::update_report const& report) {
                     if (report.update % 20 == 1)
                         fmt::print("{}\n", report);
                 }});
    print_values(agent, options.discount);
}

int main(int argc, char** argv) {
    return gmac::examples::run_main("gmac-extension", [&] {
        gmac::require(argc == 1, "it takes no arguments, but got {}", argv[1]);
        learn();
    });
}
