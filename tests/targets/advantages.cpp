// SPDX-License-Identifier: Apache-2.0
#include "rollouts.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"

#include <gmac/heads/quantile_outputs.hpp>
#include <gmac/targets/gae.hpp>
#include <gmac/targets/lambda_return.hpp>
#include <gmac/targets/particles.hpp>
#include <gmac/targets/returns.hpp>
#include <gmac/targets/sources.hpp>
#include <gmac/targets/sr_lambda.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <vector>

using namespace gmac;
using gmac::testing::random_rollout;
using targets::sr_lambda;

namespace {

/// The λ-return by its definition, forward in time and in long double.
template <class T>
long double lambda_return_of(random_rollout<T> const& rollout, std::size_t t, std::size_t e, long double discount,
                             long double lambda) {
    long double result = 0, rewards = 0, factor = 1, left = 1;
    for (std::size_t s = t;; ++s) {
        std::size_t const here = s * rollout.environments + e;
        rewards += factor * static_cast<long double>(rollout.rewards[here]);
        factor *= discount;
        if (rollout.terminated[here])
            return result + left * rewards;
        long double const n_step = rewards + factor * static_cast<long double>(rollout.values[rollout.row_after(s, e)]);
        if (rollout.truncated[here] || s + 1 == rollout.steps)
            return result + left * n_step;
        result += (1 - lambda) * left * n_step;
        left *= lambda;
    }
}

} // namespace

TEST_CASE("Flags may be bools, and a rollout of one environment vectors") {
    random_rollout<double> const known(7, 3, 1, 3, 5);
    auto const all = known.view();
    sr_lambda const rule{.lambda = 0.8, .particles = 4};
    // What each target makes of a rollout.
    auto const results = [&](random_rollout<double> const& of, targets::rollout_view<double> const& rollout) {
        std::vector<double> numbers(2 * rollout.rows()), means(4 * rollout.rows()), deviations(means);
        vector_view<double> const both(numbers);
        targets::gae{}(rollout, of.state_values(), of.final_values(), both.subview(0, rollout.rows()));
        targets::lambda_return{}(rollout, of.state_values(), of.final_values(),
                                 both.subview(rollout.rows(), rollout.rows()));
        random_stream random(3);
        rule(rollout, of.gaussians(), random,
             targets::gaussian_particles{matrix_view(means.data(), rollout.rows(), 4),
                                         matrix_view(deviations.data(), rollout.rows(), 4)});
        numbers.insert(numbers.end(), means.begin(), means.end());
        return numbers;
    };
    auto const expected = results(known, all);
    REQUIRE((all.truncations() > 0 && std::ranges::count(known.terminated, 1) > 0));

    Eigen::Array<bool, Eigen::Dynamic, Eigen::Dynamic> terminated(7, 3), truncated(7, 3);
    Eigen::Array<bool, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> by_rows(7, 3);
    std::array<bool, 21> in_array{};
    for (Eigen::Index t = 0; t < 7; ++t)
        for (Eigen::Index e = 0; e < 3; ++e) {
            auto const i = static_cast<std::size_t>(3 * t + e);
            terminated(t, e) = known.terminated[i] != 0;
            in_array[i] = by_rows(t, e) = truncated(t, e) = known.truncated[i] != 0;
        }
    CHECK(results(known, {all.rewards, terminated, truncated}) == expected);
    CHECK(results(known, {all.rewards, terminated, by_rows}) == expected);
    CHECK(results(known, {all.rewards, terminated, {in_array.data(), 7, 3}}) == expected);
    CHECK(results(known, {all.rewards, all.terminated, matrix_view<bool const>(in_array.data(), 7, 3)}) == expected);

    random_rollout<double> const single(9, 1, 1, 3, 6);
    auto const of_one = results(single, single.view());
    CHECK(results(single, {single.rewards, single.terminated, single.truncated}) == of_one);
    std::array<bool, 9> flags{};
    std::ranges::copy(single.truncated, flags.begin());
    Eigen::Map<Eigen::VectorXd const> const rewards(single.rewards.data(), 9);
    CHECK(results(single, {rewards, vector_view<std::uint8_t const>(single.terminated), flags}) == of_one);
    std::vector<std::uint8_t> const too_few(8);
    CHECK_THROWS_WITH(results(single, {single.rewards, too_few, {}}), "gae: terminated is 8 x 1, but must be 9 x 1");
}

TEST_CASE("Views of targets, sources and rollouts name no type, and are const where a part is") {
    using dynamic = Eigen::MatrixXf;
    dynamic matrix(2, 3);
    dynamic const constant(2, 3);
    std::vector<float> numbers(2);
    std::vector<float> const constants(2);
    matrix_view<float const> const view(constant);
    targets::dirac_particles const one{matrix};
    targets::dirac_particles const weighted{matrix, constant};
    targets::dirac_particles const read{view, matrix};
    static_assert(std::same_as<decltype(one), targets::dirac_particles<float> const>);
    static_assert(std::same_as<decltype(weighted), targets::dirac_particles<float const> const>);
    static_assert(std::same_as<decltype(read), targets::dirac_particles<float const> const>);
    targets::gaussian_particles const normal{constant, matrix};
    targets::gaussian_particles const block{matrix, matrix.leftCols(3), matrix};
    targets::gaussian_particles const copy{normal};
    static_assert(std::same_as<decltype(normal), targets::gaussian_particles<float const> const>);
    static_assert(std::same_as<decltype(block), targets::gaussian_particles<float> const>);
    static_assert(std::same_as<decltype(copy), targets::gaussian_particles<float const> const>);
    targets::clipped_returns const clipped{numbers, constants};
    static_assert(std::same_as<decltype(clipped), targets::clipped_returns<float const> const>);
    targets::gaussian_source const mixtures{constant, matrix, matrix};
    targets::dirac_source const points{constant};
    targets::sample_source const samples{matrix};
    static_assert(std::same_as<decltype(mixtures), targets::gaussian_source<float> const>);
    static_assert(std::same_as<decltype(points), targets::dirac_source<float> const>);
    static_assert(std::same_as<decltype(samples), targets::sample_source<float> const>);
    quantile_outputs const quantiles{constant, matrix};
    static_assert(std::same_as<decltype(quantiles), quantile_outputs<float const> const>);
    targets::rollout_view const steps{constant}, of_one{numbers}, again{steps};
    static_assert(std::same_as<decltype(steps), targets::rollout_view<float> const>);
    static_assert(std::same_as<decltype(of_one), targets::rollout_view<float> const>);
    static_assert(std::same_as<decltype(again), targets::rollout_view<float> const>);
    // The views are of the given memory.
    CHECK((weighted.values.data() == matrix.data() && weighted.weights.data() == constant.data()));
    CHECK((block.deviations.rows() == 2 && block.deviations.col_stride() == 2));
    CHECK((of_one.steps() == 2 && of_one.environments() == 1 && of_one.rewards.data() == numbers.data()));
}

TEST_CASE("GAE and the lambda-return of a rollout worked out by hand") {
    // One environment, γ = 1/2, λ = 3/4. The third transition terminates, the fifth is truncated at value 8.
    std::vector<double> const rewards{1, 2, 3, 4, 5, 6};
    std::vector<std::uint8_t> const terminated{0, 0, 1, 0, 0, 0}, truncated{0, 0, 0, 0, 1, 0};
    std::vector<double> const values{10, 20, 30, 40, 50, 60, 70}, finals{8};
    targets::rollout_view<double> const rollout{{rewards.data(), 6, 1},
                                                {terminated.data(), 6, 1},
                                                {truncated.data(), 6, 1}};
    std::vector<double> advantages(6), returns(6), direct(6);
    targets::gae{.discount = 0.5, .lambda = 0.75}(rollout, values, finals, advantages, returns);
    targets::lambda_return{.discount = 0.5, .lambda = 0.75}(rollout, values, finals, direct);

    // G_5 = 6 + 70/2 = 41; G_4 = 5 + 8/2 = 9; G_3 = 4 + (50/4 + 9·3/4)/2 = 13.625; G_2 = 3;
    // G_1 = 2 + (30/4 + 3·3/4)/2 = 6.875; G_0 = 1 + (20/4 + 6.875·3/4)/2 = 6.078125.
    std::vector<double> const expected{6.078125, 6.875, 3, 13.625, 9, 41};
    for (std::size_t i = 0; i < 6; ++i) {
        CHECK(returns[i] == expected[i]);
        CHECK(direct[i] == expected[i]);
        CHECK(advantages[i] == expected[i] - values[i]);
    }
}

TEMPLATE_TEST_CASE("GAE plus value and the lambda-return equal their definition for every lambda", "", float, double) {
    using T = TestType;
    random_rollout<T> const known(23, 5, 3, 6, 1);
    for (double const lambda : {0.0, 0.3, 0.95, 1.0})
        for (double const discount : {0.0, 0.9, 1.0}) {
            std::vector<T> advantages(known.rewards.size()), returns(advantages.size()), direct(advantages.size());
            targets::gae{discount, lambda}(known.view(), known.state_values(), known.final_values(), advantages,
                                           returns);
            targets::lambda_return{discount, lambda}(known.view(), known.state_values(), known.final_values(), direct);
            double worst = 0.0;
            for (std::size_t t = 0; t < known.steps; ++t)
                for (std::size_t e = 0; e < known.environments; ++e) {
                    std::size_t const i = t * known.environments + e;
                    auto const expected = static_cast<double>(lambda_return_of(known, t, e, discount, lambda));
                    for (double const got : {static_cast<double>(returns[i]), static_cast<double>(direct[i]),
                                             static_cast<double>(advantages[i]) + static_cast<double>(known.values[i])})
                        worst = std::max(worst, std::abs(got - expected));
                }
            // Sums of at most 23 terms of magnitude below 32.
            CHECK(worst < 32.0 * 23.0 * static_cast<double>(std::numeric_limits<T>::epsilon()));
        }
}

TEST_CASE("No flags at all mean that no episode ends") {
    random_rollout<double> const known(7, 3, 1, 0, 2);
    targets::rollout_view<double> const bare{known.view().rewards};
    std::vector<double> with(21), without(21);
    targets::gae{}(known.view(), known.state_values(), known.final_values(), with);
    targets::gae{}(bare, known.state_values(), std::vector<double>{}, without);
    CHECK(with == without);
}

TEST_CASE("Two episodes in one rollout equal the two apart") {
    // Environment 0 terminates at step 3, environment 1 is truncated there.
    random_rollout<double> whole(9, 2, 1, 0, 3);
    whole.terminated[3 * 2] = 1;
    whole.truncated[3 * 2 + 1] = 1;
    whole.values.push_back(0.25);
    std::vector<double> together(18);
    targets::gae const advantage{.discount = 0.9, .lambda = 0.8};
    advantage(whole.view(), whole.state_values(), whole.final_values(), together);

    auto const part = [&](std::size_t first, std::size_t steps) {
        targets::rollout_view<double> const all = whole.view();
        targets::rollout_view<double> const view{all.rewards.middle_rows(first, steps),
                                                 all.terminated.middle_rows(first, steps),
                                                 all.truncated.middle_rows(first, steps)};
        std::vector<double> advantages(2 * steps);
        std::vector<double> const finals(view.truncations(), 0.25);
        advantage(view, whole.state_values().subview(2 * first, 2 * (steps + 1)), finals, advantages);
        return advantages;
    };
    std::vector<double> apart = part(0, 4);
    std::vector<double> const second = part(4, 5);
    apart.insert(apart.end(), second.begin(), second.end());
    CHECK(apart == together);
}

TEST_CASE("GAE takes any layout, and the rewards' own memory for its output") {
    random_rollout<float> const known(11, 4, 1, 5, 4);
    std::vector<float> expected(44), returns(44);
    targets::gae const advantage{};
    advantage(known.view(), known.state_values(), known.final_values(), expected, returns);

    Eigen::MatrixXf columns(11, 4), column_returns(11, 4); // column-major
    advantage(known.view(), known.state_values(), known.final_values(), columns, column_returns);
    std::vector<float> spread(3 * 44);
    advantage(known.view(), known.state_values(), known.final_values(), vector_view<float>(spread.data() + 1, 44, 3));
    Eigen::VectorXf flat(44);
    advantage(known.view(), known.state_values(), known.final_values(), flat);

    Eigen::MatrixXf rewards =
        Eigen::Map<Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> const>(known.rewards.data(),
                                                                                                11, 4);
    targets::rollout_view<float> in_place = known.view();
    in_place.rewards = rewards;
    advantage(in_place, known.state_values(), known.final_values(), rewards);

    for (std::size_t t = 0; t < 11; ++t)
        for (std::size_t e = 0; e < 4; ++e) {
            std::size_t const i = t * 4 + e;
            auto const row = static_cast<Eigen::Index>(t);
            auto const col = static_cast<Eigen::Index>(e);
            CHECK(columns(row, col) == expected[i]);
            CHECK(column_returns(row, col) == returns[i]);
            CHECK(spread[3 * i + 1] == expected[i]);
            CHECK(flat(static_cast<Eigen::Index>(i)) == expected[i]);
            CHECK(rewards(row, col) == expected[i]);
        }
}

TEST_CASE("A reward that is not a number reaches all advantages before it in its episode, and no other") {
    random_rollout<double> known(8, 2, 1, 0, 5);
    known.terminated[2 * 2] = 1;
    known.rewards[5 * 2] = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> advantages(16), returns(16);
    targets::gae{}(known.view(), known.state_values(), known.final_values(), advantages, returns);
    for (std::size_t t = 0; t < 8; ++t) {
        CHECK(std::isnan(advantages[2 * t]) == (t >= 3 && t <= 5));
        CHECK(std::isnan(returns[2 * t]) == (t >= 3 && t <= 5));
        CHECK(std::isfinite(advantages[2 * t + 1]));
    }
}

TEST_CASE("A value behind a termination is not looked at, even if it is not finite") {
    random_rollout<double> known(3, 1, 1, 0, 6);
    known.terminated[1] = 1;
    std::vector<double> values(known.values.begin(), known.values.end());
    values[2] = std::numeric_limits<double>::infinity(); // of x_2, the first state of the next episode
    std::vector<double> returns(3);
    targets::lambda_return{}(known.view(), values, std::vector<double>{}, returns);
    CHECK(returns[1] == known.rewards[1]);
    CHECK(std::isfinite(returns[0]));
}

TEST_CASE("GAE and the lambda-return do not allocate") {
    random_rollout<float> const known(16, 8, 1, 5, 7);
    std::vector<float> advantages(128), returns(128);
    CHECK(gmac::testing::allocations_during([&] {
              targets::gae{}(known.view(), known.state_values(), known.final_values(), advantages, returns);
              targets::lambda_return{}(known.view(), known.state_values(), known.final_values(), returns);
          }) == 0);
}
