#include <gmac/gmac.hpp>

#include <fmt/core.h>

// A policy for two actions with one output a state, x: action 1 has the probability 1 / (1 + exp(-x)).
struct coin {
    using in = gmac::matrix_view<float const>;      // [n, 1]
    using numbers = gmac::vector_view<float const>; // [n]
    using free = std::span<float const>;

    static std::size_t output_size(gmac::action_space const& space) {
        auto const* const actions = std::get_if<gmac::discrete>(&space);
        gmac::require(actions != nullptr && actions->count == 2, "coin: the action space must have two actions");
        return 1;
    }
    // Parameters that do not depend on the state, such as a deviation: there are none.
    static std::size_t free_parameter_count(gmac::action_space const&) { return 0; }
    static void initialize(std::span<float>) {}

    static void sample(in x, free, std::span<gmac::random_stream> random, gmac::matrix_view<float> actions) {
        for (std::size_t i = 0; i < x.rows(); ++i)
            actions(i, 0) = random[i].uniform<float>() < probability(x(i, 0)) ? 1.0f : 0.0f;
    }
    static void mode(in x, free, gmac::matrix_view<float> actions) {
        for (std::size_t i = 0; i < x.rows(); ++i)
            actions(i, 0) = x(i, 0) > 0.0f ? 1.0f : 0.0f;
    }
    static void log_probability_and_entropy(in x, free, in actions, gmac::vector_view<float> log_probabilities,
                                            gmac::vector_view<float> entropies) {
        for (std::size_t i = 0; i < x.rows(); ++i) {
            float const log_of_1 = -softplus(-x(i, 0)), log_of_0 = -softplus(x(i, 0));
            log_probabilities[i] = actions(i, 0) == 1.0f ? log_of_1 : log_of_0;
            float const p = probability(x(i, 0));
            entropies[i] = -p * log_of_1 - (1.0f - p) * log_of_0;
        }
    }
    // The gradient of the sum of c log(probability of the action) + d entropy.
    static void gradient(in x, free, in actions, numbers c, numbers d, gmac::matrix_view<float> to, std::span<float>) {
        for (std::size_t i = 0; i < x.rows(); ++i) {
            float const p = probability(x(i, 0));
            to(i, 0) = c[i] * (actions(i, 0) - p) - d[i] * x(i, 0) * p * (1.0f - p);
        }
    }

    static float probability(float x) { return 1.0f / (1.0f + std::exp(-x)); }
    static float softplus(float x) { return std::max(x, 0.0f) + std::log1p(std::exp(-std::abs(x))); }
};
static_assert(gmac::actor<coin, float>);

// A corridor of six fields; one step in ten goes the wrong way. Its end is 6.1 steps away, on average, for who goes there.
struct corridor {
    int place = 0, steps = 0;

    static std::size_t observation_size() { return 1; }
    static gmac::discrete action_space() { return {2}; }

    void reset(gmac::random_stream&, std::span<float> observation) {
        place = steps = 0;
        observation[0] = 0.0f;
    }
    gmac::transition step(int action, gmac::random_stream& random, std::span<float> observation) {
        bool const slips = random.uniform<float>() < 0.1f;
        place = std::max(0, place + ((action == 1) != slips ? 1 : -1));
        observation[0] = static_cast<float>(place) / 5.0f;
        return {.reward = -1.0, .terminated = place == 5, .truncated = ++steps == 50};
    }
};

int main() {
    gmac::vector_environment<corridor> worlds(8, /*seed*/ 1);
    gmac::agent_options options{.steps = 64, .minibatch = 128, .epochs = 4, .learning_rate = 1e-3};
    options.hidden = {32};
    gmac::agents::gmac<coin> agent(worlds, options, {.seed = 1});
    agent.train({.frames = 40'960, .on_update = [](gmac::update_report const& report) {
                     if (report.update % 20 == 0)
                         fmt::print("{}\n", report);
                 }});
}
