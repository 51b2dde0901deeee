// SPDX-License-Identifier: Apache-2.0
#include "judges.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"

#include <gmac/core/buffer.hpp>
#include <gmac/nn/adam.hpp>
#include <gmac/nn/gradient_norm.hpp>
#include <gmac/nn/optimizer.hpp>
#include <gmac/nn/rmsprop.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

static_assert(nn::optimizer<nn::adam<float>, float> && nn::optimizer<nn::rmsprop<double>, double>);

namespace {

/// Adam for one number, written after algorithm 1 of Kingma and Ba, in long double.
struct textbook_adam {
    long double m = 0, v = 0, beta1_power = 1, beta2_power = 1;

    long double step(long double x, long double g, nn::adam_options const& o) {
        long double const beta1 = o.beta1;
        long double const beta2 = o.beta2;
        m = beta1 * m + (1 - beta1) * g;
        v = beta2 * v + (1 - beta2) * g * g;
        beta1_power *= beta1;
        beta2_power *= beta2;
        long double const m_hat = m / (1 - beta1_power);
        long double const v_hat = v / (1 - beta2_power);
        return x - static_cast<long double>(o.learning_rate) * m_hat /
                       (std::sqrt(v_hat) + static_cast<long double>(o.epsilon));
    }
};

struct textbook_rmsprop {
    long double v = 0;

    long double step(long double x, long double g, nn::rmsprop_options const& o) {
        long double const decay = o.decay;
        v = decay * v + (1 - decay) * g * g;
        return x - static_cast<long double>(o.learning_rate) * g / (std::sqrt(v) + static_cast<long double>(o.epsilon));
    }
};

/// 500 steps with gradients of many sizes; the learning rate changes on the way. The largest relative difference, of the
/// way that a parameter went.
template <class T, class Textbook, class Optimizer, class Options>
double compare(Optimizer optimizer, Options options, std::size_t size) {
    random_stream random(5);
    std::vector<T> x(size, T(1)), g(size);
    std::vector<long double> exact(size, 1);
    std::vector<Textbook> books(size);
    for (int step = 0; step < 500; ++step) {
        if (step == 200) {
            options.learning_rate /= 3;
            optimizer.set_learning_rate(options.learning_rate);
        }
        for (std::size_t i = 0; i < size; ++i) {
            g[i] = random.normal<T>() * std::pow(T(10), T(i % 7) - T(4));
            exact[i] = books[i].step(exact[i], static_cast<long double>(g[i]), options);
        }
        optimizer.step(x, g);
    }
    double worst = 0;
    for (std::size_t i = 0; i < size; ++i)
        worst = (std::max)(worst, static_cast<double>(std::abs(static_cast<long double>(x[i]) - exact[i])));
    return worst;
}

} // namespace

TEMPLATE_TEST_CASE("Adam and RMSProp are the textbook's", "[nn][optimizers]", float, double) {
    using T = TestType;
    double const rounding = 500 * static_cast<double>(std::numeric_limits<T>::epsilon()); // one of x near 1 a step
    for (std::size_t size : {1u, 3u, 16u, 45u}) {
        nn::adam_options const a{.learning_rate = 1e-3, .beta1 = 0.8, .beta2 = 0.99, .epsilon = 1e-5};
        CHECK(compare<T, textbook_adam>(nn::adam<T>(size, a), a, size) <= rounding);
        nn::rmsprop_options const r{.learning_rate = 1e-3, .decay = 0.9, .epsilon = 1e-5};
        CHECK(compare<T, textbook_rmsprop>(nn::rmsprop<T>(size, r), r, size) <= rounding);
    }
}

TEST_CASE("Adam and RMSProp under a constant gradient have closed forms", "[nn][optimizers]") {
    // The corrected moments of Adam are g and g² at every step: each step is α g / (|g| + ε).
    for (double g : {0.5, -3.0, 1e-6}) {
        std::vector<double> x{2.0};
        std::vector<double> const gradient{g};
        nn::adam<double> adam(1, {.learning_rate = 0.01});
        for (int t = 1; t <= 20; ++t) {
            adam.step(x, gradient);
            CHECK(x[0] == Approx(2.0 - t * 0.01 * g / (std::abs(g) + 1e-5)).epsilon(1e-12));
        }
        CHECK(adam.steps() == 20);
    }
    std::vector<double> x{0.0};
    std::vector<double> const gradient{-2.0};
    nn::rmsprop<double> rmsprop(1, {.learning_rate = 0.1, .decay = 0.75, .epsilon = 0.5});
    rmsprop.step(x, gradient); // v = 1
    CHECK(x[0] == Approx(0.2 / 1.5));
    rmsprop.step(x, gradient); // v = 1.75
    CHECK(x[0] == Approx(0.2 / 1.5 + 0.2 / (std::sqrt(1.75) + 0.5)));
    // The defaults are those of the paper (ε of Adam) and of PyTorch.
    CHECK(nn::adam<double>(1).options().epsilon == 1e-5);
    CHECK(nn::rmsprop<double>(1).options().epsilon == 1e-8);
    CHECK(nn::rmsprop<double>(1).options().decay == 0.99);
}

TEST_CASE("A zero gradient moves nothing, a NaN only its own parameter", "[nn][optimizers]") {
    std::vector<float> x(20, 1.f), g(20, 0.f);
    nn::adam<float> adam(20);
    nn::rmsprop<float> rmsprop(20);
    adam.step(x, g);
    rmsprop.step(x, g);
    CHECK(x == std::vector<float>(20, 1.f));
    g[18] = std::numeric_limits<float>::quiet_NaN();
    adam.step(x, g);
    CHECK(std::isnan(x[18]));
    CHECK(x[17] == 1.f);
    CHECK(x[19] == 1.f);
}

TEMPLATE_TEST_CASE("A saved optimiser goes on to the bit", "[nn][optimizers]", nn::adam<float>, nn::adam<double>,
                   nn::rmsprop<float>, nn::rmsprop<double>) {
    using T = typename TestType::scalar;
    random_stream random(6);
    TestType optimizer(21);
    std::vector<T> x = random_numbers<T>(21, random);
    for (int i = 0; i < 7; ++i)
        optimizer.step(x, random_numbers<T>(21, random));
    optimizer.set_learning_rate(0.007);

    gmac::testing::memory_archive archive;
    optimizer.persist(archive);
    archive.rewind();
    TestType restored(21);
    restored.persist(archive);
    CHECK(restored.learning_rate() == 0.007);
    std::vector<T> y = x;
    for (int i = 0; i < 7; ++i) {
        std::vector<T> const g = random_numbers<T>(21, random);
        optimizer.step(x, g);
        restored.step(y, g);
    }
    CHECK(x == y);
    TestType other(22);
    CHECK_THROWS_AS(other.persist(archive), error);
}

TEST_CASE("Optimisers refuse options out of range and sizes that differ", "[nn][optimizers]") {
    double const nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_WITH(nn::adam<float>(1, {.learning_rate = -1}),
                      "adam: learning_rate is -1, but must be finite and not negative");
    CHECK_THROWS_WITH(nn::adam<float>(1, {.beta1 = 1}), "adam: beta1 is 1, but must be in [0, 1)");
    CHECK_THROWS_WITH(nn::adam<float>(1, {.beta2 = nan}), "adam: beta2 is nan, but must be in [0, 1)");
    CHECK_THROWS_WITH(nn::adam<float>(1, {.epsilon = 0}), "adam: epsilon is 0, but must be positive and finite");
    CHECK_THROWS_WITH(nn::adam<float>(1, {.epsilon = 1e-50}),
                      "adam: epsilon is 1e-50, but must be positive and finite as float");
    CHECK_THROWS_WITH(nn::rmsprop<float>(1, {.epsilon = 1e300}),
                      "rmsprop: epsilon is 1e+300, but must be positive and finite as float");
    CHECK_THROWS_WITH(nn::rmsprop<float>(1, {.learning_rate = 1e300}),
                      "rmsprop: learning_rate is 1e+300, but must be finite and not negative as float");
    CHECK_NOTHROW(nn::adam<double>(1, {.learning_rate = 1e300, .epsilon = 1e-50}));
    CHECK_THROWS_WITH(nn::rmsprop<float>(1, {.decay = -0.1}), "rmsprop: decay is -0.1, but must be in [0, 1)");
    CHECK_THROWS_WITH(nn::rmsprop<float>(1, {.epsilon = nan}),
                      "rmsprop: epsilon is nan, but must be positive and finite");
    nn::adam<float> adam(3);
    CHECK_THROWS_WITH(adam.set_learning_rate(nan), "adam: learning_rate is nan, but must be finite and not negative");
    CHECK_THROWS_WITH(adam.set_learning_rate(1e39),
                      "adam: learning_rate is 1e+39, but must be finite and not negative as float");
    std::vector<float> x(3), g(4);
    CHECK_THROWS_WITH(adam.step(x, g),
                      "adam::step: 3 parameters and a gradient of 4 elements given, but the optimiser was made for 3");
}

TEMPLATE_TEST_CASE("The norm of a gradient and its clipping", "[nn][gradient_norm]", float, double) {
    using T = TestType;
    T const epsilon = std::numeric_limits<T>::epsilon();
    random_stream random(7);
    for (std::size_t size : {0u, 1u, 2u, 15u, 63u, 64u, 65u, 1000u, 1024u, 1025u, 5000u}) {
        std::vector<T> g = random_numbers<T>(size, random);
        long double sum = 0;
        for (T x : g)
            sum += static_cast<long double>(x) * static_cast<long double>(x);
        CHECK(nn::gradient_norm<T>(g) == Approx(static_cast<double>(std::sqrt(sum))).epsilon(20 * epsilon));
        CHECK(nn::gradient_norm<T>(g) == nn::gradient_norm<T>(g));
    }
    std::vector<T> g{3, 0, -4};
    CHECK(nn::clip_gradient_norm<T>(g, 5) == 5);
    CHECK(g == std::vector<T>{3, 0, -4});
    CHECK(nn::clip_gradient_norm<T>(g, std::numeric_limits<T>::infinity()) == 5);
    CHECK(g == std::vector<T>{3, 0, -4});
    CHECK(nn::clip_gradient_norm<T>(g, T(0.5)) == 5);
    CHECK(g[0] == Approx(0.3).epsilon(2 * epsilon));
    CHECK(g[2] == Approx(-0.4).epsilon(2 * epsilon));
    std::vector<T> zeros(9);
    CHECK(nn::clip_gradient_norm<T>(zeros, T(0.5)) == 0);
    CHECK(zeros == std::vector<T>(9));
}

TEST_CASE("A gradient that is not finite is reported, not hidden", "[nn][gradient_norm]") {
    for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                      -std::numeric_limits<float>::infinity()})
        for (std::size_t place : {0u, 70u, 1499u}) {
            std::vector<float> g(1500, 1.f);
            g[place] = bad;
            CHECK_FALSE(std::isfinite(nn::clip_gradient_norm<float>(g, 0.5f)));
            CHECK(g[1] == 1.f); // left as it was
        }
    std::vector<float> g(3, 1.f);
    CHECK_THROWS_WITH(nn::clip_gradient_norm<float>(g, 0.f), "clip_gradient_norm: max_norm is 0, but must be positive");
    CHECK_THROWS_AS(nn::clip_gradient_norm<float>(g, std::numeric_limits<float>::quiet_NaN()), error);
}
