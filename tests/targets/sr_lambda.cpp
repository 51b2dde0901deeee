// SPDX-License-Identifier: Apache-2.0
#include "rollouts.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <gmac/targets/lambda_return.hpp>
#include <gmac/targets/sr_lambda.hpp>

#include <Eigen/Core>

#include <cmath>
#include <limits>
#include <set>
#include <thread>
#include <utility>
#include <vector>

using namespace gmac;
using gmac::testing::random_rollout;
using gmac::testing::streams_for;
using targets::resampling;
using targets::sr_lambda;

namespace {

template <class T>
struct particles {
    std::vector<T> means, deviations;
    std::size_t rows, count;

    particles(std::size_t rows_, std::size_t count_)
        : means(rows_ * count_, T(-77)), deviations(means), rows(rows_), count(count_) {}
    [[nodiscard]] targets::gaussian_particles<T> view() {
        return {{means.data(), rows, count}, {deviations.data(), rows, count}};
    }
    friend bool operator==(particles const&, particles const&) = default;
};

/// Runs the tasks on threads of their own, the last one first.
class many_threads final : public executor {
public:
    [[nodiscard]] std::size_t concurrency() const noexcept override { return 4; }
    void run(std::size_t count, task_ref task) override {
        std::vector<std::thread> threads;
        for (std::size_t i = count; i-- > 0;)
            threads.emplace_back([task, i] { task(i); });
        for (std::thread& thread : threads)
            thread.join();
    }
};

} // namespace

TEST_CASE("SR(1) of one normal component, worked out by hand") {
    // γ = 1/2; two environments, four steps. Environment 0 terminates at step 1; environment 1 is truncated at step 2.
    std::vector<double> const rewards{1, 2, 3, 4, 5, 6, 7, 8};
    std::vector<std::uint8_t> const terminated{0, 0, 1, 0, 0, 0, 0, 0}, truncated{0, 0, 1, 0, 0, 1, 0, 0};
    targets::rollout_view<double> const rollout{{rewards.data(), 4, 2},
                                                {terminated.data(), 4, 2},
                                                {truncated.data(), 4, 2}};
    // Ten states and one final observation: the transition with both flags set has none.
    std::vector<double> const weights(11, 1.0);
    std::vector<double> const means{10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 40};
    std::vector<double> const deviations{1, 1, 1, 1, 1, 1, 1, 1, 4, 8, 2};
    particles<double> out(8, 3);
    auto streams = streams_for(2);
    sr_lambda{.discount = 0.5, .lambda = 1.0, .particles = 3}(rollout,
                                                              targets::gaussian_source<double>{{weights.data(), 11, 1},
                                                                                               {means.data(), 11, 1},
                                                                                               {deviations.data(), 11,
                                                                                                1}},
                                                              streams, out.view());
    // Environment 0: 7 + 18/2 = 16 (σ 2), 5 + 16/2 = 13 (σ 1), 3 (σ 0), 1 + 3/2 = 2.5 (σ 0).
    // Environment 1: 8 + 20/2 = 18 (σ 4), 6 + 40/2 = 26 (σ 1), 4 + 26/2 = 17 (σ 1/2), 2 + 17/2 = 10.5 (σ 1/4).
    std::vector<double> const expected_means{2.5, 10.5, 3, 17, 13, 26, 16, 18};
    std::vector<double> const expected_deviations{0, 0.25, 0, 0.5, 1, 1, 2, 4};
    for (std::size_t row = 0; row < 8; ++row)
        for (std::size_t i = 0; i < 3; ++i) {
            CHECK(out.means[3 * row + i] == expected_means[row]);
            CHECK(out.deviations[3 * row + i] == expected_deviations[row]);
        }
}

TEST_CASE("Weights of the targets become equal, and the particles are those without them") {
    random_rollout<double> const known(6, 3, 4, 5, 1);
    for (resampling const replacement : {resampling::independent, resampling::stratified}) {
        sr_lambda const returns{.lambda = 0.7, .particles = 8, .replacement = replacement};
        particles<double> bare(18, 8), out(18, 8);
        std::vector<double> weights(18 * 8, -1.0);
        auto weighted = out.view();
        weighted.weights = {weights.data(), 18, 8};
        auto streams = streams_for(3), same = streams_for(3);
        returns(known.view(), known.gaussians(), streams, bare.view());
        returns(known.view(), known.gaussians(), same, weighted);
        CHECK(out == bare);
        CHECK(weights == std::vector<double>(18 * 8, 0.125));
        // A range of environments writes its rows and no other.
        weights.assign(18 * 8, -1.0);
        returns.environments(1, 2, known.view(), known.gaussians(), same, weighted);
        for (std::size_t row = 0; row < 18; ++row)
            for (std::size_t i = 0; i < 8; ++i)
                CHECK(weights[row * 8 + i] == (row % 3 == 1 ? 0.125 : -1.0));
    }
}

TEST_CASE("With a discount of 0 an infinite reward leaves NaN in the targets before it") {
    random_rollout<double> known(4, 1, 2, 0, 1);
    known.rewards[2] = std::numeric_limits<double>::infinity();
    particles<double> out(4, 3);
    auto streams = streams_for(1);
    sr_lambda{.discount = 0.0, .lambda = 1.0, .particles = 3}(known.view(), known.gaussians(), streams, out.view());
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(std::isnan(out.means[i]));
        CHECK(std::isnan(out.means[3 + i]));
        CHECK(out.means[6 + i] == known.rewards[2]);
        CHECK(out.means[9 + i] == known.rewards[3]);
    }
}

TEMPLATE_TEST_CASE("Every particle is a component of an n-step return", "", float, double) {
    using T = TestType;
    random_rollout<T> const known(12, 3, 4, 7, 1);
    for (resampling const replacement : {resampling::independent, resampling::stratified})
        for (double const lambda : {0.0, 0.6, 1.0}) {
            particles<T> out(36, 50);
            auto streams = streams_for(3);
            sr_lambda{.discount = 0.9, .lambda = lambda, .particles = 50, .replacement = replacement}(known.view(),
                                                                                                      known.gaussians(),
                                                                                                      streams,
                                                                                                      out.view());
            for (std::size_t t = 0; t < 12; ++t)
                for (std::size_t e = 0; e < 3; ++e) {
                    auto const returns = testing::n_step_returns(known, t, e, 0.9, lambda);
                    for (std::size_t i = 0; i < 50; ++i) {
                        std::size_t const at = (t * 3 + e) * 50 + i;
                        double nearest = 1e9;
                        for (testing::atom const& a : returns)
                            if (a.weight > 0.0)
                                nearest = std::min(nearest,
                                                   std::abs(a.mean - static_cast<double>(out.means[at])) +
                                                       std::abs(a.deviation - static_cast<double>(out.deviations[at])));
                        REQUIRE(nearest < 12.0 * 16.0 * static_cast<double>(std::numeric_limits<T>::epsilon()));
                    }
                }
        }
}

TEST_CASE("lambda = 0 is the one-step return, lambda = 1 replaces nothing") {
    random_rollout<double> const known(9, 2, 1, 5, 2);
    // With a single component there is nothing left to chance at the two ends: the targets' means are the λ-returns.
    for (double const lambda : {0.0, 1.0})
        for (resampling const replacement : {resampling::independent, resampling::stratified}) {
            particles<double> out(18, 4);
            auto streams = streams_for(2);
            sr_lambda{.discount = 0.9, .lambda = lambda, .particles = 4, .replacement = replacement}(known.view(),
                                                                                                     known.gaussians(),
                                                                                                     streams,
                                                                                                     out.view());
            std::vector<double> returns(18);
            targets::lambda_return{.discount = 0.9, .lambda = lambda}(known.view(), known.state_values(),
                                                                      known.final_values(), returns);
            for (std::size_t i = 0; i < 72; ++i)
                CHECK(out.means[i] == Approx(returns[i / 4]).epsilon(1e-14).margin(1e-14));
        }
    // At λ = 1 the particles of a state are those of the next, moved: with distinct components, one by one.
    random_rollout<double> const many(6, 1, 5, 0, 3);
    particles<double> out(6, 7);
    auto streams = streams_for(1);
    sr_lambda{.discount = 1.0, .lambda = 1.0, .particles = 7}(many.view(), many.gaussians(), streams, out.view());
    for (std::size_t t = 0; t + 1 < 6; ++t)
        for (std::size_t i = 0; i < 7; ++i)
            CHECK(out.means[7 * t + i] == Approx(many.rewards[t] + out.means[7 * (t + 1) + i]).epsilon(1e-14));
}

TEST_CASE("The targets are the same for any split of the environments, and for any number of threads") {
    random_rollout<float> const known(20, 21, 5, 9, 4);
    for (resampling const replacement : {resampling::independent, resampling::stratified}) {
        sr_lambda const returns{.particles = 70, .replacement = replacement};
        particles<float> together(420, 70);
        auto streams = streams_for(21);
        returns(known.view(), known.gaussians(), streams, together.view());

        std::vector<std::vector<std::size_t>> const splits{{0, 21},
                                                           {0, 1, 2, 10, 20, 21},
                                                           {0, 8, 16, 21},
                                                           {0, 3, 3, 21}};
        for (std::vector<std::size_t> const& cuts : splits) {
            particles<float> apart(420, 70);
            auto own = streams_for(21);
            for (std::size_t i = cuts.size() - 1; i-- > 0;)
                returns.environments(cuts[i], cuts[i + 1], known.view(), known.gaussians(), own, apart.view());
            CHECK(apart == together);
            for (std::size_t e = 0; e < 21; ++e)
                CHECK(own[e].position() == streams[e].position());
        }
        particles<float> threaded(420, 70);
        auto own = streams_for(21);
        many_threads tasks;
        returns(known.view(), known.gaussians(), own, threaded.view(), &tasks);
        CHECK(threaded == together);
    }
}

TEST_CASE("One stream serves all environments by hand: each gets one of its own") {
    random_rollout<double> const known(5, 18, 3, 6, 5);
    sr_lambda const returns{.particles = 8};
    particles<double> by_hand(90, 8), expected(90, 8), again(90, 8);
    random_stream stream(3, 4);
    returns(known.view(), known.gaussians(), stream, by_hand.view());

    random_stream same(3, 4);
    std::uint64_t const high = same();
    std::uint64_t const seed = high << 32u | same();
    auto streams = streams_for(18, seed);
    returns(known.view(), known.gaussians(), streams, expected.view());
    CHECK(by_hand == expected);
    CHECK(stream.position() == 2);
    returns(known.view(), known.gaussians(), stream, again.view());
    CHECK_FALSE(again == by_hand);
}

TEST_CASE("float and double draw the same") {
    random_rollout<double> const wide(15, 3, 5, 8, 6);
    random_rollout<float> const narrow(15, 3, 5, 8, 6);
    particles<double> a(45, 33);
    particles<float> b(45, 33);
    auto streams = streams_for(3);
    auto same = streams_for(3);
    sr_lambda const returns{.particles = 33};
    returns(wide.view(), wide.gaussians(), streams, a.view());
    returns(narrow.view(), narrow.gaussians(), same, b.view());
    for (std::size_t i = 0; i < a.means.size(); ++i)
        REQUIRE(a.means[i] == Approx(static_cast<double>(b.means[i])).epsilon(1e-4).margin(1e-4));
    CHECK(streams[2].position() == same[2].position());
}

TEST_CASE("Any layout of sources and targets gives the same bits") {
    random_rollout<float> const known(10, 3, 4, 6, 7);
    std::size_t const rows = known.rows();
    for (resampling const replacement : {resampling::independent, resampling::stratified}) {
        sr_lambda const returns{.particles = 21, .replacement = replacement};
        particles<float> expected(30, 21);
        auto streams = streams_for(3);
        returns(known.view(), known.gaussians(), streams, expected.view());

        // Column-major sources and targets; the deviations in every second column, from the last to the first.
        auto const column_major = [&](std::vector<float> const& values) {
            Eigen::MatrixXf matrix(static_cast<Eigen::Index>(rows), 4);
            for (std::size_t i = 0; i < rows; ++i)
                for (std::size_t k = 0; k < 4; ++k)
                    matrix(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(k)) = values[4 * i + k];
            return matrix;
        };
        Eigen::MatrixXf const weights = column_major(known.weights);
        Eigen::MatrixXf const means = column_major(known.means);
        Eigen::MatrixXf const deviations = column_major(known.deviations);
        Eigen::MatrixXf const rewards =
            Eigen::Map<Eigen::Matrix<float, -1, -1, Eigen::RowMajor> const>(known.rewards.data(), 10, 3);
        targets::rollout_view<float> rollout = known.view();
        rollout.rewards = rewards;
        Eigen::MatrixXf target_means(30, 21);
        std::vector<float> target_deviations(30 * 42);
        matrix_view<float> const backwards(target_deviations.data() + 40, 30, 21, 42, -2);
        auto own = streams_for(3);
        returns(rollout, targets::gaussian_source<float>{weights, means, deviations}, own,
                targets::gaussian_particles<float>{target_means, backwards});
        for (std::size_t i = 0; i < 30; ++i)
            for (std::size_t j = 0; j < 21; ++j) {
                REQUIRE(target_means(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) ==
                        expected.means[21 * i + j]);
                REQUIRE(backwards(i, j) == expected.deviations[21 * i + j]);
            }
    }
}

TEST_CASE("Dirac particles are drawn like the means of Gaussian ones, which point masses give too") {
    random_rollout<double> const known(10, 2, 6, 5, 8);
    for (resampling const replacement : {resampling::independent, resampling::stratified}) {
        sr_lambda const returns{.lambda = 0.7, .particles = 30, .replacement = replacement};
        particles<double> gaussian(20, 30), flat(20, 30);
        std::vector<double> dirac(600);
        auto a = streams_for(2), b = streams_for(2), c = streams_for(2);
        returns(known.view(), known.gaussians(), a, gaussian.view());
        returns(known.view(), known.diracs(), b, targets::dirac_particles<double>{{dirac.data(), 20, 30}});
        returns(known.view(), known.diracs(), c, flat.view());
        CHECK(dirac == gaussian.means);
        CHECK(flat.means == gaussian.means);
        CHECK(flat.deviations == std::vector<double>(600, 0.0));
    }
}

TEST_CASE("Samples of an implicit quantile head replace the particle of their own number") {
    random_rollout<double> const known(10, 2, 6, 5, 9);
    targets::sample_source<double> const samples{{known.means.data(), known.rows(), 6}};
    for (resampling const replacement : {resampling::independent, resampling::stratified}) {
        std::vector<double> values(20 * 9);
        auto streams = streams_for(2);
        sr_lambda{.discount = 1.0,
                  .lambda = 0.5,
                  .particles = 9,
                  .replacement = replacement}(known.view(), samples, streams,
                                              targets::dirac_particles<double>{{values.data(), 20, 9}});
        for (std::size_t t = 0; t < 10; ++t)
            for (std::size_t e = 0; e < 2; ++e)
                for (std::size_t i = 0; i < 9; ++i) {
                    // The n-step returns of this state with sample i mod 6 at their ends.
                    double rewards = 0.0;
                    double nearest = 1e9;
                    for (std::size_t s = t; s < 10; ++s) {
                        std::size_t const here = s * 2 + e;
                        rewards += known.rewards[here];
                        double const end =
                            known.terminated[here] ? 0.0 : known.means[known.row_after(s, e) * 6 + i % 6];
                        nearest = std::min(nearest, std::abs(values[(t * 2 + e) * 9 + i] - rewards - end));
                        if (known.terminated[here] || known.truncated[here])
                            break;
                    }
                    REQUIRE(nearest < 1e-13);
                }
    }
}

TEST_CASE("A time-out is continued by the whole distribution, and not by a point at its mean") {
    // Two steps, cut by a time limit; the distribution at the final observation has mean 2 and deviation √5.
    std::vector<double> const rewards{1.0, 3.0};
    std::vector<bool> const cut{false, true}, at_end{false, true}, never{false, false};
    constexpr std::size_t m = 4;
    std::vector<double> const values{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* after the time-out */ -1, 1, 3, 5};
    constexpr double discount = 0.5;
    auto const targets_of = [&](std::vector<double> const& of, auto const& terminated, auto const& truncated) {
        std::vector<std::uint8_t> const ends(terminated.begin(), terminated.end()),
            cuts(truncated.begin(), truncated.end());
        targets::rollout_view<double> const rollout{{of.data(), 2, 1}, {ends.data(), 2, 1}, {cuts.data(), 2, 1}};
        std::vector<double> particles(2 * m);
        auto streams = streams_for(1);
        sr_lambda{.discount = discount,
                  .lambda = 1.0,
                  .particles =
                      m}(rollout,
                         targets::sample_source<double>{{values.data(), values.size() / m - (truncated[1] ? 0 : 1), m}},
                         streams, targets::dirac_particles<double>{{particles.data(), 2, m}});
        return particles;
    };
    CHECK(targets_of(rewards, never, cut) == std::vector<double>{2.25, 2.75, 3.25, 3.75, 2.5, 3.5, 4.5, 5.5});
    // As trainers of robots do it: the mean of what would follow is added to the last reward, and the episode ends there.
    // The targets have the same means, and no spread.
    std::vector<double> const with_value{1.0, 3.0 + discount * 2.0};
    CHECK(targets_of(with_value, at_end, never) == std::vector<double>{3, 3, 3, 3, 4, 4, 4, 4});
}

TEST_CASE("A reward that is not finite comes out in its own targets and in those that are built on them") {
    for (double const bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        random_rollout<double> known(6, 1, 3, 0, 10);
        known.rewards[4] = bad;
        known.terminated[1] = 1;
        particles<double> out(6, 40);
        auto streams = streams_for(1);
        sr_lambda{.lambda = 0.9, .particles = 40}(known.view(), known.gaussians(), streams, out.view());
        auto const spoiled = [&](std::size_t t) {
            int count = 0;
            for (std::size_t i = 0; i < 40; ++i)
                count += !std::isfinite(out.means[40 * t + i]);
            return count;
        };
        CHECK(spoiled(5) == 0);
        CHECK(spoiled(4) == 40);
        CHECK(spoiled(3) > 0);
        CHECK(spoiled(3) < 40); // the replaced ones do not see it
        CHECK(spoiled(2) > 0);
        CHECK(spoiled(1) == 0);
        CHECK(spoiled(0) == 0);
    }
}

TEST_CASE("SR(lambda) does not allocate") {
    random_rollout<float> const known(16, 20, 5, 8, 11);
    particles<float> out(320, 128);
    std::vector<float> values(320 * 128);
    auto streams = streams_for(20);
    random_stream one(1);
    for (resampling const replacement : {resampling::independent, resampling::stratified}) {
        sr_lambda const returns{.replacement = replacement};
        CHECK(testing::allocations_during([&] {
                  returns(known.view(), known.gaussians(), streams, out.view());
                  returns(known.view(), known.gaussians(), one, out.view());
                  returns.environments(3, 11, known.view(), known.gaussians(), streams, out.view());
                  returns(known.view(), known.diracs(), streams,
                          targets::dirac_particles<float>{{values.data(), 320, 128}});
              }) == 0);
    }
}
