// SPDX-License-Identifier: Apache-2.0
// Statistics of one kind whose parameters the states tell.
#include <gmac/statistics.hpp>

#include "support/catch.hpp"
#include "support/matrices.hpp"
#include "support/says.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace gmac;
using gmac::testing::message_of;
using gmac::testing::table;

constexpr statistic_range levels{statistic_kind::cvar, 0.05, 1.0}, shifts{statistic_kind::wang, -1.5, 0.5};

} // namespace

TEST_CASE("a number in [-1, 1] stands for a parameter, and back") {
    CHECK(levels.parameter_of(-1.0) == 0.05);
    CHECK(levels.parameter_of(1.0) == 1.0);
    CHECK(levels.parameter_of(0.0) == Approx(std::sqrt(0.05)).epsilon(1e-15)); // half of the way in its logarithm
    CHECK(shifts.parameter_of(-1.0) == -1.5);
    CHECK(shifts.parameter_of(1.0) == 0.5);
    CHECK(shifts.parameter_of(0.5) == Approx(0.0).margin(1e-15));
    for (statistic_range const& range : {levels, shifts, statistic_range{statistic_kind::upper_cvar, 1e-6, 0.5},
                                         statistic_range{statistic_kind::quantile, 0.1, 0.9}})
        for (double const number : {-1.0, -0.999, -0.3, 0.0, 0.7, 1.0}) {
            double const parameter = range.parameter_of(number);
            CHECK((parameter >= range.low && parameter <= range.high));
            CHECK(range.number_of(parameter) == Approx(number).margin(1e-12));
        }
    // What a float can say of the end is not beyond it.
    CHECK(levels.parameter_of(static_cast<double>(static_cast<float>(levels.number_of(0.05)))) == 0.05);
    for (double const wrong : {-1.001, 1.5, std::numeric_limits<double>::quiet_NaN(), 1e300})
        CHECK(message_of([&] { static_cast<void>(levels.parameter_of(wrong)); }).find("but must be in [-1, 1]") !=
              std::string::npos);
    for (double const wrong : {0.04, 1.01, std::numeric_limits<double>::quiet_NaN()})
        CHECK(message_of([&] {
                  static_cast<void>(levels.number_of(wrong));
              }).find("but the policy has learned those from 0.05 to 1") != std::string::npos);
}

TEST_CASE("ranges that cannot be are told") {
    validate(levels);
    CHECK(message_of([] { validate(statistic_range{}); }) == "statistic_range: the mean has no parameter");
    CHECK(message_of([] {
              validate(statistic_range{statistic_kind::cvar, 0.0, 1.0});
          }) == "statistic: the probability of cvar is 0, but must be in (0, 1]");
    CHECK(message_of([] {
              validate(statistic_range{statistic_kind::wang, 0.0, 4.0});
          }) == "statistic: the parameter of wang is 4, but must be in [-3, 3]");
    for (statistic_range const& range : {statistic_range{statistic_kind::cvar, 1e-40, 1.0},
                                         statistic_range{statistic_kind::mean_minus_deviations, -1e308, 1e308}})
        CHECK(message_of([&] { validate(range); }).find("magnitude must be from 1e-30 to 1e30") != std::string::npos);
    for (double const high : {0.5, 0.4})
        CHECK(message_of([&] {
                  validate(statistic_range{statistic_kind::cvar, 0.5, high});
              }).find("must rise") != std::string::npos);
}

TEST_CASE("each state has the value of its own statistic") {
    constexpr std::size_t B = 19;
    random_stream random(3);
    table<double> outputs(B, 9), states(B, 4);
    for (double& x : outputs.data)
        x = random.normal<double>();
    for (std::size_t i = 0; i < B; ++i)
        for (std::size_t j = 0; j < 4; ++j)
            states(i, j) = j < 3 ? 100.0 * random.normal<double>() : 2.0 * random.uniform<double>() - 1.0;
    heads::gaussian_mixture<3> const mixture{.scale = 1.0};
    heads::dirac<9> const points;
    auto const check = [&](auto const& head, statistic_range const& range) {
        std::vector<double> values(B), one(1);
        range(head, outputs.view(), states.view(), values);
        for (std::size_t i = 0; i < B; ++i) {
            statistics::evaluate(statistic{range.kind, range.parameter_of(states(i, 3))}, head,
                                 outputs.view().middle_rows(i, 1), one);
            CHECK(values[i] == one[0]);
        }
        CHECK(values[0] != values[1]);
    };
    for (statistic_range const& range : {levels, shifts, statistic_range{statistic_kind::quantile, 0.1, 0.9},
                                         statistic_range{statistic_kind::mean_minus_deviations, -1.0, 2.0}}) {
        INFO(name_of(range.kind));
        check(mixture, range);
        check(points, range);
    }
    std::vector<double> values(B);
    states(7, 3) = 1.25;
    CHECK(message_of([&] {
              levels(mixture, outputs.view(), states.view(), values);
          }).find("the last number of an observation is 1.25") != std::string::npos);
}
