// SPDX-License-Identifier: Apache-2.0
// Steps of the optimisers for gradients of any size, and activations.
#include "support/extremes.hpp"
#include "support/catch.hpp"

#include <gmac/backends/simd.hpp>
#include <gmac/nn/adam.hpp>
#include <gmac/nn/gradient_norm.hpp>
#include <gmac/nn/rmsprop.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

using real = long double;

/// Whether T has the mean square of this gradient.
template <class T>
[[nodiscard]] bool has_square(T gradient, real share) {
    auto const g = static_cast<real>(gradient);
    return share * g * g <= static_cast<real>((std::numeric_limits<T>::max)());
}

} // namespace

TEMPLATE_TEST_CASE("steps of Adam and RMSProp for gradients of any size", "[extremes]", float, double) {
    using T = TestType;
    sweep cases;
    real const epsilon = static_cast<real>(static_cast<T>(1e-5));
    for (T const g : extremes<T>()) {
        if (g != T(0) && !std::isnormal(g))
            continue; // of which half is not a number of T
        auto const exact = static_cast<real>(g);
        std::vector<T> parameters(40, T(0));
        std::vector<T> const gradient(40, g);
        nn::adam<T> adam(40, {.learning_rate = 0.5, .beta1 = 0.5, .beta2 = 0.75});
        adam.step(parameters, gradient);
        real const step = -0.5L * exact / (std::abs(exact) + epsilon);
        // The first and the second estimate are both the gradient, whatever the decays.
        for (std::size_t i : {0u, 39u})
            if (has_square(g, 0.25L))
                cases.expect("adam", parameters[i], step, 8, 0, g);
            else
                cases.expect("adam", parameters[i], quiet_nan<real>, 8, 0, g);
        parameters.assign(40, T(0));
        nn::rmsprop<T> rmsprop(40, {.learning_rate = 0.5, .decay = 0.75, .epsilon = 1e-5});
        rmsprop.step(parameters, gradient);
        for (std::size_t i : {0u, 39u})
            if (has_square(g, 0.25L))
                cases.expect("rmsprop", parameters[i], -0.5L * exact / (std::abs(exact) / 2 + epsilon), 8, 0, g);
            else
                cases.expect("rmsprop", parameters[i], quiet_nan<real>, 8, 0, g);
    }
    CHECK(cases.failed() == "");
    for (T const bad : {quiet_nan<T>, infinity<T>, -infinity<T>}) {
        std::vector<T> parameters(3, T(1));
        nn::adam<T>(3).step(parameters, std::vector<T>{T(1), bad, T(1)});
        nn::rmsprop<T>(3).step(parameters, std::vector<T>{T(1), bad, T(1)});
        CHECK(std::isfinite(parameters[0]));
        CHECK(std::isnan(parameters[1]));
        CHECK(std::isfinite(parameters[2]));
    }
}

TEMPLATE_TEST_CASE("activations of any size, and their slopes", "[extremes]", float, double) {
    using T = TestType;
    using maps = backends::simd<T>;
    sweep cases;
    auto numbers = extremes<T>();
    for (T const bad : {quiet_nan<T>, infinity<T>, -infinity<T>})
        numbers.push_back(bad);
    std::size_t const count = numbers.size();
    std::vector<T> y(count), slopes(count);
    std::vector<T> const ones(count, T(1));
    auto const row = [count](auto& data) { return matrix_view(data.data(), 1, count); };
    for (auto const f : {nn::activation::none, nn::activation::tanh, nn::activation::relu}) {
        maps::activate(f, row(numbers), row(y));
        maps::activate_backward(f, row(y), row(ones), row(slopes));
        for (std::size_t i = 0; i < count; ++i) {
            auto const x = static_cast<real>(numbers[i]);
            real const value = f == nn::activation::tanh                       ? std::tanh(x)
                               : f == nn::activation::relu && !(std::isnan(x)) ? std::fmax(x, real(0))
                                                                               : x;
            real const slope = f == nn::activation::tanh   ? 1 - value * value
                               : f == nn::activation::relu ? (std::isnan(x) ? x
                                                              : x > 0       ? 1
                                                                            : 0)
                                                           : 1;
            cases.expect("activation", y[i], value, 4, 0, static_cast<int>(f), numbers[i]);
            cases.expect("slope", slopes[i], slope, 8, 1, static_cast<int>(f), numbers[i]);
        }
    }
    CHECK(cases.failed() == "");
}

TEMPLATE_TEST_CASE("the norm of a gradient that T has, though not its square", "[extremes]", float, double) {
    using T = TestType;
    using limits = std::numeric_limits<T>;
    for (T const size : extremes<T>())
        for (std::size_t const zeros : {0u, 2000u}) {
            if (std::abs(size) > (limits::max)() / 5)
                continue;
            std::vector<T> gradient{3 * size, 4 * size};
            gradient.resize(2 + zeros);
            auto const exact = 5 * std::abs(static_cast<long double>(size));
            CAPTURE(size, zeros);
            CHECK(agrees(nn::gradient_norm<T>(gradient), exact));
            T const half = std::abs(size) / 2;
            if (half == T(0) || std::isinf(half))
                continue;
            CHECK(agrees(nn::clip_gradient_norm<T>(gradient, half), exact));
            CHECK(agrees(gradient[0], static_cast<long double>(std::copysign(half, size)) * 0.6L));
            CHECK(agrees(gradient[1], static_cast<long double>(std::copysign(half, size)) * 0.8L));
        }
    std::vector<T> far{(limits::max)() / 2, T(1)};
    CHECK(nn::clip_gradient_norm<T>(far, (limits::min)()) == (limits::max)() / 2);
    CHECK(agrees(far[0], static_cast<long double>((limits::min)())));
    std::vector<T> const mixed{(limits::min)(), T(1), -(limits::min)()};
    CHECK(nn::gradient_norm<T>(mixed) == T(1));
    CHECK(std::isinf(nn::gradient_norm<T>(std::vector<T>(2, (limits::max)())))); // √2 times the largest
    CHECK(std::isinf(nn::gradient_norm<T>(std::vector{T(1), -infinity<T>})));
    CHECK(std::isnan(nn::gradient_norm<T>(std::vector{(limits::max)(), quiet_nan<T>, infinity<T>})));
}
