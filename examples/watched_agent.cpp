#include <gmac/gmac.hpp>

#include <fmt/core.h>

// A corridor whose ends are walls: an action into a wall is not allowed. Its right end is five steps away.
struct corridor {
    int place = 0, steps = 0;

    static std::size_t observation_size() { return 1; }
    static gmac::discrete action_space() { return {2}; } // 0: left, 1: right

    void action_mask(std::span<std::uint8_t> allowed) const {
        if (place == 0)
            allowed[0] = 0;
    }

    void reset(gmac::random_stream&, std::span<float> observation) {
        place = steps = 0;
        observation[0] = 0.0f;
    }
    gmac::transition step(int action, gmac::random_stream&, std::span<float> observation) {
        place += action == 1 ? 1 : -1;
        observation[0] = static_cast<float>(place) / 5.0f;
        return {.reward = -1.0, .terminated = place == 5, .truncated = ++steps == 50};
    }
};

int main() {
    gmac::vector_environment<corridor> worlds(8, /*seed*/ 1);
    gmac::agent_options options{.steps = 64, .minibatch = 128, .epochs = 4, .learning_rate = 5e-3};
    options.hidden = {32};
    options.exploration = gmac::exploration_options{.coefficient = 0.5};
    gmac::agents::gmac<gmac::actors::categorical> agent(worlds, options, {.seed = 1});
    agent.explore(gmac::exploration::energy_distance(agent));

    // Another method learns the value of this very policy.
    auto& watching = agent.observe<gmac::heads::dirac<16>, gmac::losses::huber_quantile>({.seed = 4});

    // Evaluations in environments of their own, which end the training when it is good enough.
    gmac::vector_environment<corridor> others(20, /*seed*/ 2);
    auto policy = agent.policy(20);
    bool reached = false;
    agent.train({.frames = 200'000,
                 .evaluate_every = 2'000,
                 .evaluate = [&] { return gmac::evaluate(policy, others); },
                 .on_evaluation =
                     [&](gmac::evaluation_report const& report) {
                         reached = report.frames > 40'000 && report.mean_return > -5.5;
                     },
                 .stop = [&] { return reached; }});
    fmt::print("the goal is {}\n", reached ? "reached" : "not reached");

    auto work = watching.make_workspace();
    gmac::random_stream random(/*seed*/ 1);
    std::array const state{0.0f};
    auto const outputs = watching.value_outputs(gmac::matrix_view(state.data(), 1, 1), random, work);
    std::array<float, 1> value;
    watching.head().mean(outputs, value);
    fmt::print("the other method expects {:.1f} in the beginning, after a loss of {:.3f}\n", value[0],
               watching.report().value_loss);
}
