// SPDX-License-Identifier: Apache-2.0
#include "torch_convolution.hpp"

#include <torch/torch.h>

#include <cstdint>

namespace gmac::testing {

namespace {

std::int64_t number(std::size_t x) {
    return static_cast<std::int64_t>(x);
}
torch::Tensor tensor(std::vector<float> const& numbers, torch::IntArrayRef shape) {
    return torch::from_blob(const_cast<float*>(numbers.data()), shape, torch::kFloat32).clone();
}
std::vector<float> numbers_of(torch::Tensor const& t) {
    torch::Tensor const all = t.detach().contiguous();
    return {all.data_ptr<float>(), all.data_ptr<float>() + all.numel()};
}

} // namespace

convolution_results torch_convolution(std::vector<float> const& input, std::size_t images, std::size_t channels,
                                      std::size_t height, std::size_t width, std::vector<float> const& weight,
                                      std::vector<float> const& bias, std::size_t kernel, std::size_t stride,
                                      std::vector<float> const& output_gradient) {
    torch::set_num_threads(1);
    auto const filters = number(bias.size());
    torch::Tensor x = tensor(input, {number(images), number(channels), number(height), number(width)});
    torch::Tensor w = tensor(weight, {filters, number(channels), number(kernel), number(kernel)});
    torch::Tensor b = tensor(bias, {filters});
    for (torch::Tensor* const leaf : {&x, &w, &b})
        leaf->set_requires_grad(true);
    torch::Tensor const y = torch::relu(torch::conv2d(x, w, b, number(stride)));
    y.backward(tensor(output_gradient, y.sizes()));
    return {numbers_of(y), numbers_of(w.grad()), numbers_of(b.grad()), numbers_of(x.grad())};
}

} // namespace gmac::testing
