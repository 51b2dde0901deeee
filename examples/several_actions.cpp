#include <gmac/gmac.hpp>

#include <fmt/core.h>

// A boat on a straight river drifts to one bank or the other: the rudder has three positions, the sail is up or down. With
// the sail up it gets on, but in a squall it is to be down.
struct boat {
    int place = 0, squall = 0, steps = 0;

    static std::size_t observation_size() { return 2; }
    static gmac::multi_discrete action_space() { return {{3, 2}}; } // rudder to port, amidships, to starboard; sail

    void reset(gmac::random_stream& random, std::span<float> observation) {
        place = steps = 0;
        look(random, observation);
    }
    gmac::transition step(std::span<int const> action, gmac::random_stream& random, std::span<float> observation) {
        int const rudder = action[0] - 1, sail = action[1];
        bool const wrecked = sail == 1 && squall == 1;
        place += rudder + (random.below(2) == 0 ? -1 : 1);
        look(random, observation);
        bool const aground = place < -2 || place > 2;
        return {.reward = wrecked || aground ? -5.0 : 1.0 * sail,
                .terminated = wrecked || aground,
                .truncated = ++steps == 20};
    }

private:
    void look(gmac::random_stream& random, std::span<float> observation) {
        squall = random.below(4) == 0 ? 1 : 0;
        observation[0] = 0.5f * static_cast<float>(place);
        observation[1] = static_cast<float>(squall);
    }
};

int main() {
    gmac::vector_environment<boat> worlds(16, /*seed*/ 1);
    gmac::agent_options options{.steps = 64, .minibatch = 256, .epochs = 4, .learning_rate = 3e-3};
    options.hidden = {32, 32};
    gmac::agents::gmac<gmac::actors::multi_categorical> agent(worlds, options,
                                                              {.actor = {boat::action_space()}, .seed = 1});
    agent.train({.frames = 61'440, .on_update = [](gmac::update_report const& report) {
                     if (report.update % 20 == 0)
                         fmt::print("{}\n", report);
                 }});
}
