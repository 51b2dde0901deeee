// SPDX-License-Identifier: Apache-2.0
// A perceptron with two hidden layers of 64 units: one step of learning, and the forward pass of one state and of many
// beside the matrix products alone that it consists of.
#include "harness.hpp"
#include "naive_torch_networks.hpp"

#include <gmac/backends/eigen.hpp>
#include <gmac/backends/simd.hpp>
#include <gmac/nn/adam.hpp>
#include <gmac/nn/mlp.hpp>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gmac::bench {

namespace {

constexpr std::size_t inputs = 17, hidden = 64, outputs = 6; // those of HalfCheetah
constexpr double multiply_adds = inputs * hidden + hidden * hidden + hidden * outputs;

template <class Backend>
struct perceptron {
    using T = typename Backend::scalar;

    std::size_t rows;
    nn::mlp<Backend> network;
    nn::adam<T> optimiser{network.parameter_count(), {.learning_rate = 1e-4}};
    typename nn::mlp<Backend>::workspace workspace;
    buffer<T> parameters, gradient;
    table<T> states, wanted, slope;

    perceptron(std::size_t batch, nn::activation function)
        : rows(batch),
          network({inputs, hidden, hidden, outputs}, {.function = function, .activate_last = false}),
          workspace(network.make_workspace(batch)),
          parameters(network.parameter_count()),
          gradient(network.parameter_count()),
          states(batch, inputs, 1, normal),
          wanted(batch, outputs, 2, normal),
          slope(batch, outputs) {
        random_stream random(3);
        network.initialize(parameters.span(), random);
    }

    matrix_view<T const> forward() {
        return network.forward(std::as_const(parameters).span(), std::as_const(states).view(), workspace);
    }
    /// Forward, mean squared error, backward, Adam.
    T update() {
        matrix_view<T const> const out = forward();
        T const count = static_cast<T>(rows * outputs);
        T loss = 0;
        for (std::size_t i = 0; i < rows; ++i) {
            T of_row = 0; // so that not every addition waits for the one before
            for (std::size_t j = 0; j < outputs; ++j) {
                T const difference = out(i, j) - wanted.view()(i, j);
                of_row += difference * difference;
                slope.view()(i, j) = T(2) / count * difference;
            }
            loss += of_row;
        }
        network.backward(std::as_const(parameters).span(), std::as_const(states).view(), workspace,
                         std::as_const(slope).view(), gradient.span(), {});
        optimiser.step(parameters.span(), std::as_const(gradient).span());
        return loss / count;
    }
};

/// The three products of a forward pass, and nothing else.
template <class Backend>
struct products {
    using T = typename Backend::scalar;

    table<T> states, first, second, third, one, two, three;

    explicit products(std::size_t rows)
        : states(rows, inputs, 1, normal),
          first(inputs, hidden, 2, normal),
          second(hidden, hidden, 3, normal),
          third(hidden, outputs, 4, normal),
          one(rows, hidden),
          two(rows, hidden),
          three(rows, outputs) {}
    void run() {
        auto const in = [](table<T> const& matrix) { return matrix.view(); };
        Backend::product(in(states), in(first), one.view());
        Backend::product(in(one), in(second), two.view());
        Backend::product(in(two), in(third), three.view());
        benchmark::ClobberMemory();
    }
};

template <class Backend>
void add_perceptron(std::string const& backend, nn::activation function) {
    using T = typename Backend::scalar;
    bool const relu = function == nn::activation::relu;
    naive::perceptron_shape const shape{inputs, hidden, outputs, relu};
    std::string const suffix = (relu ? "_relu/" : "_tanh/") + backend;
    // The backward pass has twice the products of the forward pass, less those for the gradient of the states.
    double const update_operations = 2.0 * (3.0 * multiply_adds - inputs * hidden);
    add<T>("perceptron_update/batch_64" + suffix, [=] {
        auto const p = std::make_shared<perceptron<Backend>>(64, function);
        return std::pair([p] { benchmark::DoNotOptimize(p->update()); },
                         work{64, update_operations, 0, in_torch<T>([&] {
                                  return naive::perceptron_update(shape, p->states.data(), p->wanted.data(), 64);
                              })});
    });
    for (std::size_t const rows : {std::size_t(1), std::size_t(1024)})
        add<T>("perceptron_forward/batch_" + std::to_string(rows) + suffix, [=] {
            auto const p = std::make_shared<perceptron<Backend>>(rows, function);
            return std::pair([p] { benchmark::DoNotOptimize(p->forward().data()); },
                             work{rows, 2.0 * multiply_adds, 0, in_torch<T>([&] {
                                      return naive::perceptron_forward(shape, p->states.data(), rows);
                                  })});
        });
}

template <class Backend>
void add_products(std::string const& backend) {
    for (std::size_t const rows : {std::size_t(1), std::size_t(1024)})
        add<typename Backend::scalar>("perceptron_products/batch_" + std::to_string(rows) + "/" + backend, [rows] {
            auto const p = std::make_shared<products<Backend>>(rows);
            return std::pair([p] { p->run(); }, work{rows, 2.0 * multiply_adds});
        });
}

} // namespace

void register_networks() {
    for (nn::activation const function : {nn::activation::tanh, nn::activation::relu}) {
        add_perceptron<backends::simd<float>>("simd", function);
        add_perceptron<backends::eigen<float>>("eigen", function);
    }
    add_products<backends::simd<float>>("simd");
    add_products<backends::eigen<float>>("eigen");
}

} // namespace gmac::bench
