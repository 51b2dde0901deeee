#include <gmac/gmac.hpp>

#include <fmt/core.h>

// A walk along a cliff: 4 x 12 fields, from the lower left to the lower right corner. Every step costs 1, a step into
// the lower row between the corners is a fall, which costs 100. A gust moves the walker one field down now and then.
struct cliff_walk {
    int row = 0, column = 0, steps = 0;

    static std::size_t observation_size() { return 2; }
    static gmac::discrete action_space() { return {4}; }

    void reset(gmac::random_stream&, std::span<float> observation) {
        row = 3;
        column = steps = 0;
        observe(observation);
    }

    gmac::transition step(int action, gmac::random_stream& random, std::span<float> observation) {
        int const down = random.uniform<float>() < 0.1f ? 1 : 0;
        row = std::clamp(row + (action == 0 ? -1 : action == 1 ? 1 : down), 0, 3);
        column = std::clamp(column + (action == 2 ? -1 : action == 3 ? 1 : 0), 0, 11);
        observe(observation);
        bool const lower_row = row == 3 && column > 0;
        bool const fell = lower_row && column < 11;
        return {.reward = fell ? -100.0 : -1.0, .terminated = lower_row, .truncated = ++steps == 200};
    }

    void observe(std::span<float> observation) const {
        observation[0] = static_cast<float>(row) / 3.0f;
        observation[1] = static_cast<float>(column) / 11.0f;
    }
};

int main() {
    gmac::vector_environment<cliff_walk> worlds(16, /*seed*/ 1);
    gmac::normalized_environments normalized(worlds);
    gmac::agent_options options{.steps = 64, .minibatch = 256, .epochs = 4, .learning_rate = 1e-3};
    options.hidden = {64, 64};
    gmac::agents::gmac<gmac::actors::categorical> agent(normalized, options, {.seed = 1});

    agent.train({.frames = 100'000, .on_update = [](gmac::update_report const& report) {
                     if (report.update % 20 == 0)
                         fmt::print("{}\n", report);
                 }});
}
