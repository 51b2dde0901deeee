// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "flops/plain_backend.hpp"

#include <gmac/core/counted.hpp>
#include <gmac/nn/conv2d.hpp>
#include <gmac/nn/implicit_quantile.hpp>
#include <gmac/nn/linear.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

/// Parameters and forward operations of the networks of Table 1, for one state.
namespace gmac::flops {

struct network_cost {
    std::uint64_t parameters = 0;
    std::uint64_t products = 0; ///< multiplications of the layers and the additions that belong to them
    std::uint64_t others = 0;   ///< activations, the product with the quantile embedding, cosines

    friend network_cost operator+(network_cost const& a, network_cost const& b) {
        return {a.parameters + b.parameters, a.products + b.products, a.others + b.others};
    }
};

/// The library's layers on numbers that count.
using counting_backend = plain_backend<counted<double>>;

/// Equal numbers with a counter.
[[nodiscard]] inline std::vector<counted<double>> counting(std::size_t size, double value, operation_counts& counter) {
    return std::vector<counted<double>>(size, counted<double>(value, counter));
}
/// Additions and multiplications, and the rest.
[[nodiscard]] inline network_cost cost_of(std::size_t parameters, operation_counts const& counts) {
    std::uint64_t const products = counts.additions + counts.multiplications;
    return {parameters, products, counts.total() - products};
}

/// The library's linear layer, run on one state.
[[nodiscard]] inline network_cost linear_cost(std::size_t inputs, std::size_t outputs, nn::activation function) {
    operation_counts counts;
    nn::linear<counting_backend> const layer(inputs, outputs, {function, 1.0});
    auto const parameters = counting(layer.parameter_count(), 0.01, counts), input = counting(inputs, 1.0, counts);
    auto workspace = layer.make_workspace(1);
    layer.forward(parameters, {input.data(), 1, inputs}, workspace);
    return cost_of(layer.parameter_count(), counts);
}

/// The library's implicit quantile network, run on one state. The element-wise product with the embedding counts among the
/// rest, as do the cosines, which the library computes in double whatever the backend, and which are added here.
[[nodiscard]] inline network_cost implicit_quantile_cost(std::size_t features, nn::implicit_quantile_options options) {
    operation_counts counts;
    nn::implicit_quantile_network<counting_backend> const network(features, options);
    auto const parameters = counting(network.parameter_count(), 0.01, counts), input = counting(features, 1.0, counts),
               fractions = counting(options.samples, 0.5, counts);
    auto workspace = network.make_workspace(1);
    (void)network.predict(parameters, {input.data(), 1, features}, {fractions.data(), 1, options.samples}, workspace);
    network_cost result = cost_of(network.parameter_count(), counts);
    std::uint64_t const element_wise = options.samples * features;
    result.products -= element_wise;
    result.others += element_wise + options.samples * options.embedding;
    return result;
}

/// The library's convolution, run on one image.
[[nodiscard]] inline network_cost convolution_cost(nn::conv2d<counting_backend> const& layer) {
    operation_counts counts;
    auto const parameters = counting(layer.parameter_count(), 0.01, counts),
               image = counting(layer.inputs(), 1.0, counts);
    auto workspace = layer.make_workspace(1);
    layer.forward(parameters, {image.data(), 1, layer.inputs()}, workspace);
    return cost_of(layer.parameter_count(), counts);
}

/// 84 × 84 × 4 pixels, 8×8/4 → 32, 4×4/2 → 64, 3×3/1 → 32, and a fully connected layer.
[[nodiscard]] inline network_cost trunk_cost(std::size_t units) {
    network_cost sum;
    nn::image_shape image{84, 84, 4};
    for (auto const [kernel, stride, filters] : {std::array<std::size_t, 3>{8, 4, 32}, {4, 2, 64}, {3, 1, 32}}) {
        nn::conv2d<counting_backend> const layer(image, {.filters = filters, .kernel = kernel, .stride = stride});
        sum = sum + convolution_cost(layer);
        image = layer.output_shape();
    }
    return sum + linear_cost(image.size(), units, nn::activation::relu);
}

} // namespace gmac::flops
