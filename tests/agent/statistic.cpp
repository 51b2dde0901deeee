// SPDX-License-Identifier: Apache-2.0
// An agent whose advantages are of another statistic of the value distribution than its mean.
#include <gmac/actors/categorical.hpp>
#include <gmac/agents.hpp>
#include <gmac/core/tbb_executor.hpp>
#include <gmac/deploy/policy.hpp>
#include <gmac/environment/conditioned.hpp>
#include <gmac/environment/vector_environment.hpp>
#include <gmac/statistics.hpp>

#include "agent/worlds.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"

#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace {

using gmac::testing::parameters_of;
using gmac::testing::small_options;
namespace statistics = gmac::statistics;

/// First a choice, then its outcome: 0 leads to a bet that gives 4 or −2 with equal chances, 1 to a half for sure.
struct bet_or_not {
    int place = 0; ///< where one chooses, the bet, the half

    static std::size_t observation_size() { return 3; }
    static gmac::discrete action_space() { return {2}; }
    void reset(gmac::random_stream&, std::span<float> observation) {
        place = 0;
        write(observation);
    }
    gmac::transition step(int action, gmac::random_stream& random, std::span<float> observation) {
        if (place == 0) {
            place = 1 + action;
            write(observation);
            return {};
        }
        double const reward = place == 2 ? 0.5 : random.below(2) == 0 ? 4.0 : -2.0;
        write(observation);
        return {.reward = reward, .terminated = true};
    }

private:
    void write(std::span<float> observation) const {
        for (std::size_t i = 0; i < 3; ++i)
            observation[i] = static_cast<int>(i) == place ? 1.0f : 0.0f;
    }
};

/// What the agent chooses after it has learned.
template <class Agent>
int choice(gmac::statistic const& of, double lambda) {
    auto options = small_options();
    options.steps = 32;
    options.minibatch = 128;
    options.epochs = 6;
    options.lambda = lambda;
    options.learning_rate = 3e-3;
    options.entropy_coefficient = 0.1; // so that both are tried until their distributions are learned
    options.particles = 64;
    gmac::vector_environment<bet_or_not> worlds(16, 5);
    Agent agent(worlds, options, {.seed = 2});
    agent.value_by(of);
    agent.train({.frames = 20'000});
    std::array<float, 3> const start{1.0f, 0.0f, 0.0f};
    std::array<float, 1> action{};
    agent.policy(1).act(start, action);
    return static_cast<int>(action[0]);
}

} // namespace

TEST_CASE("the mean bets and the mean of the worst quarter does not") {
    using mixture = gmac::agents::gmac<gmac::actors::categorical>;
    CHECK(choice<mixture>(statistics::mean(), 0.0) == 0);
    CHECK(choice<mixture>(statistics::cvar(0.25), 0.0) == 1);
    CHECK(choice<mixture>(statistics::upper_cvar(0.25), 0.0) == 0);
    CHECK(choice<mixture>(statistics::wang(-1.0), 0.0) == 1);
    CHECK(choice<mixture>(statistics::mean_minus_deviations(1.0), 0.0) == 1);
    using points = gmac::agents::dirac_energy<gmac::actors::categorical>;
    CHECK(choice<points>(statistics::mean(), 0.0) == 0);
    CHECK(choice<points>(statistics::cvar(0.25), 0.0) == 1);
    // With λ = 1 a statistic is a baseline and chooses nothing: docs/mathematics.md.
    CHECK(choice<mixture>(statistics::cvar(0.25), 1.0) == 0);
}

TEST_CASE("values by the mean leave every bit where it was; by others, threads and memory too") {
    using agent_type = gmac::agents::gmac<gmac::actors::categorical>;
    gmac::tbb_executor three(3);
    auto const run = [&](auto const& prepare, gmac::executor* tasks) {
        gmac::vector_environment<gmac::testing::line> worlds(5, 3, tasks);
        agent_type agent(worlds, small_options(), {.seed = 11, .tasks = tasks});
        prepare(agent);
        for (int i = 0; i < 3; ++i)
            static_cast<void>(agent.update());
        if (tasks == nullptr)
            CHECK(gmac::testing::allocations_during([&] { static_cast<void>(agent.update()); }) == 0);
        else
            static_cast<void>(agent.update());
        return parameters_of(agent);
    };
    auto const plain = run([](auto&) {}, nullptr);
    CHECK(run([](auto& agent) { agent.value_by(statistics::mean()); }, nullptr) == plain);
    auto const cautious = [](auto& agent) { agent.value_by(statistics::cvar(0.1)); };
    auto const alone = run(cautious, nullptr);
    CHECK(alone != plain);
    CHECK(run(cautious, &three) == alone);
    // A function of the caller's: the first component's mean.
    std::atomic<std::size_t> states = 0;
    auto const own = run(
        [&](auto& agent) {
            agent.value_by([&](auto const& head, auto const& outputs, auto const& values) {
                states += values.size();
                for (std::size_t i = 0; i < values.size(); ++i)
                    values[i] = outputs(i, head.components);
            });
        },
        nullptr);
    CHECK(own != plain);
    CHECK(states >= 4 * (16 + 1) * 5);
}

TEST_CASE("one policy bets if it is told to seek risk, and does not if it is told to avoid it") {
    auto options = small_options();
    options.steps = 32;
    options.minibatch = 128;
    options.epochs = 6;
    options.lambda = 0.0;
    options.learning_rate = 3e-3;
    options.entropy_coefficient = 0.1;
    options.particles = 64;
    gmac::statistic_range const shifts{gmac::statistic_kind::wang, -1.5, 1.5};
    gmac::vector_environment<bet_or_not> worlds(16, 5);
    gmac::conditioned_environments told(worlds, 7);
    gmac::agents::gmac<gmac::actors::categorical> agent(told, options, {.seed = 2});
    agent.value_by(shifts);
    CHECK(agent.value_range() == shifts);
    agent.train({.frames = 40'000});
    auto const policy = gmac::deploy(agent);
    auto memory = policy.make_memory();
    auto agents_own = agent.policy();
    std::array<float, 3> const start{1.0f, 0.0f, 0.0f};
    auto const choice = [&](double shift) {
        std::array<float, 1> action{}, same{};
        CHECK(gmac::testing::allocations_during([&] { policy.act(start, shift, action, memory); }) == 0);
        agents_own.act(std::array{1.0f, 0.0f, 0.0f, static_cast<float>(shifts.number_of(shift))}, same);
        CHECK(action == same);
        return static_cast<int>(action[0]);
    };
    // The bet is worth -2 Phi(-shift) + 4 Phi(shift), which is 1/2 at -0.21.
    CHECK(choice(1.5) == 0);
    CHECK(choice(0.5) == 0);
    CHECK(choice(-1.0) == 1);
    CHECK(choice(-1.5) == 1);
    agent.value_by(statistics::cvar(0.5));
    CHECK_FALSE(agent.value_range());
}

TEST_CASE("an agent is not told of a statistic or a range that is none, nor of a number that is none of it") {
    using gmac::testing::message_of;
    gmac::vector_environment<bet_or_not> worlds(4, 5);
    gmac::agents::gmac<gmac::actors::categorical> agent(worlds, small_options());
    CHECK(message_of([&] {
              agent.value_by(gmac::statistic_range{gmac::statistic_kind::cvar, 0.5, 0.25});
          }).find("must rise") != std::string::npos);
    CHECK(message_of([&] { agent.value_by(statistics::cvar(2.0)); }) ==
          "statistic: the probability of cvar is 2, but must be in (0, 1]");
    gmac::conditioned_environments wide(worlds, 7, 2.0f, 3.0f);
    gmac::agents::gmac<gmac::actors::categorical> other(wide, small_options());
    other.value_by(gmac::statistic_range{gmac::statistic_kind::cvar, 0.25, 1.0});
    CHECK(message_of([&] { static_cast<void>(other.update()); }).find("but must be in [-1, 1]") != std::string::npos);
}
