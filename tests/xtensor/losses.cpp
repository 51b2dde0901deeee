// SPDX-License-Identifier: Apache-2.0
// Every loss on xtensors of every kind gives what it gives on Eigen's matrices, bit for bit.
#include "losses/gaussian_mixture_energy/case.hpp"
#include "losses/samples/problems.hpp"
#include "support/catch.hpp"
#include "xtensor/tensors.hpp"

#include <gmac/heads/dirac.hpp>
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/heads/implicit_quantile.hpp>
#include <gmac/heads/scalar.hpp>
#include <gmac/losses/expectile.hpp>
#include <gmac/losses/gaussian_mixture_energy.hpp>
#include <gmac/losses/huber_quantile.hpp>
#include <gmac/losses/sample_energy.hpp>
#include <gmac/losses/squared_error.hpp>

#include <cstddef>
#include <random>

using namespace gmac;
using namespace gmac::testing;

namespace {

constexpr std::size_t states = 19, particles = 12;

/// loss(outputs, target, gradient) with Eigen's matrices, and then with tensors of each kind; the gradient is of every
/// kind while outputs and target are of each.
template <class Call>
void same_for_all_kinds(matrix_view<double const> outputs, matrix_view<double const> target, Call&& loss) {
    auto const eigen_outputs = eigen_copy(outputs);
    auto const eigen_target = eigen_copy(target);
    Eigen::MatrixXd wanted(eigen_outputs.rows(), eigen_outputs.cols());
    double const value = loss(eigen_outputs, eigen_target, wanted);
    REQUIRE(wanted.norm() > 0.0);

    tensors_of_all_kinds<double> all_outputs(outputs.rows(), outputs.cols()), all_targets(target.rows(), target.cols()),
        all_gradients(outputs.rows(), outputs.cols());
    all_outputs.for_each([&](std::string_view kind, auto& tensor) {
        CAPTURE(kind);
        fill(tensor, outputs);
        CHECK(loss(tensor, eigen_target, wanted) == value);
    });
    all_targets.for_each([&](std::string_view kind, auto& tensor) {
        CAPTURE(kind);
        fill(tensor, target);
        CHECK(loss(eigen_outputs, tensor, wanted) == value);
    });
    all_gradients.for_each([&](std::string_view kind, auto& gradient) {
        CAPTURE(kind);
        CHECK(loss(eigen_outputs, eigen_target, gradient) == value);
        CHECK(differences(gradient, wanted) == 0);
    });
}

} // namespace

TEST_CASE("Losses between samples on xtensors", "[xtensor]") {
    random_stream random(1);
    auto const p = random_problem<double>(random, states, 8, particles);
    auto const check = [&](auto const& loss) {
        CAPTURE(loss.name);
        same_for_all_kinds(p.value_view(), p.target_view().values,
                           [&](auto const& outputs, auto const& target, auto& gradient) {
                               return loss.value_and_gradient(heads::dirac<8>{}, outputs,
                                                              targets::dirac_particles<double const>{target}, gradient);
                           });
        // A head that gives fractions with its quantiles.
        heads::implicit_quantile const head{.samples_per_state = 8};
        same_for_all_kinds(p.value_view(), p.target_view().values,
                           [&](auto const& outputs, auto const& target, auto& gradient) {
                               return loss.value_and_gradient(head,
                                                              quantile_outputs<double const>{outputs,
                                                                                             p.outputs().fractions},
                                                              targets::dirac_particles<double const>{target}, gradient);
                           });
    };
    check(losses::huber_quantile{});
    check(losses::expectile{});
    check(losses::sample_energy{});
}

TEST_CASE("The energy of Gaussian mixtures on xtensors", "[xtensor]") {
    std::mt19937_64 random(41);
    auto const given = random_case<3>(random, states, particles);
    auto const target = given.targets();
    losses::gaussian_mixture_energy const loss;
    same_for_all_kinds(given.outputs.view(), target.means, [&](auto const& outputs, auto const& means, auto& gradient) {
        return loss.value_and_gradient(given.head, outputs,
                                       targets::gaussian_particles<double const>{means, target.deviations,
                                                                                 target.weights},
                                       gradient);
    });
}

TEST_CASE("The squared error on xtensors", "[xtensor]") {
    random_stream random(2);
    auto const p = random_problem<double>(random, states, 1, 1);
    matrix_view<double const> const returns(p.targets.data(), states, 1);
    same_for_all_kinds(p.value_view(), returns, [&](auto const& outputs, auto const& target, auto& gradient) {
        return losses::squared_error{}.value_and_gradient(heads::scalar{}, outputs, as_matrix(target).col(0), gradient);
    });
    // The returns as a one-dimensional tensor.
    xt::xtensor<double, 1> const vector = xt::adapt(p.targets, std::array<std::size_t, 1>{states});
    CHECK(losses::squared_error{}.value(heads::scalar{}, p.value_view(), vector) ==
          losses::squared_error{}.value(heads::scalar{}, p.value_view(), p.targets));
}
