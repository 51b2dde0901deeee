// SPDX-License-Identifier: Apache-2.0
// The categorical head: mean, support, and what it refuses.
#include "losses/categorical/problems.hpp"
#include "support/catch.hpp"
#include "support/dual.hpp"

#include <gmac/core/error.hpp>
#include <gmac/distributions/dirac_mixture.hpp>

#include <Eigen/Core>

#include <array>

using namespace gmac;
using namespace gmac::testing;

namespace {

template <class T, std::size_t N>
void mean_and_support_are_those_of_the_softmax(random_stream& random, double bound) {
    auto const head = random_head<N>(random);
    auto const atoms = atoms_of(head);
    auto const p = random_problem<T>(random, head, 35, 1, false);
    std::vector<T> values(35), points(35 * N), weights(35 * N);
    head.mean(p.outputs(), vector_view<T>(values));
    head.support(p.outputs(), matrix_view<T>(points.data(), 35, N), matrix_view<T>(weights.data(), 35, N));
    auto const size = static_cast<double>((std::max)(std::abs(atoms.front()), std::abs(atoms.back())));
    for (std::size_t s = 0; s < 35; ++s) {
        distribution_on_atoms<long double> const wanted(
            std::vector<long double>(p.logits.begin() + static_cast<std::ptrdiff_t>(s * N),
                                     p.logits.begin() + static_cast<std::ptrdiff_t>((s + 1) * N)));
        long double mean = 0.0L;
        for (std::size_t i = 0; i < N; ++i) {
            mean += wanted.probabilities[i] * atoms[i];
            CHECK(static_cast<double>(weights[s * N + i]) ==
                  Approx(static_cast<double>(wanted.probabilities[i])).margin(bound));
            CHECK(static_cast<double>(points[s * N + i]) == Approx(static_cast<double>(atoms[i])).margin(bound * size));
        }
        CHECK(static_cast<double>(values[s]) == Approx(static_cast<double>(mean)).margin(bound * size));
    }
}

} // namespace

TEST_CASE("The mean and the support are those of the softmax on the atoms") {
    random_stream random(1);
    for (int repeat = 0; repeat < 20; ++repeat) {
        mean_and_support_are_those_of_the_softmax<double, 2>(random, 1e-14);
        mean_and_support_are_those_of_the_softmax<double, 51>(random, 1e-14);
        mean_and_support_are_those_of_the_softmax<float, 51>(random, 3e-6);
    }
}

TEST_CASE("The pull-back of the categorical head is its transposed Jacobian") {
    random_stream random(2);
    using variable = dual<double, 6>;
    heads::categorical<6> const head;
    for (int repeat = 0; repeat < 100; ++repeat) {
        std::array<double, 6> logits, slope;
        std::array<variable, 6> variables;
        for (std::size_t i = 0; i < 6; ++i) {
            logits[i] = 3.0 * random.normal<double>();
            slope[i] = random.normal<double>();
            variables[i] = variable::variable(logits[i], i);
        }
        auto const wanted = head.transform(variables);
        auto found = slope;
        head.pull_back(head.transform(logits), found);
        for (std::size_t j = 0; j < 6; ++j) {
            double sum = 0.0;
            for (std::size_t i = 0; i < 6; ++i)
                sum += slope[i] * wanted.probabilities[i].slope[j];
            CHECK(found[j] == Approx(sum).margin(1e-14));
        }
    }
}

TEST_CASE("NaN among the logits is the mean of its state and of no other") {
    heads::categorical<5> const head;
    Eigen::MatrixXf outputs = Eigen::MatrixXf::Zero(20, 5);
    outputs(7, 3) = std::numeric_limits<float>::quiet_NaN();
    Eigen::VectorXf values(20);
    head.mean(outputs, values);
    for (Eigen::Index i = 0; i < 20; ++i)
        CHECK((i == 7 ? std::isnan(values(i)) : std::abs(values(i)) < 1e-6f));
}

TEST_CASE("A categorical head is a dirac_mixture of its support") {
    heads::categorical<3> const head{.minimum = -1.0, .maximum = 1.0};
    Eigen::MatrixXd const outputs = Eigen::RowVector3d(std::log(1.0), std::log(2.0), std::log(5.0));
    Eigen::MatrixXd points(1, 3), weights(1, 3);
    head.support(outputs, points, weights);
    dirac_mixture<double> const value(Eigen::VectorXd(weights.row(0)), Eigen::VectorXd(points.row(0)));
    CHECK(value.mean() == Approx(0.5));
    CHECK(value.quantile(0.3) == 0.0);
}

TEST_CASE("Atoms that are none are refused where they are used") {
    std::array<float, 6> outputs{}, points{};
    std::array<float, 2> values{};
    matrix_view<float const> const view(outputs.data(), 2, 3);
    auto const mean = [&](double minimum, double maximum) {
        heads::categorical<3>{.minimum = minimum, .maximum = maximum}.mean(view, vector_view<float>(values));
    };
    CHECK_NOTHROW(mean(-1.0, 1.0));
    CHECK_THROWS_WITH(mean(1.0, 1.0),
                      "categorical head: the atoms lie from 1 to 1, but the minimum must be less than "
                      "the maximum, and both finite");
    CHECK_THROWS_AS(mean(2.0, 1.0), error);
    CHECK_THROWS_AS(mean(std::nan(""), 1.0), error);
    CHECK_THROWS_AS(mean(0.0, std::numeric_limits<double>::infinity()), error);
    CHECK_THROWS_WITH(mean(1e8, 1e8 + 1.0),
                      "categorical head: 3 atoms from 100000000 to 100000001 cannot be told from "
                      "each other in this type");
    CHECK_THROWS_AS(mean(-1e39, 1e39), error);

    heads::categorical<3> const head;
    CHECK_THROWS_WITH(head.mean(view, vector_view<float>(values.data(), 1)),
                      "categorical head: there are 1 values, but must be 2, one for each row of the outputs");
    CHECK_THROWS_WITH(heads::categorical<4>().mean(view, vector_view<float>(values.data(), 2)),
                      "categorical head: outputs is 2 x 3, but must be 2 x 4");
    matrix_view<float> const support(points.data(), 2, 3);
    CHECK_THROWS_WITH(head.support(view, matrix_view<float>(points.data(), 3, 2), support),
                      "categorical head: the matrix of points is 3 x 2, but must be 2 x 3");
    CHECK_THROWS_WITH(head.support(view, support, matrix_view<float>(outputs.data(), 2, 3)),
                      "categorical head: the support overlaps the outputs");
    CHECK_THROWS_WITH(head.mean(view, vector_view<float>(outputs.data(), 2)),
                      "categorical head: the values overlap the outputs");
}

TEMPLATE_TEST_CASE("the mean of atoms whose sum overflows", "[extremes]", float, double) {
    using T = TestType;
    auto const largest = static_cast<double>(std::numeric_limits<T>::max());
    constexpr std::size_t N = 51;
    std::array<T, N> const even{};
    std::array<T, 1> value;
    for (double const sign : {-1.0, 1.0}) {
        double const near = sign * 0.027 * largest, far = sign * 0.029 * largest;
        heads::categorical<N> const head{.minimum = (std::min)(near, far), .maximum = (std::max)(near, far)};
        head.mean(matrix_view<T const>(even.data(), 1, N), vector_view<T>(value));
        CHECK(static_cast<double>(value[0]) == Approx(sign * 0.028 * largest).epsilon(1e-6));
    }
    heads::categorical<N> const both{.minimum = -largest / 64, .maximum = largest / 64};
    auto certain = even;
    certain[N - 1] = T(1000);
    both.mean(matrix_view<T const>(certain.data(), 1, N), vector_view<T>(value));
    CHECK(static_cast<double>(value[0]) == Approx(largest / 64).epsilon(1e-6));
}
