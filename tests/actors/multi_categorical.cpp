// SPDX-License-Identifier: Apache-2.0
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/dual.hpp"
#include "support/matrices.hpp"
#include "support/numbers.hpp"
#include "support/says.hpp"

#include <gmac/actors/categorical.hpp>
#include <gmac/actors/diagonal_gaussian.hpp>
#include <gmac/actors/multi_categorical.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

using namespace gmac;
using gmac::actors::categorical;
using gmac::actors::multi_categorical;
using gmac::testing::message_of;
using gmac::testing::streams_for;
using gmac::testing::table;

namespace {

using counts = std::vector<std::size_t>;

template <class T>
constexpr T forbidden = -std::numeric_limits<T>::infinity();

std::size_t sum(counts const& of) {
    return mask_size(multi_discrete{of});
}

template <class T>
table<T> random_numbers(std::size_t rows, std::size_t cols, double scale, std::uint64_t seed) {
    random_stream random(seed);
    table<T> numbers(rows, cols);
    for (T& z : numbers.data)
        z = static_cast<T>(scale * random.normal<double>());
    return numbers;
}

template <class T>
table<T> random_actions(std::size_t rows, counts const& of, std::uint64_t seed) {
    random_stream random(seed);
    table<T> chosen(rows, of.size());
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t k = 0; k < of.size(); ++k)
            chosen(i, k) = static_cast<T>(random.below(static_cast<std::uint32_t>(of[k])));
    return chosen;
}

/// Written out in long double: log π, the entropy and the gradient of c log π + d entropy of one row.
struct written_out {
    long double log_probability = 0, entropy = 0;
    std::vector<long double> gradient, log_softmax;

    template <class T>
    written_out(std::type_identity_t<matrix_view<T const>> logits, counts const& of, table<T> const& action,
                std::size_t row, T c, T d) {
        for (std::size_t k = 0, first = 0; k < of.size(); first += of[k], ++k) {
            auto const z = [&](std::size_t j) { return static_cast<long double>(logits(row, first + j)); };
            long double highest = z(0), total = 0, own_entropy = 0;
            for (std::size_t j = 1; j < of[k]; ++j)
                highest = std::max(highest, z(j));
            for (std::size_t j = 0; j < of[k]; ++j)
                total += std::exp(z(j) - highest);
            std::vector<long double> logs, p;
            for (std::size_t j = 0; j < of[k]; ++j) {
                logs.push_back(z(j) - highest - std::log(total));
                p.push_back(std::exp(logs[j]));
                own_entropy -= p[j] > 0 ? p[j] * logs[j] : 0;
            }
            auto const hit = static_cast<std::size_t>(action(row, k));
            for (std::size_t j = 0; j < of[k]; ++j)
                gradient.push_back(static_cast<long double>(c) * ((j == hit ? 1 : 0) - p[j]) -
                                   (p[j] > 0 ? static_cast<long double>(d) * p[j] * (logs[j] + own_entropy) : 0));
            log_probability += logs[hit];
            entropy += own_entropy;
            log_softmax.insert(log_softmax.end(), logs.begin(), logs.end());
        }
    }
};

} // namespace

TEST_CASE("What a multi-categorical actor needs of its network") {
    multi_categorical const actor{{{3, 4, 2}}};
    multi_discrete const space{{3, 4, 2}};
    CHECK(actor.output_size(space) == 9);
    CHECK(actor.free_parameter_count(space) == 0);
    actor.initialize(std::span<float>());
    CHECK(
        message_of([&] { (void)actor.output_size(box::uniform(2, -1, 1)); }) ==
        "multi_categorical: the action space is a box, but must be multi-discrete; diagonal_gaussian is an actor for a "
        "box");
    CHECK(message_of([&] { (void)actor.free_parameter_count(discrete{9}); }) ==
          "multi_categorical: the action space is discrete, but must be multi-discrete; categorical is an actor for a "
          "discrete space");
    CHECK(message_of([&] { (void)categorical{}.output_size(space); }) ==
          "categorical: the action space is multi-discrete, but must be discrete; multi_categorical is an actor for "
          "several discrete actions at once");
    CHECK(message_of([&] { (void)actors::diagonal_gaussian{}.output_size(space); }) ==
          "diagonal_gaussian: the action space is multi-discrete, but must be a box; multi_categorical is an actor for "
          "several discrete actions at once");
    CHECK(message_of([&] { (void)multi_categorical{}.output_size(space); }) ==
          "multi_categorical: it must be made for the 3 components of the action space, as multi_categorical{space}");
    CHECK(message_of([&] {
              (void)actor.output_size(multi_discrete{{3, 4}});
          }) == "multi_categorical: it was made for 3 components, but the action space has 2");
    CHECK(message_of([&] {
              (void)actor.output_size(multi_discrete{{3, 5, 2}});
          }) == "multi_categorical: it was made for 4 values of component 1, but the action space has 5");
    CHECK(message_of([&] {
              (void)multi_categorical{{{3, 0}}}.output_size(multi_discrete{{3, 0}});
          }) == "multi_categorical: component 1 of the action space has no values");
    std::vector<float> one(1);
    CHECK(message_of([&] { actor.initialize(std::span<float>(one)); }) ==
          "multi_categorical: 1 free parameters were given, but it has none");
}

TEMPLATE_TEST_CASE("Log probability, entropy and gradient of several components against their formulas", "", float,
                   double) {
    using T = TestType;
    auto const epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
    constexpr std::size_t rows = 37;
    for (counts const& of : {counts{1}, counts{3, 4, 2}, counts{5, 1, 18}})
        for (double const scale : {1e-6, 1.0, 30.0}) {
            auto const logits = random_numbers<T>(rows, sum(of), scale, 1);
            auto const chosen = random_actions<T>(rows, of, 2);
            auto const c = random_numbers<T>(rows, 1, 1.0, 3), d = random_numbers<T>(rows, 1, 1.0, 4);
            std::vector<T> log_probabilities(rows, T(77)), entropies(rows, T(77));
            table<T> gradient(rows, sum(of), T(77));
            multi_categorical const actor{{of}};
            actor.log_probability_and_entropy(logits.view(), {}, chosen.view(), log_probabilities, entropies);
            actor.gradient(logits.view(), {}, chosen.view(), c.data, d.data, gradient.view(), {});
            for (std::size_t i = 0; i < rows; ++i) {
                written_out const wanted(logits.view(), of, chosen, i, c(i, 0), d(i, 0));
                double const bound = 32.0 * epsilon * (1.0 + std::abs(static_cast<double>(wanted.log_probability)));
                CHECK(std::abs(static_cast<double>(log_probabilities[i] - wanted.log_probability)) < bound);
                CHECK(std::abs(static_cast<double>(entropies[i] - wanted.entropy)) < 48.0 * epsilon);
                for (std::size_t j = 0; j < sum(of); ++j)
                    CHECK(std::abs(static_cast<double>(gradient(i, j) - wanted.gradient[j])) <
                          64.0 * epsilon * (1.0 + scale));
            }
        }
}

TEST_CASE("Independent components are one categorical over all combinations") {
    counts const of{2, 3, 2};
    constexpr std::size_t rows = 11, all = 12;
    auto const logits = random_numbers<double>(rows, 7, 1.5, 5);
    auto const c = random_numbers<double>(rows, 1, 1.0, 6), d = random_numbers<double>(rows, 1, 1.0, 7);
    auto const combination = [](std::size_t flat) {
        return std::array<std::size_t, 3>{flat / 6, flat / 2 % 3, flat % 2};
    };
    constexpr std::array<std::size_t, 3> first{0, 2, 5};
    table<double> flat_logits(rows, all);
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < all; ++j)
            for (std::size_t k = 0; k < 3; ++k)
                flat_logits(i, j) += logits(i, first[k] + combination(j)[k]);
    multi_categorical const actor{{of}};
    for (std::size_t flat = 0; flat < all; ++flat) {
        table<double> chosen(rows, 3), flat_chosen(rows, 1, static_cast<double>(flat));
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t k = 0; k < 3; ++k)
                chosen(i, k) = static_cast<double>(combination(flat)[k]);
        std::vector<double> log_probabilities(rows), entropies(rows), flat_log_probabilities(rows),
            flat_entropies(rows);
        table<double> gradient(rows, 7), flat_gradient(rows, all);
        actor.log_probability_and_entropy(logits.view(), {}, chosen.view(), log_probabilities, entropies);
        actor.gradient(logits.view(), {}, chosen.view(), c.data, d.data, gradient.view(), {});
        categorical{}.log_probability_and_entropy(flat_logits.view(), {}, flat_chosen.view(), flat_log_probabilities,
                                                  flat_entropies);
        categorical{}.gradient(flat_logits.view(), {}, flat_chosen.view(), c.data, d.data, flat_gradient.view(), {});
        for (std::size_t i = 0; i < rows; ++i) {
            CHECK(log_probabilities[i] == Approx(flat_log_probabilities[i]).epsilon(1e-13));
            CHECK(entropies[i] == Approx(flat_entropies[i]).epsilon(1e-13));
            table<double> folded(1, 7); // a logit is part of all combinations with its value
            for (std::size_t j = 0; j < all; ++j)
                for (std::size_t k = 0; k < 3; ++k)
                    folded(0, first[k] + combination(j)[k]) += flat_gradient(i, j);
            for (std::size_t j = 0; j < 7; ++j)
                CHECK(std::abs(gradient(i, j) - folded(0, j)) < 1e-13);
        }
    }
}

TEST_CASE("The gradient of several components against dual numbers through the same kernel") {
    counts const of{3, 1, 4};
    constexpr std::size_t rows = 50, outputs = 8;
    using D = testing::dual<double, outputs>;
    for (double const scale : {1e-3, 1.0, 20.0}) {
        auto const logits = random_numbers<double>(rows, outputs, scale, 8);
        auto const chosen = random_actions<double>(rows, of, 9);
        auto const c = random_numbers<double>(rows, 1, 1.0, 10), d = random_numbers<double>(rows, 1, 1.0, 11);
        table<double> gradient(rows, outputs, 99.0);
        multi_categorical const actor{{of}};
        actor.gradient(logits.view(), {}, chosen.view(), c.data, d.data, gradient.view(), {});
        table<D> variables(rows, outputs);
        table<D> const same = chosen.as<D>();
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < outputs; ++j)
                variables(i, j) = D::variable(logits(i, j), j);
        std::vector<D> log_probabilities(rows), entropies(rows);
        actor.log_probability_and_entropy(variables.view(), {}, same.view(), log_probabilities, entropies);
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < outputs; ++j) {
                double const expected = c(i, 0) * log_probabilities[i].slope[j] + d(i, 0) * entropies[i].slope[j];
                CHECK(std::abs(gradient(i, j) - expected) < 1e-13 * (1.0 + scale));
            }
    }
}

TEMPLATE_TEST_CASE("One component is a categorical, bit for bit", "", float, double) {
    using T = TestType;
    constexpr std::size_t rows = 29;
    auto const logits = random_numbers<T>(rows, 6, 2.0, 12);
    auto const chosen = random_actions<T>(rows, {6}, 13);
    auto const answers = [&](auto const& actor) {
        std::vector<T> log_probabilities(rows), entropies(rows);
        table<T> gradient(rows, 6), drawn(rows, 1), likely(rows, 1);
        auto streams = streams_for(rows, 14);
        actor.log_probability_and_entropy(logits.view(), {}, chosen.view(), log_probabilities, entropies);
        actor.gradient(logits.view(), {}, chosen.view(), log_probabilities, entropies, gradient.view(), {});
        actor.sample(logits.view(), {}, streams, drawn.view());
        actor.mode(logits.view(), {}, likely.view());
        return std::vector{log_probabilities, entropies, gradient.data, drawn.data, likely.data};
    };
    CHECK(answers(multi_categorical{{{6}}}) == answers(categorical{}));
}

TEST_CASE("Several components in any layout give the same bits, and the gradient may replace the logits") {
    counts const of{3, 4, 2};
    constexpr std::size_t rows = 21;
    auto const logits = random_numbers<float>(rows, 9, 2.0, 15);
    auto const chosen = random_actions<float>(rows, of, 16);
    multi_categorical const actor{{of}};
    std::vector<float> log_probabilities(rows), entropies(rows);
    table<float> gradient(rows, 9), likely(rows, 3);
    actor.log_probability_and_entropy(logits.view(), {}, chosen.view(), log_probabilities, entropies);
    actor.gradient(logits.view(), {}, chosen.view(), log_probabilities, entropies, gradient.view(), {});
    actor.mode(logits.view(), {}, likely.view());

    auto const columns = testing::eigen_copy(logits.view()), actions = testing::eigen_copy(chosen.view());
    testing::strided<float> const spread(logits.view()), spread_actions(chosen.view());
    auto const same = [&](auto const& outputs, auto const& these) {
        std::vector<float> memory(3 * rows), same_entropies(rows);
        vector_view<float> const every_third(memory.data() + 2, rows, 3);
        testing::column_major<float> to(rows, 9), modes(rows, 3);
        actor.log_probability_and_entropy(outputs, {}, these, every_third, same_entropies);
        actor.gradient(outputs, {}, these, log_probabilities, entropies, to, {});
        actor.mode(outputs, {}, modes);
        CHECK(same_entropies == entropies);
        for (std::size_t i = 0; i < rows; ++i) {
            CHECK(every_third[i] == log_probabilities[i]);
            for (std::size_t j = 0; j < 9; ++j)
                CHECK(matrix_view(to)(i, j) == gradient(i, j));
            for (std::size_t k = 0; k < 3; ++k)
                CHECK(matrix_view(modes)(i, k) == likely(i, k));
        }
    };
    same(columns, actions);
    same(spread.view, spread_actions.view);

    table<float> in_place = logits;
    actor.gradient(in_place.view(), {}, chosen.view(), log_probabilities, entropies, in_place.view(), {});
    CHECK(in_place.data == gradient.data);
}

TEMPLATE_TEST_CASE("Components are drawn with their probabilities, and independent of each other", "", float, double) {
    using T = TestType;
    counts const of{3, 4};
    constexpr std::size_t draws = 200'000;
    std::vector<T> const row{T(0.5), T(-1), T(2), T(1), forbidden<T>, T(0), T(-0.5)};
    matrix_view<T const> const logits(row.data(), 1, row.size());
    table<T> action(1, 2);
    std::vector<double> probabilities;
    written_out const expected(logits, of, action, 0, T(0), T(0));
    std::vector<int> combinations(12);
    auto streams = streams_for(1, 17);
    for (std::size_t n = 0; n < draws; ++n) {
        multi_categorical{{of}}.sample(logits, {}, streams, action.view());
        ++combinations[static_cast<std::size_t>(action(0, 0)) * 4 + static_cast<std::size_t>(action(0, 1))];
    }
    std::vector<int> allowed;
    for (std::size_t a = 0; a < 3; ++a)
        for (std::size_t b = 0; b < 4; ++b) {
            if (b == 1) {
                CHECK(combinations[a * 4 + b] == 0);
                continue;
            }
            allowed.push_back(combinations[a * 4 + b]);
            probabilities.push_back(
                static_cast<double>(std::exp(expected.log_softmax[a] + expected.log_softmax[3 + b])));
        }
    // Eight degrees of freedom: 57.4 is passed with probability 1.5e-9.
    CHECK(testing::chi_square(allowed, probabilities) < 57.4);
}

TEST_CASE("A row's components are drawn one after the other from its stream alone") {
    counts const of{3, 4, 2};
    auto const logits = random_numbers<float>(40, 9, 1.0, 18);
    table<float> together(40, 3), one(1, 1);
    auto streams = streams_for(40, 19);
    multi_categorical{{of}}.sample(logits.view(), {}, streams, together.view());
    for (std::size_t i = 40; i-- > 0;) {
        std::vector<random_stream> own{random_stream(19, i)};
        for (std::size_t k = 0, first = 0; k < 3; first += of[k], ++k) {
            categorical{}.sample(logits.view().middle_rows(i, 1).middle_cols(first, of[k]), {}, own, one.view());
            CHECK(one(0, 0) == together(i, k));
        }
        CHECK(own[0].position() == streams[i].position());
    }
}

TEST_CASE("The mode of several components is the first of the most probable values of each") {
    std::vector<float> const logits{1, 3, 3, 2, 2, -1, -5, -1, -1, 0};
    table<float> actions(2, 2);
    multi_categorical{{{3, 2}}}.mode(matrix_view<float const>(logits.data(), 2, 5), {}, actions.view());
    CHECK(actions.data == std::vector<float>{1, 0, 0, 1});
}

TEMPLATE_TEST_CASE("Where values of components are forbidden, none is drawn and the gradient is exactly 0", "", float,
                   double) {
    using T = TestType;
    counts const of{3, 4, 2};
    constexpr std::size_t rows = 64;
    auto logits = random_numbers<T>(rows, 9, 2.0, 20);
    auto const chosen = random_actions<T>(rows, of, 21);
    auto const c = random_numbers<T>(rows, 1, 1.0, 22), d = random_numbers<T>(rows, 1, 1.0, 23);
    random_stream random(24);
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t k = 0, first = 0; k < 3; first += of[k], ++k)
            for (std::size_t j = 0; j < of[k]; ++j)
                if (static_cast<T>(j) != chosen(i, k) && random.below(2) == 0)
                    logits(i, first + j) = forbidden<T>;
    std::vector<T> log_probabilities(rows), entropies(rows);
    table<T> gradient(rows, 9, T(99)), likely(rows, 3), drawn(rows, 3);
    auto streams = streams_for(rows, 25);
    multi_categorical const actor{{of}};
    actor.log_probability_and_entropy(logits.view(), {}, chosen.view(), log_probabilities, entropies);
    actor.gradient(logits.view(), {}, chosen.view(), c.data, d.data, gradient.view(), {});
    actor.mode(logits.view(), {}, likely.view());
    actor.sample(logits.view(), {}, streams, drawn.view());
    double const bound = 128.0 * static_cast<double>(std::numeric_limits<T>::epsilon());
    std::size_t zeros = 0;
    for (std::size_t i = 0; i < rows; ++i) {
        written_out const wanted(logits.view(), of, chosen, i, c(i, 0), d(i, 0));
        CHECK(std::abs(static_cast<double>(log_probabilities[i] - wanted.log_probability)) < bound);
        CHECK(std::abs(static_cast<double>(entropies[i] - wanted.entropy)) < bound);
        for (std::size_t k = 0, first = 0; k < 3; first += of[k], ++k) {
            CHECK(logits(i, first + static_cast<std::size_t>(likely(i, k))) != forbidden<T>);
            CHECK(logits(i, first + static_cast<std::size_t>(drawn(i, k))) != forbidden<T>);
        }
        for (std::size_t j = 0; j < 9; ++j)
            if (logits(i, j) == forbidden<T>) {
                CHECK(gradient(i, j) == T(0));
                ++zeros;
            } else {
                CHECK(std::abs(static_cast<double>(gradient(i, j) - wanted.gradient[j])) < bound);
            }
    }
    CHECK(zeros > 2 * rows);
}

TEST_CASE("A logit that is not a number, and a component without a value, spoil what depends on them and no more") {
    double const nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    counts const of{2, 3};
    for (double const bad : {nan, infinity, -infinity}) {
        auto logits = random_numbers<double>(9, 5, 1.0, 26);
        if (bad == -infinity)
            logits(4, 2) = logits(4, 3) = logits(4, 4) = bad;
        else
            logits(4, 3) = bad;
        table<double> drawn(9, 2), likely(9, 2), gradient(9, 5), chosen(9, 2, 1.0);
        auto streams = streams_for(9, 27);
        std::vector<double> log_probabilities(9), entropies(9), ones(9, 1.0);
        multi_categorical const actor{{of}};
        actor.log_probability_and_entropy(logits.view(), {}, chosen.view(), log_probabilities, entropies);
        actor.gradient(logits.view(), {}, chosen.view(), ones, ones, gradient.view(), {});
        actor.sample(logits.view(), {}, streams, drawn.view());
        actor.mode(logits.view(), {}, likely.view());
        for (std::size_t i = 0; i < 9; ++i) {
            CHECK(std::isnan(log_probabilities[i]) == (i == 4));
            CHECK(std::isnan(entropies[i]) == (i == 4));
            for (std::size_t k = 0; k < 2; ++k) {
                CHECK(std::isnan(drawn(i, k)) == (i == 4 && k == 1));
                CHECK(std::isnan(likely(i, k)) == (i == 4 && k == 1));
            }
            for (std::size_t j = 0; j < 5; ++j)
                CHECK(std::isnan(gradient(i, j)) == (i == 4 && j >= 2));
        }
    }
}

TEST_CASE("Bad input to a multi-categorical actor is named") {
    auto const logits = random_numbers<float>(3, 5, 1.0, 28);
    table<float> actions(3, 2), one(3, 1), gradient(3, 5);
    std::vector<float> three(3), four(4);
    auto streams = streams_for(3, 29);
    multi_categorical const actor{{{2, 3}}};
    auto const entropy_of = [&](matrix_view<float const> outputs, matrix_view<float const> chosen) {
        return message_of([&] { actor.log_probability_and_entropy(outputs, {}, chosen, three, three); });
    };
    CHECK(entropy_of(logits.view(), actions.view()) == "");
    for (float const bad : {2.0f, -1.0f, 0.5f, std::numeric_limits<float>::quiet_NaN()}) {
        actions(2, 0) = bad;
        std::string const message =
            fmt::format("multi_categorical: component 0 of the action of row 2 is {}, but must be one of 0 … 1",
                        static_cast<double>(bad));
        CHECK(entropy_of(logits.view(), actions.view()) == message);
        CHECK(message_of([&] {
                  actor.gradient(logits.view(), {}, actions.view(), three, three, gradient.view(), {});
              }) == message);
    }
    actions(2, 0) = 0.0f;
    actions(1, 1) = 2.0f; // which only the second component has
    CHECK(entropy_of(logits.view(), actions.view()) == "");
    CHECK(entropy_of(logits.view(), one.view()) == "multi_categorical: actions is 3 x 1, but must be 3 x 2");
    CHECK(entropy_of(logits.view().middle_cols(0, 4), actions.view()) ==
          "multi_categorical: outputs has 4 columns, but the 2 components have 5 values");
    CHECK(message_of([&] { actor.log_probability_and_entropy(logits.view(), {}, actions.view(), four, three); }) ==
          "multi_categorical: log_probabilities has 4 elements, but must have 3");
    CHECK(message_of([&] { actor.gradient(logits.view(), {}, actions.view(), three, four, gradient.view(), {}); }) ==
          "multi_categorical: entropy_gradient has 4 elements, but must have 3");
    CHECK(message_of([&] {
              actor.gradient(logits.view(), {}, actions.view(), three, three, gradient.view().middle_cols(0, 3), {});
          }) == "multi_categorical: output_gradient is 3 x 3, but must be 3 x 5");
    CHECK(message_of([&] { actor.mode(logits.view(), four, actions.view()); }) ==
          "multi_categorical: 4 free parameters were given, but it has none");
    streams.pop_back();
    CHECK(message_of([&] { actor.sample(logits.view(), {}, streams, actions.view()); }) ==
          "multi_categorical: there are 2 random streams for 3 rows");
    CHECK(message_of([&] { multi_categorical{}.mode(logits.view(), {}, actions.view()); }) ==
          "multi_categorical: outputs has 5 columns, but the 0 components have 0 values");
}

TEST_CASE("A multi-categorical actor does not allocate") {
    auto const logits = random_numbers<float>(64, 9, 1.0, 30);
    table<float> actions(64, 3), gradient(64, 9);
    std::vector<float> a(64), b(64);
    auto streams = streams_for(64, 31);
    multi_categorical const actor{{{3, 4, 2}}};
    CHECK(testing::allocations_during([&] {
              actor.sample(logits.view(), {}, streams, actions.view());
              actor.log_probability_and_entropy(logits.view(), {}, actions.view(), a, b);
              actor.gradient(logits.view(), {}, actions.view(), a, b, gradient.view(), {});
              actor.mode(logits.view(), {}, actions.view());
          }) == 0);
}
