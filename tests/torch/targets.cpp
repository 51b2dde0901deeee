// SPDX-License-Identifier: Apache-2.0
#include "torch/judges.hpp"

#include <gmac/heads/dirac.hpp>
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/torch/targets.hpp>

#include <cstddef>
#include <cstdint>

namespace {

using gmac::testing::check_refused;
using gmac::testing::distance;
using gmac::testing::message_of;
using gmac::testing::rows_of;
using gmac::testing::rows_to;

constexpr std::int64_t steps = 7, environments = 3, finals = 2;
constexpr std::int64_t state_rows = (steps + 1) * environments;

/// One termination, and one truncation in each of two environments.
gmac::torch::rollout make_rollout(at::ScalarType type) {
    gmac::torch::rollout made{at::randn({steps, environments}, at::kDouble).to(type),
                              at::zeros({steps, environments}, at::kBool), at::zeros({steps, environments}, at::kBool)};
    made.terminated[2][0] = true;
    made.truncated[4][1] = true;
    made.truncated[5][2] = true;
    return made;
}

template <class T>
gmac::targets::rollout_view<T> views_of(gmac::torch::rollout const& rollout) {
    auto const flags = [](at::Tensor const& tensor) {
        return gmac::matrix_view<std::uint8_t const>(static_cast<std::uint8_t const*>(tensor.data_ptr()), steps,
                                                     environments);
    };
    return {rows_of<T>(rollout.rewards), flags(rollout.terminated), flags(rollout.truncated)};
}

} // namespace

TEST_CASE("GAE and the lambda-return of tensors") {
    at::manual_seed(1);
    auto const rollout = make_rollout(at::kDouble);
    at::Tensor const values = at::randn({steps + 1, environments}, at::kDouble);
    at::Tensor const final_values = at::randn({finals}, at::kDouble);
    double constexpr discount = 0.9, lambda = 0.8;
    auto const [advantages, returns] =
        gmac::torch::gae(rollout, values, final_values, {.discount = discount, .lambda = lambda});

    SECTION("are what a loop over the steps gives") {
        at::Tensor const expected = at::zeros({steps, environments}, at::kDouble);
        at::Tensor next = values[steps].clone(); // the value after the step
        at::Tensor after = at::zeros({environments}, at::kDouble);
        for (std::int64_t t = steps; t-- > 0;) {
            at::Tensor const ended = rollout.terminated[t].logical_or(rollout.truncated[t]);
            next = next.masked_fill(rollout.terminated[t], 0.0);
            if (t == 4)
                next[1] = final_values[0];
            if (t == 5)
                next[2] = final_values[1];
            after =
                rollout.rewards[t] + discount * next - values[t] + discount * lambda * after.masked_fill(ended, 0.0);
            expected[t].copy_(after);
            next = values[t].clone();
        }
        CHECK(distance(advantages, expected) < 1e-14);
        CHECK(distance(returns, expected + values.narrow(0, 0, steps)) < 1e-14);
        CHECK(distance(gmac::torch::lambda_return(rollout, values, final_values,
                                                  {.discount = discount, .lambda = lambda}),
                       returns) < 1e-14);
    }
    SECTION("take any strides, flags of bytes, and values as a vector or a column") {
        gmac::torch::rollout const turned{rollout.rewards.t().contiguous().t(),
                                          rollout.terminated.to(at::kByte).t().contiguous().t(),
                                          rollout.truncated.t().contiguous().t()};
        auto const check = [&](at::Tensor const& same_values) {
            auto const again =
                gmac::torch::gae(turned, same_values, final_values, {.discount = discount, .lambda = lambda});
            CHECK(again.advantages.equal(advantages));
            CHECK(again.returns.equal(returns));
        };
        check(values.t().contiguous().t());
        check(values.flatten());
        check(values.flatten().unsqueeze(1));
    }
    SECTION("refuse what does not fit") {
        auto const of = [&](gmac::torch::rollout const& r, at::Tensor const& v, at::Tensor const& f) {
            return message_of([&] { static_cast<void>(gmac::torch::gae(r, v, f)); });
        };
        CHECK(of(rollout, values, final_values) == "");
        check_refused(of(rollout, values.t(), final_values), "values is 3 x 8, but must be 8 x 3");
        check_refused(of(rollout, values.narrow(0, 0, steps), final_values), "values is 7 x 3, but must be 8 x 3");
        check_refused(of(rollout, values, {}), "final_values has 0 elements, but 2 transitions");
        check_refused(of(rollout, values.clone().requires_grad_(), final_values), "values requires a gradient");
        check_refused(of(rollout, values.to(at::kFloat), final_values), "values has elements of type Float");
        check_refused(of({rollout.rewards, rollout.terminated.to(at::kDouble), rollout.truncated}, values,
                         final_values),
                      "terminated has elements of type Double, but must have Bool");
        check_refused(of({rollout.rewards, rollout.terminated.t(), rollout.truncated}, values, final_values),
                      "terminated is 3 x 7, but must be 7 x 3");
    }
}

TEST_CASE("SR(lambda) of tensors is the library's on the same memory") {
    at::manual_seed(2);
    gmac::targets::sr_lambda const rule{.discount = 0.9, .lambda = 0.8, .particles = 11};
    auto const rollout = make_rollout(at::kFloat);
    auto const rows = static_cast<std::size_t>(state_rows + finals);

    SECTION("from a Gaussian mixture") {
        gmac::heads::gaussian_mixture<2> const head;
        at::Tensor const outputs = at::randn({state_rows + finals, 6});
        std::vector<float> weights(2 * rows), means(2 * rows), deviations(2 * rows);
        auto const of = [rows](std::vector<float>& numbers) { return gmac::matrix_view(numbers.data(), rows, 2); };
        head.distribution(rows_of<float>(outputs), of(weights), of(means), of(deviations));
        at::Tensor const target_means = at::empty({steps * environments, 11}), target_deviations = target_means.clone();
        gmac::random_stream random(9), again(9);
        rule(views_of<float>(rollout), gmac::targets::gaussian_source<float>{of(weights), of(means), of(deviations)},
             random,
             gmac::targets::gaussian_particles<float>{rows_to<float>(target_means), rows_to<float>(target_deviations)});
        // Outputs of any strides.
        auto const targets = gmac::torch::sr_lambda(head, outputs.t().contiguous().t(), rollout, again, rule);
        CHECK(targets.means.equal(target_means));
        CHECK(targets.deviations.equal(target_deviations));
        CHECK_FALSE(targets.weights.defined());
        auto const some = targets.index_select(at::tensor({20, 3}));
        CHECK(some.means.equal(at::stack({target_means[20], target_means[3]})));
    }
    SECTION("from point masses") {
        gmac::heads::dirac<4> const head;
        at::Tensor const outputs = at::randn({state_rows + finals, 4});
        at::Tensor const expected = at::empty({steps * environments, 11});
        gmac::random_stream random(9), again(9), once_more(9);
        rule(views_of<float>(rollout), gmac::targets::dirac_source<float>{rows_of<float>(outputs)}, random,
             gmac::targets::dirac_particles<float>{rows_to<float>(expected)});
        CHECK(gmac::torch::sr_lambda(head, outputs, rollout, again, rule).values.equal(expected));
        CHECK(gmac::torch::sr_lambda(gmac::torch::dirac_source{outputs}, rollout, once_more, rule)
                  .values.equal(expected));
    }
    SECTION("from samples") {
        at::Tensor const samples = at::randn({state_rows + finals, 5});
        at::Tensor const expected = at::empty({steps * environments, 11});
        gmac::random_stream random(9), again(9);
        rule(views_of<float>(rollout), gmac::targets::sample_source<float>{rows_of<float>(samples)}, random,
             gmac::targets::dirac_particles<float>{rows_to<float>(expected)});
        CHECK(gmac::torch::sr_lambda(gmac::torch::sample_source{samples}, rollout, again, rule).values.equal(expected));
    }
    SECTION("refuses what does not fit") {
        gmac::random_stream random(9);
        gmac::heads::dirac<4> const head;
        auto const of = [&](at::Tensor const& outputs) {
            return message_of([&] { static_cast<void>(gmac::torch::sr_lambda(head, outputs, rollout, random, rule)); });
        };
        CHECK(of(at::randn({state_rows + finals, 4})) == "");
        check_refused(of(at::randn({state_rows, 4})), "24 x 4, but must be 26 x 4");
        check_refused(of(at::randn({steps + 1, environments, 4})), "outputs has 3 dimensions");
        check_refused(of(at::randn({state_rows + finals, 4}).requires_grad_()), "outputs requires a gradient");
        check_refused(of(at::randn({state_rows + finals, 4}, at::kDouble)), "Double, but must have Float");
    }
}

TEST_CASE("the mean of the exact SR(lambda) mixture is the lambda-return") {
    at::manual_seed(4);
    auto const rollout = make_rollout(at::kDouble);
    gmac::heads::gaussian_mixture<2> const mixtures;
    gmac::heads::dirac<4> const points;
    at::Tensor const raw = at::randn({state_rows + finals, 6}, at::kDouble);
    at::Tensor const values = at::randn({state_rows + finals, 4}, at::kDouble);
    auto const returns_of = [&](at::Tensor const& means) {
        return gmac::torch::lambda_return(rollout, means.narrow(0, 0, state_rows), means.narrow(0, state_rows, finals),
                                          {.discount = 0.9, .lambda = 0.8})
            .flatten();
    };
    auto const mixture = gmac::torch::exact_sr_lambda(mixtures, raw, rollout, {.discount = 0.9, .lambda = 0.8});
    at::Tensor const mixture_means = (raw.narrow(1, 0, 2).softmax(1) * raw.narrow(1, 2, 2)).sum(1);
    CHECK(distance((mixture.weights * mixture.means).sum(1), returns_of(mixture_means)) < 1e-14);
    CHECK(distance(mixture.weights.sum(1), at::ones({steps * environments}, at::kDouble)) < 1e-14);

    auto const dirac = gmac::torch::exact_sr_lambda(points, values, rollout, {.discount = 0.9, .lambda = 0.8});
    CHECK(distance((dirac.weights * dirac.values).sum(1), returns_of(values.mean(1))) < 1e-14);
}
