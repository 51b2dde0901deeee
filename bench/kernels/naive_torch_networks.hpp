// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "naive_torch.hpp"

#include <cstddef>

namespace gmac::bench::naive {

/// A perceptron with two hidden layers and tanh or ReLU after both, as a torch::nn::Sequential.
struct perceptron_shape {
    std::size_t inputs, hidden, outputs;
    bool relu;
};

/// One step of learning: forward, mean squared error to `wanted` [rows, outputs], backward, torch::optim::Adam.
job perceptron_update(perceptron_shape const& shape, float const* inputs, float const* wanted, std::size_t rows);
/// The forward pass of [rows, inputs] states, without a graph.
job perceptron_forward(perceptron_shape const& shape, float const* inputs, std::size_t rows);

} // namespace gmac::bench::naive
