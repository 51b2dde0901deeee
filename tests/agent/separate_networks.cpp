// SPDX-License-Identifier: Apache-2.0
// Actor and critic with trunks of their own learn on several threads.
#include <gmac/actors/categorical.hpp>
#include <gmac/agents.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/core/tbb_executor.hpp>
#include <gmac/environment/vector_environment.hpp>

#include "agent/worlds.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"
#include "support/says.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace {

using gmac::testing::parameters_of;
using mixture_agent = gmac::agents::gmac<gmac::actors::categorical>;
using quantile_agent = gmac::agents::iqac<gmac::actors::categorical>; // with random fractions in each minibatch
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Threads of which the calls are counted.
class counted_threads final : public gmac::executor {
public:
    explicit counted_threads(std::size_t threads) : threads_(threads), pool_(threads) {}
    [[nodiscard]] std::size_t concurrency() const noexcept override { return threads_; }
    void run(std::size_t count, gmac::task_ref task) override {
        ++calls;
        pool_.run(count, task);
    }
    std::size_t calls = 0;

private:
    std::size_t threads_;
    gmac::tbb_executor pool_;
};

struct outcome {
    std::vector<float> parameters;
    std::vector<double> reports;
    std::size_t calls = 0; // of the executor, in the last update

    friend bool operator==(outcome const& a, outcome const& b) {
        return a.parameters == b.parameters && a.reports == b.reports;
    }
};

template <class Agent>
outcome learned(gmac::agent_options const& options, std::size_t threads) {
    counted_threads tasks(threads);
    gmac::vector_environment<gmac::testing::line> worlds(5, 3);
    Agent agent(worlds, options, {.seed = 11, .tasks = &tasks});
    outcome made;
    for (int i = 0; i < 3; ++i) {
        tasks.calls = 0;
        auto const r = agent.update();
        made.calls = tasks.calls;
        made.reports.insert(made.reports.end(), {r.policy_loss, r.value_loss, r.entropy, r.approximate_kl,
                                                 r.clip_fraction, r.gradient_norm, r.epochs, r.learning_rate});
    }
    made.parameters = parameters_of(agent);
    return made;
}

gmac::agent_options options_of(std::size_t shards, bool separately, double limit) {
    auto options = gmac::testing::small_options(); // 2 epochs of 4 minibatches, the last one smaller
    options.shared_trunk = false;
    options.shards = shards;
    options.clip_networks_separately = separately;
    options.max_gradient_norm = limit;
    return options;
}

} // namespace

TEMPLATE_TEST_CASE("actor and critic learn on any number of threads with the same bits", "", mixture_agent,
                   quantile_agent) {
    for (std::size_t const shards : {1u, 3u}) {
        CAPTURE(shards);
        // What no limit clips is the same with one limit and with two.
        outcome const together = learned<TestType>(options_of(shards, false, infinity), 1);
        outcome const clipped = learned<TestType>(options_of(shards, true, 0.01), 1);
        CHECK_FALSE(together == clipped);
        for (std::size_t const threads : {1u, 2u, 3u}) {
            CAPTURE(threads);
            outcome const apart = learned<TestType>(options_of(shards, true, infinity), threads);
            CHECK(apart.parameters == together.parameters);
            CHECK(apart.reports == together.reports);
            CHECK(learned<TestType>(options_of(shards, true, 0.01), threads) == clipped);
            CHECK(learned<TestType>(options_of(shards, false, infinity), threads) == together);
            // The threads stay together over all minibatches.
            CHECK((apart.calls < learned<TestType>(options_of(shards, true, infinity), 1).calls) == (threads > 1));
        }
    }
}

TEST_CASE("what actor and critic have learned apart is stored and goes on") {
    gmac::tbb_executor two(2);
    auto const options = options_of(1, true, 0.1);
    gmac::vector_environment<gmac::testing::line> worlds(5, 3), others(5, 3);
    mixture_agent whole(worlds, options, {.seed = 11, .tasks = &two}), resumed(others, options, {.seed = 11});
    for (int i = 0; i < 2; ++i)
        static_cast<void>(whole.update());
    gmac::testing::memory_archive file;
    whole.persist(file);
    CHECK(file.entries().contains("optimiser.policy.first_moment"));
    CHECK(file.entries().contains("optimiser.critic.first_moment"));
    file.rewind();
    resumed.persist(file);
    for (int i = 0; i < 2; ++i)
        CHECK(whole.update().gradient_norm == resumed.update().gradient_norm);
    CHECK(parameters_of(whole) == parameters_of(resumed));
}

TEST_CASE("a number that is not finite is told from each of the two threads") {
    gmac::tbb_executor two(2);
    gmac::vector_environment<gmac::testing::line> worlds(5, 3);
    mixture_agent agent(worlds, options_of(1, true, 0.5), {.seed = 11, .tasks = &two});
    static_cast<void>(agent.update());
    std::size_t const of_policy = agent.networks().policy().parameter_count();
    // Of the last layer of the critic: the policy stays finite.
    agent.parameters().back() = std::numeric_limits<float>::quiet_NaN();
    CHECK_THROWS_WITH(agent.update(), gmac::testing::says("must be finite"));
    for (float const parameter : agent.parameters().first(of_policy))
        CHECK(std::isfinite(parameter));
}
