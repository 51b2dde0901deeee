// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "flops/counting_backend.hpp"

#include <gmac/core/counted.hpp>
#include <gmac/core/random.hpp>
#include <gmac/nn/implicit_quantile.hpp>
#include <gmac/nn/linear.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Parameters and forward operations of the networks of Table 3, for one state.
namespace gmac::flops {

struct network_cost {
    std::uint64_t parameters = 0;
    std::uint64_t products = 0; ///< multiplications of the layers and the additions that belong to them
    std::uint64_t others = 0;   ///< activations, the product with the quantile embedding, cosines

    friend network_cost operator+(network_cost const& a, network_cost const& b) {
        return {a.parameters + b.parameters, a.products + b.products, a.others + b.others};
    }
};

/// A convolution without padding on a square image, with a relu. There is no convolution layer in the library, so this is
/// arithmetic and not a run: each output is one bias and size² · channels multiply-adds.
struct convolution {
    std::size_t image, channels, size, stride, filters;

    [[nodiscard]] std::size_t output_image() const { return (image - size) / stride + 1; }
    [[nodiscard]] network_cost cost() const {
        std::uint64_t const fan_in = std::uint64_t{size} * size * channels;
        std::uint64_t const outputs = std::uint64_t{output_image()} * output_image() * filters;
        return {(fan_in + 1) * filters, 2 * fan_in * outputs, outputs};
    }
};

/// Runs `pass` and returns what the counting backend counted: additions and multiplications, and the rest.
template <class Pass>
[[nodiscard]] network_cost counted_pass(std::size_t parameters, Pass&& pass) {
    operation_counts const before = counting_backend::counter();
    pass();
    operation_counts const done = counting_backend::counter() - before;
    std::uint64_t const products = done.additions + done.multiplications;
    return {parameters, products, done.total() - products};
}

/// The library's linear layer, run on one state.
[[nodiscard]] inline network_cost linear_cost(std::size_t inputs, std::size_t outputs, nn::activation function) {
    nn::linear<counting_backend> const layer(inputs, outputs, {function, 1.0});
    std::vector<double> const parameters(layer.parameter_count(), 0.01), input(inputs, 1.0);
    auto tape = layer.make_tape(1);
    return counted_pass(layer.parameter_count(), [&] {
        static_cast<void>(layer.forward(std::span<double const>(parameters),
                                        matrix_view<double const>(input.data(), 1, inputs), tape));
    });
}

/// The library's implicit quantile network of one state; its element-wise product and the cosines do not go through the
/// backend and are added here.
[[nodiscard]] inline network_cost implicit_quantile_cost(std::size_t features, nn::implicit_quantile_options options) {
    nn::implicit_quantile_network<counting_backend> const network(features, options);
    std::vector<double> const parameters(network.parameter_count(), 0.01), input(features, 1.0);
    auto tape = network.make_tape(1);
    random_stream random(1);
    network_cost result = counted_pass(network.parameter_count(), [&] {
        static_cast<void>(network.predict(std::span<double const>(parameters),
                                          matrix_view<double const>(input.data(), 1, features), random, tape));
    });
    result.others += options.samples * (features + options.embedding);
    return result;
}

/// 84 × 84 × 4 pixels, 8×8/4 → 32, 4×4/2 → 64, 3×3/1 → 32, and a fully connected layer.
[[nodiscard]] inline network_cost trunk_cost(std::size_t units) {
    network_cost sum;
    std::size_t image = 84, channels = 4;
    for (auto const [size, stride, filters] : {std::array<std::size_t, 3>{8, 4, 32}, {4, 2, 64}, {3, 1, 32}}) {
        convolution const layer{image, channels, size, stride, filters};
        sum = sum + layer.cost();
        image = layer.output_image();
        channels = filters;
    }
    return sum + linear_cost(image * image * channels, units, nn::activation::relu);
}

} // namespace gmac::flops
