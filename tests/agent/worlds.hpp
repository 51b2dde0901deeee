// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/options.hpp>
#include <gmac/core/archive.hpp>
#include <gmac/environment/environment.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace gmac::testing {

/// Go to the target by moving left or right on a line; ends at the target, cut after 12 steps. Cheap and checkpointable.
struct line {
    double position = 0.0;
    std::size_t steps = 0;

    static std::size_t observation_size() { return 2; }
    static discrete action_space() { return {3}; }
    void reset(random_stream& random, std::span<float> observation) {
        position = 4.0 * random.uniform<double>() - 2.0;
        steps = 0;
        write(observation);
    }
    transition step(int action, random_stream& random, std::span<float> observation) {
        position += 0.5 * (action - 1) + 0.1 * random.normal<double>();
        ++steps;
        write(observation);
        return {-std::abs(position), std::abs(position) < 0.2, steps >= 12};
    }
    void persist(archive& state) {
        state("position", position);
        state("steps", steps);
    }

private:
    void write(std::span<float> observation) const {
        observation[0] = static_cast<float>(position);
        observation[1] = static_cast<float>(steps) / 12.0f;
    }
};

/// The same with a force in [-1, 1].
struct continuous_line {
    line inner;

    static std::size_t observation_size() { return 2; }
    static box action_space() { return box::uniform(1, -1.0f, 1.0f); }
    void reset(random_stream& random, std::span<float> observation) { inner.reset(random, observation); }
    transition step(std::span<float const> action, random_stream& random, std::span<float> observation) {
        inner.position += 0.5 * static_cast<double>(action[0]);
        return inner.step(1, random, observation);
    }
    void persist(archive& state) { inner.persist(state); }
};

/// Gives a reward that is not a number at step 7.
struct broken_line {
    line inner;

    static std::size_t observation_size() { return 2; }
    static discrete action_space() { return {3}; }
    void reset(random_stream& random, std::span<float> observation) { inner.reset(random, observation); }
    transition step(int action, random_stream& random, std::span<float> observation) {
        transition result = inner.step(action, random, observation);
        result.terminated = false;
        if (inner.steps == 7)
            result.reward = std::numeric_limits<double>::quiet_NaN();
        return result;
    }
};

[[nodiscard]] inline agent_options small_options() {
    agent_options options;
    options.steps = 16;
    options.minibatch = 24;
    options.epochs = 2;
    options.learning_rate = 1e-3;
    options.hidden = {16, 8};
    options.particles = 16;
    options.shards = 3;
    return options;
}

[[nodiscard]] std::vector<float> parameters_of(auto const& agent) {
    auto const all = agent.parameters();
    return {all.begin(), all.end()};
}

} // namespace gmac::testing
