// SPDX-License-Identifier: Apache-2.0
// An actor that reads the trunk's features and keeps its noise for some steps.
#include <gmac/actors/categorical.hpp>
#include <gmac/actors/state_dependent_exploration.hpp>
#include <gmac/agents.hpp>
#include <gmac/environment/vector_environment.hpp>

#include "agent/threads_and_resume.hpp"
#include "agent/worlds.hpp"
#include "support/catch.hpp"
#include "support/masked_ring.hpp"
#include "support/matrices.hpp"

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace {

using gmac::actors::state_dependent_exploration;
using gmac::testing::masked_ring;
using gmac::testing::table;
using exploring_agent = gmac::agents::gmac<state_dependent_exploration>;

/// Shows the same all the time.
struct still {
    static std::size_t observation_size() { return 2; }
    static gmac::box action_space() { return gmac::box::uniform(2, -1.0f, 1.0f); }
    static void reset(gmac::random_stream&, std::span<float> observation) {
        observation[0] = 0.7f;
        observation[1] = -0.3f;
    }
    static gmac::transition step(std::span<float const>, gmac::random_stream& random, std::span<float> observation) {
        reset(random, observation);
        return {1.0, false, false};
    }
};

/// A discrete policy that is shown the features and does not look at them.
struct shown_features {
    using in = gmac::matrix_view<float const>;
    using numbers = gmac::vector_view<float const>;
    gmac::actors::categorical inner{};

    static bool reads_features() { return true; }
    [[nodiscard]] std::size_t output_size(gmac::action_space const& space) const { return inner.output_size(space); }
    [[nodiscard]] std::size_t free_parameter_count(gmac::action_space const& space, std::size_t) const {
        return inner.free_parameter_count(space);
    }
    static void initialize(std::span<float>, std::size_t) {}
    void sample(in x, std::span<float const> free, std::span<gmac::random_stream> streams,
                gmac::matrix_view<float> actions) const {
        inner.sample(logits(x), free, streams, actions);
    }
    void mode(in x, std::span<float const> free, gmac::matrix_view<float> actions) const {
        inner.mode(logits(x), free, actions);
    }
    void log_probability_and_entropy(in x, std::span<float const> free, in actions, gmac::vector_view<float> log,
                                     gmac::vector_view<float> entropies) const {
        inner.log_probability_and_entropy(logits(x), free, actions, log, entropies);
    }
    void gradient(in x, std::span<float const> free, in actions, numbers c, numbers d, gmac::matrix_view<float> to,
                  std::span<float> of_free) const {
        inner.gradient(logits(x), free, actions, c, d, to.middle_cols(0, masked_ring::actions), of_free);
        for (std::size_t i = 0; i < to.rows(); ++i)
            for (std::size_t f = masked_ring::actions; f < to.cols(); ++f)
                to(i, f) = 0.0f;
    }
    static in logits(in x) { return x.middle_cols(0, masked_ring::actions); }
};
static_assert(gmac::actor<shown_features, float>);

} // namespace

TEST_CASE("Who is shown features and does not look at them learns as if there were none, masks included", "[agent]") {
    gmac::vector_environment<masked_ring> worlds(4, 6), same(4, 6);
    gmac::agents::gmac<gmac::actors::categorical> plain(worlds, gmac::testing::small_options(), {.seed = 7});
    gmac::agents::gmac<shown_features> shown(same, gmac::testing::small_options(), {.seed = 7});
    CHECK(shown.networks().actor_outputs() == masked_ring::actions + shown.networks().trunk().outputs());
    for (int i = 0; i < 3; ++i)
        CHECK(plain.update().policy_loss == shown.update().policy_loss);
    CHECK(gmac::testing::parameters_of(plain) == gmac::testing::parameters_of(shown));
}

TEST_CASE("A whole network's gradient goes through the features that the actor reads", "[agent]") {
    using backend = gmac::backends::simd<double>;
    state_dependent_exploration const actor{.floor = 0.2, .learn_features = true};
    gmac::nn::mlp<backend> trunk(std::vector<std::size_t>{3, 6, 4}, {.activate_last = true});
    gmac::actor_shape const shape(actor, gmac::box::uniform(2, -1.0f, 1.0f), 4);
    gmac::policy_network<backend, gmac::nn::mlp<backend>> const network(trunk, shape);
    std::size_t const rows = 7, count = network.parameter_count();
    REQUIRE(count == (3 + 1) * 6 + (6 + 1) * 4 + (4 + 1) * 2 + 2 * 4);
    REQUIRE(network.outputs() == 2 + 4);

    gmac::random_stream random(1);
    std::vector<double> parameters(count), c(rows), d(rows);
    table<double> states(rows, 3), actions(rows, 2);
    for (std::vector<double>* numbers : {&parameters, &c, &d, &states.data, &actions.data})
        for (double& x : *numbers)
            x = 0.7 * random.normal<double>();

    auto work = network.make_workspace(rows);
    auto const value = [&] {
        std::vector<double> log_probabilities(rows), entropies(rows);
        auto const outputs = network.forward(parameters, states.view(), work);
        actor.log_probability_and_entropy(outputs, network.free(std::span<double const>(parameters)), actions.view(),
                                          log_probabilities, entropies);
        double sum = 0.0;
        for (std::size_t i = 0; i < rows; ++i)
            sum += c[i] * log_probabilities[i] + d[i] * entropies[i];
        return sum;
    };
    std::vector<double> gradient(count), output_gradient(rows * network.outputs()), features(rows * 4);
    static_cast<void>(value());
    gmac::matrix_view<double> const of_outputs(output_gradient.data(), rows, network.outputs());
    gmac::matrix_view<double> const of_features(features.data(), rows, 4);
    actor.gradient(network.forward(parameters, states.view(), work), network.free(std::span<double const>(parameters)),
                   actions.view(), c, d, of_outputs, network.free(std::span<double>(gradient)));
    network.layer_backward(parameters, work, of_outputs, gradient, of_features);
    network.trunk_backward(parameters, states.view(), work, of_features, gradient);

    for (std::size_t k = 0; k < count; ++k) {
        double const was = parameters[k], step = 1e-5;
        parameters[k] = was + step;
        double const above = value();
        parameters[k] = was - step;
        double const below = value();
        parameters[k] = was;
        INFO(k);
        CHECK(std::abs(gradient[k] - (above - below) / (2.0 * step)) < 1e-7 * (1.0 + std::abs(gradient[k])));
    }
}

TEST_CASE("An agent's noise stays the same function of the state for some steps", "[agent]") {
    for (std::size_t const every : {std::size_t{1}, std::size_t{5}, std::size_t{0}}) {
        gmac::vector_environment<still> worlds(3, 1);
        exploring_agent agent(worlds, gmac::testing::small_options(), {.actor = {.noise_steps = every}, .seed = 2});
        for (int update = 0; update < 2; ++update) {
            static_cast<void>(agent.update());
            auto const& rollout = agent.experience();
            auto const actions = rollout.actions();
            std::size_t const size = rollout.environments();
            for (std::size_t row = size; row < actions.rows(); ++row) {
                std::size_t const t = row / size;
                bool const anew = every > 0 && t % every == 0;
                for (std::size_t j = 0; j < 2; ++j)
                    CHECK((actions(row, j) != actions(row - size, j)) == anew);
                CHECK((rollout.log_probabilities()[row] != rollout.log_probabilities()[row - size]) == anew);
            }
            CHECK(actions(0, 0) != actions(1, 0)); // each environment has noise of its own
        }
    }
}

TEST_CASE("State-dependent exploration is the same on several threads and after a stop", "[agent]") {
    gmac::testing::check_threads_and_resume<exploring_agent, gmac::testing::continuous_line>({.noise_steps = 3});
    gmac::testing::check_threads_and_resume<exploring_agent, gmac::testing::continuous_line>(
        {.noise_steps = 0, .learn_features = true});
}

TEST_CASE("An agent with state-dependent exploration learns to go to the target", "[agent]") {
    gmac::vector_environment<gmac::testing::continuous_line> worlds(8, 4);
    auto options = gmac::testing::small_options();
    options.steps = 64;
    options.minibatch = 64;
    options.epochs = 4;
    options.learning_rate = 3e-3;
    exploring_agent agent(worlds, options, {.seed = 5});
    double const before = agent.update().mean_return;
    gmac::update_report last;
    for (int i = 0; i < 60; ++i)
        last = agent.update();
    CHECK(before < -8.0);
    CHECK(last.mean_return > -4.0);
    CHECK(last.approximate_kl > 0.0);
}
