// SPDX-License-Identifier: Apache-2.0
#include "judges.hpp"
#include "support/catch.hpp"
#include "support/dual.hpp"

#include <gmac/nn/activation.hpp>
#include <gmac/nn/linear.hpp>
#include <gmac/nn/mlp.hpp>
#include <gmac/nn/module.hpp>
#include <gmac/nn/sequential.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

using slow = eigen_double;
using fast = simd_double;
static_assert(nn::module<nn::linear<fast>, double> && nn::module<nn::activation_layer<fast>, double> &&
              nn::module<nn::mlp<fast>, double> &&
              nn::module<nn::sequential<nn::linear<fast>, nn::activation_layer<fast>>, double>);

/// Widths and the activation after each layer.
struct shape {
    std::vector<std::size_t> widths;
    std::vector<nn::activation> functions;
};

/// Σ output ∘ weights of a multilayer perceptron, as a textbook has it, for any number type.
template <class N>
N textbook_sum(shape const& s, std::vector<N> const& parameters, std::vector<N> const& input,
               std::vector<double> const& weights) {
    N sum(0);
    std::size_t const rows = input.size() / s.widths.front();
    for (std::size_t r = 0; r < rows; ++r) {
        auto const begin = input.begin() + static_cast<std::ptrdiff_t>(r * s.widths.front());
        std::vector<N> x(begin, begin + static_cast<std::ptrdiff_t>(s.widths.front()));
        N const* p = parameters.data();
        for (std::size_t l = 1; l < s.widths.size(); ++l) {
            std::size_t const count = (s.widths[l - 1] + 1) * s.widths[l];
            x = textbook_layer<N>(x, p, s.widths[l], s.functions[l - 1]);
            p += count;
        }
        for (std::size_t j = 0; j < x.size(); ++j)
            sum += x[j] * N(weights[r * x.size() + j]);
    }
    return sum;
}

/// Compares a network's gradients with those of dual numbers through the textbook's.
template <class Network>
void check_gradients(Network const& net, shape const& s, std::size_t rows, layout l) {
    using T = typename Network::scalar;
    using dual = gmac::testing::dual<double>;
    random_stream random(7);
    std::vector<T> const parameters = random_numbers<T>(net.parameter_count(), random, T(0.4));
    strided_matrix<T> input(rows, net.inputs(), l), output_gradient(rows, net.outputs(), l),
        input_gradient(rows, net.inputs(), l);
    input.fill(random, T(2));
    output_gradient.fill(random);
    std::vector<T> gradient(net.parameter_count(), T(99));
    auto workspace = net.make_workspace(rows + 3);
    auto const output = net.forward(parameters, input.view(), workspace);
    REQUIRE(output.rows() == rows);
    REQUIRE(output.cols() == net.outputs());
    double sum = 0;
    std::vector<double> weights;
    std::vector<dual> x;
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < net.outputs(); ++j) {
            weights.push_back(static_cast<double>(output_gradient.view()(i, j)));
            sum += weights.back() * static_cast<double>(output(i, j));
        }
        for (std::size_t j = 0; j < net.inputs(); ++j)
            x.emplace_back(input.view()(i, j));
    }
    std::vector<dual> p(parameters.begin(), parameters.end());
    double const rounding = 200 * static_cast<double>(std::numeric_limits<T>::epsilon());
    CHECK(sum == Approx(textbook_sum<dual>(s, p, x, weights).value).margin(rounding).epsilon(rounding));

    net.backward(parameters, input.view(), workspace, output_gradient.view(), gradient, input_gradient.view());
    auto const slope = [&](dual& variable) {
        variable.slope[0] = 1;
        double const result = textbook_sum<dual>(s, p, x, weights).slope[0];
        variable.slope[0] = 0;
        return result;
    };
    double worst = 0;
    for (std::size_t i = 0; i < p.size(); ++i)
        worst = (std::max)(worst, std::abs(slope(p[i]) - static_cast<double>(gradient[i])));
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < net.inputs(); ++j)
            worst = (std::max)(worst, std::abs(slope(x[i * net.inputs() + j]) -
                                               static_cast<double>(input_gradient.view()(i, j))));
    CHECK(worst <= rounding);
    CHECK(input_gradient.touched() == rows * net.inputs());

    // Without the gradient of the input, and a second time: the same.
    std::vector<T> again(gradient.size());
    net.backward(parameters, input.view(), workspace, output_gradient.view(), again, {});
    CHECK(again == gradient);
}

using act = nn::activation;

} // namespace

TEMPLATE_TEST_CASE("Gradients of a layer and of networks against dual numbers", "[nn][modules]", GMAC_TEST_BACKENDS) {
    using B = TestType;
    for (layout l : {layout::row_major, layout::column_major, layout::both_strided}) {
        for (nn::activation f : {act::none, act::tanh, act::relu})
            check_gradients(nn::linear<B>(5, 3, {.function = f}), {{5, 3}, {f}}, 4, l);
        check_gradients(nn::mlp<B>({3, 18, 7, 2}, {.activate_last = false}),
                        {{3, 18, 7, 2}, {act::tanh, act::tanh, act::none}}, 5, l);
        check_gradients(nn::mlp<B>({4, 6, 5}, {.function = act::relu}), {{4, 6, 5}, {act::relu, act::relu}}, 6, l);
        check_gradients(nn::sequential(nn::linear<B>(4, 6), nn::activation_layer<B>(6, act::tanh), nn::linear<B>(6, 1),
                                       nn::activation_layer<B>(1, act::relu)),
                        {{4, 6, 1}, {act::tanh, act::relu}}, 3, l);
    }
}

TEMPLATE_TEST_CASE("A network computed by hand", "[nn][modules]", GMAC_TEST_BACKENDS) {
    using T = typename TestType::scalar;
    nn::mlp<TestType> const net({2, 2, 1}, {.function = act::relu, .activate_last = false});
    std::vector<T> const parameters{1, -2, 3, 4, /*bias*/ T(0.5), -1, /*second layer*/ 2, -3, /*bias*/ 10};
    std::vector<T> const input{1, 2, /*second state*/ -1, T(0.25)};
    auto workspace = net.make_workspace(2);
    auto const y = net.forward(parameters, {input.data(), 2, 2}, workspace);
    // (1, 2): (1 + 6 + 0.5, −2 + 8 − 1) = (7.5, 5) → 15 − 15 + 10; (−1, 0.25): (0.25, 2) → 0.5 − 6 + 10.
    CHECK(y(0, 0) == 10);
    CHECK(y(1, 0) == 4.5);
    std::vector<T> const output_gradient{1, 2};
    std::vector<T> gradient(9), input_gradient(4);
    net.backward(parameters, {input.data(), 2, 2}, workspace, {output_gradient.data(), 2, 1}, gradient,
                 {input_gradient.data(), 2, 2});
    // Hidden gradients: (2, −3) and twice that; all four units are on.
    CHECK(gradient == std::vector<T>{2 - 4, -3 + 6, 4 + 1, -6 - T(1.5), 2 + 4, -3 - 6, T(7.5) + T(0.5), 5 + 4, 3});
    CHECK(input_gradient == std::vector<T>{2 + 6, 6 - 12, 16, -12});
}

TEMPLATE_TEST_CASE("A sequence is the composition, an mlp a sequence of layers", "[nn][modules]", GMAC_TEST_BACKENDS) {
    using B = TestType;
    using T = typename B::scalar;
    nn::mlp<B> const fused({6, 20, 3}, {.activate_last = false});
    nn::sequential const chain(nn::linear<B>(6, 20), nn::activation_layer<B>(20, act::tanh), nn::linear<B>(20, 3));
    nn::linear<B> const first(6, 20), second(20, 3);
    nn::activation_layer<B> const middle(20, act::tanh);
    CHECK(chain.parameter_count() == fused.parameter_count());
    CHECK(chain.outputs() == 3);
    CHECK(chain.inputs() == 6);

    random_stream random(2), same(2);
    std::vector<T> parameters(fused.parameter_count()), parameters_of_chain(parameters.size());
    fused.initialize(parameters, random);
    chain.initialize(parameters_of_chain, same);
    CHECK(parameters == parameters_of_chain);

    std::vector<T> const input = random_numbers<T>(6 * 9, random);
    matrix_view<T const> const x(input.data(), 9, 6);
    auto fused_workspace = fused.make_workspace(9);
    auto chain_workspace = chain.make_workspace(9);
    auto first_workspace = first.make_workspace(9);
    auto middle_workspace = middle.make_workspace(9);
    auto second_workspace = second.make_workspace(9);
    std::span<T const> const p(parameters);
    auto const a = fused.forward(p, x, fused_workspace);
    auto const b = chain.forward(p, x, chain_workspace);
    auto const h = first.forward(p.first(first.parameter_count()), x, first_workspace);
    auto const c =
        second.forward(p.last(second.parameter_count()), middle.forward({}, h, middle_workspace), second_workspace);
    for (std::size_t i = 0; i < 9; ++i)
        for (std::size_t j = 0; j < 3; ++j) {
            CHECK(a(i, j) == b(i, j));
            CHECK(a(i, j) == c(i, j));
        }
    // A moved workspace keeps what it holds.
    auto moved = std::move(chain_workspace);
    std::vector<T> const output_gradient = random_numbers<T>(27, random);
    std::vector<T> g1(p.size()), g2(p.size());
    fused.backward(p, x, fused_workspace, {output_gradient.data(), 9, 3}, g1, {});
    chain.backward(p, x, moved, {output_gradient.data(), 9, 3}, g2, {});
    CHECK(g1 == g2);
}

TEMPLATE_TEST_CASE("One state alone gives what it gives in a batch, and a workspace serves fewer rows", "[nn][modules]",
                   GMAC_TEST_BACKENDS) {
    using T = typename TestType::scalar;
    nn::mlp<TestType> const net({17, 64, 64, 6}, {.activate_last = false});
    random_stream random(3);
    std::vector<T> parameters(net.parameter_count());
    net.initialize(parameters, random);
    std::vector<T> const input = random_numbers<T>(17 * 40, random);
    auto workspace = net.make_workspace(40);
    auto single = net.make_workspace(1);
    auto const all = net.forward(parameters, {input.data(), 40, 17}, workspace);
    for (std::size_t i = 0; i < 40; ++i) {
        auto const one = net.forward(parameters, {input.data() + 17 * i, 1, 17}, single);
        for (std::size_t j = 0; j < 6; ++j)
            CHECK(one(0, j) == Approx(all(i, j)).epsilon(0).margin(50 * std::numeric_limits<T>::epsilon()));
    }
    std::vector<T> const last(&all(39, 0), &all(39, 0) + 6);
    auto const fewer = net.forward(parameters, {input.data() + 17 * 37, 3, 17}, workspace);
    CHECK(fewer.rows() == 3);
    for (std::size_t j = 0; j < 6; ++j)
        CHECK(fewer(2, j) == Approx(last[j]).epsilon(0).margin(50 * std::numeric_limits<T>::epsilon()));
}

TEST_CASE("The backends and the scalar types agree to rounding", "[nn][modules]") {
    random_stream random(4);
    nn::mlp<slow> const reference({11, 40, 40, 5}, {.activate_last = false});
    std::vector<double> parameters(reference.parameter_count());
    reference.initialize(parameters, random);
    std::vector<double> const input = random_numbers<double>(11 * 30, random);
    std::vector<double> const output_gradient = random_numbers<double>(5 * 30, random);
    std::vector<double> expected_output, expected_gradient(parameters.size());
    {
        auto workspace = reference.make_workspace(30);
        auto const y = reference.forward(parameters, {input.data(), 30, 11}, workspace);
        expected_output.assign(y.data(), y.data() + 150);
        reference.backward(parameters, {input.data(), 30, 11}, workspace, {output_gradient.data(), 30, 5},
                           expected_gradient, {});
    }
    auto const compare = [&]<class B>(B, double tolerance) {
        using T = typename B::scalar;
        nn::mlp<B> const net({11, 40, 40, 5}, {.activate_last = false});
        std::vector<T> const p(parameters.begin(), parameters.end()), x(input.begin(), input.end()),
            d(output_gradient.begin(), output_gradient.end());
        std::vector<T> gradient(p.size());
        auto workspace = net.make_workspace(30);
        auto const y = net.forward(p, {x.data(), 30, 11}, workspace);
        for (std::size_t i = 0; i < 150; ++i)
            CHECK(static_cast<double>(y.data()[i]) == Approx(expected_output[i]).epsilon(0).margin(tolerance));
        net.backward(p, {x.data(), 30, 11}, workspace, {d.data(), 30, 5}, gradient, {});
        for (std::size_t i = 0; i < p.size(); ++i)
            CHECK(static_cast<double>(gradient[i]) == Approx(expected_gradient[i]).epsilon(0).margin(10 * tolerance));
    };
    auto const compare_all = [&]<class... B>(std::type_identity<std::tuple<B...>>) {
        (compare(B{}, std::is_same_v<typename B::scalar, double> ? 1e-14 : 5e-6), ...);
    };
    compare_all(std::type_identity<std::tuple<GMAC_TEST_BACKENDS>>{});
}

TEST_CASE("Parameter tensors have names and places", "[nn][modules]") {
    using entry = std::tuple<std::string, std::size_t, std::size_t, std::size_t>;
    auto const entries = [](auto const& net) {
        std::vector<entry> found;
        net.describe([&](auto const& name, std::size_t offset, std::size_t rows, std::size_t cols) {
            found.emplace_back(std::string(name), offset, rows, cols);
        });
        return found;
    };
    CHECK(
        entries(nn::mlp<fast>({3, 5, 2})) ==
        std::vector<entry>{{"0.weight", 0, 3, 5}, {"0.bias", 15, 1, 5}, {"1.weight", 20, 5, 2}, {"1.bias", 30, 1, 2}});
    CHECK(entries(nn::sequential(nn::linear<fast>(1, 2), nn::activation_layer<fast>(2, act::tanh),
                                 nn::linear<fast>(2, 1))) ==
          std::vector<entry>{{"0.weight", 0, 1, 2}, {"0.bias", 2, 1, 2}, {"2.weight", 4, 2, 1}, {"2.bias", 6, 1, 1}});
}

TEST_CASE("Networks start orthogonal with zero biases, the last layer with a gain of its own", "[nn][modules]") {
    nn::mlp<fast> const net({6, 8, 3}, {.activate_last = false, .last_gain = 0.1});
    random_stream random(9);
    std::vector<double> p(net.parameter_count(), 5.0);
    net.initialize(p, random);
    auto const squares = [&](std::size_t first, std::size_t count) {
        double sum = 0;
        for (std::size_t i = first; i < first + count; ++i)
            sum += p[i] * p[i];
        return sum;
    };
    CHECK(squares(0, 48) == Approx(2 * 6)); // six orthonormal rows, times √2
    CHECK(squares(48, 8) == 0);
    CHECK(squares(56, 24) == Approx(0.01 * 3));
    CHECK(squares(80, 3) == 0);
}

TEST_CASE("Networks refuse what does not fit", "[nn][modules]") {
    CHECK_THROWS_WITH(nn::linear<fast>(0, 3), "linear: the layer is 0 -> 3, but both sizes must be positive");
    CHECK_THROWS_WITH(nn::linear<fast>(4294967296, 4294967296), // 2^64 weights, which is none
                      "linear: the layer is 4294967296 -> 4294967296, but both sizes must be at most 2147483647");
    CHECK_THROWS_WITH(nn::linear<fast>(2, 3, {.gain = std::numeric_limits<double>::infinity()}),
                      "linear: gain is inf, but must be finite");
    CHECK_THROWS_WITH(nn::activation_layer<fast>(0, act::relu), "activation_layer: size is 0, but must be positive");
    CHECK_THROWS_WITH(nn::mlp<fast>({4}), "mlp: 1 widths given, but there must be at least two (inputs, outputs)");
    CHECK_THROWS_WITH(nn::sequential(nn::linear<fast>(2, 3), nn::linear<fast>(4, 1)),
                      "sequential: module 1 takes 4 inputs, but module 0 has 3 outputs");

    nn::mlp<fast> const net({2, 3, 1});
    auto workspace = net.make_workspace(2);
    std::vector<double> parameters(net.parameter_count()), short_of_one(net.parameter_count() - 1), memory(20);
    auto const rows = [&](std::size_t n, std::size_t m) { return matrix_view<double>(memory.data(), n, m); };
    CHECK_THROWS_WITH(net.forward(short_of_one, rows(2, 2), workspace),
                      "mlp::forward: 12 parameters given, but the network has 13");
    CHECK_THROWS_WITH(net.forward(parameters, rows(2, 3), workspace),
                      "linear::forward: the input is 2 x 3, but must be 2 x 2");
    CHECK_THROWS_WITH(net.forward(parameters, rows(3, 2), workspace),
                      "mlp::forward: the input has 3 rows, but the workspace was made for 2");
    net.forward(parameters, rows(2, 2), workspace);
    CHECK_THROWS_WITH(net.backward(parameters, rows(2, 2), workspace, rows(2, 2), parameters, {}),
                      "mlp::backward: the output gradient is 2 x 2, but must be 2 x 1");
    random_stream random(1);
    CHECK_THROWS_AS(net.initialize(short_of_one, random), error);

    nn::activation_layer<fast> const layer(2, act::tanh);
    auto small = layer.make_workspace(2);
    std::vector<double> other(20);
    CHECK_THROWS_WITH(layer.forward({}, rows(3, 2), small),
                      "activation_layer::forward: the input has 3 rows, but the workspace was made for 2");
    CHECK_THROWS_WITH(layer.backward({}, rows(3, 2), small, rows(3, 2), {}, matrix_view<double>(other.data(), 3, 2)),
                      "activation_layer::backward: the input has 3 rows, but the workspace was made for 2");
}
