// SPDX-License-Identifier: Apache-2.0
// Float's sums against the exact pairs in double: near and far particles, equal ones, points, weights.
#include <gmac/losses/gaussian_mixture_energy.hpp>

#include "losses/gaussian_mixture_energy/case.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using gmac::losses::gaussian_mixture_energy;
using gmac::testing::mixture_case;
using gmac::testing::table;

constexpr std::size_t K = 5;

struct errors {
    double value = 0.0, weights = 0.0, means = 0.0, deviations = 0.0;
};

/// E|N(d, s²)| in double, by its definition.
double expected_distance(double d, double variance) {
    if (variance == 0.0)
        return std::abs(d);
    double const z = d / std::sqrt(2.0 * variance);
    return std::sqrt(2.0 * variance / std::acos(-1.0)) * std::exp(-z * z) + d * std::erf(z);
}

/// δ(U, V) of each state: what errors are relative to.
template <class Parameters>
double distance_to(Parameters const& u, mixture_case<K> const& given, std::size_t state) {
    double sum = 0.0;
    for (std::size_t i = 0; i < K; ++i)
        for (std::size_t j = 0; j < given.means.cols; ++j) {
            double const s = u.deviations[i], t = given.deviations(state, j);
            double const share = given.weighted ? given.weights(state, j) : 1.0 / static_cast<double>(given.means.cols);
            sum += u.weights[i] * share * expected_distance(u.means[i] - given.means(state, j), s * s + t * t);
        }
    return sum;
}

/// The largest errors of float over the states, each by itself in all lanes.
errors largest_errors(mixture_case<K> const& given, bool target_term) {
    auto const outputs = given.outputs.as<float>(), means = given.means.as<float>(),
               deviations = given.deviations.as<float>(), weights = given.weights.as<float>();
    gaussian_mixture_energy const loss{target_term};
    errors largest;
    for (std::size_t s = 0; s < given.outputs.rows; ++s) {
        std::array<double, 3 * K> exact{}, raw{};
        std::array<float, 3 * K> computed{};
        std::copy_n(&given.outputs(s, 0), 3 * K, raw.begin());
        auto const part = [s](auto const& matrix) { return matrix.view().middle_rows(s, 1); };
        auto const u = given.head.transform(raw);
        double const size = 2.0 * distance_to(u, given, s);
        double const value =
            loss.value_and_gradient(given.head, part(given.outputs),
                                    gmac::targets::gaussian_particles<
                                        double const>{part(given.means), part(given.deviations),
                                                      given.weighted ? part(given.weights)
                                                                     : gmac::matrix_view<double const>{}},
                                    gmac::matrix_view<double>(exact.data(), 1, 3 * K));
        auto const single = static_cast<double>(
            loss.value_and_gradient(given.head, part(outputs),
                                    gmac::targets::gaussian_particles<
                                        float const>{part(means), part(deviations),
                                                     given.weighted ? part(weights) : gmac::matrix_view<float const>{}},
                                    gmac::matrix_view<float>(computed.data(), 1, 3 * K)));
        largest.value = std::max(largest.value, std::abs(value - single) / size);
        for (std::size_t i = 0; i < K; ++i) {
            auto const error = [&](std::size_t j) { return std::abs(exact[j] - static_cast<double>(computed[j])); };
            largest.weights = std::max(largest.weights, error(i) / size);
            largest.means = std::max(largest.means, error(K + i));
            largest.deviations = std::max(largest.deviations, error(2 * K + i) / u.deviations[i]);
        }
    }
    return largest;
}

double rounded(double x) {
    return static_cast<double>(static_cast<float>(x));
}

struct kind_of_target {
    std::string name;
    std::function<void(std::mt19937_64&, double& mean, double& deviation, std::size_t j)> draw;
};

} // namespace

TEST_CASE("float's mixture energy is that of double", "[mixture]") {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    std::vector<kind_of_target> const
        kinds{{"near",
               [&](auto& r, double& x, double& s, std::size_t) { x = 0.1 * normal(r), s = 0.05 + 0.1 * unit(r); }},
              {"spread", [&](auto& r, double& x, double& s, std::size_t) { x = normal(r), s = 0.05 + 0.1 * unit(r); }},
              {"of many widths", [&](auto& r, double& x, double& s,
                                     std::size_t) { x = 0.3 * normal(r), s = 0.3 * std::exp(-4.0 * unit(r)); }},
              {"of some widths", [&](auto& r, double& x, double& s,
                                     std::size_t) { x = 0.3 * normal(r), s = 0.3 * std::exp(-3.0 * unit(r)); }},
              {"with a few narrow ones", [&](auto& r, double& x, double& s,
                                             std::size_t j) { x = 0.3 * normal(r), s = j % 20 == 0 ? 0.01 : 0.2; }},
              {"a far outlier", [](auto&, double& x, double& s, std::size_t j) { x = j == 5 ? 6.0 : 0.0, s = 0.04; }},
              {"near but for a few far ones",
               [&](auto& r, double& x, double& s, std::size_t j) {
                   x = j % 30 == 0 ? 2.0 + normal(r) : 0.02 * normal(r), s = 0.02 + 0.05 * unit(r);
               }},
              {"wide",
               [&](auto& r, double& x, double& s, std::size_t) { x = 10.0 * normal(r), s = 0.05 + 0.1 * unit(r); }},
              {"equal", [](auto&, double& x, double& s, std::size_t) { x = 0.2, s = 0.06; }},
              {"two clusters",
               [](auto&, double& x, double& s, std::size_t j) { x = j % 2 == 0 ? 0.0 : 1.7, s = 0.06; }},
              {"two narrow clusters",
               [](auto&, double& x, double& s, std::size_t j) { x = j % 2 == 0 ? 0.0 : 3.0, s = 0.01; }},
              {"on a lattice",
               [&](auto& r, double& x, double& s, std::size_t) { x = std::floor(9.0 * unit(r)), s = 0.05; }},
              {"an outlier", [](auto&, double& x, double& s, std::size_t j) { x = j == 5 ? 2.5 : 0.0, s = 0.06; }},
              {"one that is narrow",
               [&](auto& r, double& x, double& s, std::size_t j) { x = 0.3 * normal(r), s = j == 9 ? 1e-4 : 0.1; }},
              {"points at one place",
               [&](auto& r, double& x, double& s, std::size_t j) {
                   x = j % 3 == 0 ? 0.3 * normal(r) : 0.5, s = j % 3 == 0 ? 0.05 + 0.1 * unit(r) : 0.0;
               }},
              {"only points at one place", [](auto&, double& x, double& s, std::size_t) { x = 0.5, s = 0.0; }},
              {"points at many places",
               [&](auto& r, double& x, double& s, std::size_t j) { x = 0.3 * normal(r), s = j % 3 == 0 ? 0.1 : 0.0; }}};
    std::mt19937_64 random(17);
    for (auto const& kind : kinds)
        for (std::size_t const particles : std::vector<std::size_t>{24, 65, 128, 256})
            for (double const scale : {1e-6, 1.0, 1e6}) {
                mixture_case<K> given(5, particles);
                given.head.scale = 0.0025 * scale * scale;
                given.weighted = particles == 65;
                for (std::size_t s = 0; s < 5; ++s) {
                    for (std::size_t i = 0; i < K; ++i) {
                        given.outputs(s, i) = rounded(normal(random));
                        given.outputs(s, K + i) = rounded(scale * 0.3 * normal(random));
                        given.outputs(s, 2 * K + i) = rounded(normal(random));
                    }
                    double total = 0.0;
                    for (std::size_t j = 0; j < particles; ++j) {
                        kind.draw(random, given.means(s, j), given.deviations(s, j), j);
                        given.means(s, j) = rounded(scale * given.means(s, j));
                        given.deviations(s, j) = rounded(scale * given.deviations(s, j));
                        total += given.weights(s, j) = j % 4 == 1 ? 0.0 : 0.1 + unit(random);
                    }
                    for (std::size_t j = 0; j < particles; ++j)
                        given.weights(s, j) = rounded(given.weights(s, j) / total);
                }
                for (bool const target_term : {false, true}) {
                    errors const largest = largest_errors(given, target_term);
                    CAPTURE(kind.name, particles, scale, target_term);
                    CHECK(largest.value < 3e-6);
                    CHECK(largest.weights < 3e-6);
                    CHECK(largest.means < 3e-6);
                    CHECK(largest.deviations < 3e-6);
                }
            }
}

TEST_CASE("what is not finite comes out of float's sums", "[mixture]") {
    constexpr std::size_t states = 20, particles = 40;
    for (float const bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
        for (std::size_t const where : {0U, 1U, 2U, 3U}) {
            table<float> outputs(states, 3 * K), means(states, particles), deviations(states, particles),
                gradient(states, 3 * K);
            std::fill(deviations.data.begin(), deviations.data.end(), 0.1F);
            for (bool const target_term : {false, true}) {
                gmac::targets::gaussian_particles<float const> const targets{std::as_const(means).view(),
                                                                             std::as_const(deviations).view(),
                                                                             {}};
                auto const value = [&] {
                    return gaussian_mixture_energy{target_term}.value_and_gradient(gmac::heads::gaussian_mixture<K>{},
                                                                                   std::as_const(outputs).view(),
                                                                                   targets, gradient.view());
                };
                REQUIRE(std::isfinite(value()));
                float& place = where == 0   ? means(7, 21)
                               : where == 1 ? outputs(7, K)
                               : where == 2 ? outputs(7, 2 * K)
                                            : outputs(7, 0);
                float const before = std::exchange(place, bad);
                CAPTURE(bad, where, target_term);
                CHECK_FALSE(std::isfinite(value()));
                place = before;
            }
        }
}
