// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/environment/environment.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gmac::testing {

/// Screens of random bytes; an episode ends by chance, in either way, sometimes after a single step. A reward for the
/// action that the first byte of the screen two steps before asks for.
struct screens {
    using observation_type = std::uint8_t;

    observation_history wanted{};
    std::array<std::uint8_t, 3> first_bytes{}; // of the last three screens, newest first

    static std::size_t observation_size() { return 5; }
    static discrete action_space() { return {2}; }
    [[nodiscard]] observation_history history() const { return wanted; }

    void reset(random_stream& random, std::span<std::uint8_t> screen) {
        draw(random, screen);
        first_bytes.fill(screen[0]);
    }
    transition step(int action, random_stream& random, std::span<std::uint8_t> screen) {
        bool const right = first_bytes[2] < 128;
        draw(random, screen);
        first_bytes = {screen[0], first_bytes[0], first_bytes[1]};
        return {.reward = (action == 1) == right ? 1.0 : 0.0,
                .terminated = random.below(9) == 0,
                .truncated = random.below(9) == 0};
    }
    void persist(archive& state) { state("first_bytes", std::span<std::uint8_t>(first_bytes)); }

private:
    static void draw(random_stream& random, std::span<std::uint8_t> screen) {
        for (auto& pixel : screen)
            pixel = static_cast<std::uint8_t>(1 + random.below(255)); // a zero can only be padding
    }
};

} // namespace gmac::testing
