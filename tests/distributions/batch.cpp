// SPDX-License-Identifier: Apache-2.0
// Intervals and modes of many states at once, against the mixtures one by one.
#include <gmac/distributions/batch.hpp>

#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"

#include <gmac/core/random.hpp>
#include <gmac/distributions/gaussian_mixture.hpp>
#include <gmac/distributions/modes.hpp>
#include <gmac/heads/gaussian_mixture.hpp>

#include <cmath>
#include <cstddef>
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
    std::vector<std::size_t> counts(states), few(2);
    std::vector<double> locations(states * size), masses(states * size);
    CHECK(fails([&] { modes(weights, means, deviations, few, b.view(locations), b.view(masses)); }) ==
          "modes: the vector of counts has 2 elements, but must have 37");
    CHECK(fails([&] {
              modes(weights, means, deviations, counts, b.view(locations).middle_rows(0, 3), b.view(masses));
          }) == "modes: locations is 3 x 5, but must be 37 x 5");
}
