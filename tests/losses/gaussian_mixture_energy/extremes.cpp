// SPDX-License-Identifier: Apache-2.0
// The mixture energy of means and deviations as large and as small as their type has them.
#include "support/extremes.hpp"
#include "support/catch.hpp"

#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/losses/gaussian_mixture_energy.hpp>
#include <gmac/targets/particles.hpp>

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <string_view>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

using real = long double;

/// A user's head that takes its mixture as it is: weights, means, deviations.
struct plain_head {
    static constexpr std::size_t components = 2, outputs = 6;
    template <class V>
    struct parameters {
        std::array<V, 2> weights, means, deviations;
    };
    template <class V>
    static parameters<V> transform(std::array<V, 6> const& raw) noexcept {
        return {{raw[0], raw[1]}, {raw[2], raw[3]}, {raw[4], raw[5]}};
    }
    template <class V>
    static void pull_back(std::array<V, 6> const&, parameters<V> const&, parameters<V> const& gradient,
                          std::array<V, 6>& raw) noexcept {
        raw = {gradient.weights[0], gradient.weights[1],    gradient.means[0],
               gradient.means[1],   gradient.deviations[0], gradient.deviations[1]};
    }
};

struct point {
    real weight, mean, deviation;
};
struct expected {
    real distance = 0, slope = 0, density = 0; // E|N(d, s^2)|, and its derivatives by d and by s, the latter over s
    real peak = 0;                             // the density without its exponential, which has an absolute error
};

expected pair(point const& a, point const& b) {
    real const d = a.mean - b.mean, variance = a.deviation * a.deviation + b.deviation * b.deviation;
    if (variance == 0)
        return {std::abs(d), static_cast<real>((d > 0) - (d < 0)), 0};
    real const s = std::sqrt(variance), x = d / (s * std::numbers::sqrt2_v<real>);
    real const peak = std::sqrt(2 / std::numbers::pi_v<real>) / s, tail = std::exp(-x * x);
    return {variance * peak * tail + d * std::erf(x), std::erf(x), peak * tail, peak};
}

/// The loss of one state and its gradient by weights, means and deviations; `size` is that of the distances that cancel.
struct judge {
    real loss = 0, size = 0;
    std::array<real, 6> gradient{}, sizes{};

    judge(std::array<point, 2> const& mixture, std::array<point, 2> const& target, bool target_term) {
        for (std::size_t i = 0; i < 2; ++i) {
            for (point const& z : target)
                add(i, mixture[i], pair(mixture[i], z), z.weight, 2);
            for (point const& other : mixture)
                add(i, mixture[i], pair(mixture[i], other), -other.weight, 1);
        }
        if (target_term)
            for (point const& z : target)
                for (point const& other : target)
                    loss -= z.weight * other.weight * pair(z, other).distance;
    }

private:
    void add(std::size_t i, point const& own, expected const& e, real weight, real times) {
        loss += times * own.weight * weight * e.distance;
        size += own.weight * std::abs(weight) * e.distance;
        std::array const terms{weight * e.distance, own.weight * weight * e.slope,
                               own.weight * weight * own.deviation * e.density};
        for (std::size_t j = 0; j < 3; ++j) {
            gradient[2 * j + i] += 2 * terms[j];
            sizes[2 * j + i] += 2 * std::abs(j < 2 ? terms[j] : own.weight * weight * own.deviation * e.peak);
        }
    }
};

/// Compares one state with its judge. Where a variance is no normal number in the unit in which the largest number has half
/// the exponents, what it says is lost, and only the absence of infinities is asked for: `finite`.
template <class T>
void compare(std::array<point, 2> const& mixture, std::array<point, 2> const& target, bool points, bool target_term,
             sweep& cases, bool& finite) {
    using limits = std::numeric_limits<T>;
    constexpr std::array<std::string_view, 6> names{"weight 0", "weight 1",    "mean 0",
                                                    "mean 1",   "deviation 0", "deviation 1"};
    auto const both = [](std::array<point, 2> const& of, real point::*what) {
        return std::array{static_cast<T>(of[0].*what), static_cast<T>(of[1].*what)};
    };
    auto const row = [](auto& numbers) { return matrix_view<T const>(numbers.data(), 1, numbers.size()); };
    auto const w = both(mixture, &point::weight), m = both(mixture, &point::mean), d = both(mixture, &point::deviation);
    std::array const outputs{w[0], w[1], m[0], m[1], d[0], d[1]};
    auto const means = both(target, &point::mean), deviations = both(target, &point::deviation),
               weights = both(target, &point::weight);
    std::array<T, 6> gradient;
    losses::gaussian_mixture_energy const loss{.target_term = target_term};
    auto const evaluate = [&](auto const& wanted) {
        return loss.value_and_gradient(plain_head{}, row(outputs), wanted, matrix_view<T>(gradient.data(), 1, 6));
    };
    T const value = points ? evaluate(targets::dirac_particles<T const>{row(means), row(weights)})
                           : evaluate(targets::gaussian_particles<T const>{row(means), row(deviations), row(weights)});

    auto const smallest = std::sqrt(static_cast<real>((limits::min)()) / 2);
    real const half = std::ldexp(real(1), limits::max_exponent / 2 - 2);
    real largest = half, least = half;
    for (auto const& side : {mixture, target})
        for (point const& x : side) {
            if (x.weight > 0)
                largest = std::fmax(largest, std::fmax(std::abs(x.mean), x.deviation));
            if (x.deviation > 0)
                least = std::fmin(least, x.deviation);
        }
    bool const lost = least / largest < smallest / half;
    judge const exact(mixture, target, target_term);
    auto const expect = [&](std::string_view what, T found, real right, real size) {
        if (!lost)
            cases.expect(what, found, right, 64, size, fmt::join(outputs, " "), fmt::join(means, " "),
                         fmt::join(deviations, " "), target_term);
        else if (std::abs(right) <= static_cast<real>((limits::max)()))
            finite = finite && std::isfinite(found);
    };
    expect("loss", value, exact.loss, exact.size);
    for (std::size_t j = 0; j < 6; ++j)
        expect(names[j], gradient[j], exact.gradient[j], exact.sizes[j]);
}

/// Sixteen states of the Gaussian-mixture head with two particles each.
template <class T>
struct states {
    std::vector<T> outputs, particles, gradient;

    explicit states(T mean) {
        for (std::size_t i = 0; i < 16; ++i) {
            auto const x = static_cast<T>(i);
            outputs.insert(outputs.end(), {T(0), x, T(1), x, T(2), -x});
            particles.insert(particles.end(), {T(0), x});
        }
        outputs[6 * 7 + 2] = mean;
        gradient.resize(outputs.size());
    }
    T evaluate(bool in_place) {
        auto const view = [](std::vector<T>& v) { return matrix_view<T>(v.data(), 16, v.size() / 16); };
        return losses::gaussian_mixture_energy{}.value_and_gradient(heads::gaussian_mixture<2>{.scale = 1.0},
                                                                    view(outputs),
                                                                    targets::dirac_particles<T const>{view(particles),
                                                                                                      {}},
                                                                    view(in_place ? outputs : gradient));
    }
};

} // namespace

TEMPLATE_TEST_CASE("a state that is done again leaves its neighbours alone", "[extremes]", float, double) {
    using T = TestType;
    constexpr T largest = std::numeric_limits<T>::max();
    states<T> all(largest), moderate(T(1));
    // 2 p - 2 p (1 - p) times the distance, with the weight p of the one component that is far away.
    real const p = 1 / (1 + std::exp(real(7))), distance = static_cast<real>(largest) / 16;
    CHECK(agrees(all.evaluate(false), 2 * p * p * distance, 16, 2 * p * distance));
    (void)moderate.evaluate(false);
    for (std::size_t i = 0; i < all.gradient.size(); ++i)
        if (i / 6 != 7)
            CHECK(all.gradient[i] == moderate.gradient[i]);
        else
            CHECK(std::isfinite(all.gradient[i]));
    (void)all.evaluate(true);
    CHECK(all.outputs == all.gradient);
}

TEMPLATE_TEST_CASE("a mean over states whose sum overflows", "[extremes]", float, double) {
    using T = TestType;
    states<T> all(T(0));
    for (std::size_t i = 0; i < 16; ++i) {
        all.outputs[6 * i] = all.outputs[6 * i + 1];
        all.outputs[6 * i + 2] = std::numeric_limits<T>::max();
    }
    // Half the weight is so far away: 2 p - 2 p (1 - p) = 1 / 2.
    CHECK(agrees(all.evaluate(false), static_cast<real>(std::numeric_limits<T>::max()) / 2, 16));
}

TEMPLATE_TEST_CASE("a deviation without a normal variance is none", "[extremes]", float, double) {
    using T = TestType;
    T const root = std::sqrt(std::numeric_limits<T>::min());
    T const particle = 1;
    targets::dirac_particles<T const> const wanted{matrix_view<T const>(&particle, 1, 1), {}};
    for (T const deviation : {T(0), root / 1024, root / 2, 2 * root}) {
        std::array<T, 6> const outputs{T(1), T(0), T(1), T(0), deviation, T(1)};
        std::array<T, 6> gradient;
        CAPTURE(deviation);
        CHECK(losses::gaussian_mixture_energy{}.value_and_gradient(plain_head{},
                                                                   matrix_view<T const>(outputs.data(), 1, 6), wanted,
                                                                   matrix_view<T>(gradient.data(), 1, 6)) <= 4 * root);
        // On top of the particle, 2 σ √(2/π) − 2 σ / √π.
        CHECK(gradient[4] == Approx(deviation < root / 1.4
                                        ? 0.0
                                        : 2 * std::sqrt(2 / std::numbers::pi) - 2 / std::sqrt(std::numbers::pi)));
    }
}

TEMPLATE_TEST_CASE("a component of weight zero has no say, however far it is", "[extremes]", float, double) {
    using T = TestType;
    states<T> near(T(3)), far(std::numeric_limits<T>::max());
    for (states<T>* const both : {&near, &far})
        both->outputs[6 * 7] = T(-2000);
    CHECK(near.evaluate(false) == far.evaluate(false));
    CHECK(near.gradient == far.gradient);
    far.outputs[6 * 7 + 2] = infinity<T>;
    CHECK_FALSE(std::isfinite(far.evaluate(false)));
}

TEMPLATE_TEST_CASE("the mixture energy of numbers of any size", "[extremes]", float, double) {
    using T = TestType;
    using limits = std::numeric_limits<T>;
    std::vector<T> numbers{T(0)};
    for (T const x : {limits::epsilon(), T(1), T(100), std::sqrt((limits::max)()), 4 * std::sqrt((limits::max)()),
                      (limits::max)() / 4, (limits::max)()}) {
        numbers.push_back(x);
        numbers.push_back(-x);
    }
    sweep cases;
    bool finite = true;
    for (bool const target_term : {false, true})
        for (bool const points : {false, true})
            for (real const weight : {real(0), real(limits::epsilon()), real(0.25), real(1)})
                for (T const a : numbers)
                    for (T const b : numbers)
                        for (T const c : numbers)
                            for (T const e : {T(0), T(1), (limits::max)()}) {
                                auto const A = static_cast<real>(a), B = static_cast<real>(b), C = static_cast<real>(c),
                                           E = static_cast<real>(e);
                                compare<T>({{{weight, A, std::abs(B)}, {1 - weight, C, E}}},
                                           {{{0.5, B, points ? 0 : std::abs(C)}, {0.5, C, points ? 0 : E}}}, points,
                                           target_term, cases, finite);
                            }
    CHECK(cases.failed() == "");
    CHECK(finite);
}
