// SPDX-License-Identifier: Apache-2.0
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/dual.hpp"
#include "support/matrices.hpp"
#include "support/numbers.hpp"
#include "support/says.hpp"

#include <gmac/actors/categorical.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

using namespace gmac;
using gmac::actors::categorical;
using gmac::testing::message_of;
using gmac::testing::streams_for;
using gmac::testing::table;

namespace {

/// Probabilities in long double, the largest logit taken out.
template <class T>
std::vector<long double> log_softmax(matrix_view<T const> logits, std::size_t row) {
    long double highest = -std::numeric_limits<long double>::infinity(), sum = 0;
    for (std::size_t j = 0; j < logits.cols(); ++j)
        highest = std::max(highest, static_cast<long double>(logits(row, j)));
    for (std::size_t j = 0; j < logits.cols(); ++j)
        sum += std::exp(static_cast<long double>(logits(row, j)) - highest);
    std::vector<long double> result;
    for (std::size_t j = 0; j < logits.cols(); ++j)
        result.push_back(static_cast<long double>(logits(row, j)) - highest - std::log(sum));
    return result;
}

template <class T>
table<T> random_logits(std::size_t rows, std::size_t actions, double scale, std::uint64_t seed) {
    random_stream random(seed);
    table<T> logits(rows, actions);
    for (T& z : logits.data)
        z = static_cast<T>(scale * random.normal<double>());
    return logits;
}

template <class T>
table<T> random_actions(std::size_t rows, std::size_t actions, std::uint64_t seed) {
    random_stream random(seed);
    table<T> chosen(rows, 1);
    for (T& a : chosen.data)
        a = static_cast<T>(random.below(static_cast<std::uint32_t>(actions)));
    return chosen;
}

} // namespace

TEST_CASE("What a categorical actor needs of its network") {
    categorical const actor;
    CHECK(actor.output_size(discrete{6}) == 6);
    CHECK(actor.free_parameter_count(discrete{6}) == 0);
    actor.initialize(std::span<float>());
    CHECK(message_of([&] { (void)actor.output_size(box::uniform(2, -1, 1)); }) ==
          "categorical: the action space is a box, but must be discrete; diagonal_gaussian is an actor for a box");
    CHECK(message_of([&] { (void)actor.free_parameter_count(discrete{0}); }) ==
          "categorical: the action space has no actions");
    std::vector<float> one(1);
    CHECK(message_of([&] { actor.initialize(std::span<float>(one)); }) ==
          "categorical: 1 free parameters were given, but it has none");
}

TEMPLATE_TEST_CASE("Log probabilities and entropies against long double, logits of any size", "", float, double) {
    using T = TestType;
    auto const epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
    for (std::size_t const actions : {1u, 2u, 3u, 18u})
        for (double const scale : {1e-6, 1.0, 30.0, 1e4}) {
            auto const logits = random_logits<T>(37, actions, scale, 1);
            auto const chosen = random_actions<T>(37, actions, 2);
            std::vector<T> log_probabilities(37), entropies(37);
            categorical{}.log_probability_and_entropy(logits.view(), {}, chosen.view(), log_probabilities, entropies);
            for (std::size_t i = 0; i < 37; ++i) {
                auto const expected = log_softmax<T>(logits.view(), i);
                long double entropy = 0;
                for (long double const p : expected)
                    entropy -= p > -11000 ? std::exp(p) * p : 0; // beyond, the product is below the least number
                auto const j = static_cast<std::size_t>(chosen(i, 0));
                // The logits' differences are rounded once, the sum of exponentials a few times.
                double const bound = epsilon * (8.0 + 2.0 * std::abs(static_cast<double>(expected[j])));
                CHECK(std::abs(static_cast<double>(log_probabilities[i]) - static_cast<double>(expected[j])) < bound);
                CHECK(std::abs(static_cast<double>(entropies[i]) - static_cast<double>(entropy)) < 16.0 * epsilon);
            }
        }
}

TEST_CASE("Probabilities sum to one, and uniform logits have the entropy of a fair die") {
    auto logits = random_logits<double>(1, 6, 3.0, 3);
    double sum = 0.0;
    std::vector<double> log_probability(1), entropy(1);
    for (int action = 0; action < 6; ++action) {
        std::vector<double> const chosen{static_cast<double>(action)};
        categorical{}.log_probability_and_entropy(logits.view(), {}, matrix_view<double const>(chosen.data(), 1, 1),
                                                  log_probability, entropy);
        sum += std::exp(log_probability[0]);
    }
    CHECK(sum == Approx(1.0).epsilon(1e-15));
    std::fill(logits.data.begin(), logits.data.end(), 5e3);
    std::vector<double> const chosen{2.0};
    categorical{}.log_probability_and_entropy(logits.view(), {}, matrix_view<double const>(chosen.data(), 1, 1),
                                              log_probability, entropy);
    CHECK(log_probability[0] == Approx(-std::log(6.0)).epsilon(1e-15));
    CHECK(entropy[0] == Approx(std::log(6.0)).epsilon(1e-15));
}

TEST_CASE("The gradient against dual numbers through the same kernel") {
    constexpr std::size_t actions = 7;
    using D = testing::dual<double, actions>;
    for (double const scale : {1e-3, 1.0, 20.0}) {
        auto const logits = random_logits<double>(50, actions, scale, 4);
        auto const chosen = random_actions<double>(50, actions, 5);
        auto const c = random_logits<double>(50, 1, 1.0, 6), d = random_logits<double>(50, 1, 1.0, 7);
        table<double> gradient(50, actions, 99.0);
        categorical{}.gradient(logits.view(), {}, chosen.view(), c.data, d.data, gradient.view(), {});

        table<D> variables(50, actions);
        table<D> same(50, 1);
        for (std::size_t i = 0; i < 50; ++i) {
            same(i, 0) = D(chosen(i, 0));
            for (std::size_t j = 0; j < actions; ++j)
                variables(i, j) = D::variable(logits(i, j), j);
        }
        std::vector<D> log_probabilities(50), entropies(50);
        categorical{}.log_probability_and_entropy(variables.view(), {}, same.view(), log_probabilities, entropies);
        for (std::size_t i = 0; i < 50; ++i)
            for (std::size_t j = 0; j < actions; ++j) {
                double const expected = c(i, 0) * log_probabilities[i].slope[j] + d(i, 0) * entropies[i].slope[j];
                CHECK(std::abs(gradient(i, j) - expected) < 1e-13 * (1.0 + scale));
            }
    }
}

TEST_CASE("The gradient in float is that in double to rounding, and may replace the logits") {
    auto const logits = random_logits<float>(33, 5, 4.0, 8);
    auto const chosen = random_actions<float>(33, 5, 9);
    auto const c = random_logits<float>(33, 1, 1.0, 10);
    float const bonus = 0.01f;
    table<float> gradient(33, 5);
    // One number for all rows: a view that does not move.
    vector_view<float const> const d(&bonus, 33, 0);
    categorical{}.gradient(logits.view(), {}, chosen.view(), c.data, d, gradient.view(), {});

    table<double> wide(33, 5), wide_chosen(33, 1), wide_gradient(33, 5);
    std::copy(logits.data.begin(), logits.data.end(), wide.data.begin());
    std::copy(chosen.data.begin(), chosen.data.end(), wide_chosen.data.begin());
    std::vector<double> const wide_c(c.data.begin(), c.data.end());
    std::vector<double> const wide_d(33, static_cast<double>(bonus));
    categorical{}.gradient(wide.view(), {}, wide_chosen.view(), wide_c, wide_d, wide_gradient.view(), {});
    for (std::size_t i = 0; i < gradient.data.size(); ++i)
        CHECK(std::abs(static_cast<double>(gradient.data[i]) - wide_gradient.data[i]) < 4e-6);

    table<float> in_place = logits;
    categorical{}.gradient(in_place.view(), {}, chosen.view(), c.data, d, in_place.view(), {});
    CHECK(in_place.data == gradient.data);
}

TEST_CASE("Any layout gives the same bits") {
    auto const logits = random_logits<float>(21, 4, 2.0, 11);
    auto const chosen = random_actions<float>(21, 4, 12);
    std::vector<float> log_probabilities(21), entropies(21);
    table<float> gradient(21, 4);
    categorical{}.log_probability_and_entropy(logits.view(), {}, chosen.view(), log_probabilities, entropies);
    categorical{}.gradient(logits.view(), {}, chosen.view(), log_probabilities, entropies, gradient.view(), {});

    Eigen::MatrixXf columns =
        Eigen::Map<Eigen::Matrix<float, -1, -1, Eigen::RowMajor> const>(logits.data.data(), 21, 4);
    Eigen::MatrixXf const actions = Eigen::Map<Eigen::VectorXf const>(chosen.data.data(), 21);
    Eigen::VectorXf same_entropies(21);
    Eigen::MatrixXf same_gradient(21, 4);
    std::vector<float> spread(3 * 21);
    vector_view<float> const every_third(spread.data() + 2, 21, 3);
    categorical{}.log_probability_and_entropy(columns, {}, actions, every_third, same_entropies);
    categorical{}.gradient(columns, {}, actions, log_probabilities, entropies, same_gradient, {});
    for (std::size_t i = 0; i < 21; ++i) {
        auto const row = static_cast<Eigen::Index>(i);
        CHECK(every_third[i] == log_probabilities[i]);
        CHECK(same_entropies(row) == entropies[i]);
        for (std::size_t j = 0; j < 4; ++j)
            CHECK(same_gradient(row, static_cast<Eigen::Index>(j)) == gradient(i, j));
    }
}

TEMPLATE_TEST_CASE("Actions are drawn with their probabilities", "", float, double) {
    using T = TestType;
    std::size_t const actions = 5;
    std::size_t const draws = 200000;
    std::vector<T> const row{T(0.5), T(-1), T(2), -std::numeric_limits<T>::infinity(), T(1)};
    matrix_view<T const> const logits(row.data(), 1, actions);
    auto const expected = log_softmax<T>(logits, 0);
    std::vector<int> counts(actions);
    auto streams = streams_for(1, 13);
    std::vector<T> action(1);
    for (std::size_t n = 0; n < draws; ++n) {
        categorical{}.sample(logits, {}, streams, matrix_view<T>(action.data(), 1, 1));
        ++counts[static_cast<std::size_t>(action[0])];
    }
    CHECK(counts[3] == 0);
    std::vector<double> probabilities;
    for (std::size_t j : {0u, 1u, 2u, 4u})
        probabilities.push_back(static_cast<double>(std::exp(expected[j])));
    counts.erase(counts.begin() + 3);
    // Three degrees of freedom: 44.8 is passed with probability 1e-9.
    CHECK(testing::chi_square(counts, probabilities) < 44.8);
}

TEST_CASE("A row's action depends on its logits and its stream alone") {
    auto const logits = random_logits<float>(40, 6, 1.0, 14);
    table<float> together(40, 1), one(1, 1);
    auto streams = streams_for(40, 15);
    categorical{}.sample(logits.view(), {}, streams, together.view());
    for (std::size_t i = 40; i-- > 0;) {
        std::vector<random_stream> own{random_stream(15, i)};
        categorical{}.sample(logits.view().middle_rows(i, 1), {}, own, one.view());
        CHECK(one(0, 0) == together(i, 0));
        CHECK(own[0].position() == streams[i].position());
    }
}

TEST_CASE("The mode is the first of the most probable actions") {
    std::vector<float> const logits{1, 3, 3, 2, -1, -5, -1, -2};
    table<float> actions(2, 1);
    categorical{}.mode(matrix_view<float const>(logits.data(), 2, 4), {}, actions.view());
    CHECK(actions(0, 0) == 1.0f);
    CHECK(actions(1, 0) == 0.0f);
}

TEMPLATE_TEST_CASE("Where actions are forbidden, the policy is the softmax of the others", "", float, double) {
    using T = TestType;
    constexpr std::size_t rows = 37, actions = 5;
    constexpr T forbidden = -std::numeric_limits<T>::infinity();
    using D = testing::dual<T, actions>;
    auto logits = random_logits<T>(rows, actions, 2.0, 21);
    auto const chosen = random_actions<T>(rows, actions, 22);
    auto const c = random_logits<T>(rows, 1, 1.0, 23), d = random_logits<T>(rows, 1, 1.0, 24);
    random_stream random(25);
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < actions; ++j)
            if (static_cast<T>(j) != chosen(i, 0) && random.below(2) == 0)
                logits(i, j) = forbidden;
    std::vector<T> log_probabilities(rows), entropies(rows);
    table<T> gradient(rows, actions, T(99)), most_likely(rows, 1), drawn(rows, 1);
    auto streams = streams_for(rows, 26);
    categorical const actor;
    actor.log_probability_and_entropy(logits.view(), {}, chosen.view(), log_probabilities, entropies);
    actor.gradient(logits.view(), {}, chosen.view(), c.data, d.data, gradient.view(), {});
    actor.mode(logits.view(), {}, most_likely.view());
    actor.sample(logits.view(), {}, streams, drawn.view());

    table<D> variables(rows, actions), same(rows, 1);
    for (std::size_t i = 0; i < rows; ++i) {
        same(i, 0) = D(chosen(i, 0));
        for (std::size_t j = 0; j < actions; ++j)
            variables(i, j) = D::variable(logits(i, j), j);
    }
    std::vector<D> dual_log_probabilities(rows), dual_entropies(rows);
    actor.log_probability_and_entropy(variables.view(), {}, same.view(), dual_log_probabilities, dual_entropies);

    double const bound = 64.0 * static_cast<double>(std::numeric_limits<T>::epsilon());
    std::size_t zeros = 0;
    for (std::size_t i = 0; i < rows; ++i) {
        auto const expected = log_softmax<T>(logits.view(), i);
        long double entropy = 0;
        for (long double const p : expected)
            entropy -= std::isfinite(p) ? std::exp(p) * p : 0;
        auto const action = static_cast<std::size_t>(chosen(i, 0));
        CHECK(std::abs(static_cast<double>(log_probabilities[i] - expected[action])) < bound);
        CHECK(std::abs(static_cast<double>(entropies[i] - entropy)) < bound);
        CHECK(logits(i, static_cast<std::size_t>(most_likely(i, 0))) != forbidden);
        CHECK(logits(i, static_cast<std::size_t>(drawn(i, 0))) != forbidden);
        for (std::size_t j = 0; j < actions; ++j) {
            if (logits(i, j) == forbidden) {
                CHECK(gradient(i, j) == T(0));
                ++zeros;
                continue;
            }
            long double const p = std::exp(expected[j]), hit = j == action ? 1 : 0;
            long double const slope = c(i, 0) * (hit - p) - d(i, 0) * p * (expected[j] + entropy);
            CHECK(std::abs(static_cast<double>(gradient(i, j) - slope)) < bound);
            CHECK(std::abs(static_cast<double>(c(i, 0) * dual_log_probabilities[i].slope[j] +
                                               d(i, 0) * dual_entropies[i].slope[j] - slope)) < bound);
        }
    }
    CHECK(zeros > rows);
}

TEST_CASE("A forbidden action costs nothing but its probability") {
    double const infinity = std::numeric_limits<double>::infinity();
    std::vector<double> const logits{0, -infinity, 0}, chosen{2};
    std::vector<double> log_probability(1), entropy(1), one{1.0}, gradient(3);
    matrix_view<double const> const z(logits.data(), 1, 3);
    matrix_view<double const> const a(chosen.data(), 1, 1);
    categorical{}.log_probability_and_entropy(z, {}, a, log_probability, entropy);
    categorical{}.gradient(z, {}, a, one, one, matrix_view<double>(gradient.data(), 1, 3), {});
    CHECK(log_probability[0] == Approx(-std::log(2.0)).epsilon(1e-15));
    CHECK(entropy[0] == Approx(std::log(2.0)).epsilon(1e-15));
    CHECK(gradient[0] == Approx(-0.5).epsilon(1e-15));
    CHECK(gradient[1] == 0.0);
    CHECK(gradient[2] == Approx(0.5).epsilon(1e-15));
}

TEST_CASE("A logit that is not a number spoils its row, and no other") {
    for (double const bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
        for (std::size_t const place : {0u, 1u, 2u}) {
            auto logits = random_logits<double>(9, 3, 1.0, 16);
            logits(4, place) = bad;
            table<double> actions(9, 1), gradient(9, 3), chosen(9, 1, 1.0);
            auto streams = streams_for(9, 17);
            std::vector<double> log_probabilities(9), entropies(9), ones(9, 1.0);
            categorical{}.log_probability_and_entropy(logits.view(), {}, chosen.view(), log_probabilities, entropies);
            categorical{}.gradient(logits.view(), {}, chosen.view(), ones, ones, gradient.view(), {});
            categorical{}.sample(logits.view(), {}, streams, actions.view());
            for (std::size_t i = 0; i < 9; ++i) {
                CHECK(std::isnan(log_probabilities[i]) == (i == 4));
                CHECK(std::isnan(entropies[i]) == (i == 4));
                CHECK(std::isnan(gradient(i, 0)) == (i == 4));
                CHECK(std::isnan(gradient(i, 2)) == (i == 4));
                CHECK(std::isnan(actions(i, 0)) == (i == 4));
            }
            categorical{}.mode(logits.view(), {}, actions.view());
            for (std::size_t i = 0; i < 9; ++i)
                CHECK(std::isnan(actions(i, 0)) == (i == 4));
        }
}

TEST_CASE("A row that forbids every action has no action, and spoils no other") {
    auto logits = random_logits<double>(9, 3, 1.0, 16);
    for (std::size_t j = 0; j < 3; ++j)
        logits(4, j) = -std::numeric_limits<double>::infinity();
    table<double> drawn(9, 1), most_likely(9, 1), chosen(9, 1, 1.0);
    auto streams = streams_for(9, 17);
    std::vector<double> log_probabilities(9), entropies(9);
    categorical{}.log_probability_and_entropy(logits.view(), {}, chosen.view(), log_probabilities, entropies);
    categorical{}.sample(logits.view(), {}, streams, drawn.view());
    categorical{}.mode(logits.view(), {}, most_likely.view());
    for (std::size_t i = 0; i < 9; ++i) {
        CHECK(std::isnan(log_probabilities[i]) == (i == 4));
        CHECK(std::isnan(entropies[i]) == (i == 4));
        CHECK(std::isnan(drawn(i, 0)) == (i == 4));
        CHECK(std::isnan(most_likely(i, 0)) == (i == 4));
    }
}

TEST_CASE("Bad input to a categorical actor is named") {
    auto const logits = random_logits<float>(3, 4, 1.0, 18);
    table<float> actions(3, 1), two(3, 2), gradient(3, 4);
    std::vector<float> three(3), four(4);
    auto streams = streams_for(3, 19);
    categorical const actor;
    auto const entropy_of = [&](matrix_view<float const> chosen) {
        return message_of([&] { actor.log_probability_and_entropy(logits.view(), {}, chosen, three, three); });
    };
    CHECK(entropy_of(actions.view()) == "");
    for (float const bad : {4.0f, -1.0f, 0.5f, std::numeric_limits<float>::quiet_NaN()}) {
        actions(2, 0) = bad;
        std::string const message = "categorical: the action of row 2 is " +
                                    fmt::format("{}", static_cast<double>(bad)) + ", but must be one of 0 … 3";
        CHECK(entropy_of(actions.view()) == message);
        CHECK(message_of([&] {
                  actor.gradient(logits.view(), {}, actions.view(), three, three, gradient.view(), {});
              }) == message);
    }
    actions(2, 0) = 0.0f;
    CHECK(entropy_of(two.view()) == "categorical: actions is 3 x 2, but must be 3 x 1");
    CHECK(message_of([&] { actor.log_probability_and_entropy(logits.view(), {}, actions.view(), four, three); }) ==
          "categorical: log_probabilities has 4 elements, but must have 3");
    CHECK(message_of([&] { actor.gradient(logits.view(), {}, actions.view(), three, four, gradient.view(), {}); }) ==
          "categorical: entropy_gradient has 4 elements, but must have 3");
    CHECK(message_of([&] {
              actor.gradient(logits.view(), {}, actions.view(), three, three, gradient.view().middle_cols(0, 3), {});
          }) == "categorical: output_gradient is 3 x 3, but must be 3 x 4");
    CHECK(message_of([&] { actor.mode(logits.view(), four, actions.view()); }) ==
          "categorical: 4 free parameters were given, but it has none");
    streams.pop_back();
    CHECK(message_of([&] { actor.sample(logits.view(), {}, streams, actions.view()); }) ==
          "categorical: there are 2 random streams for 3 rows");
}

TEST_CASE("A categorical actor does not allocate") {
    auto const logits = random_logits<float>(64, 6, 1.0, 20);
    table<float> actions(64, 1), gradient(64, 6);
    std::vector<float> a(64), b(64);
    auto streams = streams_for(64, 21);
    CHECK(testing::allocations_during([&] {
              categorical const actor;
              actor.sample(logits.view(), {}, streams, actions.view());
              actor.sample(logits.view().middle_rows(0, 1), {}, std::span(streams).first(1),
                           actions.view().middle_rows(0, 1));
              actor.log_probability_and_entropy(logits.view(), {}, actions.view(), a, b);
              actor.gradient(logits.view(), {}, actions.view(), a, b, gradient.view(), {});
              actor.mode(logits.view(), {}, actions.view());
          }) == 0);
}
