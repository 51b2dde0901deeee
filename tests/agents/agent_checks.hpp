// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/options.hpp>
#include <gmac/agent/policy.hpp>
#include <gmac/core/tbb_executor.hpp>
#include <gmac/environment/normalized.hpp>
#include <gmac/environment/vector_environment.hpp>

#include "agent/worlds.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

/// What every agent must do, whatever its head and loss.
namespace gmac::testing {

/// An agent on the line with normalised rewards, with the world that it lives in.
template <class Agent>
struct walk {
    using head_type = typename Agent::head_type;
    using actor_type = typename Agent::actor_type;

    vector_environment<line> worlds;
    normalized_environments normalized{worlds};
    Agent agent;

    walk(head_type const& head, std::uint64_t seed, executor* tasks = nullptr)
        : worlds(5, 3 + seed, tasks),
          agent(normalized, small_options(), {.head = head, .seed = seed, .tasks = tasks}) {}
};

/// Everything that a run computes: what the reports said and the parameters after some updates.
template <class Agent>
[[nodiscard]] std::vector<double> run(typename Agent::head_type const& head, std::uint64_t seed, executor* tasks) {
    walk<Agent> all(head, seed, tasks);
    std::vector<double> result;
    for (int i = 0; i < 3; ++i) {
        auto const report = all.agent.update();
        result.insert(result.end(), {report.value_loss, report.gradient_norm, report.mean_return});
    }
    for (float const parameter : all.agent.parameters())
        result.push_back(static_cast<double>(parameter));
    return result;
}

/// One seed, one answer: for any executor; another seed, another answer.
template <class Agent>
void check_reproducible(typename Agent::head_type const& head = {}) {
    tbb_executor two(2);
    auto const alone = run<Agent>(head, 11, nullptr);
    CHECK(alone == run<Agent>(head, 11, nullptr));
    CHECK(alone == run<Agent>(head, 11, &two));
    CHECK(alone != run<Agent>(head, 12, nullptr));
}

/// A run that is stored and loaded goes on as if it had never stopped, bit for bit.
template <class Agent>
void check_resume(typename Agent::head_type const& head = {}) {
    walk<Agent> first(head, 11);
    for (int i = 0; i < 2; ++i)
        static_cast<void>(first.agent.update());
    memory_archive file;
    first.agent.persist(file);
    file.rewind();
    // Another seed in everything that the file must overwrite.
    walk<Agent> second(head, 12);
    static_cast<void>(second.agent.update());
    CHECK(parameters_of(first.agent) != parameters_of(second.agent));
    second.agent.persist(file);
    for (int i = 0; i < 2; ++i) {
        CHECK(first.agent.update().value_loss == second.agent.update().value_loss);
        CHECK(parameters_of(first.agent) == parameters_of(second.agent));
    }
}

template <class Agent>
void check_allocations(typename Agent::head_type const& head = {}) {
    walk<Agent> all(head, 11);
    static_cast<void>(all.agent.update());
    CHECK(allocations_during([&] { static_cast<void>(all.agent.update()); }) == 0);
}

/// Walking straight to the middle costs about 1.2, what a fresh agent does 6 or more. Each net has a trunk of its own: a
/// loss that is summed over quantiles outweighs the policy in a trunk as small as this one.
template <class Agent>
void check_learning(typename Agent::head_type const& head = {}) {
    auto options = small_options();
    options.epochs = 8;
    options.minibatch = 64;
    options.shared_trunk = false;
    vector_environment<line> worlds(8, 3);
    Agent agent(worlds, options, {.head = head, .seed = 1});
    double first = 0.0, last = 0.0;
    agent.train({.frames = 128, .on_update = [&](auto const& report) { first = report.mean_return; }});
    agent.train({.frames = 24'000, .on_update = [&](auto const& report) { last = report.mean_return; }});
    CHECK(first < -6.0);
    CHECK(last > -2.0);
}

} // namespace gmac::testing
