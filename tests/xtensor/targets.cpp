// SPDX-License-Identifier: Apache-2.0
// Every target on xtensors of every kind is what it is on Eigen's matrices, bit for bit.
#include "support/catch.hpp"
#include "targets/rollouts.hpp"
#include "xtensor/tensors.hpp"

#include <gmac/agent/explained_variance.hpp>
#include <gmac/losses/clipped_surrogate.hpp>
#include <gmac/targets/gae.hpp>
#include <gmac/targets/lambda_return.hpp>
#include <gmac/targets/normalize.hpp>
#include <gmac/targets/particles.hpp>
#include <gmac/targets/sr_lambda.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

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
    auto const with_bools = [&](auto&& tensor) {
        for (std::size_t t = 0; t < steps; ++t)
            for (std::size_t e = 0; e < environments; ++e)
                tensor(t, e) = known.view().truncated(t, e) != 0;
        xt::xtensor<double, 2> a(shape{steps, environments}), r(a);
        results({rewards, terminated, tensor}, a, r);
        CHECK(differences(a, expected) == 0);
    };
    with_bools(xt::xtensor<bool, 2>(shape{steps, environments}));
    with_bools(xt::xtensor<bool, 2, xt::layout_type::column_major>(shape{steps, environments}));
    with_bools(xt::xarray<bool>(std::vector<std::size_t>{steps, environments}));
    xt::xtensor<bool, 2> larger(shape{2 * steps, environments + 1});
    with_bools(xt::view(larger, xt::range(0, 2 * steps, 2), xt::range(1, environments + 1)));
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

TEST_CASE("One-dimensional xtensors are a rollout of one environment", "[xtensor]") {
    gmac::testing::random_rollout<double> const single(9, 1, 1, 3, 6);
    xt::xtensor<double, 1> rewards(std::array<std::size_t, 1>{9});
    xt::xarray<bool> flags(std::vector<std::size_t>{9});
    for (std::size_t t = 0; t < 9; ++t) {
        rewards(t) = single.rewards[t];
        flags(t) = single.truncated[t] != 0;
    }
    std::vector<double> expected(9), found(9);
    targets::gae{}(single.view(), single.state_values(), single.final_values(), expected);
    targets::gae{}(targets::rollout_view{rewards, single.terminated, flags}, single.state_values(),
                   single.final_values(), found);
    CHECK(found == expected);
    xt::xarray<bool> const cube(std::vector<std::size_t>{9, 1, 1});
    CHECK_THROWS_WITH((targets::rollout_view<double>{rewards, cube}),
                      "a matrix is wanted, but the tensor has 3 dimensions");
}

TEST_CASE("Numbers of a minibatch on xtensors, whole and every second one", "[xtensor]") {
    std::vector<double> const now{-0.5, 0.05, 0.4, 0.1}, old{0.1, 0.0, -0.1, 0.2}, advantages{1.5, -0.7, 2.0, 0.3};
    std::vector<double> normal(advantages), gradient(4);
    targets::normalize(normal);
    losses::clipped_surrogate const surrogate;
    double const loss = surrogate.value_and_gradient(now, old, advantages, gradient, 0.25).loss;
    double const explained = explained_variance(advantages, now);

    auto const check = [&](auto const& make) {
        auto a = make(now), b = make(old), c = make(advantages), slopes = make(old);
        CHECK(surrogate.value_and_gradient(a, b, c, slopes, 0.25).loss == loss);
        CHECK(explained_variance(c, a) == explained);
        targets::normalize(c);
        for (std::size_t i = 0; i < 4; ++i) {
            CHECK(slopes(i) == gradient[i]);
            CHECK(c(i) == normal[i]);
        }
    };
    check([](std::vector<double> const& numbers) {
        xt::xtensor<double, 1> whole(std::array<std::size_t, 1>{4});
        std::ranges::copy(numbers, whole.begin());
        return whole;
    });
    check([](std::vector<double> const& numbers) {
        xt::xtensor<double, 2> matrix(shape{4, 2});
        for (std::size_t i = 0; i < 4; ++i)
            matrix(i, 1) = numbers[i];
        return xt::view(std::move(matrix), xt::all(), 1);
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
