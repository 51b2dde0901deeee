// SPDX-License-Identifier: Apache-2.0
// The values of the mixture energy: against pairs by brute force, against the integral that defines it, and against
// itself in other types, layouts and lanes.
#include <gmac/distributions/gaussian_mixture.hpp>
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/losses/gaussian_mixture_energy.hpp>

#include "losses/gaussian_mixture_energy/case.hpp"
#include "support/catch.hpp"
#include "support/quadrature.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

namespace {

using gmac::matrix_view;
using gmac::losses::gaussian_mixture_energy;
using gmac::testing::mixture_case;
using gmac::testing::random_case;
using gmac::testing::table;

struct normal {
    double weight, mean, deviation;
};

/// E|N(d, s²)| with the standard library.
double folded(double d, double s) {
    if (s == 0.0)
        return std::abs(d);
    double const z = d / (s * std::numbers::sqrt2);
    return s * std::sqrt(2.0 / std::numbers::pi) * std::exp(-z * z) + d * std::erf(z);
}
double delta(std::vector<normal> const& u, std::vector<normal> const& v) {
    double sum = 0.0;
    for (auto const& a : u)
        for (auto const& b : v)
            sum += a.weight * b.weight * folded(a.mean - b.mean, std::hypot(a.deviation, b.deviation));
    return sum;
}

template <std::size_t K>
std::vector<normal> predicted(mixture_case<K> const& given, std::size_t state) {
    std::array<double, 3 * K> raw{};
    for (std::size_t j = 0; j < 3 * K; ++j)
        raw[j] = given.outputs(state, j);
    double sum = 0.0;
    for (std::size_t k = 0; k < K; ++k)
        sum += std::exp(raw[k]);
    std::vector<normal> result;
    for (std::size_t k = 0; k < K; ++k) {
        double const x = raw[2 * K + k];
        double const softplus = std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
        result.push_back(
            {std::exp(raw[k]) / sum, raw[K + k], std::sqrt(given.head.scale * (softplus + given.head.floor))});
    }
    return result;
}
template <std::size_t K>
std::vector<normal> target(mixture_case<K> const& given, std::size_t state) {
    std::vector<normal> result;
    for (std::size_t j = 0; j < given.means.cols; ++j)
        result.push_back({given.weighted ? given.weights(state, j) : 1.0 / static_cast<double>(given.means.cols),
                          given.means(state, j), given.deviations(state, j)});
    return result;
}

/// 2 ∫ (F − G)²
double energy_by_quadrature(std::vector<normal> const& u, std::vector<normal> const& v) {
    auto const cdf = [](std::vector<normal> const& mixture, double x) {
        double sum = 0.0;
        for (auto const& c : mixture)
            sum += c.weight * (c.deviation > 0.0 ? 0.5 * std::erfc((c.mean - x) / (c.deviation * std::numbers::sqrt2))
                                                 : (x >= c.mean ? 1.0 : 0.0));
        return sum;
    };
    std::vector<double> points;
    for (auto const* mixture : {&u, &v})
        for (auto const& c : *mixture)
            for (double const step : {-9.0, -3.0, 0.0, 3.0, 9.0})
                points.push_back(c.mean + step * c.deviation);
    return 2.0 * gmac::testing::integrate_between(
                     [&](double x) {
                         double const difference = cdf(u, x) - cdf(v, x);
                         return difference * difference;
                     },
                     points, 1e-13);
}

template <std::size_t K>
double loss_value(mixture_case<K> const& given, bool with_target_term) {
    return gaussian_mixture_energy{with_target_term}.value(given.head, given.outputs.view(), given.targets());
}

} // namespace

TEST_CASE("the mixture energy is that of all pairs by brute force", "[mixture]") {
    std::mt19937_64 random(11);
    // Around the tile of 64 particles and beyond what is sorted, and around the blocks of lanes.
    for (std::size_t const particles : std::vector<std::size_t>{1, 2, 63, 64, 65, 130, 200, 300}) {
        for (std::size_t const states : std::vector<std::size_t>{1, 5, 16, 21}) {
            auto const given = random_case<3>(random, states, particles);
            double without = 0.0, with = 0.0, size = 0.0;
            for (std::size_t i = 0; i < states; ++i) {
                auto const u = predicted(given, i);
                auto const v = target(given, i);
                without += 2.0 * delta(u, v) - delta(u, u);
                with += 2.0 * delta(u, v) - delta(u, u) - delta(v, v);
                size += 2.0 * delta(u, v);
            }
            auto const n = static_cast<double>(states);
            CAPTURE(particles, states, given.weighted);
            CHECK(std::abs(loss_value(given, false) - without / n) < 1e-13 * size / n);
            CHECK(std::abs(loss_value(given, true) - with / n) < 1e-13 * size / n);
            table<double> gradient(states, 9);
            CHECK(gaussian_mixture_energy{}.value_and_gradient(given.head, given.outputs.view(), given.targets(),
                                                               gradient.view()) == loss_value(given, false));
        }
    }
}

TEST_CASE("the mixture energy is twice the integral of the squared difference of the distribution functions",
          "[mixture]") {
    std::mt19937_64 random(12);
    std::uniform_real_distribution<double> uniform(-2.0, 2.0);
    for (int step = 0; step < 20; ++step) {
        mixture_case<3> given(1, 6);
        given.head.scale = 0.3;
        for (double& x : given.outputs.data)
            x = uniform(random);
        for (std::size_t j = 0; j < 6; ++j) {
            given.means.data[j] = uniform(random);
            given.deviations.data[j] = j % 3 == 0 ? 0.0 : std::abs(uniform(random));
        }
        auto const u = predicted(given, 0);
        auto const v = target(given, 0);
        CHECK(loss_value(given, true) == Approx(energy_by_quadrature(u, v)).epsilon(1e-10));
        CHECK(gmac::energy(gmac::gaussian_mixture<double>{{u[0].weight, u[0].mean, u[0].deviation},
                                                          {u[1].weight, u[1].mean, u[1].deviation},
                                                          {1.0 - u[0].weight - u[1].weight, u[2].mean, u[2].deviation}},
                           gmac::point_mass{0.3}) == Approx(energy_by_quadrature(u, {{1.0, 0.3, 0.0}})).epsilon(1e-10));
    }
}

namespace {

/// The error of the loss with the target term, relative to its first term, where T is the type of the targets.
template <class T>
double target_term_error(mixture_case<1> const& given) {
    auto const outputs = given.outputs.as<T>(), means = given.means.as<T>(), deviations = given.deviations.as<T>();
    gmac::targets::gaussian_particles<T const> const targets{means.view(), deviations.view()};
    double exact = 0.0, size = 0.0;
    for (std::size_t i = 0; i < given.means.rows; ++i) {
        std::vector<normal> const v = target(given, i), u = predicted(given, i);
        exact += 2.0 * delta(u, v) - delta(u, u) - delta(v, v);
        size += 2.0 * delta(u, v);
    }
    auto const states = static_cast<double>(given.means.rows);
    auto const value = static_cast<double>(gaussian_mixture_energy{true}.value(given.head, outputs.view(), targets));
    return std::abs(value - exact / states) / (size / states);
}

} // namespace

TEST_CASE("the target term is that of all pairs, however near they are", "[mixture]") {
    std::mt19937_64 random(16);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    auto const rounded = [](double x) { return static_cast<double>(static_cast<float>(x)); };
    for (std::size_t const particles : std::vector<std::size_t>{24, 29, 64, 128, 256})
        for (double const apart : {0.0, 0.01, 1.0, 6.0, 1e4}) // in deviations
            for (double const scale : {1e-6, 1.0, 1e6}) {
                mixture_case<1> given(19, particles);
                given.head.scale = scale * scale;
                for (double& x : given.outputs.data)
                    x = 0.0;
                for (std::size_t i = 0; i < given.means.data.size(); ++i) {
                    given.means.data[i] = rounded(scale * (1.0 + apart * uniform(random)));
                    // Points among them, and particles twice.
                    given.deviations.data[i] = i % 5 == 0 ? 0.0 : rounded(scale * (1.1 + uniform(random)));
                    if (i % 7 == 3) {
                        given.means.data[i] = given.means.data[i - 1];
                        given.deviations.data[i] = given.deviations.data[i - 1];
                    }
                }
                CAPTURE(particles, apart, scale);
                CHECK(target_term_error<double>(given) < 1e-14);
                CHECK(target_term_error<float>(given) < 5e-7);
            }
    // Points, as deviations of zero or as Diracs.
    mixture_case<1> points(3, 40);
    for (double& x : points.means.data)
        x = uniform(random);
    CHECK(target_term_error<double>(points) < 1e-14);
    for (bool const term : {false, true})
        CHECK(gaussian_mixture_energy{term}.value(points.head, points.outputs.view(),
                                                  gmac::targets::dirac_particles<double const>{points.means.view()}) ==
              Approx(loss_value(points, term)).epsilon(1e-13));
    // What is not finite comes out.
    mixture_case<1> given(1, 40);
    for (std::size_t j = 0; j < 40; ++j)
        given.means.data[j] = 1.0;
    for (double const bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        given.means.data[17] = bad;
        CHECK_FALSE(std::isfinite(loss_value(given, true)));
    }
}

TEST_CASE("float differs from double by rounding", "[mixture]") {
    // Stated bound: 2e-6 of the mean of 2 δ(U, V) for the value, which is 17 times float's precision.
    std::mt19937_64 random(13);
    double largest = 0.0, largest_gradient = 0.0;
    for (int step = 0; step < 300; ++step) {
        auto given = random_case<3>(random, 4, 128);
        for (auto* part : {&given.outputs, &given.means, &given.deviations, &given.weights})
            for (double& x : part->data)
                x = static_cast<double>(static_cast<float>(x));
        auto const outputs = given.outputs.as<float>(), means = given.means.as<float>(),
                   deviations = given.deviations.as<float>(), weights = given.weights.as<float>();
        gmac::targets::gaussian_particles<float const> const targets{means.view(), deviations.view(),
                                                                     given.weighted ? weights.view()
                                                                                    : matrix_view<float const>{}};
        table<float> gradient(4, 9);
        table<double> exact_gradient(4, 9);
        double size = 0.0;
        for (std::size_t i = 0; i < 4; ++i)
            size += 0.5 * delta(predicted(given, i), target(given, i));
        double const exact = gaussian_mixture_energy{}.value_and_gradient(given.head, given.outputs.view(),
                                                                          given.targets(), exact_gradient.view());
        float const computed =
            gaussian_mixture_energy{}.value_and_gradient(given.head, outputs.view(), targets, gradient.view());
        largest = std::max(largest, std::abs(exact - static_cast<double>(computed)) / size);
        // Gradients: with respect to logits of the size of the energy, to means of the size of one.
        for (std::size_t i = 0; i < 4; ++i)
            for (std::size_t k = 0; k < 3; ++k) {
                auto const error = [&](std::size_t j) {
                    return std::abs(exact_gradient(i, j) - static_cast<double>(gradient(i, j)));
                };
                largest_gradient = std::max(largest_gradient, std::max(error(k) / (4.0 * size), error(3 + k)));
            }
    }
    CAPTURE(largest, largest_gradient);
    CHECK(largest < 2e-6);
    CHECK(largest_gradient < 2e-6);
}

TEST_CASE("float rounds no more with thousands of particles that are alike", "[mixture]") {
    // Their terms are equal: what is rounded off a sum of them goes one way.
    for (double const place : {-0.7F, 0.3F, 1.9F}) {
        mixture_case<1> given(1, 4096);
        given.outputs(0, 2) = 0.5;
        std::fill(given.means.data.begin(), given.means.data.end(), place);
        std::fill(given.deviations.data.begin(), given.deviations.data.end(), static_cast<double>(0.1F));
        auto const outputs = given.outputs.as<float>(), means = given.means.as<float>(),
                   deviations = given.deviations.as<float>();
        table<float> gradient(1, 3);
        table<double> exact_gradient(1, 3);
        double const exact = gaussian_mixture_energy{}.value_and_gradient(given.head, given.outputs.view(),
                                                                          given.targets(), exact_gradient.view());
        float const computed =
            gaussian_mixture_energy{}
                .value_and_gradient(given.head, outputs.view(),
                                    gmac::targets::gaussian_particles<float const>{means.view(), deviations.view(), {}},
                                    gradient.view());
        CHECK(static_cast<double>(computed) == Approx(exact).epsilon(2e-6));
        for (std::size_t j = 0; j < 3; ++j)
            CHECK(static_cast<double>(gradient(0, j)) == Approx(exact_gradient(0, j)).margin(2e-6));
    }
}

TEST_CASE("the energy scales with its argument down to 1e-5, also in float", "[mixture]") {
    gmac::gaussian_mixture<float> const u{{0.3F, -1.0F, 0.5F}, {0.7F, 2.0F, 1.0F}};
    gmac::gaussian_mixture<float> const v{{0.5F, 0.0F, 0.0F}, {0.5F, 1.0F, 0.25F}};
    float const whole = gmac::energy(u, v);
    REQUIRE(whole > 0.1F);
    for (float const a : {1e-8F, 1e-5F, -1e-5F, 1e-3F, -0.5F, 1e4F, 1e8F}) {
        auto const scaled = [a](gmac::gaussian_mixture<float> const& m) {
            std::vector<gmac::normal_component<float>> parts;
            for (auto const& c : m.components())
                parts.push_back({c.weight, a * c.mean, std::abs(a) * c.deviation});
            return gmac::gaussian_mixture<float>(parts);
        };
        CHECK(gmac::energy(scaled(u), scaled(v)) / std::abs(a) == Approx(whole).epsilon(2e-6));
    }
    // The same through the loss, with the head's scale as the scale.
    double first = 0.0;
    for (float const a : {1.0F, 1e-5F, 1e-8F, 1e8F}) {
        gmac::heads::gaussian_mixture<2> const head{.scale = static_cast<double>(a) * static_cast<double>(a)};
        std::vector<float> outputs{0.1F, -0.4F, a * -1.0F, a * 2.0F, 0.3F, -0.8F};
        std::vector<float> means{a * 0.2F, a * 1.7F, a * -0.1F}, deviations{0.0F, a * 0.4F, a * 1.3F};
        auto const loss =
            static_cast<double>(
                gaussian_mixture_energy{true}.value(head, matrix_view<float const>(outputs.data(), 1, 6),
                                                    gmac::targets::gaussian_particles<float const>{{means.data(), 1, 3},
                                                                                                   {deviations.data(),
                                                                                                    1, 3}})) /
            static_cast<double>(a);
        if (a == 1.0F)
            first = loss;
        CHECK(loss == Approx(first).epsilon(3e-6));
    }
}

TEST_CASE("special targets are the general ones", "[mixture]") {
    std::mt19937_64 random(14);
    auto given = random_case<3>(random, 7, 20);
    given.weighted = false;
    double const uniform = loss_value(given, true);

    given.weighted = true;
    std::fill(given.weights.data.begin(), given.weights.data.end(), 1.0 / 20.0);
    CHECK(loss_value(given, true) == Approx(uniform).epsilon(1e-13));

    // Particles of weight 0 are not there, whatever they are.
    for (std::size_t i = 0; i < 7; ++i)
        for (std::size_t j = 0; j < 20; ++j) {
            given.weights(i, j) = j < 5 ? 0.2 : 0.0;
            if (j >= 5)
                given.means(i, j) = 1e12;
        }
    mixture_case<3> fewer(7, 5);
    fewer.head = given.head;
    fewer.outputs = given.outputs;
    for (std::size_t i = 0; i < 7; ++i)
        for (std::size_t j = 0; j < 5; ++j) {
            fewer.means(i, j) = given.means(i, j);
            fewer.deviations(i, j) = given.deviations(i, j);
        }
    CHECK(loss_value(given, true) == Approx(loss_value(fewer, true)).epsilon(1e-12));

    // Points as Diracs or as deviations of zero.
    std::fill(fewer.deviations.data.begin(), fewer.deviations.data.end(), 0.0);
    table<double> as_gaussians(7, 9), as_points(7, 9);
    for (bool const term : {false, true}) {
        gaussian_mixture_energy const loss{term};
        double const a =
            loss.value_and_gradient(fewer.head, fewer.outputs.view(), fewer.targets(), as_gaussians.view());
        double const b =
            loss.value_and_gradient(fewer.head, fewer.outputs.view(),
                                    gmac::targets::dirac_particles<double const>{fewer.means.view()}, as_points.view());
        CHECK(a == Approx(b).epsilon(1e-13));
        for (std::size_t i = 0; i < as_points.data.size(); ++i)
            CHECK(as_gaussians.data[i] == Approx(as_points.data[i]).epsilon(1e-12).margin(1e-300));
    }
}

TEST_CASE("infinity and NaN in the outputs reach the loss", "[mixture]") {
    std::mt19937_64 random(15);
    for (std::size_t const column : std::vector<std::size_t>{0, 3, 6})
        for (std::size_t const state : std::vector<std::size_t>{0, 4, 17}) {
            auto given = random_case<3>(random, 18, 3);
            given.outputs(state, column) = std::numeric_limits<double>::quiet_NaN();
            table<double> gradient(18, 9);
            double const loss = gaussian_mixture_energy{}.value_and_gradient(given.head, given.outputs.view(),
                                                                             given.targets(), gradient.view());
            CHECK(std::isnan(loss));
            CHECK(std::isnan(gradient(state, 0)));
            for (std::size_t j = 0; j < 9; ++j)
                CHECK(std::isfinite(gradient(state == 4 ? 5 : 4, j)));
        }
}
