// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/random.hpp>
#include <gmac/environment/environment.hpp>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace gmac::testing {

/// A walk over 0, …, 9 with steps of 0, 1 or 2, of which the last is forbidden from 8 on; "throws" throws in step 5,
/// "wide" has other observations.
struct optional_walk {
    std::string options;
    std::int32_t place = 0, steps = 0;

    explicit optional_walk(std::string text = {}) : options(std::move(text)) {
        if (options == "bad")
            throw std::runtime_error("the options are bad");
    }
    [[nodiscard]] std::size_t observation_size() const { return options == "wide" ? 2000 : 2; }
    [[nodiscard]] gmac::discrete action_space() const { return {3}; }
    [[nodiscard]] gmac::observation_history history() const { return {.frames = options == "past" ? 4u : 1u}; }
    void action_mask(std::span<std::uint8_t> allowed) const {
        if (place >= 8)
            allowed[2] = 0;
    }
    void reset(gmac::random_stream& random, std::span<float> observation) {
        place = static_cast<std::int32_t>(random.below(4));
        steps = 0;
        write(observation);
    }
    gmac::transition step(int action, gmac::random_stream& random, std::span<float> observation) {
        if (++steps == 5 && options == "throws")
            throw std::runtime_error("step 5 is too much");
        place += action;
        bool const ended = place >= 9, cut = !ended && random.below(20) == 0;
        write(observation);
        return {.reward = 0.5 * action - 0.25, .terminated = ended, .truncated = cut};
    }
    void write(std::span<float> observation) const {
        observation[0] = static_cast<float>(place);
        observation[1] = static_cast<float>(steps);
    }
    void persist(gmac::archive& state) {
        state("place", place);
        state("steps", steps);
    }
};

} // namespace gmac::testing
