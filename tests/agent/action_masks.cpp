// SPDX-License-Identifier: Apache-2.0
// An agent whose environments forbid actions: none of them is drawn, and nothing is learned of them.
#include <gmac/actors/categorical.hpp>
#include <gmac/agents.hpp>
#include <gmac/environment/decorator.hpp>
#include <gmac/environment/vector_environment.hpp>

#include "agent/threads_and_resume.hpp"
#include "agent/worlds.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/masked_ring.hpp"
#include "support/says.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace {

using gmac::testing::check_threads_and_resume;
using gmac::testing::masked_ring;
using gmac::testing::parameters_of;
using gmac::testing::says;
using gmac::testing::small_options;
using agent_type = gmac::agents::gmac<gmac::actors::categorical>;
using plain_agent = gmac::agents::ppo<gmac::actors::categorical>;

/// The ring, of whose three latest observations a state is made.
struct remembered_ring : masked_ring {
    static gmac::observation_history history() { return {.frames = 3, .padding = gmac::history_padding::zeros}; }
};

/// Counts what the agent does by the rule of the environments.
class counted final : public gmac::environment_batch_decorator {
public:
    using basic_environment_batch_decorator::basic_environment_batch_decorator;
    std::size_t allowed = 0, forbidden = 0;

    void step(gmac::matrix_view<float const> actions, gmac::step_result const& result) override {
        auto const masks = worlds().action_masks();
        for (std::size_t i = 0; i < size(); ++i)
            ++(masks(i, static_cast<std::size_t>(actions(i, 0))) != 0 ? allowed : forbidden);
        basic_environment_batch_decorator::step(actions, result);
    }
};

/// Shows masks of another shape from some step on.
class unsteady final : public gmac::environment_batch_decorator {
public:
    using basic_environment_batch_decorator::basic_environment_batch_decorator;
    gmac::matrix_view<std::uint8_t const> other{};
    int left = 20;

    [[nodiscard]] gmac::matrix_view<std::uint8_t const> action_masks() const noexcept override {
        return left > 0 ? worlds().action_masks() : other;
    }
    void step(gmac::matrix_view<float const> actions, gmac::step_result const& result) override {
        basic_environment_batch_decorator::step(actions, result);
        --left;
    }
};

/// One output for two actions.
struct coin : gmac::actors::categorical {
    [[nodiscard]] static std::size_t output_size(gmac::action_space const&) { return 1; }
};

/// log π of each allowed action of a state, −∞ of the others.
std::array<double, 4> log_softmax(gmac::vector_view<float const> logits, auto const& allowed) {
    std::array<double, 4> result{};
    double sum = 0.0;
    for (std::size_t j = 0; j < 4; ++j)
        sum += allowed(j) ? std::exp(static_cast<double>(logits[j])) : 0.0;
    for (std::size_t j = 0; j < 4; ++j)
        result[j] = allowed(j) ? static_cast<double>(logits[j]) - std::log(sum) : -HUGE_VAL;
    return result;
}

/// What the actor's layer has for one output: its column of the weights [features, outputs], and its bias.
std::vector<float> of_output(agent_type const& agent, std::size_t output) {
    std::vector<float> values;
    agent.networks().describe([&](std::string const& name, std::size_t offset, std::size_t rows, std::size_t cols) {
        for (std::size_t i = 0; i < rows && (name == "actor.weight" || name == "actor.bias"); ++i)
            values.push_back(agent.parameters()[offset + i * cols + output]);
    });
    return values;
}

/// A rollout and what is learned of it, by hand: the masks are those of the states that were acted on, log probabilities
/// and entropies those of the softmax of the allowed logits, and learning sees the same policy as acting.
template <class World>
void check_updates() {
    auto options = small_options();
    options.steps = 25;
    options.actor_gain = 3.0; // logits apart from each other
    options.epochs = 1;
    options.minibatch = options.steps * 5; // so that all is learned by the policy that acted
    gmac::vector_environment<World> worlds(5, 3);
    agent_type agent(worlds, options, {.seed = 1});
    auto const& rollout = agent.experience();
    auto const& network = agent.networks().policy();
    auto work = network.make_workspace(rollout.rows());
    std::vector<float> memory(rollout.assembled(rollout.rows()));
    for (int update = 0; update < 4; ++update) {
        auto const before = parameters_of(agent);
        auto const report = agent.update();
        auto const states = rollout.states(0, rollout.rows(), memory);
        auto const logits = network.forward(before, network.input(states, work), work);
        std::size_t const newest = rollout.state_size() - 2;
        REQUIRE(rollout.masks().rows() >= rollout.rows());
        REQUIRE(rollout.masks().cols() == masked_ring::actions);
        double entropy = 0.0;
        std::size_t unlike = 0; // where the softmax of all logits would give something else
        for (std::size_t row = 0; row < rollout.rows(); ++row) {
            auto const allowed = [&](std::size_t j) {
                return masked_ring::allows(std::span<float const>(states.row(row).data() + newest, 2), j);
            };
            for (std::size_t j = 0; j < 4; ++j)
                CHECK(rollout.masks()(row, j) == (allowed(j) ? 1 : 0));
            auto const expected = log_softmax(logits.row(row), allowed);
            auto const action = static_cast<std::size_t>(rollout.actions()(row, 0));
            CHECK(allowed(action));
            CHECK(std::abs(static_cast<double>(rollout.log_probabilities()[row]) - expected[action]) < 1e-5);
            for (std::size_t j = 0; j < 4; ++j)
                entropy -= allowed(j) ? std::exp(expected[j]) * expected[j] : 0.0;
            auto const of_all = log_softmax(logits.row(row), [](std::size_t) { return true; });
            unlike += std::abs(of_all[action] - expected[action]) > 1e-3 ? 1u : 0u;
        }
        CHECK(unlike > rollout.rows() / 2);
        CHECK(report.entropy == Approx(entropy / static_cast<double>(rollout.rows())).epsilon(1e-5));
        CHECK(std::abs(report.approximate_kl) < 1e-6);
        CHECK(report.clip_fraction == 0.0);
    }
}

} // namespace

TEST_CASE("masks are those of the states that were acted on, and what is learned is the policy that acted") {
    check_updates<masked_ring>();
    check_updates<remembered_ring>();
}

TEST_CASE("a forbidden action is never drawn, in training and in evaluation, and the agent learns by the others") {
    auto options = small_options();
    options.epochs = 6;
    options.minibatch = 64;
    options.entropy_coefficient = 0.01;
    gmac::vector_environment<masked_ring> inner(8, 3), others(20, 77);
    counted worlds(inner), played(others);
    agent_type agent(worlds, options, {.seed = 1});
    double first = 0.0, last = 0.0;
    agent.train({.frames = 640, .on_update = [&](auto const& report) { first = report.mean_return; }});
    agent.train({.frames = 25'600, .on_update = [&](auto const& report) { last = report.mean_return; }});
    CHECK(worlds.forbidden == 0);
    CHECK(worlds.allowed == 25'600);
    CHECK(last > first + 1.0);
    auto policy = agent.policy(20);
    static_cast<void>(gmac::evaluate(policy, played));
    CHECK(played.forbidden == 0);
    CHECK(played.allowed == 9 * 20);
}

TEST_CASE("of an action that is always forbidden nothing is learned, and of the others something is") {
    auto options = small_options();
    options.entropy_coefficient = 0.1;
    options.epochs = 4;
    for (bool const shared : {true, false}) {
        options.shared_trunk = shared;
        gmac::vector_environment<masked_ring> worlds(5, 3);
        agent_type agent(worlds, options, {.seed = 1});
        std::array<std::vector<float>, 4> before;
        for (std::size_t action = 0; action < 4; ++action)
            before[action] = of_output(agent, action);
        REQUIRE(before[0].size() == options.hidden.back() + 1);
        for (int i = 0; i < 5; ++i)
            static_cast<void>(agent.update());
        for (std::size_t action = 0; action < 4; ++action)
            for (std::size_t i = 0; i < before[action].size(); ++i)
                CHECK((of_output(agent, action)[i] == before[action][i]) == (action == 2));
    }
}

TEST_CASE("an agent with masks is the same for any number of threads, and across stop and resume") {
    check_threads_and_resume<agent_type, masked_ring>();
    check_threads_and_resume<agent_type, remembered_ring>();
}

TEST_CASE("masks that forbid nothing change nothing, and an agent with masks allocates nothing") {
    struct free_line : gmac::testing::line {
        static void action_mask(std::span<std::uint8_t>) {}
    };
    gmac::vector_environment<gmac::testing::line> worlds(5, 3);
    gmac::vector_environment<free_line> masked(5, 3);
    agent_type agent(worlds, small_options(), {.seed = 11}), other(masked, small_options(), {.seed = 11});
    CHECK(agent.experience().masks().empty());
    for (int i = 0; i < 4; ++i)
        CHECK(agent.update().policy_loss == other.update().policy_loss);
    CHECK(parameters_of(agent) == parameters_of(other));

    gmac::vector_environment<masked_ring> rings(5, 3);
    plain_agent plain(rings, small_options(), {.seed = 11});
    static_cast<void>(plain.update());
    CHECK(gmac::testing::allocations_during([&] { static_cast<void>(plain.update()); }) == 0);
}

TEST_CASE("a policy does the most likely of the allowed actions, and draws by their probabilities") {
    gmac::vector_environment<masked_ring> worlds(5, 3);
    auto options = small_options();
    options.actor_gain = 3.0; // logits apart from each other
    agent_type agent(worlds, options, {.seed = 1});
    auto policy = agent.policy(1);
    auto const& network = agent.networks().policy();
    auto work = network.make_workspace(1);
    gmac::random_stream random(5);
    bool masks_matter = false;
    for (std::size_t state = 0; state < 12; ++state) {
        std::array<float, 2> const observation{random.uniform<float>(), random.uniform<float>()};
        gmac::matrix_view<float const> const row(observation.data(), 1, 2);
        auto const logits = network.forward(agent.parameters(), network.input(row, work), work).row(0);
        std::array<std::uint8_t, 4> mask{};
        while (std::ranges::count(mask, 0) == 4)
            for (auto& allowed : mask)
                allowed = random.below(2) == 0 ? 0 : 1;
        auto const expected = log_softmax(logits, [&](std::size_t j) { return mask[j] != 0; });
        auto const of_all = log_softmax(logits, [](std::size_t) { return true; });
        auto const best = static_cast<float>(std::ranges::max_element(expected) - expected.begin());
        auto const best_of_all = static_cast<float>(std::ranges::max_element(of_all) - of_all.begin());
        masks_matter = masks_matter || best != best_of_all;
        std::array<float, 1> action{};
        policy.act(observation, action, mask);
        CHECK(action[0] == best);
        policy.act(observation, action);
        CHECK(action[0] == best_of_all);

        constexpr int draws = 4000;
        std::array<int, 4> counts{};
        std::vector<gmac::random_stream> streams{gmac::random_stream(9, state)};
        for (int i = 0; i < draws; ++i) {
            policy.sample(row, streams, {action.data(), 1, 1}, {mask.data(), 1, 4});
            ++counts[static_cast<std::size_t>(action[0])];
        }
        for (std::size_t j = 0; j < 4; ++j) {
            double const p = std::exp(expected[j]);
            CHECK(std::abs(counts[j] - draws * p) <= 5.0 * std::sqrt(draws * p * (1.0 - p)));
        }
    }
    CHECK(masks_matter);
    std::array<float, 2> const observation{};
    std::array<float, 1> action{};
    std::array<std::uint8_t, 4> const nothing{};
    CHECK_THROWS_WITH(policy.act(observation, action, std::span(nothing).first(3)),
                      says("policy: the matrix of action masks is 1 x 3, but must be 1 x 4"));
    CHECK_THROWS_WITH(
        policy.act(observation, action, nothing),
        says("policy: the action mask of row 0 forbids all of the 4 actions, but must allow at least one"));
}

TEST_CASE("masks that do not fit the agent are refused") {
    gmac::vector_environment<masked_ring> worlds(2, 1);
    CHECK_THROWS_WITH((gmac::agents::gmac<coin>(worlds, small_options())),
                      says("the environments have masks of 4 actions, but the actor has 1 outputs a state, and must "
                           "have one for each action"));
    unsteady changing(worlds);
    agent_type agent(changing, small_options());
    static_cast<void>(agent.update());
    CHECK_THROWS_WITH(agent.update(), says("rollout: the environments' action masks are 0 x 0, but were to be 2 x 4"));

    gmac::vector_environment<gmac::testing::line> lines(2, 1);
    std::array<std::uint8_t, 6> const late{1, 1, 1, 1, 1, 1};
    unsteady appearing(lines);
    appearing.other = {late.data(), 2, 3};
    agent_type unmasked(appearing, small_options());
    static_cast<void>(unmasked.update());
    CHECK_THROWS_WITH(unmasked.update(),
                      says("rollout: the environments' action masks are 2 x 3, but were to be 2 x 0"));
}
