// SPDX-License-Identifier: Apache-2.0
// The layers of the Atari trunk, forward and backward, against libtorch's convolution. Sums of hundreds of floats in another order: rounding.
#include "support/catch.hpp"
#include "torch_convolution.hpp"

#include <gmac/backends/eigen.hpp>
#include <gmac/backends/simd.hpp>
#include <gmac/nn/conv2d.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace {

/// The largest difference, as a share of the largest number.
double difference(std::vector<float> const& a, std::vector<float> const& b) {
    REQUIRE(a.size() == b.size());
    double worst = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        worst = (std::max)(worst, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
        size = (std::max)(size, std::abs(static_cast<double>(b[i])));
    }
    REQUIRE(std::isfinite(worst));
    REQUIRE(size > 0);
    return worst / size;
}

/// [n, pixels, channels] → [n, channels, pixels], or with the last two sizes exchanged the reverse.
std::vector<float> exchanged(std::vector<float> const& from, std::size_t n, std::size_t rows, std::size_t columns) {
    std::vector<float> to(from.size());
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < columns; ++c)
                to[(i * columns + c) * rows + r] = from[(i * rows + r) * columns + c];
    return to;
}

template <class Backend>
void check(gmac::nn::image_shape input, gmac::nn::conv2d_options const& options) {
    constexpr std::size_t images = 4;
    gmac::nn::conv2d<Backend> const layer(input, options);
    std::size_t const filters = options.filters;
    std::size_t const window = options.kernel * options.kernel * input.channels;
    std::size_t const pixels = layer.output_shape().pixels();
    gmac::random_stream random(1);
    std::vector<float> parameters(layer.parameter_count()), x(images * layer.inputs()), d(images * layer.outputs());
    layer.initialize(parameters, random);
    for (std::size_t j = 0; j < filters; ++j)
        parameters[window * filters + j] = random.normal<float>();
    for (float& number : x)
        number = random.uniform<float>();
    for (float& number : d)
        number = random.normal<float>();

    std::vector<float> gradient(parameters.size()), input_gradient(x.size());
    auto workspace = layer.make_workspace(images);
    gmac::matrix_view<float const> const batch(x.data(), images, layer.inputs());
    auto const y = layer.forward(parameters, batch, workspace);
    layer.backward(parameters, batch, workspace, {d.data(), images, layer.outputs()}, gradient,
                   {input_gradient.data(), images, layer.inputs()});

    // libtorch has the channels first: [window, filters] = [pixels of it, channels, filters] → [filters, channels, pixels].
    std::size_t const taps = options.kernel * options.kernel;
    auto const as_torch = [&](std::vector<float> const& weight) {
        return exchanged(exchanged({weight.begin(), weight.begin() + static_cast<std::ptrdiff_t>(window * filters)}, 1,
                                   window, filters),
                         filters, taps, input.channels);
    };
    bool const first = options.layout == gmac::nn::image_layout::channels_first;
    auto const images_as_torch = [&](std::vector<float> const& numbers) {
        return first ? numbers : exchanged(numbers, images, input.pixels(), input.channels);
    };
    std::vector<float> const bias(parameters.end() - static_cast<std::ptrdiff_t>(filters), parameters.end());
    auto const torch = gmac::testing::torch_convolution(images_as_torch(x), images, input.channels, input.height,
                                                        input.width, as_torch(parameters), bias, options.kernel,
                                                        options.stride, exchanged(d, images, pixels, filters));
    CHECK(difference(exchanged({y.data(), y.data() + images * layer.outputs()}, images, pixels, filters),
                     torch.output) < 5e-6);
    CHECK(difference(as_torch(gradient), torch.weight_gradient) < 5e-6);
    CHECK(difference({gradient.end() - static_cast<std::ptrdiff_t>(filters), gradient.end()}, torch.bias_gradient) <
          2e-6);
    CHECK(difference(images_as_torch(input_gradient), torch.input_gradient) < 5e-6);
}

} // namespace

TEMPLATE_TEST_CASE("Convolutions agree with libtorch's to rounding", "[convolution]", gmac::backends::simd<float>,
                   gmac::backends::eigen<float>) {
    using gmac::nn::image_layout;
    check<TestType>({84, 84, 4}, {.filters = 32, .kernel = 8, .stride = 4, .layout = image_layout::channels_first});
    check<TestType>({20, 20, 32}, {.filters = 64, .kernel = 4, .stride = 2});
    check<TestType>({9, 9, 64}, {.filters = 32, .kernel = 3, .stride = 1});
    check<TestType>({11, 6, 5}, {.filters = 9, .kernel = 3, .stride = 2});
}
