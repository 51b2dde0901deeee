// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

/// A loss, SR(λ) and a network, asked the same in parts of one program that are compiled for different vectors: nothing
/// here mentions a type of gmac's.
namespace parts {

inline constexpr std::size_t states = 13, components = 2, particles = 5, steps = 37, inputs = 3, hidden = 19,
                             actions = 2;
inline constexpr double discount = 0.9, floor = 0.1;

struct questions {
    std::array<float, states * 3 * components> raw;          // of a Gaussian mixture, as its head takes them
    std::array<float, states * particles> means, deviations; // of the targets
    std::array<float, steps> rewards;                        // of one environment
    std::array<float, steps + 1> values;                     // of its states, whose distributions are points
    std::array<float, states * inputs> rows;                 // for the network
    std::array<float, (inputs + 1) * hidden + (hidden + 1) * actions> parameters; // layer after layer, W and b
};

struct answers {
    double loss;
    std::array<float, states * 3 * components> gradient;
    std::array<float, steps * particles> returns;
    std::array<float, states * actions> outputs;
    std::size_t lanes; // floats in a vector
};

answers narrow(questions const& asked);
answers wide(questions const& asked);

} // namespace parts
