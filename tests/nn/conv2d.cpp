// SPDX-License-Identifier: Apache-2.0
// Convolutions, those of the SIMD backend and those by matrix products, against loops that a textbook has.
#include "judges.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <gmac/nn/conv2d.hpp>
#include <gmac/nn/image_trunk.hpp>
#include <gmac/nn/module.hpp>
#include <gmac/nn/sequential.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

using direct_float = backends::simd<float>;
using direct_double = backends::simd<double>;
static_assert(!std::same_as<nn::convolution_of<direct_float>, nn::im2col_convolution<direct_float>>);
static_assert(std::same_as<nn::convolution_of<simd_double>, nn::im2col_convolution<simd_double>>);
static_assert(nn::module<nn::conv2d<direct_double>, double>);
static_assert(nn::module<nn::conv2d<direct_double, std::uint8_t>, double>);
static_assert(nn::module<nn::image_trunk<direct_float>, float>);

// The first two have convolutions of their own, the others take the products of a backend.
#define GMAC_TEST_CONVOLUTIONS direct_float, direct_double, simd_double, eigen_float

using act = nn::activation;
using nn::image_layout;

struct problem {
    nn::image_shape input;
    nn::conv2d_options options;
};

/// Whole registers and parts of them, windows that overlap, touch and leave pixels out, images that they do not divide.
std::vector<problem> const problems{
    {{5, 7, 3}, {.filters = 2, .kernel = 3, .stride = 2, .function = act::tanh}},
    {{9, 6, 4},
     {.filters = 16, .kernel = 4, .stride = 2, .function = act::relu, .layout = image_layout::channels_first}},
    {{9, 9, 32}, {.filters = 5, .kernel = 3, .stride = 1, .function = act::none}},
    {{8, 8, 1},
     {.filters = 33, .kernel = 2, .stride = 3, .function = act::relu, .layout = image_layout::channels_first}},
    {{4, 4, 17}, {.filters = 20, .kernel = 4, .stride = 1, .function = act::tanh}},
    {{3, 11, 16}, {.filters = 40, .kernel = 1, .stride = 1, .function = act::relu}},
    {{20, 20, 8}, {.filters = 12, .kernel = 8, .stride = 4, .function = act::relu}},
};

/// A convolution in double as a textbook has it, forward and backward, with images [channels, height, width].
struct textbook {
    problem const& p;
    nn::image_shape out;
    std::vector<double> output, parameter_gradient, input_gradient;

    std::size_t in_place(std::size_t y, std::size_t x, std::size_t c) const {
        bool const last = p.options.layout == image_layout::channels_last;
        return last ? (y * p.input.width + x) * p.input.channels + c : (c * p.input.height + y) * p.input.width + x;
    }

    /// Of one image.
    textbook(problem const& of, std::vector<double> const& w, std::vector<double> const& x,
             std::vector<double> const& output_gradient)
        : p(of), parameter_gradient(w.size()), input_gradient(x.size()) {
        std::size_t const k = p.options.kernel, s = p.options.stride, filters = p.options.filters;
        out = {(p.input.height - k) / s + 1, (p.input.width - k) / s + 1, filters};
        std::size_t const bias = k * k * p.input.channels * filters;
        for (std::size_t i = 0; i < out.size(); ++i) {
            std::size_t const o = i % filters, column = i / filters % out.width, row = i / filters / out.width;
            auto const each = [&](auto visit) {
                for (std::size_t y = 0; y < k; ++y)
                    for (std::size_t z = 0; z < k; ++z)
                        for (std::size_t c = 0; c < p.input.channels; ++c)
                            visit(((y * k + z) * p.input.channels + c) * filters + o,
                                  in_place(row * s + y, column * s + z, c));
            };
            double sum = w[bias + o];
            each([&](std::size_t weight, std::size_t pixel) { sum += w[weight] * x[pixel]; });
            bool const cut = p.options.function == act::relu && sum < 0;
            double const y = p.options.function == act::tanh ? std::tanh(sum) : cut ? 0 : sum;
            double const slope = p.options.function == act::tanh ? 1 - y * y : cut ? 0 : 1;
            double const d = output_gradient[i] * slope;
            output.push_back(y);
            parameter_gradient[bias + o] += d;
            each([&](std::size_t weight, std::size_t pixel) {
                parameter_gradient[weight] += d * x[pixel];
                input_gradient[pixel] += d * w[weight];
            });
        }
    }
};

template <class T>
std::vector<double> in_double(std::vector<T> const& numbers) {
    return {numbers.begin(), numbers.end()};
}
template <class T>
std::vector<double> row_of(matrix_view<T> const& m, std::size_t i) {
    std::vector<double> row;
    for (std::size_t j = 0; j < m.cols(); ++j)
        row.push_back(static_cast<double>(m(i, j)));
    return row;
}

/// Forward and backward of a batch in any layout of memory against the textbook, image by image.
template <class Backend, class Input>
void check(problem const& p, layout l) {
    using T = typename Backend::scalar;
    constexpr bool bytes = std::same_as<Input, std::uint8_t>;
    constexpr std::size_t rows = 3;
    CAPTURE(p.input.height, p.input.width, p.input.channels, p.options.filters, p.options.kernel, p.options.stride);
    nn::conv2d<Backend, Input> const layer(p.input, p.options);
    random_stream random(5);
    std::vector<T> const w = random_numbers<T>(layer.parameter_count(), random, T(0.3));
    strided_matrix<T> numbers(rows, layer.inputs(), l), output_gradient(rows, layer.outputs(), l),
        input_gradient(rows, layer.inputs(), l);
    std::vector<Input> raw(rows * layer.inputs());
    output_gradient.fill(random);
    for (std::size_t i = 0; i < raw.size(); ++i) {
        T const x = bytes ? static_cast<T>(random.below(256)) : random.normal<T>();
        raw[i] = static_cast<Input>(x);
        numbers.view()(i / layer.inputs(), i % layer.inputs()) = bytes ? x / T(255) : x;
    }
    matrix_view<Input const> input(raw.data(), rows, layer.inputs());
    if constexpr (!bytes)
        input = numbers.cview();

    auto workspace = layer.make_workspace(rows + 2);
    std::vector<T> gradient(w.size(), T(7));
    matrix_view<T> const wanted = bytes ? matrix_view<T>() : input_gradient.view();
    auto const y = layer.forward(w, input, workspace);
    layer.backward(w, input, workspace, output_gradient.cview(), gradient, wanted);

    double const rounding = 400 * static_cast<double>(std::numeric_limits<T>::epsilon());
    std::vector<double> sum(w.size());
    for (std::size_t i = 0; i < rows; ++i) {
        textbook const exact(p, in_double(w), row_of(numbers.view(), i), row_of(output_gradient.view(), i));
        CHECK(largest_difference(row_of(y, i), exact.output) < rounding);
        if (!bytes)
            CHECK(largest_difference(row_of(input_gradient.view(), i), exact.input_gradient) < rounding);
        for (std::size_t k = 0; k < sum.size(); ++k)
            sum[k] += exact.parameter_gradient[k];
    }
    CHECK(largest_difference(in_double(gradient), sum) < 4 * rounding);
    CHECK(input_gradient.touched() == (bytes ? 0 : rows * layer.inputs()));

    // Again, and without the gradient of the input: the same.
    std::vector<T> again(gradient.size());
    layer.backward(w, input, workspace, output_gradient.cview(), again, {});
    CHECK(again == gradient);
}

} // namespace

TEMPLATE_TEST_CASE("Convolutions against a textbook's loops", "[nn][convolution]", GMAC_TEST_CONVOLUTIONS) {
    for (problem const& p : problems)
        for (layout const l : {layout::row_major, layout::padded_rows, layout::both_strided})
            check<TestType, typename TestType::scalar>(p, l);
}

TEMPLATE_TEST_CASE("Convolutions of bytes are those of the bytes over 255", "[nn][convolution]",
                   GMAC_TEST_CONVOLUTIONS) {
    for (problem const& p : problems)
        check<TestType, std::uint8_t>(p, layout::row_major);
    // Four frames whose pixels are not a multiple of sixteen, and fewer than that.
    check<TestType, std::uint8_t>({{9, 9, 4}, {.filters = 3, .kernel = 2, .layout = image_layout::channels_first}},
                                  layout::row_major);
    check<TestType, std::uint8_t>({{3, 5, 4}, {.filters = 3, .kernel = 2, .layout = image_layout::channels_first}},
                                  layout::row_major);
}

TEMPLATE_TEST_CASE("An image of bytes that are mostly zero has the same results as one of numbers, to the bit",
                   "[nn][convolution]", direct_float, direct_double) {
    using T = typename TestType::scalar;
    constexpr std::size_t rows = 6;
    for (std::size_t const filters : {16u, 32u, 48u, 20u})
        for (std::size_t const kernel : {1u, 3u}) {
            nn::image_shape const shape{10, 9, 5};
            nn::conv2d_options const options{.filters = filters,
                                             .kernel = kernel,
                                             .function = act::relu,
                                             .layout = image_layout::channels_last,
                                             .byte_scale = 1.0};
            nn::conv2d<TestType, std::uint8_t> const of_bytes(shape, options);
            nn::conv2d<TestType, T> const of_numbers(shape, options);
            random_stream random(8);
            std::vector<T> w = random_numbers<T>(of_bytes.parameter_count(), random, T(0.3));
            std::vector<std::uint8_t> bytes(rows * shape.size());
            for (std::size_t i = 0; i < bytes.size(); ++i) // from none to a half
                if (random.below(10) < i / shape.size())
                    bytes[i] = static_cast<std::uint8_t>(1 + random.below(255));
            std::vector<T> const numbers(bytes.begin(), bytes.end());
            std::vector<T> const d = random_numbers<T>(rows * of_bytes.outputs(), random);
            auto const passes = [&](auto const& layer, auto const& images) {
                auto work = layer.make_workspace(rows);
                auto const y = layer.forward(w, {images.data(), rows, layer.inputs()}, work);
                std::vector<T> results(y.data(), y.data() + y.rows() * y.cols()), gradient(w.size());
                layer.backward(w, {images.data(), rows, layer.inputs()}, work, {d.data(), rows, layer.outputs()},
                               gradient, {});
                results.insert(results.end(), gradient.begin(), gradient.end());
                return results;
            };
            CHECK(passes(of_bytes, bytes) == passes(of_numbers, numbers));
            // 0 · ∞
            w[3] = std::numeric_limits<T>::infinity();
            auto const broken = passes(of_bytes, bytes), exact = passes(of_numbers, numbers);
            for (std::size_t i = 0; i < rows * of_bytes.outputs(); ++i)
                REQUIRE(std::isnan(broken[i]) == std::isnan(exact[i]));
        }
}

TEST_CASE("Gradients of two convolutions and a linear layer against finite differences", "[nn][convolution]") {
    using B = direct_double;
    nn::sequential const net(nn::conv2d<B>({11, 10, 3},
                                           {.filters = 5, .kernel = 3, .stride = 2, .function = act::tanh}),
                             nn::conv2d<B>({5, 4, 5}, {.filters = 18, .kernel = 2, .function = act::tanh}),
                             nn::linear<B>(4 * 3 * 18, 2));
    random_stream random(3);
    constexpr std::size_t rows = 2;
    std::vector<double> w = random_numbers<double>(net.parameter_count(), random, 0.2);
    std::vector<double> x = random_numbers<double>(rows * net.inputs(), random);
    std::vector<double> const d = random_numbers<double>(rows * net.outputs(), random);
    std::vector<double> gradient(w.size()), input_gradient(x.size());
    auto workspace = net.make_workspace(rows);
    auto const loss = [&] {
        auto const y = net.forward(w, {x.data(), rows, net.inputs()}, workspace);
        double sum = 0;
        for (std::size_t i = 0; i < d.size(); ++i)
            sum += y.data()[i] * d[i];
        return sum;
    };
    static_cast<void>(loss());
    net.backward(w, {x.data(), rows, net.inputs()}, workspace, {d.data(), rows, net.outputs()}, gradient,
                 {input_gradient.data(), rows, net.inputs()});
    auto const slope = [&](double& variable) {
        double const there = variable, step = 1e-5;
        variable = there + step;
        double const above = loss();
        variable = there - step;
        double const below = loss();
        variable = there;
        return (above - below) / (2 * step);
    };
    double worst = 0;
    for (std::size_t i = 0; i < w.size(); ++i)
        worst = (std::max)(worst, std::abs(slope(w[i]) - gradient[i]));
    for (std::size_t i = 0; i < x.size(); ++i)
        worst = (std::max)(worst, std::abs(slope(x[i]) - input_gradient[i]));
    CHECK(worst < 1e-8);
}

TEST_CASE("The Atari trunk is the paper's network", "[nn][convolution]") {
    using B = direct_double;
    nn::image_trunk<B> const trunk({.hidden = {256}});
    CHECK(trunk.inputs() == std::size_t{4} * 84 * 84);
    CHECK(trunk.outputs() == 256);
    // Without biases 4·8²·32, 32·4²·64, 64·3²·32 and 1568·256 weights.
    CHECK(trunk.parameter_count() == 8192 + 32 + 32768 + 64 + 18432 + 32 + 401408 + 256);
    CHECK(nn::image_trunk<B>().outputs() == 512);

    random_stream random(1);
    std::vector<double> w(trunk.parameter_count());
    trunk.initialize(w, random);
    double squares = 0;
    for (std::size_t i = 0; i < 8192; ++i)
        squares += w[i] * w[i];
    CHECK(squares == Approx(2 * 32)); // 32 orthonormal columns, times √2

    std::vector<std::uint8_t> screens(trunk.inputs());
    for (auto& pixel : screens)
        pixel = static_cast<std::uint8_t>(random.below(256));
    std::vector<double> x;
    for (std::uint8_t const pixel : screens)
        x.push_back(pixel / 255.0);
    std::vector<problem> const
        layers{{{84, 84, 4}, {.filters = 32, .kernel = 8, .stride = 4, .layout = image_layout::channels_first}},
               {{20, 20, 32}, {.filters = 64, .kernel = 4, .stride = 2}},
               {{9, 9, 64}, {.filters = 32, .kernel = 3, .stride = 1}}};
    auto at = w.begin();
    for (problem const& p : layers) {
        auto const end = at + static_cast<std::ptrdiff_t>((p.options.kernel * p.options.kernel * p.input.channels + 1) *
                                                          p.options.filters);
        std::size_t const outputs =
            nn::convolution_shape{p.input, p.options.filters, p.options.kernel, p.options.stride}.output().size();
        x = textbook(p, std::vector<double>(at, end), x, std::vector<double>(outputs)).output;
        at = end;
    }
    x = textbook_layer<double>(x, &*at, 256, act::relu);
    auto workspace = trunk.make_workspace(1);
    auto const y = trunk.forward(w, {screens.data(), 1, screens.size()}, workspace);
    CHECK(largest_difference(row_of(y, 0), x) < 1e-12);
}

TEST_CASE("An image trunk is its layers one after the other, bit for bit", "[nn][convolution]") {
    using B = direct_double;
    nn::image_trunk<B> const trunk({.input = {10, 9, 3},
                                    .layout = image_layout::channels_last,
                                    .byte_scale = 0.5,
                                    .convolutions = {{5, 3, 2}, {7, 2, 1}},
                                    .hidden = {11, 6},
                                    .gain = 0.75});
    nn::sequential const
        layers(nn::conv2d<B, std::uint8_t>({10, 9, 3}, {.filters = 5, .stride = 2, .byte_scale = 0.5, .gain = 0.75}),
               nn::conv2d<B>({4, 4, 5}, {.filters = 7, .kernel = 2, .gain = 0.75}),
               nn::linear<B>(3 * 3 * 7, 11, {.function = act::relu, .gain = 0.75}),
               nn::linear<B>(11, 6, {.function = act::relu, .gain = 0.75}));
    REQUIRE(trunk.parameter_count() == layers.parameter_count());
    REQUIRE(trunk.inputs() == layers.inputs());
    REQUIRE(trunk.outputs() == layers.outputs());
    std::vector<double> w(trunk.parameter_count()), of_layers(w.size());
    random_stream random(5), same(5);
    trunk.initialize(w, random);
    layers.initialize(of_layers, same);
    CHECK(w == of_layers);
    std::vector<std::string> names, names_of_layers;
    trunk.describe([&](auto name, auto... place) {
        names.push_back(fmt::format("{} {}", name, fmt::join(std::array{place...}, " ")));
    });
    layers.describe([&](auto name, auto... place) {
        names_of_layers.push_back(fmt::format("{} {}", name, fmt::join(std::array{place...}, " ")));
    });
    CHECK(names == names_of_layers);

    constexpr std::size_t rows = 3;
    std::vector<std::uint8_t> images(rows * trunk.inputs());
    for (auto& byte : images)
        byte = static_cast<std::uint8_t>(random.below(4));
    std::vector<double> const d = random_numbers<double>(rows * trunk.outputs(), random);
    matrix_view<std::uint8_t const> const input(images.data(), rows, trunk.inputs());
    matrix_view<double const> const delta(d.data(), rows, trunk.outputs());
    auto workspace = trunk.make_workspace(rows);
    auto other = layers.make_workspace(rows);
    auto const y = trunk.forward(w, input, workspace), z = layers.forward(w, input, other);
    for (std::size_t i = 0; i < rows; ++i)
        CHECK(row_of(y, i) == row_of(z, i));
    CHECK(std::any_of(y.data(), y.data() + y.cols(), [](double x) { return x > 0; }));
    std::vector<double> gradient(w.size()), gradient_of_layers(w.size());
    trunk.backward(w, input, workspace, delta, gradient, {});
    layers.backward(w, input, other, delta, gradient_of_layers, {});
    CHECK(gradient == gradient_of_layers);

    CHECK_THROWS_WITH(nn::image_trunk<B>({.convolutions = {}}),
                      "image_trunk: there is no convolution, but must be at least one");
    CHECK_THROWS_WITH(nn::image_trunk<B>({.hidden = {}}),
                      "image_trunk: there is no fully connected layer, but must be at least one");
    CHECK_THROWS_WITH(nn::image_trunk<B>({.input = {3, 3, 1}, .convolutions = {{2, 3, 1}, {2, 2, 1}}}),
                      "conv2d: kernel is 2, but must fit into images of 1 x 1 pixels");
    CHECK_THROWS_WITH(trunk.forward(w, {images.data(), 4, 200}, workspace),
                      "conv2d::forward: the input is 4 x 200, but must be 4 x 270");
}

TEMPLATE_TEST_CASE("Convolutions allocate nothing after the workspace is made", "[nn][convolution][allocation]",
                   GMAC_TEST_CONVOLUTIONS) {
    using T = typename TestType::scalar;
    nn::image_trunk<TestType> const trunk({.hidden = {32}});
    std::vector<T> w(trunk.parameter_count()), gradient(w.size());
    random_stream random(1);
    trunk.initialize(w, random);
    std::vector<std::uint8_t> const screens(2 * trunk.inputs(), 100);
    std::vector<T> const d(2 * trunk.outputs(), T(1));
    auto workspace = trunk.make_workspace(2);
    matrix_view<std::uint8_t const> const input(screens.data(), 2, trunk.inputs());
    CHECK(testing::allocations_during([&] {
              trunk.forward(w, input, workspace);
              trunk.backward(w, input, workspace, {d.data(), 2, trunk.outputs()}, gradient, {});
          }) == 0);
    CHECK(std::any_of(gradient.begin(), gradient.begin() + 8192, [](T x) { return x != 0; }));
}

TEST_CASE("A screen alone gives bit for bit what it gives in a batch", "[nn][convolution]") {
    nn::image_trunk<direct_float> const trunk;
    random_stream random(2);
    std::vector<float> w(trunk.parameter_count());
    trunk.initialize(w, random);
    std::vector<std::uint8_t> screens(5 * trunk.inputs());
    for (auto& pixel : screens)
        pixel = static_cast<std::uint8_t>(random.below(256));
    auto batch = trunk.make_workspace(5), single = trunk.make_workspace(1);
    auto const all = trunk.forward(w, {screens.data(), 5, trunk.inputs()}, batch);
    auto const one = trunk.forward(w, {screens.data() + 3 * trunk.inputs(), 1, trunk.inputs()}, single);
    CHECK(row_of(one, 0) == row_of(all, 3));
}

TEST_CASE("Convolutions refuse what does not fit", "[nn][convolution]") {
    using layer = nn::conv2d<direct_double, std::uint8_t>;
    CHECK_THROWS_WITH(layer({4, 4, 0}, {.filters = 2}),
                      "conv2d: 4 x 4 x 0 images, 2 filters, kernel 3, stride 1, but all sizes must "
                      "be positive");
    CHECK_THROWS_WITH(layer({4, 4, 1}, {.kernel = 2}),
                      "conv2d: 4 x 4 x 1 images, 0 filters, kernel 2, stride 1, but all sizes must be positive");
    CHECK_THROWS_WITH(layer({4, 3, 1}, {.filters = 2, .kernel = 4}),
                      "conv2d: kernel is 4, but must fit into images of 4 x 3 pixels");
    CHECK_THROWS_WITH(layer({4, 4, 1}, {.filters = 2, .gain = std::numeric_limits<double>::infinity()}),
                      "conv2d: gain is inf, but must be finite");
    layer const net({4, 4, 1}, {.filters = 2});
    auto workspace = net.make_workspace(1);
    std::vector<double> w(net.parameter_count()), memory(40);
    std::vector<std::uint8_t> const bytes(40);
    CHECK_THROWS_WITH(net.forward(w, {bytes.data(), 2, 16}, workspace),
                      "conv2d::forward: the input has 2 rows, but the workspace was made for 1");
    CHECK_THROWS_WITH(net.forward(w, {bytes.data(), 1, 15}, workspace),
                      "conv2d::forward: the input is 1 x 15, but must be 1 x 16");
    CHECK_THROWS_WITH(net.forward(memory, {bytes.data(), 1, 16}, workspace),
                      "conv2d::forward: 40 parameters given, but the layer has 20");
    std::vector<double> const d(8);
    CHECK_THROWS_WITH(net.backward(w, {bytes.data(), 1, 16}, workspace, {d.data(), 1, 8}, w, {memory.data(), 1, 16}),
                      "conv2d::backward: there is no gradient with respect to bytes");
}
