// SPDX-License-Identifier: Apache-2.0
// Batches of every layout, a parameter for each state, and what is refused.
#include <gmac/statistics.hpp>

#include "statistics.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/matrices.hpp"
#include "support/says.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace {

using namespace gmac;
using testing::all_statistics;
using testing::table;
constexpr std::size_t B = 37;

table<double> draw(std::size_t cols) {
    random_stream random(11);
    table<double> result(B, cols);
    for (double& x : result.data)
        x = random.normal<double>();
    return result;
}

template <class T, class Head>
void check(Head const& head, std::size_t columns, double tolerance) {
    auto const exact_outputs = draw(columns);
    auto const outputs = exact_outputs.as<T>();
    for (statistic const& of : all_statistics()) {
        INFO(Head::name << ": " << name_of(of.kind) << " " << of.parameter);
        std::vector<double> exact(B);
        statistics::evaluate(of, head, exact_outputs.view(), exact);
        std::vector<T> values(B), alone(B), with_gradient(B), of_states(B), parameters(B);
        table<T> gradient(B, columns);
        CHECK(testing::allocations_during([&] {
                  statistics::evaluate(of, head, outputs.view(), values);
                  statistics::value_and_gradient(of, head, outputs.view(), with_gradient, gradient.view());
              }) == 0);
        testing::strided<T> strided_gradient(B, columns), strided_values(B, 1);
        testing::strided<T> const strided(outputs.view());
        auto column_major = testing::eigen_copy(outputs.view());
        statistics::value_and_gradient(of, head, strided.view, strided_values.view.col(0), strided_gradient.view);
        statistics::evaluate(of, head, column_major, alone);
        for (std::size_t i = 0; i < B; ++i)
            parameters[i] = static_cast<T>(of.kind == statistic_kind::wang ? of.parameter * static_cast<double>(i) / B
                                                                           : of.parameter);
        statistics::evaluate(of.kind, parameters, head, outputs.view(), of_states);
        for (std::size_t i = 0; i < B; ++i) {
            CHECK(std::abs(static_cast<double>(values[i]) - exact[i]) < tolerance);
            CHECK(strided_values.view(i, 0) == with_gradient[i]);
            CHECK(alone[i] == values[i]);
            CHECK(static_cast<double>(with_gradient[i]) == Approx(static_cast<double>(values[i])).margin(1e-6));
            for (std::size_t j = 0; j < columns; ++j)
                CHECK(strided_gradient.view(i, j) == gradient(i, j));
            // Each state by itself.
            std::vector<T> one(1);
            statistics::evaluate(statistic{of.kind, static_cast<double>(parameters[i])}, head,
                                 outputs.view().middle_rows(i, 1), one);
            CHECK(of_states[i] == (of.kind == statistic_kind::mean ? of_states[i] : one[0]));
        }
    }
}

} // namespace

TEST_CASE("every layout and number type has the same statistics, and nothing is allocated") {
    check<double>(heads::gaussian_mixture<3>{.scale = 1.0}, 9, 1e-12);
    check<float>(heads::gaussian_mixture<3>{.scale = 1.0}, 9, 3e-5);
    check<double>(heads::categorical<13>(), 13, 1e-12);
    check<float>(heads::categorical<13>(), 13, 3e-5);
    check<double>(heads::dirac<16>(), 16, 1e-12);
    check<float>(heads::dirac<16>(), 16, 1e-5);
    check<float>(heads::scalar(), 1, 1e-6);
}

TEST_CASE("the mean is the head's own, to the bit") {
    auto const outputs = draw(9).as<float>();
    std::vector<float> values(B), means(B);
    heads::gaussian_mixture<3> const head;
    statistics::evaluate(statistics::mean(), head, outputs.view(), values);
    head.mean(outputs.view(), means);
    CHECK(values == means);
}

TEST_CASE("what is outside its range, overlaps or has another shape is refused") {
    using testing::says;
    auto const outputs = draw(9).as<float>();
    std::vector<float> values(B), few(3);
    heads::gaussian_mixture<3> const head;
    auto const of = [&](statistic const& what) { statistics::evaluate(what, head, outputs.view(), values); };
    CHECK_THROWS_WITH(of(statistics::cvar(0.0)), "statistic: the probability of cvar is 0, but must be in (0, 1]");
    CHECK_THROWS_WITH(of(statistics::upper_cvar(1.5)), says("upper_cvar is 1.5"));
    CHECK_THROWS_WITH(of(statistics::quantile(-1.0)), says("quantile is -1"));
    CHECK_THROWS_WITH(of(statistics::wang(3.5)), "statistic: the parameter of wang is 3.5, but must be in [-3, 3]");
    CHECK_THROWS_WITH(of(statistics::power(std::nan(""))), says("power is nan, but must be in [-20, 20]"));
    CHECK_THROWS_WITH(of(statistics::mean_minus_deviations(INFINITY)), says("inf, but must be finite"));
    CHECK_THROWS_WITH(statistics::evaluate(statistics::cvar(0.1), head, outputs.view(), few),
                      "statistic: there are 3 values, but must be 37, one for each row of the outputs");
    CHECK_THROWS_WITH(statistics::evaluate(statistics::mean(), head, outputs.view(), few),
                      "gaussian_mixture head: there are 3 values, but must be 37, one for each row of the outputs");
    std::vector<float> const levels(B, 0.5f);
    CHECK_THROWS_WITH(statistics::evaluate(statistic_kind::cvar, levels, head, outputs.view(), few),
                      "statistic: there are 3 values, but must be 37, one for each row of the outputs");
    CHECK_THROWS_WITH(statistics::evaluate(statistics::cvar(0.1), heads::gaussian_mixture<2>(), outputs.view(), values),
                      says("outputs is 37 x 9, but must be 37 x 6"));
    auto own = draw(9);
    CHECK_THROWS_WITH(statistics::evaluate(statistics::cvar(0.1), head, own.view(), own.view().col(0)),
                      says("overlaps"));
    CHECK_THROWS_WITH(statistics::evaluate(statistics::mean(), heads::dirac<9>(), own.view(), own.view().col(0)),
                      says("overlaps"));
    std::vector<double> into(B);
    CHECK_THROWS_WITH(statistics::value_and_gradient(statistics::cvar(0.1), head, own.view(), into, own.view()),
                      says("overlaps"));
    std::vector<float> parameters(B, 0.5f);
    parameters[4] = 2.0f;
    CHECK_THROWS_WITH(statistics::evaluate(statistic_kind::cvar, parameters, head, outputs.view(), values),
                      says("cvar is 2, but must be in (0, 1]"));
}
