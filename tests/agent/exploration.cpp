// SPDX-License-Identifier: Apache-2.0
// Agents that are rewarded for what is new to them.
#include <gmac/agent/exploration.hpp>

#include <gmac/actors/categorical.hpp>
#include <gmac/agents.hpp>
#include <gmac/core/tbb_executor.hpp>
#include <gmac/environment/vector_environment.hpp>
#include <gmac/heads.hpp>

#include "agent/worlds.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using gmac::testing::line;
using gmac::testing::parameters_of;
using gmac::testing::small_options;
using agent_type = gmac::agents::gmac<gmac::actors::categorical>;
namespace exploration = gmac::exploration;

gmac::agent_options exploring(gmac::exploration_options const& how = {}) {
    auto options = small_options();
    options.exploration = how;
    return options;
}

enum class kind { td_error, energy_distance, cramer_distance, random_network_distillation };

template <class Agent>
auto reward_of(kind which, Agent const& agent) {
    switch (which) {
    case kind::td_error:
        return exploration::td_error(agent);
    case kind::energy_distance:
        return exploration::energy_distance(agent);
    case kind::cramer_distance:
        return exploration::cramer_distance(agent);
    default:
        return exploration::random_network_distillation(agent, {.features = 5, .learning_rate = 1e-3, .epochs = 2});
    }
}

/// An agent that explores, and its environments.
template <class Agent = agent_type>
struct explorer {
    gmac::vector_environment<line> worlds;
    Agent agent;

    explicit explorer(kind which, gmac::executor* tasks = nullptr, std::uint64_t seed = 11)
        : worlds(5, 3, tasks), agent(worlds, exploring(), {.seed = seed, .tasks = tasks}) {
        agent.explore(reward_of(which, agent));
    }
};

/// A reward that a function of the rollout says.
class said final : public gmac::intrinsic_reward<float> {
public:
    using function = std::function<float(gmac::rollout<float> const&, std::size_t, std::size_t)>;
    explicit said(function reward) : reward_(std::move(reward)) {}
    void measure(gmac::evaluated_rollout<float> const& seen, gmac::matrix_view<float> rewards,
                 gmac::executor&) override {
        for (std::size_t t = 0; t < rewards.rows(); ++t)
            for (std::size_t e = 0; e < rewards.cols(); ++e)
                rewards(t, e) = reward_(seen.rollout, t, e);
    }

private:
    function reward_;
};

/// The intrinsic value that an agent gives to observations [n, size].
template <class Agent>
std::vector<float> intrinsic_values(Agent const& agent, std::vector<float> const& observations) {
    std::size_t const rows = observations.size() / agent.networks().inputs();
    auto work = agent.networks().make_workspace(rows);
    gmac::random_stream random(1, 1);
    auto const states = agent.networks().input({observations.data(), rows, agent.networks().inputs()}, work);
    static_cast<void>(agent.networks().value_forward(agent.parameters(), states, random, work));
    auto const values = agent.networks().intrinsic_values(agent.parameters(), work);
    return {values.data(), values.data() + rows};
}

} // namespace

TEST_CASE("what is new is the same for any number of threads, and across stop and resume") {
    for (kind const which :
         {kind::td_error, kind::energy_distance, kind::cramer_distance, kind::random_network_distillation}) {
        gmac::tbb_executor three(3);
        explorer<> one(which), many(which, &three), resumed(which, nullptr, 500);
        for (int i = 0; i < 3; ++i) {
            auto const a = one.agent.update(), b = many.agent.update();
            CHECK(a.intrinsic_reward == b.intrinsic_reward);
            CHECK(a.intrinsic_reward > 0.0);
        }
        CHECK(parameters_of(one.agent) == parameters_of(many.agent));
        static_cast<void>(resumed.agent.update());
        gmac::testing::memory_archive file;
        one.agent.persist(file);
        file.rewind();
        resumed.agent.persist(file);
        for (int i = 0; i < 3; ++i)
            CHECK(one.agent.update().intrinsic_reward == resumed.agent.update().intrinsic_reward);
        CHECK(parameters_of(one.agent) == parameters_of(resumed.agent));
    }
}

TEST_CASE("an agent that weighs what is new by nothing acts and values as one that does not explore") {
    gmac::vector_environment<line> worlds(5, 3), others(5, 3);
    auto options = exploring({.coefficient = 0.0, .extrinsic_coefficient = 1.0});
    // Nor may the intrinsic value reach the other parts, by their common trunk or by the norm of the gradient.
    options.max_gradient_norm = std::numeric_limits<double>::infinity();
    agent_type curious(worlds, options, {.seed = 2});
    curious.explore(std::make_unique<said>([](auto const&, std::size_t, std::size_t) { return 0.0f; }));
    options.exploration.reset();
    agent_type plain(others, options, {.seed = 2});
    // Its parameters are the last ones. Of zero they give the value 0, which is what it learns.
    std::size_t const count = plain.parameters().size();
    CHECK(curious.parameters().size() == count + 8 + 1);
    for (float& parameter : curious.parameters().subspan(count))
        parameter = 0.0f;
    for (int i = 0; i < 3; ++i) {
        static_cast<void>(curious.update());
        static_cast<void>(plain.update());
    }
    auto seen = parameters_of(curious);
    seen.resize(count);
    CHECK(seen == parameters_of(plain));
}

TEST_CASE("intrinsic rewards are worth their lambda-returns, which no end of an episode interrupts") {
    // The advantages and returns by their sums, of a rollout whose episodes end, in double.
    constexpr std::size_t steps = 16, environments = 5;
    constexpr double discount = 0.8, lambda = 0.7;
    explorer<> run(kind::td_error);
    static_cast<void>(run.agent.update());
    auto const& rollout = run.agent.experience();
    gmac::detail::intrinsic_advantages<float, float> part(gmac::exploration_options{.coefficient = 0.5,
                                                                                    .extrinsic_coefficient = 3.0,
                                                                                    .discount = discount},
                                                          lambda, steps, environments);
    std::vector<float> rewards(steps * environments), values((steps + 1) * environments);
    gmac::random_stream random(4);
    for (float& reward : rewards)
        reward = random.uniform<float>();
    for (float& value : values)
        value = random.normal<float>();
    part.reward_by(std::make_unique<said>(
        [&](auto const&, std::size_t t, std::size_t e) { return rewards[t * environments + e]; }));
    std::vector<float> advantages(rewards.size());
    for (std::size_t i = 0; i < advantages.size(); ++i)
        advantages[i] = static_cast<float>(i);
    gmac::serial_executor serial;
    double const mean = part.add({rollout, {}, {}}, values, advantages, serial);

    // The deviation of all discounted sums.
    double sum = 0.0, squares = 0.0;
    std::array<double, environments> sums{};
    std::vector<double> all;
    for (std::size_t t = 0; t < steps; ++t)
        for (std::size_t e = 0; e < environments; ++e)
            all.push_back(sums[e] = discount * sums[e] + static_cast<double>(rewards[t * environments + e]));
    for (double const one : all)
        sum += one;
    for (double const one : all)
        squares += (one - sum / static_cast<double>(all.size())) * (one - sum / static_cast<double>(all.size()));
    double const deviation = std::sqrt(squares / static_cast<double>(all.size()));
    double total = 0.0;
    for (float const reward : rewards)
        total += static_cast<double>(reward) / deviation;
    CHECK(mean == Approx(total / static_cast<double>(rewards.size())));
    for (std::size_t t = 0; t < steps; ++t)
        for (std::size_t e = 0; e < environments; ++e) {
            double advantage = 0.0;
            for (std::size_t s = t; s < steps; ++s) {
                std::size_t const row = s * environments + e;
                double const delta = static_cast<double>(rewards[row]) / deviation +
                                     discount * static_cast<double>(values[row + environments]) -
                                     static_cast<double>(values[row]);
                advantage += std::pow(discount * lambda, static_cast<double>(s - t)) * delta;
            }
            std::size_t const row = t * environments + e;
            CHECK(static_cast<double>(advantages[row]) ==
                  Approx(3.0 * static_cast<double>(row) + 0.5 * advantage).margin(1e-4));
            CHECK(static_cast<double>(part.returns()[row]) ==
                  Approx(advantage + static_cast<double>(values[row])).margin(1e-4));
        }
}

TEST_CASE("the intrinsic value learns what states are worth, with one trunk and with two") {
    // The reward is 1 where the position is positive, for the state alone (discount 0).
    for (bool const shared : {true, false}) {
        gmac::vector_environment<line> worlds(16, 3);
        auto options = exploring({.coefficient = 0.0, .discount = 0.0});
        options.shared_trunk = shared;
        options.learning_rate = 1e-2;
        options.epochs = 4;
        agent_type agent(worlds, options, {.seed = 5});
        agent.explore(std::make_unique<said>([](gmac::rollout<float> const& seen, std::size_t t, std::size_t e) {
            return seen.states(t * seen.environments() + e, 1, {})(0, 0) > 0.0f ? 1.0f : 0.0f;
        }));
        for (int i = 0; i < 60; ++i)
            static_cast<void>(agent.update());
        auto const values = intrinsic_values(agent, {-1.5f, 0.2f, -0.8f, 0.5f, 0.8f, 0.2f, 1.5f, 0.5f});
        // Normalised, half of them 1, the reward is about 2.
        for (std::size_t i = 0; i < values.size(); ++i)
            CHECK(std::abs(values[i] - (i < 2 ? 0.0f : 2.0f)) < 0.1f);
    }
}

TEST_CASE("the intrinsic value has the gradient of half its squared error, from the values of the right states") {
    // One minibatch, so that a tenth of Adam's first moment is the gradient; more states than are evaluated in one go, on
    // several threads; with lambda 0 a return is r + gamma V(x').
    constexpr std::size_t steps = 16, environments = 40;
    gmac::tbb_executor three(3);
    gmac::vector_environment<line> worlds(environments, 3);
    auto options = exploring({.discount = 0.5});
    options.lambda = 0.0;
    options.minibatch = steps * environments;
    options.epochs = 1;
    options.value_coefficient = 0.7;
    options.max_gradient_norm = std::numeric_limits<double>::infinity();
    agent_type agent(worlds, options, {.seed = 5, .tasks = &three});
    agent.explore(std::make_unique<said>([&](gmac::rollout<float> const& seen, std::size_t t, std::size_t e) {
        return std::abs(seen.states(t * environments + e, 1, {})(0, 0));
    }));
    std::vector<float> const before = parameters_of(agent);
    auto const report = agent.update();
    std::copy(before.begin(), before.end(), agent.parameters().begin());
    std::vector<float> observations;
    double reward_sum = 0.0;
    for (std::size_t row = 0; row < (steps + 1) * environments; ++row) {
        auto const state = agent.experience().states(row, 1, {});
        observations.insert(observations.end(), {state(0, 0), state(0, 1)});
        if (row < steps * environments)
            reward_sum += std::abs(static_cast<double>(state(0, 0)));
    }
    auto const values = intrinsic_values(agent, observations);
    double const scale = report.intrinsic_reward * static_cast<double>(steps * environments) / reward_sum;
    // Storing makes the rollout ready for the next one, so it comes after the look at this one.
    gmac::testing::memory_archive stored;
    agent.persist(stored);
    auto const& data = stored.entries().at("optimiser.first_moment").data;
    std::vector<float> moments(data.size() / sizeof(float));
    std::memcpy(moments.data(), data.data(), data.size());
    double gradient = 0.0; // of the bias
    for (std::size_t row = 0; row < steps * environments; ++row)
        gradient += static_cast<double>(values[row]) - scale * std::abs(static_cast<double>(observations[2 * row])) -
                    0.5 * static_cast<double>(values[row + environments]);
    gradient *= 0.7 / static_cast<double>(steps * environments);
    CHECK(static_cast<double>(moments.back()) == Approx(0.1 * gradient).epsilon(1e-4));
}

TEST_CASE("another reward begins with another scale") {
    gmac::vector_environment<line> worlds(5, 3);
    agent_type agent(worlds, exploring(), {.seed = 5});
    auto const reward = [](float size) {
        return std::make_unique<said>(
            [=](auto const&, std::size_t t, std::size_t e) { return size * static_cast<float>((7 * t + 3 * e) % 5); });
    };
    agent.explore(reward(100.0f));
    double const first = agent.update().intrinsic_reward;
    agent.explore(reward(0.001f));
    CHECK(agent.update().intrinsic_reward == Approx(first).epsilon(1e-5));
}

TEST_CASE("an agent does what is rewarded from within") {
    gmac::vector_environment<line> worlds(16, 3);
    auto options = exploring({.extrinsic_coefficient = 0.0, .discount = 0.5});
    options.learning_rate = 3e-3;
    agent_type agent(worlds, options, {.seed = 5});
    agent.explore(std::make_unique<said>([](gmac::rollout<float> const& seen, std::size_t t, std::size_t e) {
        return seen.actions()(t * seen.environments() + e, 0) == 2.0f ? 1.0f : 0.0f;
    }));
    for (int i = 0; i < 40; ++i)
        static_cast<void>(agent.update());
    std::array<float, 2> const state{1.0f, 0.2f}; // the environment would have it go back: 0
    std::array<float, 1> action{};
    agent.policy(1).act(state, action);
    CHECK(action[0] == 2.0f);
}

namespace {

/// The one-step distances and TD errors that a head with samples gives, by hand.
template <class Agent>
void check_kinds() {
    explorer<Agent> run(kind::td_error);
    auto& agent = run.agent;
    for (kind const which : {kind::td_error, kind::energy_distance, kind::cramer_distance}) {
        auto const reward = reward_of(which, agent);
        auto const& rollout = agent.experience();
        static_cast<void>(agent.update());
        std::size_t const states = rollout.state_count() + rollout.final_count();
        std::vector<float> outputs(states * agent.head().output_size()), values(states);
        gmac::random_stream random(9);
        for (float& output : outputs)
            output = random.normal<float>();
        for (std::size_t s = 0; s < states; ++s)
            values[s] = random.normal<float>();
        std::vector<float> rewards(rollout.rows());
        gmac::matrix_view<float const> const columns(outputs.data(), states, agent.head().output_size());
        gmac::serial_executor serial;
        reward->measure({rollout, columns, values}, {rewards.data(), rollout.steps(), rollout.environments()}, serial);
        std::size_t final = rollout.state_count();
        for (std::size_t t = 0; t < rollout.steps(); ++t)
            for (std::size_t e = 0; e < rollout.environments(); ++e) {
                std::size_t const row = t * rollout.environments() + e;
                bool const terminated = rollout.terminated()(t, e) != 0, truncated = rollout.truncated()(t, e) != 0;
                std::size_t const next = truncated && !terminated ? final++ : row + rollout.environments();
                auto const given = static_cast<double>(rollout.rewards()(t, e));
                double wanted = std::abs(given + (terminated ? 0.0 : 0.99 * static_cast<double>(values[next])) -
                                         static_cast<double>(values[row]));
                if (which != kind::td_error) {
                    auto const sample = [&](std::size_t state) {
                        std::vector<double> all;
                        for (std::size_t j = 0; j < columns.cols(); ++j)
                            all.push_back(static_cast<double>(columns(state, j)));
                        return all;
                    };
                    auto const here = sample(row);
                    auto target = sample(next);
                    for (double& z : target)
                        z = given + (terminated ? 0.0 : 0.99 * z);
                    auto const difference = [](auto const& a, auto const& b) {
                        double sum = 0.0;
                        for (double const x : a)
                            for (double const y : b)
                                sum += std::abs(x - y);
                        return sum / static_cast<double>(a.size() * b.size());
                    };
                    wanted = 2.0 * difference(here, target) - difference(here, here) - difference(target, target);
                    if (which == kind::cramer_distance)
                        wanted = std::sqrt(wanted / 2.0);
                }
                CHECK(static_cast<double>(rewards[row]) == Approx(wanted).margin(1e-5));
            }
    }
}

} // namespace

TEST_CASE("what is new is told from rewards and predictions, with heads of every kind") {
    using actor = gmac::actors::categorical;
    check_kinds<gmac::agents::iqac_e<actor>>();
    check_kinds<gmac::agents::ppo<actor>>();
    check_kinds<gmac::agents::dirac_huber_quantile<actor>>();
}

TEST_CASE("random network distillation is the error of a prediction, which falls where there is experience") {
    explorer<> run(kind::td_error);
    auto& agent = run.agent;
    static_cast<void>(agent.update());
    auto const& rollout = agent.experience();
    auto const distillation =
        exploration::random_network_distillation(agent, {.features = 4, .learning_rate = 3e-3, .epochs = 4});
    gmac::serial_executor serial;
    auto const measure = [&] {
        std::vector<float> rewards(rollout.rows());
        distillation->measure({rollout, {}, {}}, {rewards.data(), rollout.steps(), rollout.environments()}, serial);
        return rewards;
    };
    auto const mean_of = [](std::vector<float> const& all) {
        double sum = 0.0;
        for (float const one : all)
            sum += static_cast<double>(one);
        return sum / static_cast<double>(all.size());
    };
    auto const before = measure();

    // The same by the parameters that it stores: tanh layers of 16 and 8, then 4 features.
    gmac::testing::memory_archive stored;
    distillation->persist(stored);
    auto const numbers = [&](std::string const& name) {
        auto const& data = stored.entries().at(name).data;
        std::vector<float> all(data.size() / sizeof(float));
        std::memcpy(all.data(), data.data(), data.size());
        return all;
    };
    auto const features = [&](std::string const& network, std::vector<double> x) {
        for (std::string const layer : {"trunk.0", "trunk.1", "value"}) {
            auto const weight = numbers(network + "." + layer + ".weight"),
                       bias = numbers(network + "." + layer + ".bias");
            std::vector<double> y(bias.begin(), bias.end());
            for (std::size_t j = 0; j < y.size(); ++j) {
                for (std::size_t i = 0; i < x.size(); ++i)
                    y[j] += x[i] * static_cast<double>(weight[i * y.size() + j]);
                y[j] = layer == "value" ? y[j] : std::tanh(y[j]);
            }
            x = y;
        }
        return x;
    };
    for (std::size_t t = 0; t < rollout.steps(); ++t) {
        auto const next = rollout.states((t + 1) * 5 + 2, 1, {});
        std::vector<double> const x{static_cast<double>(next(0, 0)), static_cast<double>(next(0, 1))};
        auto const fixed = features("fixed", x), predicted = features("predictor", x);
        REQUIRE(fixed.size() == 4);
        double error = 0.0;
        for (std::size_t j = 0; j < 4; ++j)
            error += (fixed[j] - predicted[j]) * (fixed[j] - predicted[j]) / 4.0;
        CHECK(static_cast<double>(before[t * 5 + 2]) == Approx(error).epsilon(1e-4));
    }

    for (std::uint64_t i = 1; i <= 200; ++i)
        distillation->learn(rollout, i, serial);
    CHECK(mean_of(measure()) < 0.05 * mean_of(before));
}

TEST_CASE("the loss of distillation has the gradient that differences have") {
    gmac::random_stream random(7);
    std::array<double, 6> outputs{}, targets{}, gradient{};
    for (std::size_t i = 0; i < 6; ++i) {
        outputs[i] = random.normal<double>();
        targets[i] = random.normal<double>();
    }
    gmac::detail::distillation_loss const loss;
    gmac::detail::feature_head const head{3};
    auto const value = [&] {
        std::array<double, 6> unused{};
        return loss.value_and_gradient<double>(head, {outputs.data(), 2, 3}, {{targets.data(), 2, 3}},
                                               {unused.data(), 2, 3});
    };
    loss.value_and_gradient<double>(head, {outputs.data(), 2, 3}, {{targets.data(), 2, 3}}, {gradient.data(), 2, 3});
    double sum = 0.0;
    for (std::size_t i = 0; i < 6; ++i) {
        sum += (outputs[i] - targets[i]) * (outputs[i] - targets[i]) / 6.0;
        double const here = outputs[i];
        outputs[i] = here + 1e-5;
        double const above = value();
        outputs[i] = here - 1e-5;
        double const below = value();
        outputs[i] = here;
        CHECK(gradient[i] == Approx((above - below) / 2e-5).epsilon(1e-6));
    }
    CHECK(value() == Approx(sum));
}

TEST_CASE("what cannot be explored is refused by a sentence") {
    gmac::vector_environment<line> worlds(5, 3);
    agent_type plain(worlds, small_options());
    CHECK_THROWS_WITH(plain.explore(exploration::td_error(plain)),
                      "actor_critic: to explore, the agent must be made with options that have a member `exploration`");
    agent_type agent(worlds, exploring());
    CHECK_THROWS_WITH(agent.explore(nullptr), "actor_critic: explore was given no reward");
    CHECK_THROWS_WITH(agent.update(),
                      "actor_critic: the options have a member `exploration`, but there is no intrinsic "
                      "reward: give one to `explore`");
    gmac::testing::memory_archive file;
    CHECK_THROWS_WITH(agent.persist(file),
                      "actor_critic: the options have a member `exploration`, but there is no intrinsic "
                      "reward: give one to `explore`");
    CHECK(agent.frames() == 0); // nothing was played
    agent.explore(std::make_unique<said>([](auto const&, std::size_t t, std::size_t e) {
        return t == 3 && e == 2 ? std::numeric_limits<float>::quiet_NaN() : 1.0f;
    }));
    CHECK_THROWS_WITH(agent.update(),
                      "actor_critic: the intrinsic reward of step 3 in environment 2 is nan, but must be "
                      "finite");
    auto const made = [&](gmac::exploration_options const& how) { agent_type const one(worlds, exploring(how)); };
    CHECK_THROWS_WITH(made({.coefficient = -1.0}),
                      "agent_options: exploration.coefficient is -1, but must be finite and not negative");
    CHECK_THROWS_WITH(made({.discount = 1.0}), "agent_options: exploration.discount is 1, but must be in [0, 1)");
    gmac::serial_executor serial;
    CHECK_THROWS_WITH(exploration::random_network_distillation(agent)->learn(agent.experience(), 1, serial),
                      "random_network_distillation: what is learned must have been measured before");
    std::array<std::size_t, 2> const wrong{3, 4};
    using trunk = gmac::nn::mlp<gmac::backends::simd<float>>;
    using distillation = gmac::random_network_distillation<gmac::backends::simd<float>, trunk>;
    CHECK_THROWS_WITH(distillation(agent.experience(), trunk(wrong, {}), small_options(), 1),
                      "random_network_distillation: the trunk takes 3 inputs, but a state has 2 elements");
    CHECK_THROWS_WITH(exploration::random_network_distillation(agent, {.features = 0}),
                      "random_network_distillation: features is 0, but must be in [1, 16777216]");
    CHECK_THROWS_WITH(exploration::random_network_distillation(agent, {.learning_rate = 0.0}),
                      "random_network_distillation: learning_rate is 0, but must be finite and positive");
}
