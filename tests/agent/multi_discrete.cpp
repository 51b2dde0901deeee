// SPDX-License-Identifier: Apache-2.0
// Agents that do several discrete actions at once.
#include <gmac/actors/multi_categorical.hpp>
#include <gmac/agents.hpp>
#include <gmac/environment/decorator.hpp>
#include <gmac/environment/vector_environment.hpp>

#include "agent/threads_and_resume.hpp"
#include "agent/worlds.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/dials.hpp"
#include "support/says.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

using gmac::testing::check_threads_and_resume;
using gmac::testing::dials;
using gmac::testing::masked_dials;
using gmac::testing::parameters_of;
using gmac::testing::says;
using gmac::testing::small_options;
using agent_type = gmac::agents::gmac<gmac::actors::multi_categorical>;
using plain_agent = gmac::agents::ppo<gmac::actors::multi_categorical>;

gmac::actors::multi_categorical const actor{dials::action_space()};

gmac::agent_options learning_options() {
    auto options = small_options();
    options.steps = 32;
    options.minibatch = 128;
    options.epochs = 6;
    options.learning_rate = 3e-3;
    options.entropy_coefficient = 0.001;
    options.hidden = {32, 32};
    return options;
}

/// Counts the components that the rule of the environments forbids.
class counted final : public gmac::environment_batch_decorator {
public:
    using basic_environment_batch_decorator::basic_environment_batch_decorator;
    std::size_t allowed = 0, forbidden = 0;

    void step(gmac::matrix_view<float const> actions, gmac::step_result const& result) override {
        std::vector<float> seen(size() * observation_size());
        worlds().observe({seen.data(), size(), observation_size()});
        for (std::size_t e = 0; e < size(); ++e)
            for (std::size_t k = 0, first = 0; k < 3; first += dials::counts[k], ++k) {
                std::size_t const value = first + static_cast<std::size_t>(actions(e, k));
                bool const may = masked_dials::allows(std::span(seen).subspan(e * observation_size()), value);
                ++(may ? allowed : forbidden);
            }
        basic_environment_batch_decorator::step(actions, result);
    }
};

double mean_return(std::vector<gmac::finished_episode> const& episodes) {
    double sum = 0.0;
    for (auto const& one : episodes)
        sum += one.reward_sum / static_cast<double>(episodes.size());
    return sum;
}

/// What the actor's layer has for one output.
std::vector<float> of_output(agent_type const& agent, std::size_t output) {
    std::vector<float> values;
    agent.networks().describe([&](std::string const& name, std::size_t offset, std::size_t rows, std::size_t cols) {
        for (std::size_t i = 0; i < rows && (name == "actor.weight" || name == "actor.bias"); ++i)
            values.push_back(agent.parameters()[offset + i * cols + output]);
    });
    return values;
}

} // namespace

TEST_CASE("an agent learns to set three dials at once") {
    gmac::vector_environment<dials> worlds(16, 3), fresh(50, 77), others(50, 77);
    agent_type agent(worlds, learning_options(), {.actor = {dials::action_space()}, .seed = 1});
    auto policy = agent.policy(50);
    double const before = mean_return(gmac::evaluate(policy, fresh));
    agent.train({.frames = 16 * 32 * 60});
    double const after = mean_return(gmac::evaluate(policy, others));
    CHECK(before < 0.7 * dials::best_return);
    CHECK(after > 0.98 * dials::best_return);
}

TEST_CASE("chance is what an agent begins with: log probabilities and entropies of all components together") {
    gmac::vector_environment<dials> worlds(5, 3);
    auto options = small_options();
    options.actor_gain = 0.0; // equal logits
    options.epochs = 1;
    options.minibatch = options.steps * 5;
    agent_type agent(worlds, options, {.actor = actor, .seed = 1});
    auto const report = agent.update();
    double const entropy = std::log(3.0) + std::log(4.0) + std::log(2.0);
    CHECK(report.entropy == Approx(entropy).epsilon(1e-6));
    auto const& rollout = agent.experience();
    REQUIRE(rollout.actions().cols() == 3);
    std::array<std::size_t, 9> seen{};
    for (std::size_t row = 0; row < rollout.rows(); ++row) {
        CHECK(rollout.log_probabilities()[row] == Approx(-entropy).epsilon(1e-6));
        for (std::size_t k = 0, first = 0; k < 3; first += dials::counts[k], ++k)
            ++seen[first + static_cast<std::size_t>(rollout.actions()(row, k))];
    }
    for (std::size_t const often : seen)
        CHECK(often > 0);
}

TEST_CASE("a forbidden value of a component is never drawn, and the agent learns by the others") {
    gmac::vector_environment<masked_dials> inner(16, 3), others(50, 77);
    counted worlds(inner), played(others);
    agent_type agent(worlds, learning_options(), {.actor = actor, .seed = 1});
    agent.train({.frames = 16 * 32 * 40});
    CHECK(worlds.forbidden == 0);
    CHECK(worlds.allowed == 16 * 32 * 40 * 3);
    auto policy = agent.policy(50);
    // Of the first dial two of three values may be set, of the second two of four, of the third one of two or, in each third
    // step, both: so often the wanted one may.
    double const best = 6.0 * (2.0 / 3.0 + 1.0 / 2.0 + 2.0 / 3.0) / 3.0;
    double const found = mean_return(gmac::evaluate(policy, played));
    CHECK(found > 0.9 * best);
    CHECK(played.forbidden == 0);
    CHECK(played.allowed == 6 * 50 * 3);
}

TEST_CASE("of a value that is always forbidden nothing is learned, and of the others something is") {
    auto options = small_options();
    options.entropy_coefficient = 0.1;
    gmac::vector_environment<masked_dials> worlds(5, 3);
    agent_type agent(worlds, options, {.actor = actor, .seed = 1});
    std::array<std::vector<float>, dials::values> before;
    for (std::size_t value = 0; value < dials::values; ++value)
        before[value] = of_output(agent, value);
    for (int i = 0; i < 5; ++i)
        static_cast<void>(agent.update());
    for (std::size_t value = 0; value < dials::values; ++value)
        CHECK((of_output(agent, value) == before[value]) == (value == 6));
}

TEST_CASE("an agent with several actions is the same for any number of threads, and across stop and resume") {
    check_threads_and_resume<agent_type, dials>(actor);
    check_threads_and_resume<agent_type, masked_dials>(actor);
}

TEST_CASE("several actions need no memory of their own in an update") {
    gmac::vector_environment<masked_dials> worlds(5, 3);
    plain_agent plain(worlds, small_options(), {.actor = actor, .seed = 11});
    static_cast<void>(plain.update());
    CHECK(gmac::testing::allocations_during([&] { static_cast<void>(plain.update()); }) == 0);
}

TEST_CASE("what does not fit several actions is refused") {
    gmac::vector_environment<dials> worlds(2, 1);
    CHECK_THROWS_WITH(agent_type(worlds, small_options()),
                      says("multi_categorical: it must be made for the 3 components of the action space"));
    gmac::vector_environment<gmac::testing::line> lines(2, 1);
    CHECK_THROWS_WITH(agent_type(lines, small_options(), {.actor = actor}),
                      says("multi_categorical: the action space is discrete, but must be multi-discrete"));

    agent_type agent(worlds, small_options(), {.actor = actor});
    auto policy = agent.policy(1);
    std::vector<float> const observation(10);
    std::array<float, 3> action{};
    std::array<std::uint8_t, 9> mask{1, 1, 1, 0, 0, 1, 0, 1, 0};
    policy.act(observation, action, mask);
    CHECK(action[1] == 2.0f);
    CHECK(action[2] == 0.0f);
    mask[7] = 0;
    CHECK_THROWS_WITH(
        policy.act(observation, action, mask),
        says("policy: the action mask of row 0 forbids all of the 2 values of component 2, but must allow at "
             "least one"));
    CHECK_THROWS_WITH(policy.act(observation, action, std::span(mask).first(8)),
                      says("policy: the matrix of action masks is 1 x 8, but must be 1 x 9"));
}
