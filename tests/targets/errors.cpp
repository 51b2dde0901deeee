// SPDX-License-Identifier: Apache-2.0
#include "rollouts.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"

#include <gmac/core/error.hpp>
#include <gmac/targets/exact_sr_lambda.hpp>
#include <gmac/targets/gae.hpp>
#include <gmac/targets/lambda_return.hpp>
#include <gmac/targets/sr_lambda.hpp>

#include <Eigen/Core>

#include <limits>
#include <string>
#include <vector>

using namespace gmac;
using gmac::testing::message_of;
using gmac::testing::random_rollout;

namespace {

struct setting {
    random_rollout<double> known{4, 2, 3, 0, 1};
    std::vector<random_stream> streams{random_stream(1), random_stream(2)};
    std::vector<double> means = std::vector<double>(8 * 5), deviations = means, weights = means;
    std::vector<double> long_weights = std::vector<double>(8 * 12), long_means = long_weights,
                        long_deviations = long_weights;

    [[nodiscard]] targets::gaussian_particles<double> out() {
        return {{means.data(), 8, 5}, {deviations.data(), 8, 5}};
    }
    [[nodiscard]] targets::gaussian_particles<double> weighted_out() {
        return {{long_means.data(), 8, 12}, {long_deviations.data(), 8, 12}, {long_weights.data(), 8, 12}};
    }
    std::string sampled(targets::sr_lambda const& returns, targets::rollout_view<double> const& rollout,
                        targets::gaussian_source<double> const& source, targets::gaussian_particles<double> const& to) {
        return message_of([&] { returns(rollout, source, streams, to); });
    }
    std::string sampled() { return sampled({.particles = 5}, known.view(), known.gaussians(), out()); }
    std::string exact(targets::exact_sr_lambda const& returns) {
        return message_of([&] { returns(known.view(), known.gaussians(), weighted_out()); });
    }
};

double const not_a_number = std::numeric_limits<double>::quiet_NaN();

} // namespace

TEST_CASE("Options outside [0, 1] are named with their value and where") {
    setting s;
    CHECK(s.sampled() == "");
    CHECK(s.sampled({.lambda = 1.2, .particles = 5}, s.known.view(), s.known.gaussians(), s.out()) ==
          "sr_lambda: lambda is 1.2, but must be in [0, 1]");
    CHECK(s.sampled({.discount = -0.5, .particles = 5}, s.known.view(), s.known.gaussians(), s.out()) ==
          "sr_lambda: discount is -0.5, but must be in [0, 1]");
    CHECK(s.sampled({.lambda = not_a_number, .particles = 5}, s.known.view(), s.known.gaussians(), s.out()) ==
          "sr_lambda: lambda is nan, but must be in [0, 1]");
    CHECK(s.sampled({.particles = 0}, s.known.view(), s.known.gaussians(), s.out()) ==
          "sr_lambda: particles is 0, but must be at least 1");
    CHECK(s.sampled({.particles = 200'000'000}, s.known.view(), s.known.gaussians(), s.out()) ==
          "sr_lambda: particles is 200000000, but must be at most 134217728");
    CHECK(s.exact({}) == "");
    CHECK(s.exact({.lambda = 2.0}) == "exact_sr_lambda: lambda is 2, but must be in [0, 1]");
    CHECK(s.exact({.discount = not_a_number}) == "exact_sr_lambda: discount is nan, but must be in [0, 1]");
    CHECK(s.exact({.cutoff = -1.0}) == "exact_sr_lambda: cutoff is -1, but must be in [0, 1]");
    std::vector<double> advantages(8);
    CHECK(message_of([&] {
              targets::gae{.lambda = 1.5}(s.known.view(), s.known.state_values(), s.known.final_values(), advantages);
          }) == "gae: lambda is 1.5, but must be in [0, 1]");
    CHECK(message_of([&] {
              targets::lambda_return{.discount = 7.0}(s.known.view(), s.known.state_values(), s.known.final_values(),
                                                      advantages);
          }) == "lambda_return: discount is 7, but must be in [0, 1]");
}

TEST_CASE("Shapes that do not match are named, both") {
    setting s;
    targets::rollout_view<double> rollout = s.known.view();
    rollout.terminated = rollout.terminated.middle_rows(0, 3);
    CHECK(s.sampled({.particles = 5}, rollout, s.known.gaussians(), s.out()) ==
          "sr_lambda: terminated is 3 x 2, but must be 4 x 2");
    CHECK(s.sampled({.particles = 6}, s.known.view(), s.known.gaussians(), s.out()) ==
          "sr_lambda: the targets have 5 particles, but must have 6");
    auto out = s.out();
    out.deviations = out.deviations.middle_cols(0, 4);
    CHECK(s.sampled({.particles = 5}, s.known.view(), s.known.gaussians(), out) ==
          "sr_lambda: the matrix of target deviations is 8 x 4, but must be 8 x 5");
    CHECK(s.sampled({.particles = 5}, s.known.view(), s.known.gaussians(), s.out().middle_rows(0, 7)) ==
          "sr_lambda: the matrix of target means is 7 x 5, but must be 8 x 5");
    auto source = s.known.gaussians();
    source.means = source.means.middle_rows(0, 8);
    CHECK(
        s.sampled({.particles = 5}, s.known.view(), source, s.out()) ==
        "sr_lambda: the matrix of means is 8 x 3, but must be 10 x 3: (T + 1) E = 10 states, and 0 final observations, "
        "one for each truncated transition");
    source = s.known.gaussians();
    source.weights = source.weights.middle_cols(0, 2);
    CHECK(s.sampled({.particles = 5}, s.known.view(), source, s.out()) ==
          "sr_lambda: the matrix of weights is 10 x 2, but must be 10 x 3");
    CHECK(s.sampled({.particles = 5}, {}, s.known.gaussians(), s.out()) ==
          "sr_lambda: rewards is 0 x 0, but a rollout has at least one step and environment");
    // A truncated transition asks for one more row.
    s.known.truncated[3] = 1;
    CHECK(message_of([&] {
              targets::gaussian_source<double> const few{{s.known.weights.data(), 10, 3},
                                                         {s.known.means.data(), 10, 3},
                                                         {s.known.deviations.data(), 10, 3}};
              targets::sr_lambda{.particles = 5}(s.known.view(), few, s.streams, s.out());
          }) ==
          "sr_lambda: the matrix of means is 10 x 3, but must be 11 x 3: (T + 1) E = 10 states, and 1 final "
          "observations, one for each truncated transition");
    CHECK(message_of([&] {
              targets::dirac_source<double> const few{{s.known.means.data(), 10, 3}, {}};
              std::vector<double> points(8 * 5);
              targets::sr_lambda{.particles = 5}(s.known.view(), few, s.streams,
                                                 targets::dirac_particles<double>{{points.data(), 8, 5}, {}});
          }) ==
          "sr_lambda: the matrix of values is 10 x 3, but must be 11 x 3: (T + 1) E = 10 states, and 1 final "
          "observations, one for each truncated transition");
    std::vector<double> advantages(8), few(7);
    CHECK(message_of([&] {
              targets::gae{}(s.known.view(), s.known.state_values(), std::vector<double>{}, advantages);
          }) == "gae: final_values has 0 elements, but 1 transitions of the rollout were truncated");
    CHECK(message_of([&] { targets::gae{}(s.known.view(), few, std::vector<double>{1.0}, advantages); }) ==
          "gae: values has 7 elements, but must have 5 x 2");
    CHECK(message_of([&] { targets::gae{}(s.known.view(), s.known.state_values(), std::vector<double>{1.0}, few); }) ==
          "gae: advantages has 7 elements, but must have 4 x 2");
    Eigen::MatrixXd matrix(2, 4);
    CHECK(message_of([&] {
              targets::gae{}(s.known.view(), s.known.state_values(), std::vector<double>{1.0}, matrix);
          }) == "gae: advantages is 2 x 4, but must be 4 x 2");
}

TEST_CASE("Streams and ranges that do not fit the environments") {
    setting s;
    s.streams.pop_back();
    CHECK(s.sampled() == "sr_lambda: there are 1 random streams, but must be one for each of 2 environments");
    s.streams.emplace_back(3);
    CHECK(message_of([&] {
              targets::sr_lambda{.particles = 5}.environments(1, 3, s.known.view(), s.known.gaussians(), s.streams,
                                                              s.out());
          }) == "sr_lambda: environments 1 to 3 are asked for, but there are 2");
}

TEST_CASE("Distributions that are none are refused with their row") {
    setting s;
    auto const with = [&](std::vector<double>& numbers, std::size_t at, double value) {
        double const old = numbers[at];
        numbers[at] = value;
        std::string const message = s.sampled();
        std::string const exact = s.exact({});
        random_stream stream(1);
        std::string const by_hand = message_of(
            [&] { targets::sr_lambda{.particles = 5}(s.known.view(), s.known.gaussians(), stream, s.out()); });
        std::string const range = message_of([&] {
            targets::sr_lambda{.particles = 5}.environments(1, 2, s.known.view(), s.known.gaussians(), s.streams,
                                                            s.out());
        });
        numbers[at] = old;
        CHECK("exact_" + message == exact);
        CHECK(by_hand == message);
        CHECK(range == message); // row 7 belongs to environment 1
        return message;
    };
    CHECK(with(s.known.weights, 7 * 3 + 1, -0.25) ==
          "sr_lambda: weight 1 of row 7 is -0.25, but must be finite and not negative");
    CHECK(with(s.known.weights, 7 * 3 + 2, not_a_number) ==
          "sr_lambda: weight 2 of row 7 is nan, but must be finite and not negative");
    CHECK(with(s.known.weights, 7 * 3, 3.0).find("sr_lambda: the weights of row 7 sum to ") == 0);
    CHECK(with(s.known.deviations, 7 * 3, -1.0) ==
          "sr_lambda: deviation 0 of row 7 is -1, but must be finite and not negative");
    CHECK(with(s.known.deviations, 7 * 3, not_a_number) ==
          "sr_lambda: deviation 0 of row 7 is nan, but must be finite and not negative");
    CHECK(with(s.known.means, 7 * 3 + 2, not_a_number) == "sr_lambda: mean 2 of row 7 is nan, but must be finite");
    CHECK(with(s.known.means, 7 * 3 + 2, std::numeric_limits<double>::infinity()) ==
          "sr_lambda: mean 2 of row 7 is inf, but must be finite");
    // The same through Eigen, column-major.
    using row_major = Eigen::Matrix<double, -1, -1, Eigen::RowMajor>;
    Eigen::MatrixXd const weights = Eigen::Map<row_major const>(s.known.weights.data(), 10, 3);
    Eigen::MatrixXd const means = Eigen::Map<row_major const>(s.known.means.data(), 10, 3);
    Eigen::MatrixXd deviations = Eigen::Map<row_major const>(s.known.deviations.data(), 10, 3);
    Eigen::MatrixXd target_means(8, 5), target_deviations(8, 5);
    auto const through_eigen = [&](Eigen::MatrixXd const& w) {
        return s.sampled({.particles = 5}, s.known.view(), {w, means, deviations},
                         {target_means, target_deviations, {}});
    };
    CHECK(through_eigen(weights) == "");
    CHECK(through_eigen(weights.leftCols(2)) == "sr_lambda: the matrix of weights is 10 x 2, but must be 10 x 3");
    CHECK(through_eigen(weights * 2.0).find("sr_lambda: the weights of row 2 sum to ") == 0);
    deviations(7, 2) = -1.0;
    CHECK(through_eigen(weights) == "sr_lambda: deviation 2 of row 7 is -1, but must be finite and not negative");
    // Rounding is forgiven; float has fewer digits.
    s.known.weights[7 * 3] += 1e-12;
    CHECK(s.sampled() == "");
}

TEST_CASE("Targets with or without weights, and of the right kind") {
    setting s;
    auto out = s.out();
    out.weights = {s.weights.data(), 8, 4};
    CHECK(s.sampled({.particles = 5}, s.known.view(), s.known.gaussians(), out) ==
          "sr_lambda: the matrix of target weights is 8 x 4, but must be 8 x 5");
    CHECK(message_of([&] { targets::exact_sr_lambda{}(s.known.view(), s.known.gaussians(), s.out()); }) ==
          "exact_sr_lambda: the targets have no weights, but its components need them: add a matrix of weights of the "
          "shape of the others");
    CHECK(
        message_of([&] {
            targets::exact_sr_lambda{}(s.known.view(), s.known.gaussians(),
                                       targets::gaussian_particles<double>{s.weighted_out().means.middle_cols(0, 11),
                                                                           s.weighted_out().deviations.middle_cols(0,
                                                                                                                   11),
                                                                           s.weighted_out().weights.middle_cols(0,
                                                                                                                11)});
        }) == "exact_sr_lambda: the targets have 11 columns, but must have at least 12");
    CHECK(
        message_of([&] {
            targets::exact_sr_lambda{
                .components = 4}(s.known.view(), s.known.diracs(),
                                 targets::dirac_particles<double>{s.weighted_out().means, s.weighted_out().weights});
        }) ==
        "exact_sr_lambda: components is 4, but a reduction that keeps the variance needs gaussian_particles as targets");
}

TEST_CASE("Memory that is shared where it must not be") {
    setting s;
    // The means of the targets lie in those of the source.
    std::vector<double> shared(s.known.means);
    shared.resize(100);
    auto source = s.known.gaussians();
    source.means = {shared.data(), 10, 3};
    auto out = s.out();
    out.means = {shared.data() + 20, 8, 5};
    CHECK(s.sampled({.particles = 5}, s.known.view(), source, out) ==
          "sr_lambda: the targets overlap the value distributions in memory");

    std::vector<double> values(s.known.values.begin(), s.known.values.end());
    CHECK(message_of([&] {
              targets::gae{}(s.known.view(), values, std::vector<double>{}, vector_view<double>(values.data(), 8));
          }) == "gae: advantages overlaps the values in memory");
    std::vector<double> both(12);
    CHECK(message_of([&] {
              targets::gae{}(s.known.view(), values, std::vector<double>{}, vector_view<double>(both.data(), 8),
                             vector_view<double>(both.data() + 4, 8));
          }) == "gae: advantages and returns overlap in memory");
    std::vector<double> rewards(20);
    targets::rollout_view<double> rollout = s.known.view();
    rollout.rewards = {rewards.data(), 4, 2};
    CHECK(message_of([&] {
              targets::lambda_return{}(rollout, values, std::vector<double>{},
                                       vector_view<double>(rewards.data() + 1, 8));
          }) == "lambda_return: returns overlaps the rewards in memory");
}
