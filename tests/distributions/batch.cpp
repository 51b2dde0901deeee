// SPDX-License-Identifier: Apache-2.0
// Intervals, expectiles, modes and entropies of many states at once, against the mixtures one by one.
#include <gmac/distributions/batch.hpp>
#include <gmac/distributions/batch_entropy.hpp>

#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"

#include <gmac/core/random.hpp>
#include <gmac/distributions/entropy.hpp>
#include <gmac/distributions/gaussian_mixture.hpp>
#include <gmac/distributions/modes.hpp>
#include <gmac/heads/gaussian_mixture.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

using namespace gmac;

namespace {

constexpr std::size_t states = 37; // no multiple of a lane width
constexpr std::size_t size = 5;

/// What a head makes of random outputs; some deviations are 0, some means equal.
template <class T>
struct batch {
    std::vector<T> weights = std::vector<T>(states * size), means = weights, deviations = weights;

    batch() {
        random_stream random(17);
        std::vector<T> outputs(states * 3 * size);
        for (T& number : outputs)
            number = 3 * random.normal<T>();
        heads::gaussian_mixture<size> const head{.scale = 0.25, .floor = 0.1};
        head.distribution(matrix_view(outputs.data(), states, 3 * size), view(weights), view(means), view(deviations));
        for (std::size_t i = 0; i < states * size; i += 7)
            deviations[i] = T(0);
        for (std::size_t i = 1; i < states * size; i += 11)
            means[i] = T(1);
    }
    [[nodiscard]] static matrix_view<T> view(std::vector<T>& numbers) { return {numbers.data(), states, size}; }
    [[nodiscard]] gaussian_mixture<double> mixture(std::size_t i) {
        return {view(weights).row(i), view(means).row(i), view(deviations).row(i)};
    }
};

} // namespace

TEMPLATE_TEST_CASE("the probability of an interval for a batch", "[batch]", float, double) {
    using T = TestType;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    batch<T> b;
    std::vector<T> spaced(2 * states);
    vector_view<T> const values(spaced.data(), states, 2);
    auto const run = [&](double low, double high) {
        probability(b.view(b.weights), b.view(b.means), b.view(b.deviations), low, high, values);
    };
    for (auto const& [low, high] :
         {std::pair(-1.0, 1.0), std::pair(1.0, 1.5), std::pair(-infinity, 0.0), std::pair(0.5, infinity),
          std::pair(-infinity, infinity), std::pair(12.0, 14.0), std::pair(-16.0, -12.0)}) {
        run(low, high);
        for (std::size_t i = 0; i < states; ++i) {
            double const expected = b.mixture(i).probability(low, high);
            CAPTURE(i, low, high);
            // Relatively accurate also in the tails, but for the rounding of an exponent of a hundred.
            double const slack =
                (std::same_as<T, float> ? 3e-5 : 1e-12) * expected + static_cast<double>(std::numeric_limits<T>::min());
            CHECK(std::abs(static_cast<double>(values[i]) - expected) <= slack);
        }
    }
    run(1.0, 1.0);
    CHECK(values[0] == T(0));
    run(2.0, -2.0);
    CHECK(values[0] == T(0));
    CHECK(testing::allocations_during([&] { run(-1.0, 1.0); }) == 0);

    T const fine = values[4];
    b.means[3 * size + 2] = std::numeric_limits<T>::quiet_NaN();
    b.deviations[5 * size] = std::numeric_limits<T>::infinity();
    run(-1.0, 1.0);
    CHECK(std::isnan(values[3]));
    CHECK(values[4] == fine);
    CHECK(std::isnan(values[5]));
}

TEMPLATE_TEST_CASE("the expectiles of a batch", "[batch]", float, double) {
    using T = TestType;
    batch<T> b;
    // The tails of a normal distribution are known to a relative error of 1e-14 (float 3e-7), and count up to four times.
    constexpr double precision = std::same_as<T, float> ? 1.2e-6 : 4e-14;
    std::vector<T> spaced(2 * states);
    vector_view<T> const values(spaced.data(), states, 2);
    auto const run = [&](double tau) {
        expectile(b.view(b.weights), b.view(b.means), b.view(b.deviations), tau, values);
    };
    for (double const tau : {0.5, 0.01, 0.3, 0.8, 0.999}) {
        run(tau);
        for (std::size_t i = 0; i < states; ++i) {
            CAPTURE(i, tau);
            auto const mixture = b.mixture(i);
            double largest = 0.0;
            for (auto const& c : mixture.components())
                largest = std::max(largest, std::abs(c.mean) + c.deviation);
            CHECK(std::abs(static_cast<double>(values[i]) - mixture.expectile(tau)) <= precision * largest);
        }
    }
    CHECK(testing::allocations_during([&] { run(0.9); }) == 0);

    T const fine = values[4];
    run(0.999);
    b.weights[3 * size + 2] = std::numeric_limits<T>::quiet_NaN();
    b.deviations[5 * size] = std::numeric_limits<T>::infinity();
    for (std::size_t k = 0; k < size; ++k)
        b.weights[6 * size + k] = T(0);
    T const kept = values[4];
    run(0.999);
    CHECK(std::isnan(values[3]));
    CHECK(values[4] == kept);
    CHECK(values[4] != fine);
    CHECK(std::isnan(values[5]));
    CHECK(std::isnan(values[6]));
}

TEMPLATE_TEST_CASE("the entropies of a batch", "[batch]", float, double) {
    using T = TestType;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double precision = 32.0 * static_cast<double>(std::numeric_limits<T>::epsilon());
    batch<T> b;
    std::size_t points = 0, others = 0;
    for (std::size_t i = 0; i < states * size; i += 7)
        if (i % 2 == 0)
            b.deviations[i] = T(0.125);
        else if (i % 4 == 1)
            b.weights[i] = T(0); // of a point, which then has no say; of the rest the sum is not 1
    // Weights that sum to 1 in double, as a mixture wants them.
    for (std::size_t i = 0; i < states; ++i) {
        T sum(0);
        for (std::size_t k = 0; k < size; ++k)
            sum += b.weights[i * size + k];
        for (std::size_t k = 0; k < size; ++k)
            b.weights[i * size + k] /= sum;
    }
    std::vector<T> lower(states), upper(states), values(states), errors(states);
    auto const bounds = [&] { entropy_bounds(b.view(b.weights), b.view(b.means), b.view(b.deviations), lower, upper); };
    auto const estimate = [&](std::uint64_t seed) {
        random_stream random(seed);
        entropy_estimate(b.view(b.weights), b.view(b.means), b.view(b.deviations), random, 4000, values, errors);
        return random.uniform<T>();
    };
    bounds();
    T const drawn = estimate(3);
    for (std::size_t i = 0; i < states; ++i) {
        CAPTURE(i);
        auto const mixture = b.mixture(i);
        auto const expected = entropy_bounds(mixture);
        if (expected.upper == -infinity) {
            ++points;
            CHECK(lower[i] == -std::numeric_limits<T>::infinity());
            CHECK(upper[i] == -std::numeric_limits<T>::infinity());
            CHECK(values[i] == -std::numeric_limits<T>::infinity());
            CHECK(errors[i] == T(0));
            continue;
        }
        ++others;
        CHECK(static_cast<double>(lower[i]) == Approx(expected.lower).margin(precision).epsilon(precision));
        CHECK(static_cast<double>(upper[i]) == Approx(expected.upper).margin(precision).epsilon(precision));
        random_stream random(i);
        auto const [value, error] = entropy_estimate(mixture, random, 4000);
        CHECK(std::abs(static_cast<double>(values[i]) - value) <
              5.0 * std::hypot(error, static_cast<double>(errors[i])));
        CHECK(static_cast<double>(errors[i]) < 1.1 * error); // of independent choices of the components
        CHECK(static_cast<double>(values[i]) > expected.lower - 5.0 * static_cast<double>(errors[i]));
        CHECK(static_cast<double>(values[i]) < expected.upper + 5.0 * static_cast<double>(errors[i]));
    }
    CHECK(points > 5);
    CHECK(others > 15);
    auto const before = values;
    CHECK(estimate(3) == drawn);
    CHECK(values == before);
    CHECK(testing::allocations_during([&] { bounds(); }) == 0);

    // Of any size.
    constexpr T most = (std::numeric_limits<T>::max)();
    constexpr T least = (std::numeric_limits<T>::min)();
    std::vector<T> const weights{T(0.5), T(0.25), T(0.25)}, means{most, -most, T(0)}, deviations{most, T(1), least};
    auto const one = [](std::vector<T> const& numbers) { return matrix_view<T const>(numbers.data(), 1, 3); };
    std::vector<T> below(1), above(1);
    entropy_bounds(one(weights), one(means), one(deviations), below, above);
    auto const expected = entropy_bounds(gaussian_mixture<T>(weights, means, deviations));
    CHECK(below[0] == Approx(expected.lower).epsilon(precision));
    CHECK(above[0] == Approx(expected.upper).epsilon(precision));

    b.means[2] = std::numeric_limits<T>::quiet_NaN();
    b.deviations[size] = std::numeric_limits<T>::infinity();
    bounds();
    estimate(3);
    for (std::size_t i = 0; i < 2; ++i)
        for (T const result : {lower[i], upper[i], values[i], errors[i]})
            CHECK(std::isnan(result));
    CHECK(values[2] == before[2]);
}

TEMPLATE_TEST_CASE("the modes of a batch", "[batch]", float, double) {
    using T = TestType;
    batch<T> b;
    b.weights[2 * size] = std::numeric_limits<T>::quiet_NaN();
    b.deviations[3 * size + 4] = T(-1);
    for (std::size_t k = 0; k < size; ++k)
        b.weights[4 * size + k] = T(0);
    std::vector<int> counts(states);
    std::vector<T> locations(states * size, T(7)), masses(states * size, T(7));
    modes(b.view(b.weights), b.view(b.means), b.view(b.deviations), counts, b.view(locations), b.view(masses));
    std::size_t several = 0;
    for (std::size_t i = 0; i < states; ++i) {
        CAPTURE(i);
        std::size_t count = 0;
        if (i < 2 || i > 4) {
            auto const expected = modes(b.mixture(i));
            count = expected.size();
            for (std::size_t k = 0; k < count; ++k) {
                CHECK(locations[i * size + k] == Approx(expected[k].location).margin(1e-6));
                CHECK(masses[i * size + k] == Approx(expected[k].mass).epsilon(1e-5));
            }
        }
        REQUIRE(counts[i] == static_cast<int>(count));
        several += static_cast<std::size_t>(count > 1);
        for (std::size_t k = count; k < size; ++k) {
            CHECK(std::isnan(locations[i * size + k]));
            CHECK(std::isnan(masses[i * size + k]));
        }
    }
    CHECK(several > states / 2);
}

TEST_CASE("a batch that does not fit is refused", "[batch]") {
    batch<double> b;
    std::vector<double> values(states), short_values(states - 1);
    auto const weights = b.view(b.weights);
    auto const means = b.view(b.means);
    auto const deviations = b.view(b.deviations);
    auto const fails = [](auto&& call) { return testing::message_of([&] { return call(), 0; }); };
    CHECK(fails([&] { probability(weights, means.middle_rows(0, 4), deviations, 0.0, 1.0, values); }) ==
          "probability: means is 4 x 5, but must be 37 x 5");
    CHECK(fails([&] { probability(weights, means, deviations.middle_cols(1, 2), 0.0, 1.0, values); }) ==
          "probability: deviations is 37 x 2, but must be 37 x 5");
    CHECK(fails([&] { probability(weights, means, deviations, 0.0, 1.0, short_values); }) ==
          "probability: values is 36 x 1, but must be 37 x 1");
    CHECK(fails([&] { probability(weights, means, deviations, 0.0, 1.0, means.col(2)); }) ==
          "probability: the values overlap the mixtures");
    CHECK(fails([&] { probability(weights, means, deviations, std::nan(""), 1.0, values); }) ==
          "probability: the interval is from nan to 1, but must have two ends");
    CHECK(fails([&] { expectile(weights, means, deviations, 1.0, values); }) ==
          "expectile: tau is 1, but must be in (0, 1)");
    CHECK(fails([&] { expectile(weights, means, deviations, 0.5, weights.col(0)); }) ==
          "expectile: the values overlap the mixtures");
    CHECK(fails([&] { entropy_bounds(weights, means, deviations, values, short_values); }) ==
          "entropy_bounds: upper bounds is 36 x 1, but must be 37 x 1");
    random_stream random(1);
    std::vector<double> errors(states);
    CHECK(fails([&] { entropy_estimate(weights, means, deviations, random, 1, values, errors); }) ==
          "entropy_estimate: samples is 1, but must be 2 at least");
    std::vector<std::size_t> counts(states), few(2);
    std::vector<double> locations(states * size), masses(states * size);
    CHECK(fails([&] { modes(weights, means, deviations, few, b.view(locations), b.view(masses)); }) ==
          "modes: the vector of counts has 2 elements, but must have 37");
    CHECK(fails([&] {
              modes(weights, means, deviations, counts, b.view(locations).middle_rows(0, 3), b.view(masses));
          }) == "modes: locations is 3 x 5, but must be 37 x 5");
}
