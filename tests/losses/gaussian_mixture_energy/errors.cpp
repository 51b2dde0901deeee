// SPDX-License-Identifier: Apache-2.0
// What is refused, and that the message says what was given, what is allowed and where.
#include <gmac/core/overlap.hpp>
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
using mixture = gmac::gaussian_mixture<double>;

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

TEST_CASE("a mixture that is none is refused", "[mixture]") {
    CHECK_THROWS_WITH(mixture(std::vector<gmac::normal_component<double>>{}),
                      says("gaussian_mixture: there is no component"));
    CHECK_THROWS_WITH((mixture{{0.5, 0.0, 1.0}, {0.4, 0.0, 1.0}}), says("the weights sum to 0.9, but must sum to 1"));
    CHECK_THROWS_WITH((mixture{{1.5, 0.0, 1.0}, {-0.5, 0.0, 1.0}}),
                      says("weight 1 is -0.5, but must be finite and not negative"));
    CHECK_THROWS_WITH((mixture{{not_a_number, 0.0, 1.0}}), says("weight 0 is nan, but must be finite"));
    CHECK_THROWS_WITH((mixture{{1.0, 0.0, -1.0}}), says("deviation 0 is -1, but must be finite and not negative"));
    CHECK_THROWS_WITH((mixture{{1.0, 0.0, not_a_number}}), says("deviation 0 is nan"));
    CHECK_THROWS_WITH((mixture{{1.0, std::numeric_limits<double>::infinity(), 1.0}}),
                      says("mean 0 is inf, but must be finite"));
    std::vector<double> const two{0.5, 0.5};
    Eigen::VectorXd const three = Eigen::VectorXd::Ones(3);
    CHECK_THROWS_WITH(mixture(two, three, two),
                      says("gaussian_mixture: the vector of means has 3 elements, but must have 2"));
    CHECK_THROWS_WITH(mixture(std::span<double const>(two), two, three), says("deviations has 3 elements"));

    mixture const fine{{1.0, 0.0, 1.0}};
    CHECK_THROWS_WITH(fine.quantile(1.5), says("probability of a quantile is 1.5, but must be in [0, 1]"));
    CHECK_THROWS_WITH(fine.quantile(not_a_number), says("quantile is nan"));
    CHECK_THROWS_WITH(fine.cvar(0.0), says("probability of a cvar is 0, but must be in (0, 1]"));
}

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
                      says("gaussian_mixture head: outputs is 5 x 6, but must be 4 x 6"));
    CHECK_THROWS_WITH(given.head.distribution(outputs, weights, weights, outputs),
                      says("deviations is 5 x 6, but must be 5 x 2"));
    CHECK_THROWS_WITH(gmac::heads::scalar{}.mean(outputs, values), says("scalar head: outputs is 5 x 6"));
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

TEST_CASE("overlap of matrices is found exactly where rows do not interleave", "[mixture]") {
    table<double> memory(8, 10);
    auto const all = memory.view();
    CHECK(gmac::may_overlap(all, all));
    CHECK_FALSE(gmac::may_overlap(all.middle_rows(0, 4), all.middle_rows(4, 4)));
    CHECK(gmac::may_overlap(all.middle_rows(0, 5), all.middle_rows(4, 4)));
    CHECK_FALSE(gmac::may_overlap(all.middle_cols(0, 4), all.middle_cols(4, 6)));
    CHECK_FALSE(gmac::may_overlap(all.middle_cols(4, 6), all.middle_cols(0, 4)));
    CHECK(gmac::may_overlap(all.middle_cols(0, 5), all.middle_cols(4, 6)));
    CHECK(gmac::may_overlap(all.middle_cols(4, 6), all.middle_cols(0, 5)));
    CHECK_FALSE(gmac::may_overlap(all.middle_cols(0, 0), all));
    // Column-major, and backwards.
    matrix_view<double> const columns(memory.data.data(), 10, 8, 1, 10);
    CHECK_FALSE(gmac::may_overlap(columns.middle_rows(0, 5), columns.middle_rows(5, 5)));
    CHECK(gmac::may_overlap(columns.middle_rows(0, 6), columns.middle_rows(5, 5)));
    matrix_view<double> const backwards(memory.data.data() + 79, 8, 10, -10, -1);
    CHECK(gmac::may_overlap(backwards, all));
    CHECK_FALSE(gmac::may_overlap(backwards.middle_rows(0, 4), all.middle_rows(0, 4)));
    // Every other column, and those between; one column in two guises.
    matrix_view<double> const even(memory.data.data(), 8, 5, 10, 2), odd(memory.data.data() + 1, 8, 5, 10, 2);
    CHECK_FALSE(gmac::may_overlap(even, odd));
    CHECK(gmac::may_overlap(even, all.middle_cols(2, 1)));
    CHECK_FALSE(gmac::may_overlap(all.middle_cols(3, 1), all.middle_cols(4, 1)));
    matrix_view<double> const narrow(memory.data.data(), 8, 1, 10, 77);
    CHECK(gmac::same_elements(narrow, all.middle_cols(0, 1)));
    CHECK(gmac::may_overlap(narrow, all.middle_cols(0, 1)));
    CHECK_FALSE(gmac::may_overlap(narrow, all.middle_cols(1, 1)));
    CHECK(gmac::same_elements(all, all));
    CHECK_FALSE(gmac::same_elements(all, columns));
}

TEST_CASE("squared errors refuse what does not fit", "[mixture]") {
    gmac::losses::squared_error const plain;
    gmac::losses::clipped_squared_error clipped;
    gmac::heads::scalar const head;
    Eigen::MatrixXd outputs = Eigen::MatrixXd::Zero(3, 1), two_columns(3, 2), gradient(3, 1);
    std::vector<double> three(3), four(4);
    struct {
        std::vector<double> returns, old_values;
    } targets{three, four};
    CHECK_THROWS_WITH(plain.value(head, outputs, four), says("squared_error: returns has 4 elements, but must have 3"));
    CHECK_THROWS_WITH(plain.value(head, two_columns, three), says("outputs is 3 x 2, but must be 3 x 1"));
    CHECK_THROWS_WITH(plain.value_and_gradient(head, outputs, three, two_columns), says("the gradient is 3 x 2"));
    CHECK_THROWS_WITH(plain.value(head, outputs.topRows(0), std::vector<double>{}), says("the batch is empty"));
    CHECK_THROWS_WITH(clipped.value(head, outputs, targets),
                      says("clipped_squared_error: old_values has 4 elements, but must have 3"));
    clipped.clip = -0.1;
    targets.old_values = three;
    CHECK_THROWS_WITH(clipped.value(head, outputs, targets), says("clip is -0.1, but must not be negative"));
    clipped.clip = not_a_number;
    CHECK_THROWS_WITH(clipped.value(head, outputs, targets), says("clip is nan"));
    std::vector<double> shared(6, 0.5);
    matrix_view<double> const first(shared.data(), 5, 1), second(shared.data() + 1, 5, 1);
    vector_view<double> const five(shared.data(), 5);
    std::vector<double> const others(5, 0.25);
    CHECK_THROWS_WITH(plain.value_and_gradient(head, first, others, second),
                      says("squared_error: the gradient overlaps the outputs"));
    CHECK_THROWS_WITH(plain.value_and_gradient(head, matrix_view<double const>(others.data(), 5, 1), five, second),
                      says("squared_error: the gradient overlaps the targets"));
    CHECK(plain.value_and_gradient(head, first, others, first) == 0.03125); // in place
    CHECK(shared[4] == 0.05);
    CHECK(shared[5] == 0.5);
    // NaN anywhere comes out.
    clipped.clip = 0.2;
    for (int which = 0; which < 3; ++which) {
        outputs(1, 0) = which == 0 ? not_a_number : 0.0;
        targets.returns[1] = which == 1 ? not_a_number : 0.5;
        targets.old_values[1] = which == 2 ? not_a_number : 0.25;
        CHECK(std::isnan(clipped.value_and_gradient(head, outputs, targets, gradient)));
        CHECK(std::isnan(clipped.value(head, outputs, targets)));
    }
}
