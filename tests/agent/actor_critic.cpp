// SPDX-License-Identifier: Apache-2.0
#include <gmac/actors/categorical.hpp>
#include <gmac/actors/diagonal_gaussian.hpp>
#include <gmac/agents.hpp>
#include <gmac/core/tbb_executor.hpp>
#include <gmac/environment/normalized.hpp>
#include <gmac/environment/vector_environment.hpp>

#include "agent/worlds.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"
#include "support/says.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace {

using gmac::testing::parameters_of;
using gmac::testing::small_options;
using discrete_agent = gmac::agents::gmac<gmac::actors::categorical>;
using continuous_agent = gmac::agents::gmac<gmac::actors::diagonal_gaussian>;
using plain_agent = gmac::agents::ppo<gmac::actors::categorical>;

/// Everything that a run computes: parameters after some updates, and what the reports said.
template <class Agent, class World>
std::vector<float> run(std::size_t updates, gmac::executor* tasks, gmac::agent_options options = small_options()) {
    gmac::vector_environment<World> worlds(5, 3, tasks);
    gmac::normalized_environments normalized(worlds);
    Agent agent(normalized, options, {.seed = 11, .tasks = tasks});
    std::vector<float> result;
    for (std::size_t i = 0; i < updates; ++i) {
        auto const report = agent.update();
        result.push_back(static_cast<float>(report.value_loss));
        result.push_back(static_cast<float>(report.mean_return));
    }
    for (float const parameter : parameters_of(agent))
        result.push_back(parameter);
    return result;
}

template <class Agent, class World>
void check_threads() {
    gmac::tbb_executor two(2), three(3);
    auto const alone = run<Agent, World>(4, nullptr);
    CHECK(alone == run<Agent, World>(4, &two));
    CHECK(alone == run<Agent, World>(4, &three));
}

template <class Agent, class World>
void check_resume() {
    gmac::vector_environment<World> worlds(5, 3), others(5, 99);
    gmac::normalized_environments normalized(worlds), other_normalized(others);
    Agent agent(normalized, small_options(), {.seed = 11});
    for (int i = 0; i < 3; ++i)
        static_cast<void>(agent.update());
    gmac::testing::memory_archive file;
    agent.persist(file);
    file.rewind();
    // Another seed in everything that the file must overwrite.
    Agent resumed(other_normalized, small_options(), {.seed = 12});
    static_cast<void>(resumed.update());
    resumed.persist(file);
    CHECK(parameters_of(agent) == parameters_of(resumed));
    for (int i = 0; i < 3; ++i) {
        auto const a = agent.update();
        auto const b = resumed.update();
        CHECK(a.value_loss == b.value_loss);
        CHECK(a.mean_return == b.mean_return);
        CHECK(a.frames == b.frames);
    }
    CHECK(parameters_of(agent) == parameters_of(resumed));
}

} // namespace

TEST_CASE("a run is the same for any number of threads") {
    check_threads<discrete_agent, gmac::testing::line>();
    check_threads<continuous_agent, gmac::testing::continuous_line>();
    check_threads<plain_agent, gmac::testing::line>();
}

TEST_CASE("a resumed run is the run that was never stopped") {
    check_resume<discrete_agent, gmac::testing::line>();
    check_resume<continuous_agent, gmac::testing::continuous_line>();
    check_resume<plain_agent, gmac::testing::line>();
}

TEST_CASE("nothing is allocated after the first update") {
    gmac::vector_environment<gmac::testing::continuous_line> worlds(5, 3);
    gmac::normalized_environments normalized(worlds);
    continuous_agent agent(normalized, small_options(), {.seed = 11});
    static_cast<void>(agent.update());
    CHECK(gmac::testing::allocations_during([&] { static_cast<void>(agent.update()); }) == 0);
}

TEST_CASE("nothing is allocated with the paper's network either") {
    gmac::vector_environment<gmac::testing::line> worlds(4, 3);
    gmac::agent_options options;
    options.steps = 64;
    options.minibatch = 256;
    options.epochs = 1;
    discrete_agent agent(worlds, options, {.seed = 11});
    static_cast<void>(agent.update());
    CHECK(gmac::testing::allocations_during([&] { static_cast<void>(agent.update()); }) == 0);
}

TEST_CASE("the agent learns to walk to the middle of a line") {
    for (bool const shared : {true, false}) {
        auto options = small_options();
        options.epochs = 8;
        options.minibatch = 64;
        options.shared_trunk = shared;
        gmac::vector_environment<gmac::testing::line> worlds(8, 3);
        discrete_agent agent(worlds, options, {.seed = 1});
        double first = 0.0, last = 0.0;
        agent.train({.frames = 128, .on_update = [&](auto const& report) { first = report.mean_return; }});
        agent.train({.frames = 40'000, .on_update = [&](auto const& report) { last = report.mean_return; }});
        CHECK(agent.frames() >= 40'000);
        // Walking straight costs about 3; standing still 12 times the distance, 12 on average.
        CHECK(first < -6.0);
        CHECK(last > -4.5);
        auto policy = agent.policy(20);
        gmac::vector_environment<gmac::testing::line> fresh(20, 77);
        double mean = 0.0;
        std::size_t next = 0;
        for (gmac::finished_episode const& episode : gmac::evaluate(policy, fresh)) {
            CHECK(episode.environment == next++);
            CHECK(episode.length > 0);
            mean += episode.reward_sum / 20.0;
        }
        CHECK(mean > -4.5);
    }
}

TEST_CASE("a reward that is not a number stops the run and is named") {
    gmac::vector_environment<gmac::testing::broken_line> worlds(2, 1);
    discrete_agent agent(worlds, small_options(), {.seed = 1});
    auto const before = parameters_of(agent);
    try {
        static_cast<void>(agent.update());
        FAIL("no error");
    } catch (gmac::error const& problem) {
        std::string const text = problem.what();
        CHECK(text.find("reward") != std::string::npos);
        CHECK(text.find("environment 0") != std::string::npos);
        CHECK(text.find("step 7") != std::string::npos);
        CHECK(text.find("nan") != std::string::npos);
    }
    CHECK(parameters_of(agent) == before);
}

TEST_CASE("after a failed step the next update refuses, and after a reset it begins there") {
    gmac::vector_environment<gmac::testing::broken_line> worlds(2, 1);
    discrete_agent agent(worlds, small_options(), {.seed = 1});
    CHECK_THROWS_WITH(agent.update(), gmac::testing::says("step 7"));
    CHECK_THROWS_WITH(agent.update(), gmac::testing::says("reset has to be called first, since the last step failed"));
    auto options = small_options();
    options.steps = 6; // up to the break
    discrete_agent careful(worlds, options, {.seed = 1});
    static_cast<void>(careful.update());
    CHECK_THROWS_WITH(careful.update(), gmac::testing::says("step 7"));
    std::vector<float> observations(4);
    worlds.reset({observations.data(), 2, 2});
    static_cast<void>(careful.update());
    CHECK(careful.updates() == 2);
}

TEST_CASE("options outside their range are refused by name") {
    auto const message = [](auto change) {
        auto options = small_options();
        change(options);
        gmac::vector_environment<gmac::testing::line> worlds(2, 1);
        try {
            discrete_agent const agent(worlds, options);
        } catch (gmac::error const& problem) {
            return std::string(problem.what());
        }
        return std::string("no error");
    };
    CHECK(message([](auto& o) { o.lambda = 1.2; }) == "agent_options: lambda is 1.2, but must be in [0, 1]");
    CHECK(message([](auto& o) { o.discount = -0.1; }) == "agent_options: discount is -0.1, but must be in [0, 1]");
    CHECK(message([](auto& o) { o.discount = std::nan(""); }) ==
          "agent_options: discount is nan, but must be in [0, 1]");
    CHECK(message([](auto& o) { o.steps = 0; }) == "agent_options: steps is 0, but must be at least 1");
    CHECK(message([](auto& o) { o.minibatch = 0; }) == "agent_options: minibatch is 0, but must be at least 1");
    CHECK(message([](auto& o) { o.learning_rate = 0.0; }) ==
          "agent_options: learning_rate is 0, but must be finite and positive");
    CHECK(message([](auto& o) {
              o.hidden = {16, 0};
          }) == "agent_options: a width in hidden is 0, but must be in [1, 16777216]");
    CHECK(message([](auto& o) {
              o.hidden = {4294967296, 4294967296};
          }) == "agent_options: a width in hidden is 4294967296, but must be in [1, 16777216]");
    CHECK(message([](auto& o) { o.particles = 0; }) == "agent_options: particles is 0, but must be in [1, 16777216]");
    CHECK(message([](auto& o) { o.particles = 9223372036854775808u; }) ==
          "agent_options: particles is 9223372036854775808, but must be in [1, 16777216]");
    // In two environments the product of the sizes is 2^64, which is 0.
    CHECK(message([](auto& o) { o.steps = 9223372036854775808u; }) ==
          "rollout: there would be 9223372036854775808 steps in 2 environments, but transitions are counted up to "
          "4294967295");
    CHECK(message([](auto& o) { o.hidden.clear(); }) ==
          "agent_options: hidden is empty, but must name the width of at least one layer");
    CHECK(message([](auto& o) { o.max_gradient_norm = -1.0; }) ==
          "agent_options: max_gradient_norm is -1, but must be positive (infinity: no clipping)");
}

TEST_CASE("the environments' rewards are scaled by returns of the agent's own discount") {
    auto const variance_of_returns = [](std::optional<double> of_agent, std::optional<double> told) {
        gmac::vector_environment<gmac::testing::line> worlds(3, 1);
        gmac::normalized_environments batch(worlds);
        std::vector<float> actions(3, 1.0f), rewards(3), observations(6), finals(6);
        std::vector<std::uint8_t> terminated(3), truncated(3);
        auto options = small_options();
        options.discount = of_agent.value_or(options.discount);
        if (of_agent)
            gmac::agents::ppo<gmac::actors::categorical> const agent(batch, options); // begins with a reset
        else
            batch.reset({observations.data(), 3, 2});
        if (told)
            batch.set_discount(*told);
        for (int i = 0; i < 8; ++i)
            batch.step({actions.data(), 3, 1}, {.observations = {observations.data(), 3, 2},
                                                .final_observations = {finals.data(), 3, 2},
                                                .rewards = rewards,
                                                .terminated = terminated,
                                                .truncated = truncated});
        return batch.return_statistics().variance(0);
    };
    CHECK(variance_of_returns(0.5, {}) == variance_of_returns({}, 0.5));
    CHECK(variance_of_returns(0.5, {}) != variance_of_returns({}, {}));
}
