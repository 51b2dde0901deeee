// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/options.hpp>
#include <gmac/core/archive.hpp>
#include <gmac/core/random.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/environment/vector_environment.hpp>

#include "agent/worlds.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gmac::testing {

/// An environment whose episodes follow from its number among all environments of all ranks: so one process with all of
/// them sees what several see together.
struct numbered_line {
    line inner;
    std::uint64_t number = 0;
    std::uint64_t episode = 0;

    static std::size_t observation_size() { return 2; }
    static discrete action_space() { return {3}; }
    void reset(random_stream&, std::span<float> observation) {
        own = random_stream(number, episode++);
        inner.reset(own, observation);
    }
    transition step(int action, random_stream&, std::span<float> observation) {
        return inner.step(action, own, observation);
    }
    void persist(archive& state) {
        inner.persist(state);
        state("episode", episode);
        own.persist(state, "own");
    }
    random_stream own{};
};

[[nodiscard]] inline auto lines(std::size_t count, std::size_t first) {
    return vector_environment<numbered_line>(count, 3, [first](std::size_t e) {
        return numbered_line{.inner = {}, .number = first + e};
    });
}

/// One minibatch, which is the whole rollout, and a step of the optimiser that is nearly in proportion to the gradient: what
/// R ranks do is then what one process does with all environments.
[[nodiscard]] inline agent_options one_step() {
    agent_options options = small_options();
    options.minibatch = 100'000;
    options.epochs = 1;
    options.learning_rate = 0.3;
    options.optimiser_epsilon = 1.0;
    return options;
}

} // namespace gmac::testing
