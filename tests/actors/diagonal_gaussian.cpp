// SPDX-License-Identifier: Apache-2.0
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/dual.hpp"
#include "support/matrices.hpp"
#include "support/numbers.hpp"
#include "support/says.hpp"

#include <gmac/actors/diagonal_gaussian.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

using namespace gmac;
using gmac::actors::deviation_model;
using gmac::actors::diagonal_gaussian;
using gmac::testing::kolmogorov;
using gmac::testing::message_of;
using gmac::testing::streams_for;
using gmac::testing::table;

namespace {

diagonal_gaussian const shared{};
diagonal_gaussian const per_state{.deviations = deviation_model::state_dependent};

/// One policy with random numbers: outputs, free parameters, actions and gradients of log probability and entropy.
template <class T>
struct setting {
    diagonal_gaussian actor;
    std::size_t rows, size;
    table<T> outputs, actions;
    std::vector<T> free, c, d;

    setting(diagonal_gaussian const& actor_, std::size_t rows_, std::size_t size_, double scale, std::uint64_t seed)
        : actor(actor_),
          rows(rows_),
          size(size_),
          outputs(rows, actor.output_size(box::uniform(size, -1, 1))),
          actions(rows, size),
          free(actor.free_parameter_count(box::uniform(size, -1, 1))),
          c(rows),
          d(rows) {
        random_stream random(seed);
        for (std::vector<T>* numbers : {&outputs.data, &actions.data, &free, &c, &d})
            for (T& x : *numbers)
                x = static_cast<T>(scale * random.normal<double>());
    }
    [[nodiscard]] long double deviation(std::size_t i, std::size_t j) const {
        if (free.empty()) {
            auto const x = static_cast<long double>(outputs(i, size + j));
            long double const softplus = (x > 0 ? x : 0) + std::log1p(std::exp(-std::abs(x)));
            return std::sqrt(softplus + static_cast<long double>(actor.floor) * static_cast<long double>(actor.floor));
        }
        return std::exp(static_cast<long double>(free[j]));
    }
};

} // namespace

TEST_CASE("What a diagonal Gaussian actor needs of its network") {
    action_space const space = box::uniform(3, -2, 2);
    CHECK(shared.output_size(space) == 3);
    CHECK(shared.free_parameter_count(space) == 3);
    CHECK(per_state.output_size(space) == 6);
    CHECK(per_state.free_parameter_count(space) == 0);
    std::vector<float> free(3, 9.0f);
    diagonal_gaussian{.initial_deviation = 0.5}.initialize(std::span<float>(free));
    for (float const x : free)
        CHECK(x == std::log(0.5f));
    per_state.initialize(std::span<float>());
}

TEMPLATE_TEST_CASE("Log densities and entropies against the closed form in long double", "", float, double) {
    using T = TestType;
    auto const epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
    for (diagonal_gaussian const& actor : {shared, per_state})
        for (std::size_t const size : {1u, 4u})
            for (double const scale : {0.01, 1.0, 3.0}) {
                setting<T> const s(actor, 35, size, scale, 1);
                std::vector<T> log_densities(35), entropies(35);
                actor.log_probability_and_entropy(s.outputs.view(), s.free, s.actions.view(), log_densities, entropies);
                for (std::size_t i = 0; i < 35; ++i) {
                    long double density = 0, entropy = 0, terms = 0;
                    for (std::size_t j = 0; j < size; ++j) {
                        long double const sigma = s.deviation(i, j);
                        long double const z =
                            (static_cast<long double>(s.actions(i, j)) - static_cast<long double>(s.outputs(i, j))) /
                            sigma;
                        long double const log_sigma = std::log(sigma);
                        long double const constant = 0.5L * std::log(2 * std::numbers::pi_v<long double>);
                        density += -0.5L * z * z - log_sigma - constant;
                        entropy += 0.5L + log_sigma + constant;
                        // The relative error of a large deviation's exponential is that of its argument.
                        terms += 0.5L * z * z * (4 + 2 * std::abs(log_sigma)) + std::abs(log_sigma) + 1;
                    }
                    double const bound = 4.0 * epsilon * static_cast<double>(terms);
                    CHECK(std::abs(static_cast<double>(log_densities[i]) - static_cast<double>(density)) < bound);
                    CHECK(std::abs(static_cast<double>(entropies[i]) - static_cast<double>(entropy)) < bound);
                }
            }
}

TEST_CASE("The density integrates to one, and its mean logarithm is minus the entropy") {
    for (diagonal_gaussian const& actor : {shared, per_state}) {
        // The trapezium rule is exact to rounding for a normal density this wide against its step.
        std::size_t const points = 4001;
        setting<double> s(actor, points, 1, 0.7, 2);
        for (std::size_t i = 0; i < points; ++i) {
            for (std::size_t j = 0; j < s.outputs.cols; ++j)
                s.outputs(i, j) = s.outputs(0, j);
            s.actions(i, 0) = -20.0 + 0.01 * static_cast<double>(i);
        }
        std::vector<double> log_densities(points), entropies(points);
        actor.log_probability_and_entropy(s.outputs.view(), s.free, s.actions.view(), log_densities, entropies);
        double sum = 0.0, mean_log = 0.0;
        for (double const x : log_densities) {
            sum += 0.01 * std::exp(x);
            mean_log += 0.01 * std::exp(x) * x;
        }
        CHECK(sum == Approx(1.0).epsilon(1e-12));
        CHECK(mean_log == Approx(-entropies[0]).epsilon(1e-12));
    }
}

TEST_CASE("The gradient of means and raw deviations against dual numbers through the same kernel") {
    constexpr std::size_t size = 3;
    using D = testing::dual<double, 2 * size>;
    for (diagonal_gaussian const& actor : {shared, per_state})
        for (double const scale : {0.1, 1.0, 4.0}) {
            setting<double> const s(actor, 37, size, scale, 3);
            table<double> gradient(37, s.outputs.cols, 99.0);
            std::vector<double> free_gradient(s.free.size(), 99.0);
            actor.gradient(s.outputs.view(), s.free, s.actions.view(), s.c, s.d, gradient.view(), free_gradient);

            // Directions 0 … 2 are the means, 3 … 5 the raw deviations or the free parameters.
            table<D> outputs(37, s.outputs.cols), actions(37, size);
            std::vector<D> free, log_densities(37), entropies(37);
            for (std::size_t j = 0; j < s.free.size(); ++j)
                free.push_back(D::variable(s.free[j], size + j));
            for (std::size_t i = 0; i < 37; ++i) {
                for (std::size_t j = 0; j < size; ++j)
                    actions(i, j) = D(s.actions(i, j));
                for (std::size_t j = 0; j < s.outputs.cols; ++j)
                    outputs(i, j) = D::variable(s.outputs(i, j), j);
            }
            actor.log_probability_and_entropy(outputs.view(), free, actions.view(), log_densities, entropies);
            std::vector<double> free_sums(s.free.size()), free_sizes(s.free.size());
            for (std::size_t i = 0; i < 37; ++i)
                for (std::size_t j = 0; j < 2 * size; ++j) {
                    double const a = s.c[i] * log_densities[i].slope[j];
                    double const b = s.d[i] * entropies[i].slope[j];
                    if (j < s.outputs.cols)
                        CHECK(std::abs(gradient(i, j) - (a + b)) < 1e-13 * (1.0 + std::abs(a) + std::abs(b)));
                    else {
                        free_sums[j - size] += a + b;
                        free_sizes[j - size] += std::abs(a) + std::abs(b);
                    }
                }
            for (std::size_t j = 0; j < s.free.size(); ++j)
                CHECK(std::abs(free_gradient[j] - free_sums[j]) < 1e-13 * (1.0 + free_sizes[j]));
        }
}

TEST_CASE("The Gaussian gradient in float is that in double to rounding, and may replace the outputs") {
    for (diagonal_gaussian const& actor : {shared, per_state}) {
        setting<double> const wide(actor, 33, 2, 0.8, 4);
        setting<float> const s(actor, 33, 2, 0.8, 4);
        table<double> wide_gradient(33, wide.outputs.cols);
        table<float> gradient(33, s.outputs.cols);
        std::vector<double> wide_free(wide.free.size());
        std::vector<float> free(s.free.size());
        actor.gradient(wide.outputs.view(), wide.free, wide.actions.view(), wide.c, wide.d, wide_gradient.view(),
                       wide_free);
        actor.gradient(s.outputs.view(), s.free, s.actions.view(), s.c, s.d, gradient.view(), free);
        for (std::size_t i = 0; i < gradient.data.size(); ++i)
            CHECK(static_cast<double>(gradient.data[i]) == Approx(wide_gradient.data[i]).epsilon(1e-4).margin(1e-5));
        for (std::size_t j = 0; j < free.size(); ++j)
            CHECK(static_cast<double>(free[j]) == Approx(wide_free[j]).epsilon(1e-4).margin(1e-4));
        table<float> in_place = s.outputs;
        actor.gradient(in_place.view(), s.free, s.actions.view(), s.c, s.d, in_place.view(), free);
        CHECK(in_place.data == gradient.data);
    }
}

TEST_CASE("Any layout of a Gaussian policy gives the same bits") {
    for (diagonal_gaussian const& actor : {shared, per_state}) {
        setting<float> const s(actor, 21, 3, 0.8, 5);
        std::vector<float> log_densities(21), entropies(21), free(s.free.size()), same_free(s.free.size());
        table<float> gradient(21, s.outputs.cols), modes(21, 3);
        actor.log_probability_and_entropy(s.outputs.view(), s.free, s.actions.view(), log_densities, entropies);
        actor.gradient(s.outputs.view(), s.free, s.actions.view(), s.c, s.d, gradient.view(), free);
        actor.mode(s.outputs.view(), s.free, modes.view());

        using row_major = Eigen::Matrix<float, -1, -1, Eigen::RowMajor>;
        auto const cols = static_cast<Eigen::Index>(s.outputs.cols);
        Eigen::MatrixXf const outputs = Eigen::Map<row_major const>(s.outputs.data.data(), 21, cols);
        Eigen::MatrixXf const actions = Eigen::Map<row_major const>(s.actions.data.data(), 21, 3);
        Eigen::MatrixXf same_gradient(21, cols), same_modes(21, 3);
        Eigen::VectorXf same_entropies(21);
        std::vector<float> spread(2 * 21);
        vector_view<float> const backwards(spread.data() + 40, 21, -2);
        actor.log_probability_and_entropy(outputs, s.free, actions, backwards, same_entropies);
        actor.gradient(outputs, s.free, actions, s.c, s.d, same_gradient, same_free);
        actor.mode(outputs, s.free, same_modes);
        CHECK(same_free == free);
        for (std::size_t i = 0; i < 21; ++i) {
            auto const row = static_cast<Eigen::Index>(i);
            CHECK(backwards[i] == log_densities[i]);
            CHECK(same_entropies(row) == entropies[i]);
            for (std::size_t j = 0; j < s.outputs.cols; ++j)
                CHECK(same_gradient(row, static_cast<Eigen::Index>(j)) == gradient(i, j));
            for (std::size_t j = 0; j < 3; ++j) {
                CHECK(same_modes(row, static_cast<Eigen::Index>(j)) == s.outputs(i, j));
                CHECK(modes(i, j) == s.outputs(i, j));
            }
        }
    }
}

TEMPLATE_TEST_CASE("Actions follow their normal distribution", "", float, double) {
    using T = TestType;
    std::size_t const draws = 100000;
    for (diagonal_gaussian const& actor : {shared, per_state}) {
        setting<T> const s(actor, 1, 2, 0.6, 6);
        auto streams = streams_for(1, 7);
        std::vector<double> first, second;
        table<T> action(1, 2);
        double product = 0.0;
        for (std::size_t n = 0; n < draws; ++n) {
            actor.sample(s.outputs.view(), s.free, streams, action.view());
            auto const z = [&](std::size_t j) {
                return (static_cast<double>(action(0, j)) - static_cast<double>(s.outputs(0, j))) /
                       static_cast<double>(s.deviation(0, j));
            };
            first.push_back(z(0));
            second.push_back(z(1));
            product += z(0) * z(1);
        }
        for (std::vector<double> const* z : {&first, &second})
            CHECK(kolmogorov(*z, testing::standard_normal_cdf) < 3.28);
        double const n = static_cast<double>(draws);
        CHECK(std::abs(product / n) < 6.2 / std::sqrt(n)); // uncorrelated: 6.2 standard errors
    }
}

TEST_CASE("A row's real action depends on its outputs and its stream alone") {
    setting<float> const s(per_state, 30, 3, 1.0, 8);
    table<float> together(30, 3), one(1, 3);
    auto streams = streams_for(30, 9);
    per_state.sample(s.outputs.view(), s.free, streams, together.view());
    for (std::size_t i = 30; i-- > 0;) {
        std::vector<random_stream> own{random_stream(9, i)};
        per_state.sample(s.outputs.view().middle_rows(i, 1), s.free, own, one.view());
        for (std::size_t j = 0; j < 3; ++j)
            CHECK(one(0, j) == together(i, j));
        CHECK(own[0].position() == streams[i].position());
    }
}

TEST_CASE("Deviations stay above the floor, and extreme raw ones stay finite") {
    std::vector<double> const raw{0, -1e4, 0, -60, 0, 60, 0, 1e4}, zeros(4), ones(4, 1.0);
    std::vector<double> log_densities(4), entropies(4), gradient(8);
    matrix_view<double const> const outputs(raw.data(), 4, 2);
    matrix_view<double const> const actions(zeros.data(), 4, 1);
    per_state.log_probability_and_entropy(outputs, {}, actions, log_densities, entropies);
    per_state.gradient(outputs, {}, actions, ones, ones, matrix_view<double>(gradient.data(), 4, 2), {});
    double const constant = 0.5 + 0.5 * std::log(2.0 * std::numbers::pi);
    CHECK(entropies[0] == Approx(constant + std::log(0.25)).margin(1e-15)); // a difference of numbers near 1.4
    CHECK(entropies[2] == Approx(constant + 0.5 * std::log(60.0625)).epsilon(1e-15));
    CHECK(entropies[3] == Approx(constant + 0.5 * std::log(10000.0625)).epsilon(1e-15));
    for (double const x : gradient)
        CHECK(std::isfinite(x));
    CHECK(gradient[1] == 0.0);
}

TEST_CASE("What is not a number spoils its row of a Gaussian policy, and no other") {
    double const bad = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t const place : {0u, 1u, 2u, 3u}) {
        setting<double> s(per_state, 9, 2, 1.0, 10);
        s.outputs(4, place) = bad;
        std::vector<double> log_densities(9), entropies(9);
        table<double> gradient(9, 4), actions(9, 2);
        auto streams = streams_for(9, 11);
        per_state.log_probability_and_entropy(s.outputs.view(), {}, s.actions.view(), log_densities, entropies);
        per_state.gradient(s.outputs.view(), {}, s.actions.view(), s.c, s.d, gradient.view(), {});
        per_state.sample(s.outputs.view(), {}, streams, actions.view());
        for (std::size_t i = 0; i < 9; ++i) {
            CHECK(std::isnan(log_densities[i]) == (i == 4));
            CHECK(std::isnan(entropies[i]) == (i == 4 && place >= 2));
            CHECK(std::isnan(gradient(i, place)) == (i == 4));
            CHECK(std::isnan(actions(i, place % 2)) == (i == 4));
        }
    }
    setting<double> s(shared, 3, 2, 1.0, 12);
    s.free[1] = bad;
    std::vector<double> log_densities(3), entropies(3), free_gradient(2);
    table<double> gradient(3, 2);
    shared.log_probability_and_entropy(s.outputs.view(), s.free, s.actions.view(), log_densities, entropies);
    shared.gradient(s.outputs.view(), s.free, s.actions.view(), s.c, s.d, gradient.view(), free_gradient);
    CHECK(std::isnan(log_densities[2]));
    CHECK(std::isnan(entropies[0]));
    CHECK(std::isfinite(free_gradient[0]));
    CHECK(std::isnan(free_gradient[1]));
}

TEST_CASE("Bad input to a diagonal Gaussian actor is named") {
    CHECK(
        message_of([&] { (void)shared.output_size(discrete{3}); }) ==
        "diagonal_gaussian: the action space is discrete, but must be a box; categorical is an actor for a discrete space");
    CHECK(message_of([&] { (void)shared.output_size(box{}); }) ==
          "diagonal_gaussian: the action space has no elements");
    CHECK(message_of([&] { (void)diagonal_gaussian{.initial_deviation = 0.0}.output_size(box::uniform(1, 0, 1)); }) ==
          "diagonal_gaussian: initial_deviation is 0, but must be positive and finite");
    CHECK(message_of([&] { (void)diagonal_gaussian{.floor = -1.0}.free_parameter_count(box::uniform(1, 0, 1)); }) ==
          "diagonal_gaussian: floor is -1, but must be finite and not negative");
    std::vector<float> two(2), three(3);
    CHECK(message_of([&] { per_state.initialize(std::span<float>(two)); }) ==
          "diagonal_gaussian: 2 free parameters were given, but with state-dependent deviations it has none");

    setting<float> s(shared, 3, 2, 1.0, 13);
    auto const entropy_of = [&](matrix_view<float const> outputs, std::span<float const> free,
                                matrix_view<float const> actions) {
        return message_of([&] { shared.log_probability_and_entropy(outputs, free, actions, three, three); });
    };
    CHECK(entropy_of(s.outputs.view(), s.free, s.actions.view()) == "");
    CHECK(entropy_of(s.outputs.view(), three, s.actions.view()) ==
          "diagonal_gaussian: 3 free parameters were given, but it has 2");
    CHECK(
        entropy_of(s.outputs.view(), s.free, s.actions.view().middle_cols(0, 1)) ==
        "diagonal_gaussian: outputs is 3 x 2 and actions 3 x 1, but outputs has a row for each action and a column for "
        "each element");
    CHECK(
        entropy_of(s.outputs.view().middle_rows(0, 2), s.free, s.actions.view()) ==
        "diagonal_gaussian: outputs is 2 x 2 and actions 3 x 2, but outputs has a row for each action and a column for "
        "each element");
    table<float> gradient(3, 2);
    CHECK(message_of([&] {
              shared.gradient(s.outputs.view(), s.free, s.actions.view(), s.c, s.d, gradient.view(), three);
          }) == "diagonal_gaussian: the gradient of 2 free parameters has 3 elements");
    CHECK(message_of([&] {
              shared.gradient(s.outputs.view(), s.free, s.actions.view(), two, s.d, gradient.view(), two);
          }) == "diagonal_gaussian: log_probability_gradient has 2 elements, but must have 3");
    auto streams = streams_for(2, 14);
    CHECK(message_of([&] { shared.sample(s.outputs.view(), s.free, streams, gradient.view()); }) ==
          "diagonal_gaussian: there are 2 random streams for 3 rows");
}

TEST_CASE("A diagonal Gaussian actor does not allocate") {
    for (diagonal_gaussian const& actor : {shared, per_state}) {
        setting<float> const s(actor, 64, 3, 1.0, 15);
        table<float> actions(64, 3), gradient(64, s.outputs.cols);
        std::vector<float> a(64), b(64), free(s.free.size());
        auto streams = streams_for(64, 16);
        CHECK(testing::allocations_during([&] {
                  actor.sample(s.outputs.view(), s.free, streams, actions.view());
                  actor.sample(s.outputs.view().middle_rows(0, 1), s.free, std::span(streams).first(1),
                               actions.view().middle_rows(0, 1));
                  actor.log_probability_and_entropy(s.outputs.view(), s.free, s.actions.view(), a, b);
                  actor.gradient(s.outputs.view(), s.free, s.actions.view(), a, b, gradient.view(), free);
                  actor.mode(s.outputs.view(), s.free, actions.view());
              }) == 0);
    }
}
