// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/says.hpp"

#include <gmac/core/archive.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/environment.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace gmac::testing {

/// Counts its steps: observation (number of the episode, steps so far), reward = 10 episode + step + action / 2. The
/// episode ends after 2 + episode steps: odd ones are truncated, even ones terminated.
struct counting {
    std::size_t first_episode = 0;
    std::uint64_t episode = 0, steps = 0;

    [[nodiscard]] std::size_t observation_size() const { return 2; }
    [[nodiscard]] gmac::discrete action_space() const { return {3}; }
    void reset(gmac::random_stream&, std::span<float> observation) {
        episode = episode == 0 ? first_episode + 1 : episode + 1;
        steps = 0;
        write(observation);
    }
    gmac::transition step(int action, gmac::random_stream&, std::span<float> observation) {
        ++steps;
        write(observation);
        bool const ends = steps == 2 + episode;
        return {.reward = static_cast<double>(10 * episode + steps) + 0.5 * action,
                .terminated = ends && episode % 2 == 0,
                .truncated = ends && episode % 2 == 1};
    }
    void write(std::span<float> observation) const {
        observation[0] = static_cast<float>(episode);
        observation[1] = static_cast<float>(steps);
    }
};

/// A walk driven by its random stream and its action; can be checkpointed.
struct walk {
    std::array<double, 3> position{};

    [[nodiscard]] std::size_t observation_size() const { return 3; }
    [[nodiscard]] gmac::action_space action_space() const { return gmac::box{{-1.0f, -2.0f}, {1.0f, 0.5f}}; }
    void reset(gmac::random_stream& random, std::span<float> observation) {
        for (double& x : position)
            x = random.normal<double>();
        write(observation);
    }
    gmac::transition step(std::span<float const> action, gmac::random_stream& random, std::span<float> observation) {
        for (std::size_t j = 0; j < 3; ++j)
            position[j] += 0.1 * random.normal<double>() + 0.01 * static_cast<double>(action[j % 2]);
        write(observation);
        return {.reward = position[0], .terminated = random.below(10) == 0, .truncated = random.below(10) == 0};
    }
    void write(std::span<float> observation) const {
        for (std::size_t j = 0; j < 3; ++j)
            observation[j] = static_cast<float>(position[j]);
    }
    void persist(gmac::archive& state) { state("position", std::span<double>(position)); }
};

/// Goes wrong in a chosen way at a chosen step.
struct faulty {
    enum class fault { none, reward, observation, both_flags, exception };
    fault kind = fault::none;
    std::uint64_t when = 0; ///< 0: at the reset
    double value = std::numeric_limits<double>::quiet_NaN();
    std::uint64_t steps = 0;

    [[nodiscard]] std::size_t observation_size() const { return 3; }
    [[nodiscard]] gmac::discrete action_space() const { return {2}; }
    void reset(gmac::random_stream&, std::span<float> observation) {
        steps = 0;
        write(observation);
    }
    gmac::transition step(int, gmac::random_stream&, std::span<float> observation) {
        ++steps;
        write(observation);
        bool const now = steps == when;
        if (now && kind == fault::exception)
            throw std::runtime_error("the emulator crashed");
        bool const both = now && kind == fault::both_flags;
        return {.reward = now && kind == fault::reward ? value : 1.0, .terminated = both, .truncated = both};
    }
    void write(std::span<float> observation) const {
        observation[0] = observation[1] = static_cast<float>(steps);
        observation[2] = steps == when && kind == fault::observation ? static_cast<float>(value) : 0.0f;
    }
};

/// The memory for the steps of a batch.
struct buffers {
    explicit buffers(gmac::environment_batch const& batch)
        : count(batch.size()),
          width(batch.observation_size()),
          action_width(gmac::action_size(batch.action_space())),
          observations(count * width, -7.0f),
          finals(count * width, -7.0f),
          rewards(count, -7.0f),
          actions(count * action_width, 0.0f),
          terminated(count, 7),
          truncated(count, 7) {}

    [[nodiscard]] gmac::matrix_view<float> observation_view() { return {observations.data(), count, width}; }
    [[nodiscard]] gmac::matrix_view<float> final_view() { return {finals.data(), count, width}; }
    [[nodiscard]] gmac::matrix_view<float const> action_view() const { return {actions.data(), count, action_width}; }
    [[nodiscard]] gmac::step_result result() {
        return {observation_view(), final_view(), rewards, terminated, truncated};
    }
    void step(gmac::environment_batch& batch) { batch.step(action_view(), result()); }

    std::size_t count, width, action_width;
    std::vector<float> observations, finals, rewards, actions;
    std::vector<std::uint8_t> terminated, truncated;
};

} // namespace gmac::testing
