// SPDX-License-Identifier: Apache-2.0
// Acts by a policy from a file: reads observations from the standard input, one after the other, and writes an action for
// each on a line of its own.
//
//     gmac-train --env classic/cart_pole --out runs/pole
//     echo "0 0 0.05 0" | gmac-act runs/pole/policy.safetensors
#include <gmac/deploy/policy_file.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

int main(int argc, char** argv) try {
    gmac::require(argc == 2, "usage: gmac-act POLICY.safetensors <OBSERVATIONS");
    auto const policy = gmac::load_policy(argv[1]);
    auto memory = policy.make_memory(); // for one thread
    std::vector<float> observation(policy.observation_size()), action(policy.action_size());
    std::size_t count = 0;
    while (std::cin >> observation[count])
        if (++count == observation.size()) {
            policy.act(observation, action, memory);
            fmt::print("{}\n", fmt::join(action, " "));
            count = 0;
        }
    gmac::require(std::cin.eof() && count == 0, "an observation has {} numbers", observation.size());
} catch (gmac::error const& problem) {
    fmt::print(stderr, "gmac-act: {}\n", problem.what());
    return EXIT_FAILURE;
}
