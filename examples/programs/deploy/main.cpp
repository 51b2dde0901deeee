// SPDX-License-Identifier: Apache-2.0
// Acts by a policy from a file: reads observations from the standard input, one after the other, and writes an action for
// each on a line of its own. For an Atari game an observation is all pixels of a stack of frames, [frames, 84, 84].
//
//     gmac-train --env classic/cart_pole --out runs/pole
//     echo "0 0 0.05 0" | gmac-act runs/pole/policy.safetensors
#include "support/run_main.hpp"

#include <gmac/deploy/policy_file.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <iostream>
#include <variant>
#include <vector>

namespace {

[[nodiscard]] bool read(float& number) {
    return static_cast<bool>(std::cin >> number);
}
[[nodiscard]] bool read(std::uint8_t& pixel) {
    unsigned level = 0;
    if (!(std::cin >> level))
        return false;
    gmac::require(level < 256, "a pixel is {}, but must be between 0 and 255", level);
    pixel = static_cast<std::uint8_t>(level);
    return true;
}

template <class Policy>
void act(Policy const& policy) {
    auto memory = policy.make_memory(); // for one thread
    std::vector<typename Policy::observation_type> observation(policy.observation_size());
    std::vector<float> action(policy.action_size());
    std::size_t count = 0, observations = 0;
    while (read(observation[count]))
        if (++count == observation.size()) {
            policy.act(observation, action, memory);
            fmt::print("{}\n", fmt::join(action, " "));
            ++observations;
            count = 0;
        }
    gmac::require(std::cin.eof(), "element {} of observation {} is not a finite number", count, observations);
    gmac::require(count == 0, "observation {} has {} numbers, but must have {}", observations, count,
                  observation.size());
}

} // namespace

int main(int argc, char** argv) {
    return gmac::examples::run_main("gmac-act", [&] {
        gmac::require(argc == 2 && argv[1][0] != '-', "usage: gmac-act POLICY.safetensors <OBSERVATIONS");
        std::visit([](auto const& policy) { act(policy); }, gmac::load_any_policy(argv[1]));
    });
}
