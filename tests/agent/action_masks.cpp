// SPDX-License-Identifier: Apache-2.0
// An agent whose environments forbid actions: none of them is drawn, and nothing is learned of them.
#include <gmac/actors/categorical.hpp>
#include <gmac/agents.hpp>
#include <gmac/core/tbb_executor.hpp>
#include <gmac/deploy/policy.hpp>
#include <gmac/environment/decorator.hpp>
#include <gmac/environment/vector_environment.hpp>

#include "agent/worlds.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/masked_ring.hpp"
#include "support/memory_archive.hpp"
#include "support/says.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using gmac::testing::masked_ring;
using gmac::testing::small_options;
using agent_type = gmac::agents::gmac<gmac::actors::categorical>;

std::vector<float> parameters_of(agent_type const& agent) {
    auto const all = agent.parameters();
    return {all.begin(), all.end()};
}

/// Counts what the agent does by the rule of the environments.
class counted final : public gmac::environment_batch_decorator {
public:
    using environment_batch_decorator::environment_batch_decorator;
    std::size_t allowed = 0, forbidden = 0;

    void step(gmac::matrix_view<float const> actions, gmac::step_result const& result) override {
        auto const masks = worlds().action_masks();
        for (std::size_t i = 0; i < size(); ++i)
            ++(masks(i, static_cast<std::size_t>(actions(i, 0))) != 0 ? allowed : forbidden);
        environment_batch_decorator::step(actions, result);
    }
};

/// One output for two actions.
struct coin : gmac::actors::categorical {
    [[nodiscard]] static std::size_t output_size(gmac::action_space const&) { return 1; }
};

/// Rows of a parameter of the agent, by its name.
std::vector<float> parameter(agent_type const& agent, std::string const& wanted, std::size_t row, std::size_t rows) {
    std::vector<float> values;
    agent.networks().describe([&](std::string const& name, std::size_t offset, std::size_t height, std::size_t width) {
        if (name != wanted)
            return;
        std::size_t const size = height * width / rows;
        auto const part = agent.parameters().subspan(offset + row * size, size);
        values.assign(part.begin(), part.end());
    });
    return values;
}

} // namespace

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
    // Of nine steps the first that are free to choose.
    CHECK(last > first + 1.0);
    auto policy = agent.policy(20);
    static_cast<void>(gmac::evaluate(policy, played));
    CHECK(played.forbidden == 0);
    CHECK(played.allowed == 9 * 20);
}

TEST_CASE("an action that is always forbidden has a gradient of exactly zero") {
    auto options = small_options();
    options.entropy_coefficient = 0.1;
    options.epochs = 4;
    for (bool const shared : {true, false}) {
        options.shared_trunk = shared;
        gmac::vector_environment<masked_ring> worlds(5, 3);
        agent_type agent(worlds, options, {.seed = 1});
        std::array<std::vector<float>, 4> weights, biases;
        bool const by_rows = [&] { // the layer's weights are [outputs, inputs]
            bool found = false;
            agent.networks().describe([&](std::string const& name, std::size_t, std::size_t height, std::size_t) {
                found = found || (name == "actor.weight" && height == 4);
            });
            return found;
        }();
        REQUIRE(by_rows);
        for (std::size_t action = 0; action < 4; ++action) {
            weights[action] = parameter(agent, "actor.weight", action, 4);
            biases[action] = parameter(agent, "actor.bias", action, 4);
        }
        for (int i = 0; i < 5; ++i)
            static_cast<void>(agent.update());
        for (std::size_t action = 0; action < 4; ++action) {
            CHECK((parameter(agent, "actor.weight", action, 4) == weights[action]) == (action == 2));
            CHECK((parameter(agent, "actor.bias", action, 4) == biases[action]) == (action == 2));
        }
    }
}

TEST_CASE("the policy is the softmax of the allowed logits") {
    gmac::vector_environment<masked_ring> worlds(5, 3);
    auto options = small_options();
    options.actor_gain = 3.0; // apart from each other
    agent_type agent(worlds, options, {.seed = 1});
    static_cast<void>(agent.update());
    auto const deployed = gmac::deploy(agent);
    auto memory = deployed.make_memory();
    auto policy = agent.policy(1);
    gmac::random_stream random(5);
    auto const& network = agent.networks().policy();
    auto work = network.make_workspace(1);
    bool masks_matter = false;
    for (int state = 0; state < 12; ++state) {
        std::array<float, 2> const observation{random.uniform<float>(), random.uniform<float>()};
        gmac::matrix_view<float const> const row(observation.data(), 1, 2);
        auto const logits = network.forward(agent.parameters(), network.input(row, work), work);
        std::array<std::uint8_t, 4> mask{};
        while (mask == std::array<std::uint8_t, 4>{})
            for (auto& allowed : mask)
                allowed = random.below(2) == 0 ? 0 : 1;
        std::size_t best = 4, best_of_all = 0;
        double sum = 0.0;
        std::array<double, 4> probability{};
        for (std::size_t j = 0; j < 4; ++j) {
            if (mask[j] != 0 && (best == 4 || logits(0, j) > logits(0, best)))
                best = j;
            best_of_all = logits(0, j) > logits(0, best_of_all) ? j : best_of_all;
            probability[j] = mask[j] != 0 ? std::exp(static_cast<double>(logits(0, j))) : 0.0;
            sum += probability[j];
        }
        masks_matter = masks_matter || best != best_of_all;
        std::array<float, 1> action{};
        policy.act(observation, action, mask);
        CHECK(action[0] == static_cast<float>(best));
        deployed.act(observation, action, memory, mask);
        CHECK(action[0] == static_cast<float>(best));
        deployed.act(observation, action, memory);
        CHECK(action[0] == static_cast<float>(best_of_all));
        constexpr int draws = 4000;
        std::array<int, 4> counts{};
        std::vector<gmac::random_stream> streams{gmac::random_stream(9, static_cast<std::uint64_t>(state))};
        gmac::matrix_view<float> const to(action.data(), 1, 1);
        for (int i = 0; i < draws; ++i) {
            if (i % 2 == 0)
                policy.sample(row, streams, to, {mask.data(), 1, 4});
            else
                deployed.sample(row, streams, to, memory, {mask.data(), 1, 4});
            ++counts[static_cast<std::size_t>(action[0])];
        }
        for (std::size_t j = 0; j < 4; ++j) {
            double const p = probability[j] / sum;
            CHECK(std::abs(counts[j] - draws * p) <= 5.0 * std::sqrt(draws * p * (1.0 - p)) + 1e-9);
        }
    }
    CHECK(masks_matter);
    std::array<float, 2> const observation{};
    std::array<float, 1> action{};
    std::array<std::uint8_t, 3> const short_mask{1, 1, 1};
    CHECK_THROWS_WITH(policy.act(observation, action, short_mask),
                      gmac::testing::says("the matrix of action masks is 1 x 3, but must be 1 x 4"));
}

TEST_CASE("an agent with masks is the same for any number of threads, across stop and resume, and allocates nothing") {
    gmac::tbb_executor three(3);
    gmac::vector_environment<masked_ring> worlds(5, 3), threaded_worlds(5, 3, &three), others(5, 99);
    agent_type agent(worlds, small_options(), {.seed = 11});
    agent_type threaded(threaded_worlds, small_options(), {.seed = 11, .tasks = &three});
    agent_type resumed(others, small_options(), {.seed = 12});
    for (int i = 0; i < 3; ++i)
        CHECK(agent.update().value_loss == threaded.update().value_loss);
    gmac::testing::memory_archive file;
    agent.persist(file);
    file.rewind();
    static_cast<void>(resumed.update());
    resumed.persist(file);
    for (int i = 0; i < 3; ++i)
        CHECK(agent.update().value_loss == resumed.update().value_loss);
    CHECK(parameters_of(agent) == parameters_of(resumed));
    CHECK(gmac::testing::allocations_during([&] { static_cast<void>(agent.update()); }) == 0);
}

TEST_CASE("an actor without an output for each action is refused where actions are masked") {
    gmac::vector_environment<masked_ring> worlds(2, 1);
    CHECK_THROWS_WITH((gmac::agents::gmac<coin>(worlds, small_options())),
                      gmac::testing::says(
                          "the environments have masks of 4 actions, but the actor has 1 outputs a state, and "
                          "must have one for each action"));
}
