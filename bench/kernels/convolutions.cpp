// SPDX-License-Identifier: Apache-2.0
// The paper's network for Atari, whole and layer by layer, and the one of MinAtar's authors, 512 images, as numbers of a
// second and as a share of the machine's multiply-adds. A state of Atari is a stack of four screens.
#include "harness.hpp"
#include "onednn.hpp"

#include <gmac/backends/simd.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/nn/image_trunk.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace gmac::bench {

namespace {

using backend = backends::simd<float>;
constexpr std::size_t images = 512;

/// A module with all the memory that its passes need.
template <class Module>
struct network {
    using input_type = nn::input_of<Module, float>;
    static constexpr bool bytes = std::is_same_v<input_type, std::uint8_t>;

    /// `ones`: the share of numbers that are 1, the others 0, as in the planes of a grid world; without it all are random.
    explicit network(Module m, std::optional<double> ones)
        : module(std::move(m)),
          parameters(module.parameter_count()),
          gradient(module.parameter_count()),
          input(images * module.inputs()),
          output_gradient(images * module.outputs(), 1.0f),
          input_gradient(bytes ? 0 : images * module.inputs()),
          workspace(module.make_workspace(images)) {
        random_stream random(1);
        module.initialize(parameters.span(), random);
        for (auto& x : input)
            x = static_cast<input_type>(ones    ? (random.uniform<double>() < *ones ? 1 : 0)
                                        : bytes ? static_cast<float>(random.below(256))
                                                : random.uniform<float>());
    }

    [[nodiscard]] matrix_view<input_type const> batch() const { return {input.data(), images, module.inputs()}; }
    void forward() { module.forward(parameters.span(), batch(), workspace); }
    void backward() {
        module.backward(parameters.span(), batch(), workspace, {output_gradient.data(), images, module.outputs()},
                        gradient.span(), bytes ? matrix_view<float>() : whole(input_gradient));
    }
    [[nodiscard]] matrix_view<float> whole(buffer<float>& numbers) const {
        return {numbers.data(), images, module.inputs()};
    }

    Module module;
    buffer<float> parameters, gradient;
    std::vector<input_type> input;
    buffer<float> output_gradient, input_gradient;
    typename Module::workspace workspace;
};

/// `operations` of one image forward; backward takes as many for the weights, and again for the input if it has one.
template <class Module, class Torch>
void add_passes(std::string const& name, Module const& module, double operations, double backward_operations,
                Torch torch, std::optional<double> ones = {}) {
    for (bool const backward : {false, true}) {
        add<float>(name + (backward ? "/forward_backward" : "/forward"), [=] {
            auto const n = std::make_shared<network<Module>>(module, ones);
            auto const kernel = [n, backward] {
                n->forward();
                if (backward)
                    n->backward();
                benchmark::DoNotOptimize(n->gradient.data());
            };
            work what{images, operations + (backward ? backward_operations : 0.0)};
            what.torch = in_torch<float>([&] { return torch(*n, backward); });
            what.torch_budget = 4.0;
            return std::pair(kernel, what);
        });
    }
}

/// Images of size × size pixels.
template <class Input>
double add_convolution(std::string const& name, std::size_t size, std::size_t channels,
                       nn::conv2d_options const& options) {
    constexpr bool bytes = std::is_same_v<Input, std::uint8_t>;
    nn::conv2d<backend, Input> const layer({size, size, channels}, options);
    std::size_t const window = options.kernel * options.kernel * channels;
    double const operations = 2.0 * static_cast<double>(layer.outputs() * window);
    add_passes("atari/" + name, layer, operations, (bytes ? 1.0 : 2.0) * operations, [=](auto const&, bool backward) {
        return naive::convolution(images, channels, size, options.filters, options.kernel, options.stride, !bytes,
                                  backward);
    });
#if defined(GMAC_BENCH_ONEDNN)
    add<float>("atari/" + name + "/onednn_forward", [=] {
        return std::pair(onednn::convolution(images, channels, size, options.filters, options.kernel, options.stride),
                         work{images, operations});
    });
#endif
    return operations;
}

} // namespace

void register_convolutions() {
    double const first = add_convolution<std::uint8_t>("conv1", 84, 4,
                                                       {.filters = 32,
                                                        .kernel = 8,
                                                        .stride = 4,
                                                        .layout = nn::image_layout::channels_first});
    double const rest = add_convolution<float>("conv2", 20, 32, {.filters = 64, .kernel = 4, .stride = 2}) +
                        add_convolution<float>("conv3", 9, 64, {.filters = 32, .kernel = 3, .stride = 1});
    double const linear = 2.0 * 32 * 7 * 7 * 512;
    add_passes("atari/fully_connected", nn::linear<backend>(32 * 7 * 7, 512, {.function = nn::activation::relu}),
               linear, 2.0 * linear,
               [](auto const&, bool backward) { return naive::fully_connected(images, 32 * 7 * 7, 512, backward); });
    add_passes("atari/trunk", nn::image_trunk<backend>(), first + rest + linear, first + 2.0 * (rest + linear),
               [](auto const& network, bool backward) {
                   if constexpr (std::remove_cvref_t<decltype(network)>::bytes)
                       return naive::atari_trunk(network.input.data(), images, backward);
                   else
                       return naive::job();
               });
    // Breakout and Seaquest, with as many ones as they show to a policy that acts at random.
    for (auto const& game : {std::pair(std::size_t{4}, 0.082), std::pair(std::size_t{10}, 0.014)}) {
        std::size_t const channels = game.first;
        nn::image_trunk<backend> const grid({.input = {10, 10, channels},
                                             .layout = nn::image_layout::channels_last,
                                             .byte_scale = 1.0,
                                             .convolutions = {{16, 3, 1}},
                                             .hidden = {128}});
        double const convolution = 2.0 * static_cast<double>(8 * 8 * 16 * 9 * channels), dense = 2.0 * 8 * 8 * 16 * 128;
        add_passes(
            "minatar/trunk" + std::to_string(channels), grid, convolution + dense, convolution + 2.0 * dense,
            [=](auto const& network, bool backward) {
                if constexpr (std::remove_cvref_t<decltype(network)>::bytes)
                    return naive::minatar_trunk(network.input.data(), images, channels, backward);
                else
                    return naive::job();
            },
            game.second);
    }
}

} // namespace gmac::bench
