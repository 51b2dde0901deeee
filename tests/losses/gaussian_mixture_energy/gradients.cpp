// SPDX-License-Identifier: Apache-2.0
// The analytic gradients against dual numbers that go through the same kernels, and through formulas of the test's own.
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/heads/scalar.hpp>
#include <gmac/losses/gaussian_mixture_energy.hpp>
#include <gmac/losses/squared_error.hpp>

#include "losses/gaussian_mixture_energy/case.hpp"
#include "support/catch.hpp"
#include "support/dual.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <random>
#include <vector>

namespace {

using gmac::matrix_view;
using gmac::vector_view;
using gmac::testing::dual;
using gmac::testing::mixture_case;
using gmac::testing::random_case;
using gmac::testing::table;

/// The gradient of the loss of one state by dual numbers.
template <std::size_t K>
std::array<double, 3 * K> gradient_by_duals(mixture_case<K> const& given, bool to_diracs) {
    using D = dual<double, 3 * K>;
    auto outputs = given.outputs.template as<D>();
    for (std::size_t i = 0; i < 3 * K; ++i)
        outputs.data[i] = D::variable(given.outputs.data[i], i);
    auto const means = given.means.template as<D>();
    auto const deviations = given.deviations.template as<D>();
    auto const weights = given.weights.template as<D>();
    auto const weights_view = given.weighted ? weights.view() : matrix_view<D const>{};
    gmac::losses::gaussian_mixture_energy const loss;
    if (to_diracs)
        return loss
            .value(given.head, outputs.view(), gmac::targets::dirac_particles<D const>{means.view(), weights_view})
            .slope;
    return loss
        .value(given.head, outputs.view(),
               gmac::targets::gaussian_particles<D const>{means.view(), deviations.view(), weights_view})
        .slope;
}

/// The largest term that is summed into each entry of the gradient, from formulas of the test's own.
template <std::size_t K>
std::array<double, 3 * K> largest_terms(mixture_case<K> const& given, bool to_diracs) {
    constexpr double inverse_sqrt_pi = std::numbers::inv_sqrtpi;
    std::array<double, 3 * K> raw{};
    std::copy_n(given.outputs.data.begin(), 3 * K, raw.begin());
    auto const mixture = given.head.transform(raw);
    std::array<double, 3 * K> largest{};
    double distance = 0.0;
    for (std::size_t i = 0; i < K; ++i) {
        double const mean = mixture.means[i];
        double const deviation = mixture.deviations[i];
        auto const visit = [&](double weight, double other_mean, double other_deviation) {
            double const d = mean - other_mean;
            double const s = std::hypot(deviation, other_deviation);
            double const z = s > 0.0 ? d / (s * std::numbers::sqrt2) : 0.0;
            double const bell = s > 0.0 ? std::exp(-z * z) : 0.0;
            if (weight > 0.0)
                distance = std::max(distance, s * std::numbers::sqrt2 * inverse_sqrt_pi * bell + std::abs(d));
            largest[K + i] = std::max(largest[K + i], weight * std::abs(std::erf(z)));
            if (s > 0.0)
                largest[2 * K + i] = std::max(largest[2 * K + i], weight * deviation / s * bell);
        };
        for (std::size_t j = 0; j < given.means.cols; ++j)
            visit(given.weighted ? given.weights.data[j] : 1.0 / static_cast<double>(given.means.cols),
                  given.means.data[j], to_diracs ? 0.0 : given.deviations.data[j]);
        for (std::size_t k = 0; k < K; ++k)
            visit(mixture.weights[k], mixture.means[k], mixture.deviations[k]);
    }
    for (std::size_t i = 0; i < K; ++i) {
        double const x = raw[2 * K + i];
        double const softplus = std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
        double const slope = 0.5 * mixture.deviations[i] / (1.0 + std::exp(-x)) / (softplus + given.head.floor);
        largest[i] = mixture.weights[i] * distance;
        largest[K + i] *= mixture.weights[i];
        largest[2 * K + i] *= mixture.weights[i] * slope;
    }
    return largest;
}

/// The largest error of a random state's gradient, relative to the largest term summed.
template <std::size_t K>
double relative_error(mixture_case<K> const& given, bool to_diracs) {
    table<double> gradient(1, 3 * K);
    gmac::losses::gaussian_mixture_energy const loss;
    if (to_diracs) {
        auto const targets = given.targets();
        loss.value_and_gradient(given.head, given.outputs.view(),
                                gmac::targets::dirac_particles<double const>{targets.means, targets.weights},
                                gradient.view());
    } else {
        loss.value_and_gradient(given.head, given.outputs.view(), given.targets(), gradient.view());
    }
    auto const expected = gradient_by_duals(given, to_diracs);
    auto const largest = largest_terms(given, to_diracs);
    double error = 0.0;
    for (std::size_t i = 0; i < 3 * K; ++i) {
        double const difference = std::abs(gradient.data[i] - expected[i]);
        if (difference != 0.0)
            error = std::isnan(difference) ? 1e30 : std::max(error, difference / largest[i]);
    }
    return error;
}

} // namespace

TEST_CASE("the gradient of the mixture energy is that of dual numbers", "[mixture]") {
    std::mt19937_64 random(1);
    double largest = 0.0;
    for (int i = 0; i < 100000; ++i)
        largest = std::max(largest, relative_error(random_case<2>(random, 1, 3), false));
    CHECK(largest < 1e-10);
}

TEST_CASE("the gradient of the mixture energy, five components and many particles", "[mixture]") {
    std::mt19937_64 random(2);
    double gaussian = 0.0, dirac = 0.0;
    for (int i = 0; i < 300; ++i) {
        auto const given = random_case<5>(random, 1, 130);
        gaussian = std::max(gaussian, relative_error(given, false));
        dirac = std::max(dirac, relative_error(given, true));
    }
    CHECK(gaussian < 1e-10);
    CHECK(dirac < 1e-10);
}

TEST_CASE("point against point: the gradient of |d|, finite and exact", "[mixture]") {
    // The head's deviation underflows to 0 and so are the target's: two predicted points, three target points.
    mixture_case<2> given(1, 3);
    given.head.floor = 0.0;
    given.outputs.data = {std::log(0.25), std::log(0.75), 1.0, 4.0, -2000.0, -2000.0};
    given.means.data = {1.0, 2.0, -5.0};
    given.weighted = true;
    given.weights.data = {0.5, 0.25, 0.25};
    table<double> gradient(1, 6);
    double const loss = gmac::losses::gaussian_mixture_energy{}.value_and_gradient(given.head, given.outputs.view(),
                                                                                   given.targets(), gradient.view());
    // E|1 - Y| = 0.25 + 1.5, E|4 - Y| = 1.5 + 0.5 + 2.25; E|X - X'| = 2 * 0.25 * 0.75 * 3
    CHECK(loss == Approx(2.0 * (0.25 * 1.75 + 0.75 * 4.25) - 1.125).epsilon(1e-14));
    // dL/dm = 2 w (sum of v sign(m - n)) - 2 w (sum of w' sign(m - m')), with sign(0) = 0
    CHECK(gradient.data[2] == Approx(2.0 * 0.25 * (0.0 - 0.25 + 0.25) + 2.0 * 0.25 * 0.75).epsilon(1e-14));
    CHECK(gradient.data[3] == Approx(2.0 * 0.75 - 2.0 * 0.75 * 0.25).epsilon(1e-14));
    CHECK(gradient.data[4] == 0.0);
    CHECK(gradient.data[5] == 0.0);
    // dL/dw: 2 (1.75 - 0.75 * 3) and 2 (4.25 - 0.25 * 3), through the softmax
    double const first = 2.0 * (1.75 - 2.25), second = 2.0 * (4.25 - 0.75);
    CHECK(gradient.data[0] == Approx(0.25 * 0.75 * (first - second)).epsilon(1e-14));
    CHECK(gradient.data[1] == Approx(-gradient.data[0]).epsilon(1e-14));
}

namespace {

/// A head of one's own whose outputs are weights, means and deviations themselves.
struct plain_mixture {
    static constexpr std::size_t components = 2, outputs = 3 * components;
    template <class V>
    struct parameters {
        std::array<V, components> weights, means, deviations;
    };
    template <class V>
    parameters<V> transform(std::array<V, outputs> const& raw) const {
        return {{raw[0], raw[1]}, {raw[2], raw[3]}, {raw[4], raw[5]}};
    }
    template <class V>
    void pull_back(std::array<V, outputs> const&, parameters<V> const&, parameters<V> const& gradient,
                   std::array<V, outputs>& raw_gradient) const {
        raw_gradient = {gradient.weights[0], gradient.weights[1],    gradient.means[0],
                        gradient.means[1],   gradient.deviations[0], gradient.deviations[1]};
    }
};

template <class T>
void check_predicted_points() {
    // docs/mathematics.md: every pair has the slope 0 in a deviation of 0, the middle of those of |σ|. So prediction and
    // target, both points at one place, are a place to stay; and beside a point that is apart nothing else pulls at it.
    for (T const place : {T(0.3), T(1.7)}) {
        std::array<T, 6> const outputs{T(0.75), T(0.25), T(0.3), T(-1), T(0), T(0.5)};
        std::array<T, 6> gradient{};
        T const zero(0);
        gmac::losses::gaussian_mixture_energy{}
            .value_and_gradient(plain_mixture{}, matrix_view<T const>(outputs.data(), 1, 6),
                                gmac::targets::gaussian_particles<T const>{matrix_view<T const>(&place, 1, 1),
                                                                           matrix_view<T const>(&zero, 1, 1)},
                                matrix_view<T>(gradient.data(), 1, 6));
        CHECK(gradient[4] == T(0));
        // The other one: 4 w σ (g(d, σ²) − 0.75 g(1.3, σ²) − 0.25 g(0, 2 σ²)) with g the derivative of e in the variance.
        auto const slope = [](double d, double variance) {
            return std::exp(-d * d / (2.0 * variance)) / std::sqrt(2.0 * std::acos(-1.0) * variance);
        };
        double const expected =
            4.0 * 0.25 * 0.5 *
            (slope(-1.0 - static_cast<double>(place), 0.25) - 0.75 * slope(1.3, 0.25) - 0.25 * slope(0.0, 0.5));
        CHECK(static_cast<double>(gradient[5]) == Approx(expected).epsilon(1e-5));
    }
}

} // namespace

TEST_CASE("a predicted point has the slope 0 in its deviation", "[mixture]") {
    check_predicted_points<float>();
    check_predicted_points<double>();
}
