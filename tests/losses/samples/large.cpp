// SPDX-License-Identifier: Apache-2.0
// Losses of samples as large as their type has them: by pairs, by a network of lanes and by sorted rows.
#include "support/catch.hpp"
#include "support/extremes.hpp"

#include <gmac/heads/implicit_quantile.hpp>
#include <gmac/losses/expectile.hpp>
#include <gmac/losses/huber_quantile.hpp>
#include <gmac/losses/sample_energy.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

/// Two states of `count` samples and as many particles, up to `size`; both states are alike, so the mean is one's loss.
template <class T>
struct batch {
    std::size_t count;
    std::vector<T> samples, fractions, particles, gradient;

    batch(std::size_t points, T size) : count(points), gradient(2 * points, T(-7)) {
        for (std::size_t i = 0; i < 2 * count; ++i) {
            auto const k = static_cast<double>(i % count);
            samples.push_back(size * static_cast<T>(std::sin(k)));
            particles.push_back(size * static_cast<T>(std::cos(3.0 * k)));
            fractions.push_back(static_cast<T>((k + 0.5) / static_cast<double>(count)));
        }
    }
    template <class Loss>
    T evaluate(Loss const& loss) {
        auto const view = [this](std::vector<T>& numbers) { return matrix_view<T>(numbers.data(), 2, count); };
        return loss.value_and_gradient(heads::implicit_quantile{.samples_per_state = count},
                                       quantile_outputs<T const>{view(samples), view(fractions)},
                                       targets::dirac_particles<T const>{view(particles), {}}, view(gradient));
    }
    /// Of all pairs of the first state's sample i: the mean of `term(level, target − sample)`.
    template <class Term>
    long double mean(std::size_t i, std::vector<T> const& points, Term&& term) const {
        long double sum = 0;
        for (std::size_t j = 0; j < count; ++j) {
            long double const delta = static_cast<long double>(points[j]) - static_cast<long double>(samples[i]);
            auto const tau = static_cast<long double>(fractions[i]);
            sum += term(delta < 0 ? 1 - tau : tau, delta);
        }
        return sum / static_cast<long double>(count);
    }
};

/// Powers of two, so that size × sin has no rounding of its own to tell of.
template <class T>
std::vector<T> sizes() {
    using limits = std::numeric_limits<T>;
    std::vector<T> result{T(1)};
    for (int const below : {60, 40, 20, 10, 6, 4, 2, 1})
        result.push_back(std::ldexp(T(1), limits::max_exponent - below));
    result.push_back(std::ldexp(T(1), limits::max_exponent / 2 - 1));
    result.push_back(std::ldexp(T(1), limits::max_exponent / 2));
    return result;
}

} // namespace

TEMPLATE_TEST_CASE("losses of large samples are those of long double", "[extremes]", float, double) {
    using T = TestType;
    constexpr auto distance = [](long double, long double delta) { return std::abs(delta); };
    for (std::size_t const count : {5u, 64u, 600u})
        for (T const size : sizes<T>()) {
            batch<T> all(count, size);
            batch<T> moderate(count, T(1));
            CAPTURE(count, size);

            long double energy = 0, huber = 0, pinball = 0, expectile = 0;
            for (std::size_t i = 0; i < count; ++i) {
                energy += (2 * all.mean(i, all.particles, distance) - all.mean(i, all.samples, distance)) /
                          static_cast<long double>(count);
                huber += all.mean(i, all.particles, [](long double level, long double delta) {
                    long double const d = std::abs(delta);
                    return level * (d <= 1 ? d * d / 2 : d - 0.5L);
                });
                pinball += all.mean(i, all.particles,
                                    [](long double level, long double delta) { return level * std::abs(delta); });
                expectile += all.mean(i, all.particles,
                                      [](long double level, long double delta) { return level * delta * delta; });
            }
            double const ulps = 4.0 * static_cast<double>(count);
            CHECK(agrees(all.evaluate(losses::sample_energy{}), energy, ulps));
            // Slopes are signs, which know no unit.
            (void)moderate.evaluate(losses::sample_energy{});
            CHECK(all.gradient == moderate.gradient);
            CHECK(agrees(all.evaluate(losses::huber_quantile{}), huber, ulps));
            CHECK(std::ranges::none_of(all.gradient, [](T x) { return !std::isfinite(x); }));
            CHECK(agrees(all.evaluate(losses::huber_quantile{.kappa = 0.0}), pinball, ulps));
            (void)moderate.evaluate(losses::huber_quantile{.kappa = 0.0});
            CHECK(all.gradient == moderate.gradient);
            CHECK(agrees(all.evaluate(losses::expectile{}), expectile, ulps));
            for (std::size_t i = 0; i < count; ++i) {
                long double const slope =
                    -all.mean(i, all.particles, [](long double level, long double delta) { return level * delta; });
                CHECK(agrees(all.gradient[i], slope, ulps, static_cast<long double>(size)));
            }
        }
}

TEMPLATE_TEST_CASE("a finite loss of numbers from one end to the other", "[extremes]", float, double) {
    using T = TestType;
    constexpr T largest = std::numeric_limits<T>::max();
    for (std::size_t const count : {5u, 64u, 600u}) {
        batch<T> all(count, T(1));
        std::ranges::fill(all.samples, T(0));
        std::ranges::fill(all.particles, T(0));
        for (std::size_t const state : {0u, 1u}) {
            all.samples[state * count] = all.particles[state * count] = largest;
            all.samples[state * count + 1] = all.particles[state * count + 1] = -largest;
        }
        CAPTURE(count);
        // The same points on both sides: E |X - Y|, of which 4 (N - 2) + 2 x 2 of N^2 pairs are not zero.
        auto const n = static_cast<long double>(count);
        long double const distance = (4 * (n - 2) + 4) / (n * n) * static_cast<long double>(largest);
        CHECK(agrees(all.evaluate(losses::sample_energy{}), distance, 4.0 * static_cast<double>(count)));
        CHECK(std::ranges::none_of(all.gradient, [](T x) { return !std::isfinite(x); }));
        CHECK(all.evaluate(losses::sample_energy{.target_term = true}) ==
              Approx(0.0).margin(1e-5 * static_cast<double>(largest)));
    }
}
