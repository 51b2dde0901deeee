// SPDX-License-Identifier: Apache-2.0
#include "judges.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/serial_blas.hpp"

#include <gmac/nn/activation.hpp>
#include <gmac/nn/adam.hpp>
#include <gmac/nn/gradient_norm.hpp>
#include <gmac/nn/implicit_quantile.hpp>
#include <gmac/nn/mlp.hpp>
#include <gmac/nn/rmsprop.hpp>
#include <gmac/nn/sequential.hpp>

#include <array>
#include <cstddef>
#include <vector>

using namespace gmac;
using namespace gmac::testing;
using gmac::testing::allocations_during;

TEMPLATE_TEST_CASE("Products allocate nothing, whatever their size", "[nn][allocation]", GMAC_TEST_BACKENDS) {
    using T = typename TestType::scalar;
    for (auto const& sizes : {std::array<std::size_t, 3>{1, 64, 64},
                              {64, 64, 64},
                              {256, 64, 1},
                              {512, 300, 15},
                              {300, 512, 260},
                              {2048, 256, 64},
                              {100000, 3, 2}}) {
        std::size_t const n = sizes[0], k = sizes[1], m = sizes[2];
        buffer<T> const a(n * k, T(1)), w(k * m, T(1)), bias(m);
        buffer<T> y(n * m), d(k * m), e(n * k), at(n * k);
        matrix_view<T const> const left(a.data(), n, k), weight(w.data(), k, m);
        matrix_view<T> const result(y.data(), n, m);
        CAPTURE(n, k, m);
        CHECK(allocations_during([&] {
                  TestType::affine(left, weight, bias, nn::activation::tanh, result);
                  TestType::product(left, weight, result);
              }) == 0);
        CHECK(y[n * m - 1] == T(k));
        CHECK(allocations_during([&] {
                  TestType::product(transposed(left), result, {d.data(), k, m});
                  TestType::product(result, transposed(weight), {e.data(), n, k});
                  TestType::product_add(result, transposed(weight), {at.data(), n, k, 1, std::ptrdiff_t(n)});
              }) == 0);
        CHECK(e[0] == T(k) * T(m));
        CHECK(at[n * k - 1] == T(k) * T(m));
    }
}

TEMPLATE_TEST_CASE("A whole update allocates nothing after the workspaces are made", "[nn][allocation]",
                   GMAC_TEST_BACKENDS) {
    using B = TestType;
    using T = typename B::scalar;
    random_stream random(1);
    auto const update = [&](auto const& net, std::size_t rows) {
        buffer<T> parameters(net.parameter_count()), gradient(net.parameter_count());
        net.initialize(parameters.span(), random);
        std::vector<T> const x = random_numbers<T>(rows * net.inputs(), random);
        std::vector<T> const d = random_numbers<T>(rows * net.outputs(), random);
        std::vector<T> input_gradient(x.size());
        nn::adam<T> adam(parameters.size());
        nn::rmsprop<T> rmsprop(parameters.size());
        auto workspace = net.make_workspace(rows);
        return allocations_during([&] {
            matrix_view<T const> const input(x.data(), rows, net.inputs());
            net.forward(parameters.span(), input, workspace);
            net.backward(parameters.span(), input, workspace, {d.data(), rows, net.outputs()}, gradient.span(),
                         {input_gradient.data(), rows, net.inputs()});
            if (!(nn::clip_gradient_norm(gradient.span(), T(0.5)) > 0))
                FAIL("there is no gradient");
            adam.step(parameters.span(), gradient.span());
            rmsprop.step(parameters.span(), gradient.span());
        });
    };
    CHECK(update(nn::mlp<B>({4, 64, 64, 2}, {.activate_last = false}), 64) == 0);
    CHECK(update(nn::mlp<B>({15, 256, 256, 512}), 128) == 0);
    CHECK(update(nn::mlp<B>({3, 64, 64, 1}, {.function = nn::activation::relu, .activate_last = false}), 1) == 0);
    CHECK(update(nn::sequential(nn::linear<B>(4, 300), nn::activation_layer<B>(300, nn::activation::relu),
                                nn::linear<B>(300, 5)),
                 200) == 0);
}

TEMPLATE_TEST_CASE("The implicit quantile network allocates in its first backward pass only", "[nn][allocation]",
                   GMAC_TEST_BACKENDS) {
    using T = typename TestType::scalar;
    nn::implicit_quantile_network<TestType> const net(32, {.samples = 8, .embedding = 16, .hidden = 40});
    random_stream random(1);
    std::vector<T> parameters(net.parameter_count()), gradient(net.parameter_count()), feature_gradient(32 * 50);
    net.initialize(parameters, random);
    std::vector<T> const x = random_numbers<T>(32 * 50, random);
    std::vector<T> const d = random_numbers<T>(8 * 50, random);
    matrix_view<T const> const features(x.data(), 50, 32), output_gradient(d.data(), 50, 8);
    auto workspace = net.make_workspace(50);
    auto const forward = [&] { (void)net.predict(parameters, features, random, workspace); };
    auto const backward = [&] {
        net.backward(parameters, features, workspace, output_gradient, gradient, {feature_gradient.data(), 50, 32});
    };
    CHECK(allocations_during(forward) == 0);
    CHECK(allocations_during(backward) == 2);
    CHECK(allocations_during(forward) == 0);
    CHECK(allocations_during(backward) == 0);
}

TEST_CASE("The counter sees what it is there for", "[nn][allocation]") {
    CHECK(allocations_during([] { buffer<float> const b(1000); }) == 1);
    Eigen::MatrixXf const a = Eigen::MatrixXf::Ones(300, 300);
    Eigen::MatrixXf b(300, 300);
    CHECK(allocations_during([&] { b.noalias() = a * a; }) > 0); // Eigen by itself packs on the heap
}
