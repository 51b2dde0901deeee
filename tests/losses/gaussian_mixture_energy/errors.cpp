// SPDX-License-Identifier: Apache-2.0
// What is refused, and that the message says what was given, what is allowed and where.
#include <gmac/distributions/gaussian_mixture.hpp>
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/heads/scalar.hpp>
#include <gmac/losses/gaussian_mixture_energy.hpp>
#include <gmac/losses/squared_error.hpp>

#include "losses/gaussian_mixture_energy/case.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"

#include <Eigen/Core>

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace {

using gmac::matrix_view;
using gmac::vector_view;
using gmac::losses::gaussian_mixture_energy;
using gmac::testing::mixture_case;
using gmac::testing::says;
using gmac::testing::table;

double const not_a_number = std::numeric_limits<double>::quiet_NaN();

/// A good case of 5 states with 70 particles, to be spoiled.
mixture_case<2> good() {
    mixture_case<2> result(5, 70);
    for (std::size_t i = 0; i < result.means.data.size(); ++i) {
        result.means.data[i] = 0.1 * static_cast<double>(i % 7);
        result.deviations.data[i] = 0.2;
        result.weights.data[i] = 1.0 / 70.0;
    }
    return result;
}
double loss_of(mixture_case<2> const& given) {
    table<double> gradient(given.outputs.rows, given.outputs.cols);
    return gaussian_mixture_energy{}.value_and_gradient(given.head, given.outputs.view(), given.targets(),
                                                        gradient.view());
}

} // namespace

TEST_CASE("targets that are no distributions are refused by state and particle", "[mixture]") {
    CHECK(std::isfinite(loss_of(good())));
    for (std::size_t const state : std::vector<std::size_t>{0, 3, 4}) {
        auto given = good();
        given.deviations(state, 65) = -0.5;
        CHECK_THROWS_WITH(loss_of(given), "gaussian_mixture_energy: the target deviation of state " +
                                              std::to_string(state) +
                                              ", particle 65 is -0.5, but must not be negative");
        given.deviations(state, 65) = not_a_number;
        CHECK_THROWS_WITH(loss_of(given), says("particle 65 is nan, but must not be negative"));
        given = good();
        given.weighted = true;
        CHECK(std::isfinite(loss_of(given)));
        given.weights(state, 2) = -0.25;
        CHECK_THROWS_WITH(loss_of(given), says("the target weight of state " + std::to_string(state) +
                                               ", particle 2 is -0.25, but must not be negative"));
        given.weights(state, 2) = not_a_number;
        CHECK_THROWS_WITH(loss_of(given), says("particle 2 is nan"));
        given.weights(state, 2) = 0.5;
        CHECK_THROWS_WITH(loss_of(given),
                          says("the target weights of state " + std::to_string(state) + " sum to 1.48571") &&
                              says("but must sum to 1"));
    }
}

TEST_CASE("shapes that do not fit are named", "[mixture]") {
    auto const given = good();
    auto const targets = given.targets();
    gaussian_mixture_energy const loss;
    table<double> gradient(5, 6);
    CHECK_THROWS_WITH(loss.value(given.head, given.outputs.view().middle_cols(0, 5), targets),
                      says("gaussian_mixture_energy: outputs is 5 x 5, but must be 5 x 6"));
    CHECK_THROWS_WITH(loss.value(given.head, given.outputs.view().middle_rows(0, 4), targets),
                      says("target means is 5 x 70, but must be 4 x 70"));
    CHECK_THROWS_WITH(loss.value_and_gradient(given.head, given.outputs.view(), targets.middle_rows(0, 4),
                                              gradient.view().middle_rows(0, 4)),
                      says("target means is 4 x 70, but must be 5 x 70"));
    CHECK_THROWS_WITH(loss.value_and_gradient(given.head, given.outputs.view(), targets,
                                              gradient.view().middle_cols(0, 3)),
                      says("the gradient is 5 x 3, but must be 5 x 6"));
    CHECK_THROWS_WITH(loss.value(given.head, given.outputs.view().middle_rows(0, 0), targets.middle_rows(0, 0)),
                      says("gaussian_mixture_energy: the batch is empty"));
    auto none = targets;
    none.means = none.means.middle_cols(0, 0);
    CHECK_THROWS_WITH(loss.value(given.head, given.outputs.view(), none), says("the targets have no particles"));
    auto wrong = targets;
    wrong.deviations = wrong.deviations.middle_cols(0, 69);
    CHECK_THROWS_WITH(loss.value(given.head, given.outputs.view(), wrong),
                      says("target deviations is 5 x 69, but must be 5 x 70"));

    Eigen::MatrixXf outputs(5, 6), weights(5, 2);
    Eigen::VectorXf values(4);
    CHECK_THROWS_WITH(given.head.mean(outputs, values),
                      "gaussian_mixture head: there are 4 values, but must be 5, one for each row of the outputs");
    CHECK_THROWS_WITH(gmac::heads::scalar{}.mean(outputs, values),
                      "scalar head: there are 4 values, but must be 5, one for each row of the outputs");
    values.resize(5);
    CHECK_THROWS_WITH(gmac::heads::gaussian_mixture<3>().mean(outputs, values),
                      says("gaussian_mixture head: outputs is 5 x 6, but must be 5 x 9"));
    CHECK_THROWS_WITH(given.head.distribution(outputs, weights, weights, outputs),
                      says("deviations is 5 x 6, but must be 5 x 2"));
    CHECK_THROWS_WITH(gmac::heads::scalar{}.mean(outputs, values),
                      says("scalar head: outputs is 5 x 6, but must be 5 x 1"));
}

TEST_CASE("options of the Gaussian-mixture head are checked where it is used", "[mixture]") {
    auto given = good();
    Eigen::VectorXd values(5);
    for (double const wrong : {0.0, -1.0, not_a_number, std::numeric_limits<double>::infinity()}) {
        given.head.scale = wrong;
        CHECK_THROWS_WITH(loss_of(given), says("gaussian_mixture head: scale is ") && says("but must be positive"));
        CHECK_THROWS_WITH(given.head.mean(given.outputs.view(), values), says("head: scale is "));
    }
    given.head.scale = 1.0;
    given.head.floor = -0.5;
    CHECK_THROWS_WITH(loss_of(given), says("floor is -0.5, but must be finite and not negative"));
}

TEST_CASE("a gradient that overlaps an argument is refused", "[mixture]") {
    auto given = good();
    CHECK_THROWS_WITH(given.head.mean(given.outputs.view(), vector_view<double>(given.outputs.data.data(), 5)),
                      says("gaussian_mixture head: the values overlap the outputs"));
    auto const left = given.outputs.view().middle_cols(0, 2);
    CHECK_THROWS_WITH(given.head.distribution(given.outputs.view(), left, left, left),
                      says("the distribution overlaps the outputs"));
    gaussian_mixture_energy const loss;
    table<double> shared(6, 6);
    CHECK_THROWS_WITH(loss.value_and_gradient(given.head, shared.view().middle_rows(0, 5), given.targets(),
                                              shared.view().middle_rows(1, 5)),
                      says("the gradient overlaps the outputs"));
    CHECK_THROWS_WITH(loss.value_and_gradient(given.head, given.outputs.view(), given.targets(),
                                              matrix_view<double>(given.means.data.data() + 3, 5, 6, 70, 1)),
                      says("the gradient overlaps the target's means"));
    CHECK_THROWS_WITH(loss.value_and_gradient(given.head, given.outputs.view(), given.targets(),
                                              given.deviations.view().middle_cols(64, 6)),
                      says("the gradient overlaps the target's deviations"));
}
