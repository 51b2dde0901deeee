#include <gmac/gmac.hpp>

#include <fmt/core.h>

// A screen of 8 x 8 bytes with a dot that runs to the left or to the right. Which way is asked; one screen does not tell.
struct running_dot {
    using observation_type = std::uint8_t;
    int row = 0, column = 0, direction = 1, steps = 0;

    static std::size_t observation_size() { return 64; }
    static gmac::discrete action_space() { return {2}; } // 0: to the left, 1: to the right
    static gmac::observation_history history() { return {.frames = 2, .padding = gmac::history_padding::first}; }

    void reset(gmac::random_stream& random, std::span<std::uint8_t> screen) {
        row = static_cast<int>(random.uniform<float>() * 8.0f);
        column = static_cast<int>(random.uniform<float>() * 8.0f);
        direction = random.uniform<float>() < 0.5f ? -1 : 1;
        steps = 0;
        draw(screen);
    }
    gmac::transition step(int action, gmac::random_stream&, std::span<std::uint8_t> screen) {
        bool const right = (action == 1) == (direction == 1);
        column = (column + direction + 8) % 8;
        draw(screen);
        return {.reward = right ? 1.0 : 0.0, .terminated = ++steps == 8};
    }
    void draw(std::span<std::uint8_t> screen) const {
        std::ranges::fill(screen, std::uint8_t(0));
        screen[static_cast<std::size_t>(8 * row + column)] = 255;
    }
};

int main() {
    gmac::vector_environment<running_dot> worlds(16, /*seed*/ 1);
    gmac::agent_options const options{.steps = 32, .minibatch = 128, .epochs = 4, .learning_rate = 2e-3};

    // The two latest screens, 8 x 8 numbers each, one after the other; then a convolution of 8 filters, 3 x 3.
    using trunk = gmac::nn::image_trunk<gmac::backends::simd<float>>;
    trunk const network({.input = {8, 8, 2}, .convolutions = {{8, 3, 1}}, .hidden = {64}});
    gmac::agents::ppo<gmac::actors::categorical, gmac::backends::simd<float>, trunk> agent(worlds, network, options,
                                                                                           {.seed = 1});
    double last = 0.0;
    agent.train({.frames = 40'960, .on_update = [&](gmac::update_report const& report) { last = report.mean_return; }});
    fmt::print("right answers in 8 steps, of which the first is a guess: {:.1f}\n", last);
}
