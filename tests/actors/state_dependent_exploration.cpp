// SPDX-License-Identifier: Apache-2.0
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/dual.hpp"
#include "support/matrices.hpp"
#include "support/numbers.hpp"
#include "support/says.hpp"

#include <gmac/actors/state_dependent_exploration.hpp>

#include <gmac/actors/actor.hpp>
#include <gmac/actors/diagonal_gaussian.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

using namespace gmac;
using gmac::actors::state_dependent_exploration;
using gmac::testing::kolmogorov;
using gmac::testing::message_of;
using gmac::testing::streams_for;
using gmac::testing::strided;
using gmac::testing::table;

namespace {

state_dependent_exploration const usual{};
state_dependent_exploration const learning{.floor = 0.3, .learn_features = true};

static_assert(actor<state_dependent_exploration, float> && actor<state_dependent_exploration, double>);

/// One policy with random numbers: outputs (means, features), free parameters, actions and gradients of log probability and
/// entropy.
template <class T>
struct setting {
    std::size_t rows, size, features;
    table<T> outputs, actions;
    std::vector<T> free, c, d;

    setting(std::size_t rows_, std::size_t size_, std::size_t features_, double scale, std::uint64_t seed)
        : rows(rows_),
          size(size_),
          features(features_),
          outputs(rows, size + features),
          actions(rows, size),
          free(usual.free_parameter_count(box::uniform(size, -1, 1), features)),
          c(rows),
          d(rows) {
        random_stream random(seed);
        for (std::vector<T>* numbers : {&outputs.data, &actions.data, &free, &c, &d})
            for (T& x : *numbers)
                x = static_cast<T>(scale * random.normal<double>());
    }
    [[nodiscard]] long double variance(state_dependent_exploration const& actor, std::size_t i, std::size_t j) const {
        auto sum = static_cast<long double>(actor.floor) * static_cast<long double>(actor.floor);
        for (std::size_t f = 0; f < features; ++f) {
            long double const product = static_cast<long double>(outputs(i, size + f)) *
                                        std::exp(static_cast<long double>(free[j * features + f]));
            sum += product * product;
        }
        return sum;
    }
};

} // namespace

TEST_CASE("What state-dependent exploration needs of its network") {
    action_space const space = box::uniform(3, -2, 2);
    actor_shape const shape(usual, space, 64);
    CHECK(shape.outputs == 3);
    CHECK(shape.features == 64);
    CHECK(shape.free == 192);
    actor_shape const other(actors::diagonal_gaussian{}, space, 64);
    CHECK(other.outputs == 3);
    CHECK(other.features == 0);
    CHECK(other.free == 3);

    // The deviation of an action is initial_deviation where all features are 1 or -1.
    setting<double> s(1, 2, 25, 1.0, 1);
    state_dependent_exploration const half{.initial_deviation = 0.5, .floor = 1e-9};
    half.initialize(std::span<double>(s.free), 25);
    for (std::size_t f = 0; f < 25; ++f)
        s.outputs(0, 2 + f) = f % 2 == 0 ? 1.0 : -1.0;
    for (std::size_t const j : {0u, 1u})
        CHECK(static_cast<double>(s.variance(half, 0, j)) == Approx(0.25).epsilon(1e-14));
}

TEMPLATE_TEST_CASE("Log densities and entropies of state-dependent exploration against the closed form", "", float,
                   double) {
    using T = TestType;
    auto const epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
    for (state_dependent_exploration const& actor : {usual, learning})
        for (std::size_t const size : {1u, 4u})
            for (std::size_t const features : {1u, 7u, 16u, 37u})
                for (double const scale : {0.1, 1.0}) {
                    setting<T> const s(35, size, features, scale, 2);
                    std::vector<T> log_densities(35), entropies(35);
                    actor.log_probability_and_entropy(s.outputs.view(), s.free, s.actions.view(), log_densities,
                                                      entropies);
                    for (std::size_t i = 0; i < 35; ++i) {
                        long double density = 0, entropy = 0, terms = 0;
                        for (std::size_t j = 0; j < size; ++j) {
                            long double const variance = s.variance(actor, i, j);
                            long double const distance =
                                static_cast<long double>(s.actions(i, j)) - static_cast<long double>(s.outputs(i, j));
                            long double const half_square = distance * distance / variance / 2;
                            long double const constant = 0.5L * std::log(2 * std::numbers::pi_v<long double>);
                            density -= half_square + std::log(variance) / 2 + constant;
                            entropy += 0.5L + std::log(variance) / 2 + constant;
                            // A sum of `features` positive terms, and exponentials of up to three times the scale.
                            terms += (half_square + 1) * (static_cast<long double>(features) + 8) +
                                     std::abs(std::log(variance));
                        }
                        double const bound = 2.0 * epsilon * static_cast<double>(terms);
                        CHECK(std::abs(static_cast<double>(log_densities[i]) - static_cast<double>(density)) < bound);
                        CHECK(std::abs(static_cast<double>(entropies[i]) - static_cast<double>(entropy)) < bound);
                    }
                }
}

TEST_CASE("The gradient of state-dependent exploration against dual numbers through the same kernel") {
    constexpr std::size_t size = 2, features = 5, columns = size + features;
    using D = testing::dual<double, columns + size * features>;
    for (std::size_t const rows : {1u, 37u}) {
        setting<double> const s(rows, size, features, 0.7, 3);
        table<double> gradient(rows, columns, 99.0);
        std::vector<double> free_gradient(s.free.size(), 99.0);
        learning.gradient(s.outputs.view(), s.free, s.actions.view(), s.c, s.d, gradient.view(), free_gradient);

        table<D> outputs(rows, columns), actions(rows, size);
        std::vector<D> free, log_densities(rows), entropies(rows);
        for (std::size_t k = 0; k < s.free.size(); ++k)
            free.push_back(D::variable(s.free[k], columns + k));
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t j = 0; j < size; ++j)
                actions(i, j) = D(s.actions(i, j));
            for (std::size_t j = 0; j < columns; ++j)
                outputs(i, j) = D::variable(s.outputs(i, j), j);
        }
        learning.log_probability_and_entropy(outputs.view(), free, actions.view(), log_densities, entropies);
        std::vector<double> sums(s.free.size()), sizes(s.free.size());
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t k = 0; k < columns + s.free.size(); ++k) {
                double const a = s.c[i] * log_densities[i].slope[k];
                double const b = s.d[i] * entropies[i].slope[k];
                if (k < columns)
                    CHECK(std::abs(gradient(i, k) - (a + b)) < 1e-13 * (1.0 + std::abs(a) + std::abs(b)));
                else {
                    sums[k - columns] += a + b;
                    sizes[k - columns] += std::abs(a) + std::abs(b);
                }
            }
        for (std::size_t k = 0; k < s.free.size(); ++k)
            CHECK(std::abs(free_gradient[k] - sums[k]) < 1e-13 * (1.0 + sizes[k]));

        // The features' part is not written without learn_features, and nothing else changes.
        state_dependent_exploration constant = learning;
        constant.learn_features = false;
        table<double> other(rows, columns, 99.0);
        std::vector<double> other_free(s.free.size(), 99.0);
        constant.gradient(s.outputs.view(), s.free, s.actions.view(), s.c, s.d, other.view(), other_free);
        CHECK(other_free == free_gradient);
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t k = 0; k < columns; ++k)
                CHECK(other(i, k) == (k < size ? gradient(i, k) : 0.0));
    }
}

TEST_CASE("Any layout of state-dependent exploration gives the same bits, and float is double to rounding") {
    setting<float> const s(21, 3, 19, 0.8, 5);
    auto const of = [&](matrix_view<float const> outputs, matrix_view<float const> actions,
                        matrix_view<float> gradient) {
        std::vector<float> all(42 + s.free.size());
        std::span<float> const log_densities(all.data(), 21), entropies(all.data() + 21, 21);
        learning.log_probability_and_entropy(outputs, s.free, actions, log_densities, entropies);
        learning.gradient(outputs, s.free, actions, s.c, s.d, gradient, std::span(all).subspan(42));
        return all;
    };
    table<float> gradient(21, 22);
    auto const all = of(s.outputs.view(), s.actions.view(), gradient.view());

    auto const outputs = testing::eigen_copy<float>(s.outputs.view());
    testing::column_major<float> columns(21, 22);
    CHECK(of(outputs, strided<float>(s.actions.view()).view, columns) == all);
    strided<float> apart(21, 22);
    CHECK(of(strided<float>(s.outputs.view(), false).view, s.actions.view(), apart.view) == all);
    for (std::size_t i = 0; i < 21; ++i)
        for (std::size_t k = 0; k < 22; ++k) {
            CHECK(columns(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(k)) == gradient(i, k));
            CHECK(apart.view(i, k) == gradient(i, k));
        }

    setting<double> const wide(21, 3, 19, 0.8, 5);
    table<double> wide_gradient(21, 22);
    std::vector<double> wide_free(wide.free.size());
    learning.gradient(wide.outputs.view(), wide.free, wide.actions.view(), wide.c, wide.d, wide_gradient.view(),
                      wide_free);
    for (std::size_t i = 0; i < gradient.data.size(); ++i)
        CHECK(static_cast<double>(gradient.data[i]) == Approx(wide_gradient.data[i]).epsilon(1e-4).margin(1e-4));
    for (std::size_t k = 0; k < wide_free.size(); ++k)
        CHECK(static_cast<double>(all[42 + k]) == Approx(wide_free[k]).epsilon(1e-4).margin(1e-4));
}

TEMPLATE_TEST_CASE("Explored actions follow their normal distribution, and noise is one function of the state", "",
                   float, double) {
    using T = TestType;
    std::size_t const draws = 50000;
    for (state_dependent_exploration const& actor : {usual, learning}) {
        setting<T> const s(2, 2, 6, 0.6, 6);
        std::vector<double> first;
        table<T> actions(2, 2);
        double same = 0.0, other = 0.0, expected = 0.0;
        for (std::size_t n = 0; n < draws; ++n) {
            // Both states with one matrix: streams at the same place.
            std::vector<random_stream> streams(2, random_stream(7, n));
            actor.sample(s.outputs.view(), s.free, streams, actions.view());
            auto const distance = [&](std::size_t i, std::size_t j) {
                return static_cast<double>(actions(i, j)) - static_cast<double>(s.outputs(i, j));
            };
            auto const deviation = [&](std::size_t i, std::size_t j) {
                return static_cast<double>(std::sqrt(s.variance(actor, i, j)));
            };
            first.push_back(distance(0, 1) / deviation(0, 1));
            same += distance(0, 1) * distance(1, 1) / deviation(0, 1) / deviation(1, 1) / static_cast<double>(draws);
            other += distance(0, 0) * distance(0, 1) / deviation(0, 0) / deviation(0, 1) / static_cast<double>(draws);
            expected = 0.0;
            for (std::size_t f = 0; f < 6; ++f)
                expected += static_cast<double>(s.outputs(0, 2 + f)) * static_cast<double>(s.outputs(1, 2 + f)) *
                            std::exp(2.0 * static_cast<double>(s.free[6 + f]));
            expected = (expected + actor.floor * actor.floor) / deviation(0, 1) / deviation(1, 1);
        }
        CHECK(kolmogorov(first, testing::standard_normal_cdf) < 3.28);
        double const error = 6.2 / std::sqrt(static_cast<double>(draws)); // standard errors, at most
        CHECK(std::abs(expected) > 0.1);
        CHECK(std::abs(same - expected) < 1.42 * error); // of a product: √(1 + ρ²)
        CHECK(std::abs(other) < error);
    }
}

TEST_CASE("Noise is kept for so many steps") {
    setting<float> const s(3, 2, 4, 1.0, 8);
    table<float> actions(3, 2);
    for (auto const& [every, changes] :
         {std::pair(1u, "11111111"), std::pair(3u, "10010010"), std::pair(0u, "10000000")}) {
        state_dependent_exploration const actor{.noise_steps = every};
        action_streams streams(3, noise_steps_of(actor));
        for (std::size_t i = 0; i < 3; ++i)
            streams.streams()[i] = random_stream(9, i);
        std::string changed;
        std::vector<float> last(6);
        std::vector<std::vector<float>> seen;
        for (std::size_t t = 0; t < 8; ++t) {
            actor.sample(s.outputs.view(), s.free, streams.at(t), actions.view());
            changed += actions.data == last ? '0' : '1';
            last = actions.data;
            if (changed.back() == '1')
                seen.push_back(last);
        }
        CHECK(changed == changes);
        // Each draw is the one that follows: what is kept delays, and skips nothing.
        auto plain = streams_for(3, 9);
        for (auto const& one : seen) {
            usual.sample(s.outputs.view(), s.free, plain, actions.view());
            CHECK(actions.data == one);
        }
    }
    CHECK(noise_steps_of(actors::diagonal_gaussian{}) == 1);
}

TEST_CASE("State-dependent exploration allocates nothing") {
    setting<float> const s(40, 3, 20, 0.5, 10);
    table<float> actions(40, 3), gradient(40, 23);
    std::vector<float> log_densities(40), entropies(40), free(60);
    action_streams streams(40, 4);
    CHECK(testing::allocations_during([&] {
              for (std::size_t t = 0; t < 6; ++t)
                  usual.sample(s.outputs.view(), s.free, streams.at(t), actions.view());
              usual.mode(s.outputs.view(), s.free, actions.view());
              usual.log_probability_and_entropy(s.outputs.view(), s.free, s.actions.view(), log_densities, entropies);
              usual.gradient(s.outputs.view(), s.free, s.actions.view(), s.c, s.d, gradient.view(), free);
          }) == 0);
}

TEST_CASE("What is not a number spoils its row of an exploring policy, and no other") {
    double const bad = std::numeric_limits<double>::quiet_NaN(), large = std::numeric_limits<double>::infinity();
    for (double const what : {bad, large})
        for (std::size_t const place : {0u, 1u, 2u, 4u}) {
            setting<double> s(9, 2, 3, 1.0, 11);
            s.outputs(4, place) = what;
            std::vector<double> log_densities(9), entropies(9), free_gradient(6);
            table<double> gradient(9, 5), actions(9, 2);
            auto streams = streams_for(9, 12);
            learning.log_probability_and_entropy(s.outputs.view(), s.free, s.actions.view(), log_densities, entropies);
            learning.gradient(s.outputs.view(), s.free, s.actions.view(), s.c, s.d, gradient.view(), free_gradient);
            learning.sample(s.outputs.view(), s.free, streams, actions.view());
            for (std::size_t i = 0; i < 9; ++i) {
                CHECK(std::isfinite(log_densities[i]) == (i != 4));
                CHECK(std::isfinite(entropies[i]) == (i != 4 || place < 2));
                CHECK(std::isfinite(gradient(i, place)) == (i != 4));
                for (std::size_t const j : {0u, 1u})
                    CHECK(std::isfinite(gradient(i, j)) == (i != 4 || (place < 2 && j != place)));
                CHECK((std::isfinite(actions(i, 0)) && std::isfinite(actions(i, 1))) == (i != 4));
            }
            for (std::size_t k = 0; k < 6; ++k)
                if (place >= 2 ? k % 3 == place - 2 : k / 3 == place)
                    CHECK_FALSE(std::isfinite(free_gradient[k]));
        }
    setting<double> s(3, 2, 3, 1.0, 13);
    s.free[4] = bad; // of the second element
    std::vector<double> log_densities(3), entropies(3), free_gradient(6);
    table<double> gradient(3, 5);
    usual.log_probability_and_entropy(s.outputs.view(), s.free, s.actions.view(), log_densities, entropies);
    usual.gradient(s.outputs.view(), s.free, s.actions.view(), s.c, s.d, gradient.view(), free_gradient);
    CHECK(std::isnan(log_densities[2]));
    CHECK(std::isnan(entropies[0]));
    CHECK(std::isfinite(free_gradient[0]));
    CHECK(std::isnan(free_gradient[4]));
    CHECK(std::isfinite(gradient(0, 0)));
    CHECK(std::isnan(gradient(0, 1)));
}

TEST_CASE("Large deviations of features that are not there, and small ones of large features, are numbers in float") {
    table<float> outputs(1, 3), actions(1, 1), gradient(1, 3);
    std::vector<float> log_density(1), entropy(1), free_gradient(2);
    std::vector<float> const one(1, 1.0f), free{45.0f, -46.0f};
    outputs(0, 1) = 0.0f;
    outputs(0, 2) = 1e20f; // times its deviation: 1.05
    actions(0, 0) = 0.5f;
    learning.log_probability_and_entropy(outputs.view(), free, actions.view(), log_density, entropy);
    learning.gradient(outputs.view(), free, actions.view(), one, one, gradient.view(), free_gradient);
    double const noise = 1e20 * std::exp(-46.0), variance = noise * noise + 0.3 * 0.3;
    double const half_log = 0.5 * std::log(2.0 * std::numbers::pi * variance);
    CHECK(static_cast<double>(entropy[0]) == Approx(half_log + 0.5).epsilon(1e-5));
    CHECK(static_cast<double>(log_density[0]) == Approx(-0.125 / variance - half_log).epsilon(1e-5));
    CHECK(static_cast<double>(gradient(0, 0)) == Approx(0.5 / variance).epsilon(1e-5));
    CHECK(free_gradient[0] == 0.0f);
    CHECK(static_cast<double>(free_gradient[1]) ==
          Approx(0.25 / variance * noise * noise / variance).epsilon(1e-5)); // c (z² - 1) + d, c = d = 1
}

TEST_CASE("Bad input to state-dependent exploration is named") {
    auto const of = [](state_dependent_exploration const& actor, action_space const& space) {
        return message_of([&] { (void)actor.output_size(space); });
    };
    CHECK(of(usual, discrete{3}) ==
          "state_dependent_exploration: the action space is discrete, but must be a box; categorical is an actor for a "
          "discrete space");
    CHECK(of(usual, box{}) == "state_dependent_exploration: the action space has no elements");
    CHECK(of({.initial_deviation = 0.0}, box::uniform(1, 0, 1)) ==
          "state_dependent_exploration: initial_deviation is 0, but must be positive and finite");
    CHECK(of({.floor = 0.0}, box::uniform(1, 0, 1)) ==
          "state_dependent_exploration: floor is 0, but must be at least 1e-15 and finite");

    setting<float> s(3, 2, 4, 1.0, 14);
    std::vector<float> three(3), seven(7);
    CHECK(message_of(
              [&] { usual.log_probability_and_entropy(s.outputs.view(), seven, s.actions.view(), three, three); }) ==
          "state_dependent_exploration: 7 free parameters were given, but it has 8, one for each of 2 elements and 4 "
          "features");
    CHECK(message_of([&] {
              usual.log_probability_and_entropy(s.outputs.view().middle_cols(0, 2), s.free, s.actions.view(), three,
                                                three);
          }) ==
          "state_dependent_exploration: outputs is 3 x 2 and actions 3 x 2, but outputs has a row for each action, "
          "with a column for each element and the features");
    table<float> gradient(3, 6);
    CHECK(message_of([&] {
              usual.gradient(s.outputs.view(), s.free, s.actions.view(), s.c, s.d, gradient.view(), seven);
          }) == "state_dependent_exploration: the gradient of 8 free parameters has 7 elements");
    table<float> actions(3, 2);
    auto two = streams_for(2, 1);
    CHECK(message_of([&] { usual.sample(s.outputs.view(), s.free, two, actions.view()); }) ==
          "state_dependent_exploration: there are 2 random streams for 3 rows");
}
