// SPDX-License-Identifier: Apache-2.0
// Critics that watch: further value distributions of an agent's policy, learned from its rollouts.
#include <gmac/agent/observer.hpp>

#include <gmac/actors/categorical.hpp>
#include <gmac/agents.hpp>
#include <gmac/core/tbb_executor.hpp>
#include <gmac/environment/vector_environment.hpp>

#include "agent/worlds.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace {

using gmac::testing::line;
using gmac::testing::small_options;
using agent_type = gmac::agents::gmac<gmac::actors::categorical>;
using plain_agent = gmac::agents::ppo<gmac::actors::categorical>;
using mixture = gmac::heads::gaussian_mixture<5>;
using mixture_energy = gmac::losses::gaussian_mixture_energy;
using quantiles = gmac::heads::implicit_quantile;

std::vector<float> copy(std::span<float const> all) {
    return {all.begin(), all.end()};
}

/// An agent, and three critics of other methods that watch it or do not.
struct watched {
    gmac::vector_environment<line> worlds;
    agent_type agent;

    explicit watched(bool with_critics, gmac::executor* tasks = nullptr, std::uint64_t seed = 11)
        : worlds(5, 3, tasks), agent(worlds, small_options(), {.seed = seed, .tasks = tasks}) {
        if (!with_critics)
            return;
        quantiles head;
        head.samples_per_state = 8;
        head.hidden = 16;
        first = &agent.observe<quantiles, gmac::losses::huber_quantile>({.head = head, .seed = seed + 1});
        second = &agent.observe<gmac::heads::scalar, gmac::losses::clipped_squared_error>({.seed = seed + 2});
        third = &agent.observe<mixture, mixture_energy>({.seed = seed + 3});
    }

    gmac::observer<quantiles, gmac::losses::huber_quantile>* first = nullptr;
    gmac::observer<gmac::heads::scalar, gmac::losses::clipped_squared_error>* second = nullptr;
    gmac::observer<mixture, mixture_energy>* third = nullptr;

    std::vector<float> critics() const {
        std::vector<float> all = copy(first->parameters());
        for (auto const& more : {copy(second->parameters()), copy(third->parameters())})
            all.insert(all.end(), more.begin(), more.end());
        return all;
    }
};

/// One step from one state: 10 with probability 0.3, or else 0.
struct lottery {
    static std::size_t observation_size() { return 1; }
    static gmac::discrete action_space() { return {2}; }
    void reset(gmac::random_stream&, std::span<float> observation) { observation[0] = 1.0f; }
    gmac::transition step(int, gmac::random_stream& random, std::span<float> observation) {
        observation[0] = 1.0f;
        return {random.uniform<double>() < 0.3 ? 10.0 : 0.0, true, false};
    }
};

} // namespace

TEST_CASE("critics that watch leave the agent's run as it is, to the bit") {
    watched alone(false), seen(true);
    for (int i = 0; i < 4; ++i) {
        auto const a = alone.agent.update(), b = seen.agent.update();
        CHECK(a.value_loss == b.value_loss);
        CHECK(a.gradient_norm == b.gradient_norm);
        CHECK(a.mean_length == b.mean_length);
    }
    CHECK(copy(alone.agent.parameters()) == copy(seen.agent.parameters()));
}

TEST_CASE("what a critic learns is the same for any number of threads") {
    gmac::tbb_executor three(3);
    watched one(true), many(true, &three);
    auto const start = one.critics();
    for (int i = 0; i < 3; ++i) {
        static_cast<void>(one.agent.update());
        static_cast<void>(many.agent.update());
    }
    CHECK(one.critics() == many.critics());
    CHECK(one.critics() != start);
    CHECK(one.first->report().value_loss == many.first->report().value_loss);
}

TEST_CASE("the parts of all minibatches of an update draw from different streams") {
    using head_type = gmac::heads::scalar;
    using loss_type = gmac::losses::clipped_squared_error;
    using network_type = gmac::observer<head_type, loss_type>::network_type;
    watched run(false);
    static_cast<void>(run.agent.update());
    auto const& seen = run.agent.experience();
    auto options = small_options();
    options.minibatch = seen.rows() - 1; // in three parts, and the one state that is left in one
    head_type const head;
    loss_type const loss;
    gmac::detail::no_actor const none;
    network_type const network(run.agent.networks().trunk(), head, 1.0);
    gmac::detail::critic_targets<head_type, loss_type, float> const targets(head, options, seen, seen.state_count());
    gmac::detail::learner<network_type, gmac::detail::no_actor, head_type, loss_type> learner(
        {options, network, none, head, loss, seen, targets.for_loss(), {}});
    std::vector<float> parameters(network.parameter_count());
    std::vector<std::size_t> drawn;
    auto const stream = [&](gmac::stream_purpose purpose, std::size_t index) {
        if (purpose == gmac::stream_purpose::fraction)
            drawn.push_back(index);
        return gmac::stream_for(1, purpose, index);
    };
    gmac::serial_executor alone;
    gmac::update_report report{.learning_rate = 0.1};
    learner.learn(parameters, alone, stream, 100, report);
    std::ranges::sort(drawn);
    CHECK(drawn.size() == 2 * (3 + 1));
    CHECK(drawn.front() == 100);
    CHECK(std::ranges::adjacent_find(drawn) == drawn.end());
}

TEST_CASE("critics are saved and resumed with the agent, to the bit") {
    watched run(true), resumed(true, nullptr, 500);
    for (int i = 0; i < 3; ++i)
        static_cast<void>(run.agent.update());
    static_cast<void>(resumed.agent.update());
    gmac::testing::memory_archive file;
    run.agent.persist(file);
    file.rewind();
    resumed.agent.persist(file);
    CHECK(run.critics() == resumed.critics());
    for (int i = 0; i < 3; ++i) {
        static_cast<void>(run.agent.update());
        static_cast<void>(resumed.agent.update());
    }
    CHECK(run.critics() == resumed.critics());
    CHECK(run.third->report().explained_variance == resumed.third->report().explained_variance);
}

TEST_CASE("a critic that watches learns what the agent's own critic learns") {
    // With a trunk of its own and no limit for the norm of both gradients, the agent's critic has nothing to do with the
    // actor: from the same parameters, and with the same seed, one that watches must go the same way.
    gmac::vector_environment<line> worlds(5, 3);
    auto options = small_options();
    options.shared_trunk = false;
    options.max_gradient_norm = std::numeric_limits<double>::infinity();
    options.schedule = gmac::rate_schedule::linear;
    agent_type agent(worlds, options, {.seed = 11});
    auto& critic = agent.observe<mixture, mixture_energy>({.seed = 11});
    std::size_t const count = critic.parameters().size();
    auto const own = [&] { return copy(std::as_const(agent).parameters().last(count)); };
    std::ranges::copy(own(), critic.parameters().begin());
    for (double const progress : {0.0, 0.3, 0.6}) {
        auto const report = agent.update(progress);
        CHECK(critic.report().value_loss == report.value_loss);
        CHECK(critic.report().explained_variance == report.explained_variance);
    }
    CHECK(copy(critic.parameters()) == own());
}

TEST_CASE("a critic that watches finds the distribution, though the agent has none") {
    gmac::vector_environment<lottery> worlds(16, 3);
    gmac::agent_options options = small_options();
    options.learning_rate = 3e-3;
    options.particles = 64;
    options.minibatch = 64;
    plain_agent agent(worlds, options, {.seed = 2});
    quantiles head;
    head.samples_per_state = 32;
    head.hidden = 16;
    auto& quantile = agent.observe<quantiles, gmac::losses::sample_energy>({.head = head, .seed = 3});
    auto& gaussians = agent.observe<mixture, mixture_energy>({.head = {.scale = 0.01f, .floor = 0.0f}, .seed = 4});
    for (int i = 0; i < 150; ++i)
        static_cast<void>(agent.update());

    std::array<float, 1> const state{1.0f};
    gmac::matrix_view<float const> const states(state.data(), 1, 1);
    gmac::random_stream random(5, 0);
    auto work = gaussians.make_workspace();
    std::array<float, 5> weights{}, means{}, deviations{};
    auto const row = [](auto& values) { return gmac::matrix_view<float>(values.data(), 1, values.size()); };
    gaussians.head().distribution(gaussians.value_outputs(states, random, work), row(weights), row(means),
                                  row(deviations));
    double mean = 0.0, low = 0.0; // and the probability below 5
    for (std::size_t k = 0; k < 5; ++k) {
        mean += static_cast<double>(weights[k] * means[k]);
        low += static_cast<double>(weights[k]) * 0.5 *
               std::erfc((static_cast<double>(means[k]) - 5.0) / static_cast<double>(deviations[k]) / std::sqrt(2.0));
    }
    CHECK(std::abs(mean - 3.0) < 0.4);
    CHECK(std::abs(low - 0.7) < 0.05);

    auto quantile_work = quantile.make_workspace();
    double sum = 0.0, below = 0.0;
    constexpr int draws = 64;
    for (int i = 0; i < draws; ++i) {
        auto const drawn = quantile.value_outputs(states, random, quantile_work);
        for (std::size_t j = 0; j < drawn.cols(); ++j) {
            sum += static_cast<double>(drawn(0, j));
            below += drawn(0, j) < 5.0f ? 1.0 : 0.0;
        }
    }
    CHECK(std::abs(sum / (32.0 * draws) - 3.0) < 0.4);
    CHECK(std::abs(below / (32.0 * draws) - 0.7) < 0.05);
}

TEST_CASE("critics that watch allocate nothing after the first update") {
    watched run(true);
    static_cast<void>(run.agent.update());
    CHECK(gmac::testing::allocations_during([&] { static_cast<void>(run.agent.update()); }) == 0);
}

TEST_CASE("a critic may have another network, and what does not fit is refused") {
    watched run(false);
    auto options = small_options();
    options.hidden = {4};
    std::array<std::size_t, 2> const widths{2, 4}, wrong{3, 4};
    using trunk = gmac::nn::mlp<gmac::backends::simd<float>>;
    auto& small = run.agent.observe<gmac::heads::scalar, gmac::losses::squared_error>({}, options, trunk(widths, {}));
    static_cast<void>(run.agent.update());
    CHECK(small.parameters().size() == 2 * 4 + 4 + 4 + 1);

    auto const add_wrong = [&] {
        static_cast<void>(
            run.agent.observe<gmac::heads::scalar, gmac::losses::squared_error>({}, options, trunk(wrong, {})));
    };
    CHECK_THROWS_WITH(add_wrong(), "observer: the trunk takes 3 inputs, but a state has 2 elements");
    options.epochs = 0;
    auto const add_idle = [&] {
        static_cast<void>(
            run.agent.observe<gmac::heads::scalar, gmac::losses::squared_error>({}, options, trunk(widths, {})));
    };
    CHECK_THROWS_WITH(add_idle(), "agent_options: epochs is 0, but must be at least 1");
    options.epochs = 1;
    options.minibatch = 0;
    CHECK_THROWS_WITH(add_idle(), "agent_options: minibatch is 0, but must be at least 1");
    CHECK_THROWS_WITH(run.agent.observe(std::unique_ptr<gmac::rollout_observer<float>>()),
                      "actor_critic: observe was given no observer");
}

TEST_CASE("whatever sees rollouts may observe an agent") {
    struct counter final : gmac::rollout_observer<float> {
        std::vector<double>& seen;
        explicit counter(std::vector<double>& to) : seen(to) {}
        void observe(gmac::rollout<float> const& rollout, std::uint64_t number, double rate, gmac::executor&) override {
            double sum = 0.0;
            for (std::size_t t = 0; t < rollout.steps(); ++t)
                for (std::size_t e = 0; e < rollout.environments(); ++e)
                    sum += static_cast<double>(rollout.rewards()(t, e));
            seen.insert(seen.end(), {static_cast<double>(number), rate, sum});
        }
        void persist(gmac::archive& state) override { state("count", count); }
        double count = 0.0;
    };
    std::vector<double> seen;
    watched run(true); // beside critics
    run.agent.observe(std::make_unique<counter>(seen));
    static_cast<void>(run.agent.update());
    static_cast<void>(run.agent.update());
    REQUIRE(seen.size() == 6);
    CHECK(seen[0] == 1.0);
    CHECK(seen[3] == 2.0);
    CHECK(seen[1] == small_options().learning_rate);
    double sum = 0.0; // of the second rollout, which the agent still has
    for (std::size_t t = 0; t < run.agent.experience().steps(); ++t)
        for (std::size_t e = 0; e < 5; ++e)
            sum += static_cast<double>(run.agent.experience().rewards()(t, e));
    CHECK(seen[5] == sum);
    // What was saved with it cannot be loaded without it, and the other way round.
    gmac::testing::memory_archive file;
    run.agent.persist(file);
    CHECK(file.entries().contains("observer3.count"));
    watched fewer(true);
    gmac::testing::memory_archive without;
    fewer.agent.persist(without);
    without.rewind();
    CHECK_THROWS(run.agent.persist(without));
}

TEST_CASE("what a critic is asked about must fit it, and its errors say whose they are") {
    watched run(true);
    auto work = run.third->make_workspace(2);
    gmac::random_stream random(1, 1);
    std::vector<float> const states(9);
    CHECK_THROWS_WITH(run.third->value_outputs({states.data(), 1, 3}, random, work),
                      "observer: observations is 1 x 3, but must be 1 x 2");
    CHECK_THROWS_WITH(run.third->value_outputs({states.data(), 3, 2}, random, work),
                      "observer: 3 observations, but the memory was made for 2");
}
