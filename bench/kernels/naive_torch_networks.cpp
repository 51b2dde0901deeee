// SPDX-License-Identifier: Apache-2.0
#include "naive_torch_networks.hpp"

#include "naive_torch_support.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <memory>

namespace gmac::bench::naive {

namespace {

torch::nn::Sequential network(perceptron_shape const& shape) {
    auto const size = [](std::size_t n) { return static_cast<std::int64_t>(n); };
    torch::nn::Sequential made(torch::nn::Linear(size(shape.inputs), size(shape.hidden)));
    auto const activate = [&] { shape.relu ? made->push_back(torch::nn::ReLU()) : made->push_back(torch::nn::Tanh()); };
    activate();
    made->push_back(torch::nn::Linear(size(shape.hidden), size(shape.hidden)));
    activate();
    made->push_back(torch::nn::Linear(size(shape.hidden), size(shape.outputs)));
    return made;
}

} // namespace

job perceptron_update(perceptron_shape const& shape, float const* inputs, float const* wanted, std::size_t rows) {
    torch::Tensor const x = tensor(inputs, rows, shape.inputs), y = tensor(wanted, rows, shape.outputs);
    torch::nn::Sequential net = network(shape);
    auto const adam = std::make_shared<torch::optim::Adam>(net->parameters(), torch::optim::AdamOptions(1e-4));
    return [=]() mutable {
        adam->zero_grad();
        torch::Tensor const loss = torch::mse_loss(net->forward(x), y);
        loss.backward();
        adam->step();
        return loss.item<float>();
    };
}

job perceptron_forward(perceptron_shape const& shape, float const* inputs, std::size_t rows) {
    torch::Tensor const x = tensor(inputs, rows, shape.inputs);
    torch::nn::Sequential net = network(shape);
    return [=]() mutable {
        torch::NoGradGuard const no_graph;
        return net->forward(x).data_ptr<float>()[0];
    };
}

} // namespace gmac::bench::naive
