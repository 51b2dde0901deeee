// SPDX-License-Identifier: Apache-2.0
// Every target on xtensors of every kind is what it is on Eigen's matrices, bit for bit.
#include "support/catch.hpp"
#include "targets/rollouts.hpp"
#include "xtensor/tensors.hpp"

#include <gmac/targets/gae.hpp>
#include <gmac/targets/lambda_return.hpp>
#include <gmac/targets/particles.hpp>
#include <gmac/targets/sr_lambda.hpp>

#include <cstddef>
#include <cstdint>

using namespace gmac;
using namespace gmac::test;

namespace {

constexpr std::size_t steps = 13, environments = 6, components = 4, particles = 9;

gmac::testing::random_rollout<double> const known(steps, environments, components, 6, 3);

} // namespace

TEST_CASE("GAE and the lambda-return on xtensors", "[xtensor]") {
    auto const results = [&](targets::rollout_view<double> const& rollout, auto& advantages, auto& returns) {
        targets::gae{}(rollout, known.state_values(), known.final_values(), advantages, returns);
        targets::lambda_return{}(rollout, known.state_values(), known.final_values(), returns);
    };
    auto const rewards = eigen_copy(known.view().rewards);
    auto const terminated = eigen_copy(known.view().terminated);
    auto const truncated = eigen_copy(known.view().truncated);
    Eigen::MatrixXd advantages(rewards.rows(), rewards.cols()), returns(rewards.rows(), rewards.cols());
    results({rewards, terminated, truncated}, advantages, returns);
    CHECK(returns.norm() > 1.0);

    tensors_of_all_kinds<double> all_rewards(steps, environments), all_advantages(steps, environments),
        all_returns(steps, environments);
    tensors_of_all_kinds<std::uint8_t> all_flags(steps, environments);
    auto const& expected = advantages;
    all_rewards.for_each([&](std::string_view kind, auto& tensor) {
        CAPTURE(kind);
        fill(tensor, known.view().rewards);
        xt::xtensor<double, 2> a(shape{steps, environments}), r(a);
        results({tensor, terminated, truncated}, a, r);
        CHECK(differences(a, expected) == 0);
        CHECK(differences(r, returns) == 0);
    });
    all_flags.for_each([&](std::string_view kind, auto& tensor) {
        CAPTURE(kind);
        fill(tensor, known.view().truncated);
        xt::xtensor<double, 2> a(shape{steps, environments}), r(a);
        results({rewards, terminated, tensor}, a, r);
        CHECK(differences(a, expected) == 0);
    });
    all_advantages.for_each([&](std::string_view kind, auto& tensor) {
        CAPTURE(kind);
        xt::xtensor<double, 2> r(shape{steps, environments});
        results(known.view(), tensor, r);
        CHECK(differences(tensor, expected) == 0);
    });
    all_returns.for_each([&](std::string_view kind, auto& tensor) {
        CAPTURE(kind);
        xt::xtensor<double, 2> a(shape{steps, environments});
        results(known.view(), a, tensor);
        CHECK(differences(tensor, returns) == 0);
    });
}

TEST_CASE("SR(lambda) on xtensors", "[xtensor]") {
    targets::sr_lambda const rule{.discount = 0.97, .lambda = 0.8, .particles = particles};
    auto const source = known.gaussians();
    auto const draw = [&](targets::gaussian_source<double> const& from, auto& means, auto& deviations) {
        random_stream random(5);
        rule(known.view(), from, random, targets::gaussian_particles<double>{means, deviations});
    };
    auto const weights = eigen_copy(source.weights);
    auto const source_means = eigen_copy(source.means);
    auto const source_deviations = eigen_copy(source.deviations);
    Eigen::MatrixXd means(steps * environments, particles), deviations(steps * environments, particles);
    draw({weights, source_means, source_deviations}, means, deviations);
    CHECK(deviations.norm() > 1.0);

    tensors_of_all_kinds<double> sources(known.rows(), components), drawn(steps * environments, particles);
    xt::xtensor<double, 2> m(shape{steps * environments, particles}), s(m);
    sources.for_each([&](std::string_view kind, auto& tensor) {
        CAPTURE(kind);
        fill(tensor, source.means);
        draw({source.weights, tensor, source.deviations}, m, s);
        CHECK(differences(m, means) == 0);
        CHECK(differences(s, deviations) == 0);
    });
    drawn.for_each([&](std::string_view kind, auto& tensor) {
        CAPTURE(kind);
        draw(source, tensor, s);
        CHECK(differences(tensor, means) == 0);
        draw(source, m, tensor);
        CHECK(differences(tensor, deviations) == 0);
    });
}
