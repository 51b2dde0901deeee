// SPDX-License-Identifier: Apache-2.0
#include "rollouts.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"

#include <gmac/targets/exact_sr_lambda.hpp>
#include <gmac/targets/gae.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

using namespace gmac;
using gmac::testing::atom;
using gmac::testing::random_rollout;
using targets::exact_sr_lambda;

namespace {

template <class T>
struct mixtures {
    std::vector<T> weights, means, deviations;
    std::size_t rows, columns;

    mixtures(std::size_t rows_, std::size_t columns_)
        : weights(rows_ * columns_, T(7)), means(weights), deviations(weights), rows(rows_), columns(columns_) {}
    [[nodiscard]] targets::gaussian_particles<T> gaussians() {
        return {{means.data(), rows, columns}, {deviations.data(), rows, columns}, {weights.data(), rows, columns}};
    }
    [[nodiscard]] targets::dirac_particles<T> diracs() {
        std::fill(deviations.begin(), deviations.end(), T(0));
        return {{means.data(), rows, columns}, {weights.data(), rows, columns}};
    }
    [[nodiscard]] std::vector<atom> row(std::size_t i) const {
        std::vector<atom> result;
        for (std::size_t c = i * columns; c < (i + 1) * columns; ++c)
            result.push_back(
                {static_cast<double>(weights[c]), static_cast<double>(means[c]), static_cast<double>(deviations[c])});
        return result;
    }
    [[nodiscard]] double weight(std::size_t i) const {
        double sum = 0.0;
        for (atom const& a : row(i))
            sum += a.weight;
        return sum;
    }
    friend bool operator==(mixtures const&, mixtures const&) = default;
};

/// The greatest difference of two distribution functions of point masses, between their steps.
double step_distance(std::vector<atom> const& a, std::vector<atom> const& b) {
    std::vector<double> places;
    for (auto const* mixture : {&a, &b})
        for (atom const& part : *mixture)
            if (part.weight > 0.0)
                places.push_back(part.mean);
    std::sort(places.begin(), places.end());
    double worst = 0.0;
    for (std::size_t i = 1; i < places.size(); ++i)
        if (places[i] - places[i - 1] > 1e-9) {
            double const x = 0.5 * (places[i] + places[i - 1]);
            worst = std::max(worst, std::abs(testing::cdf_of(a, x) - testing::cdf_of(b, x)));
        }
    return worst;
}

} // namespace

TEST_CASE("Exact SR(lambda) worked out by hand") {
    // γ = 1/2, λ = 3/4; two steps, then x_2; one normal component a state.
    std::vector<double> const rewards{1, 2}, weights{1, 1, 1}, means{9, 1, 4}, deviations{9, 2, 1};
    mixtures<double> out(2, 2);
    exact_sr_lambda const returns{.discount = 0.5, .lambda = 0.75};
    REQUIRE(returns.capacity(2, 1) == 2);
    returns(targets::rollout_view<double>{{rewards.data(), 2, 1}},
            targets::gaussian_source<double>{{weights.data(), 3, 1}, {means.data(), 3, 1}, {deviations.data(), 3, 1}},
            out.gaussians());
    // x_1: 2 + 4/2, σ 1/2. x_0: with 1/4 the one-step return 1 + 1/2, σ 1; with 3/4 the two-step one 1 + 4/2, σ 1/4.
    CHECK(out.weights == std::vector<double>{0.25, 0.75, 1, 0});
    CHECK(out.means == std::vector<double>{1.5, 3, 4, 0});
    CHECK(out.deviations == std::vector<double>{1, 0.25, 0.5, 0});
}

TEST_CASE("The exact mixture is that of the n-step returns") {
    random_rollout<double> const known(15, 3, 4, 8, 1);
    for (double const lambda : {0.0, 0.5, 0.95, 1.0}) {
        exact_sr_lambda const returns{.discount = 0.9, .lambda = lambda};
        mixtures<double> gaussian(45, returns.capacity(15, 4)), dirac(45, returns.capacity(15, 4, false));
        returns(known.view(), known.gaussians(), gaussian.gaussians());
        returns(known.view(), known.diracs(), dirac.diracs());
        for (std::size_t t = 0; t < 15; ++t)
            for (std::size_t e = 0; e < 3; ++e) {
                auto law = testing::n_step_returns(known, t, e, 0.9, lambda);
                auto const got = gaussian.row(t * 3 + e);
                for (double x = -12.0; x <= 12.0; x += 0.37)
                    REQUIRE(std::abs(testing::cdf_of(got, x) - testing::cdf_of(law, x)) < 1e-13);
                for (atom& a : law)
                    a.deviation = 0.0;
                REQUIRE(step_distance(dirac.row(t * 3 + e), law) < 1e-14);
            }
    }
}

TEMPLATE_TEST_CASE("Weights sum to one and the mean is advantage plus value for every lambda, whatever is merged", "",
                   float, double) {
    using T = TestType;
    random_rollout<T> const known(30, 2, 5, 15, 2);
    double const rounding = 60.0 * static_cast<double>(std::numeric_limits<T>::epsilon());
    for (double const lambda : {0.0, 0.3, 0.9, 0.99, 1.0})
        for (auto const& [cutoff, components] :
             std::vector<std::pair<double, std::size_t>>{{0.0, 0}, {0.01, 0}, {0.5, 0}, {1.0, 0}, {0.0, 8}, {0.0, 1}}) {
            exact_sr_lambda const returns{.discount = 0.97,
                                          .lambda = lambda,
                                          .cutoff = cutoff,
                                          .components = components};
            mixtures<T> out(60, returns.capacity(30, 5) + 3); // with room to spare
            returns(known.view(), known.gaussians(), out.gaussians());
            std::vector<T> advantages(60);
            targets::gae{.discount = 0.97, .lambda = lambda}(known.view(), known.state_values(), known.final_values(),
                                                             advantages);
            for (std::size_t i = 0; i < 60; ++i) {
                auto const row = out.row(i);
                auto const law = testing::n_step_returns(known, i / 2, i % 2, 0.97, lambda);
                double const expected = static_cast<double>(advantages[i]) + static_cast<double>(known.values[i]);
                REQUIRE(std::abs(out.weight(i) - 1.0) < rounding);
                REQUIRE(std::abs(testing::mean_of(row) - expected) < 32.0 * rounding);
                REQUIRE(std::abs(testing::variance_of(row) - testing::variance_of(law)) < 100.0 * rounding);
                for (atom const& a : row) {
                    REQUIRE(a.weight >= 0.0);
                    REQUIRE(a.deviation >= 0.0);
                }
                for (std::size_t c = returns.capacity(30, 5); c < out.columns; ++c)
                    REQUIRE(row[c].weight == 0.0);
            }
        }
}

TEST_CASE("The cutoff merges what is lighter, and nothing else") {
    random_rollout<double> const known(40, 1, 3, 0, 3);
    exact_sr_lambda const all{.discount = 0.9, .lambda = 0.8};
    exact_sr_lambda const cut{.discount = 0.9, .lambda = 0.8, .cutoff = 0.05};
    // 0.8^13 = 0.0687 > 0.05 >= 0.8^14 = 0.044: fourteen returns are kept.
    REQUIRE(cut.capacity(40, 3) == 14 * 3 + 1);
    REQUIRE(cut.capacity(40, 3, false) == 14 * 3 + 2);
    REQUIRE(cut.capacity(10, 3) == 10 * 3);
    mixtures<double> full(40, all.capacity(40, 3)), merged(40, 43), points(40, 44);
    all(known.view(), known.gaussians(), full.gaussians());
    cut(known.view(), known.gaussians(), merged.gaussians());
    cut(known.view(), known.diracs(), points.diracs());
    auto const first = full.row(0);
    auto const short_row = merged.row(0);
    for (std::size_t c = 0; c < 42; ++c) {
        CHECK(short_row[c].weight == first[c].weight);
        CHECK(short_row[c].mean == first[c].mean);
        CHECK(short_row[c].deviation == first[c].deviation);
    }
    std::vector<atom> rest(first.begin() + 42, first.end());
    double weight = 0.0;
    for (atom const& a : rest)
        weight += a.weight;
    CHECK(weight == Approx(std::pow(0.8, 14)).epsilon(1e-13));
    CHECK(short_row[42].weight == Approx(weight).epsilon(1e-13));
    for (atom& a : rest)
        a.weight /= weight;
    CHECK(short_row[42].mean == Approx(testing::mean_of(rest)).epsilon(1e-12));
    CHECK(short_row[42].deviation == Approx(std::sqrt(testing::variance_of(rest))).epsilon(1e-12));

    // Point masses keep mean and variance with two points.
    auto law = testing::n_step_returns(known, 0, 0, 0.9, 0.8);
    for (atom& a : law)
        a.deviation = 0.0;
    CHECK(testing::mean_of(points.row(0)) == Approx(testing::mean_of(law)).epsilon(1e-13));
    CHECK(testing::variance_of(points.row(0)) == Approx(testing::variance_of(law)).epsilon(1e-12));
    CHECK(points.row(0)[42].weight == points.row(0)[43].weight);
}

TEST_CASE("A reduction to more components is closer to the whole") {
    random_rollout<double> const known(24, 1, 5, 0, 4);
    auto const law = testing::n_step_returns(known, 0, 0, 0.99, 0.9);
    // The distance ∫ (F − G)² by the trapezium rule, over 60 components' worth of line.
    auto const distance = [&](std::size_t components) {
        exact_sr_lambda const returns{.discount = 0.99, .lambda = 0.9, .components = components};
        mixtures<double> out(24, components);
        returns(known.view(), known.gaussians(), out.gaussians());
        auto const row = out.row(0);
        double sum = 0.0;
        for (double x = -30.0; x < 30.0; x += 0.01)
            sum += 0.01 * std::pow(testing::cdf_of(row, x) - testing::cdf_of(law, x), 2);
        return sum;
    };
    double const one = distance(1), five = distance(5), twenty = distance(20), all = distance(120);
    CAPTURE(one, five, twenty, all);
    CHECK(five < one);
    CHECK(twenty < 0.1 * one);
    CHECK(twenty < five);
    CHECK(all < 1e-20);
}

TEST_CASE("Two episodes in one rollout equal the two apart, exactly") {
    random_rollout<double> whole(9, 1, 3, 0, 5);
    whole.terminated[3] = 1;
    for (std::size_t const components : {0u, 6u}) {
        exact_sr_lambda const returns{.lambda = 0.9, .components = components};
        std::size_t const columns = returns.capacity(9, 3);
        mixtures<double> together(9, columns), first(4, columns), second(5, columns);
        returns(whole.view(), whole.gaussians(), together.gaussians());
        auto const part = [&](std::size_t from, std::size_t steps, mixtures<double>& out) {
            auto const all = whole.view();
            auto const source = whole.gaussians();
            returns(targets::rollout_view<double>{all.rewards.middle_rows(from, steps),
                                                  all.terminated.middle_rows(from, steps),
                                                  all.truncated.middle_rows(from, steps)},
                    targets::gaussian_source<double>{source.weights.middle_rows(from, steps + 1),
                                                     source.means.middle_rows(from, steps + 1),
                                                     source.deviations.middle_rows(from, steps + 1)},
                    out.gaussians());
        };
        part(0, 4, first);
        part(4, 5, second);
        first.weights.insert(first.weights.end(), second.weights.begin(), second.weights.end());
        first.means.insert(first.means.end(), second.means.begin(), second.means.end());
        first.deviations.insert(first.deviations.end(), second.deviations.begin(), second.deviations.end());
        CHECK(first.weights == together.weights);
        CHECK(first.means == together.means);
        CHECK(first.deviations == together.deviations);
    }
}

TEST_CASE("Unweighted Diracs and samples are equally likely components") {
    random_rollout<double> known(6, 2, 4, 5, 6);
    exact_sr_lambda const returns{.lambda = 0.8};
    mixtures<double> from_samples(12, 24), from_diracs(12, 24), expected(12, 24);
    matrix_view<double const> const values(known.means.data(), known.rows(), 4);
    returns(known.view(), targets::sample_source<double>{values}, from_samples.gaussians());
    returns(known.view(), targets::dirac_source<double>{values}, from_diracs.gaussians());
    std::fill(known.weights.begin(), known.weights.end(), 0.25);
    std::fill(known.deviations.begin(), known.deviations.end(), 0.0);
    returns(known.view(), known.gaussians(), expected.gaussians());
    CHECK(from_samples == expected);
    CHECK(from_diracs == expected);
}

TEST_CASE("Any layout of exact targets gives the same bits, without an allocation") {
    random_rollout<float> const known(10, 3, 4, 6, 7);
    for (std::size_t const components : {0u, 9u}) {
        exact_sr_lambda const returns{.lambda = 0.9, .cutoff = 0.5, .components = components};
        std::size_t const columns = returns.capacity(10, 4);
        mixtures<float> dense(30, columns);
        CHECK(testing::allocations_during([&] { returns(known.view(), known.gaussians(), dense.gaussians()); }) == 0);
        auto const n = static_cast<Eigen::Index>(columns);
        Eigen::MatrixXf weights(30, n), means(30, n);
        std::vector<float> spread(30 * 2 * columns);
        matrix_view<float> const deviations(spread.data() + 1, 30, columns, static_cast<std::ptrdiff_t>(2 * columns),
                                            2);
        returns(known.view(), known.gaussians(), targets::gaussian_particles<float>{means, deviations, weights});
        for (std::size_t i = 0; i < 30; ++i)
            for (std::size_t c = 0; c < columns; ++c) {
                REQUIRE(weights(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(c)) ==
                        dense.weights[i * columns + c]);
                REQUIRE(means(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(c)) ==
                        dense.means[i * columns + c]);
                REQUIRE(deviations(i, c) == dense.deviations[i * columns + c]);
            }
    }
}

TEST_CASE("A reward that is not a number comes out of the exact mixture") {
    random_rollout<double> known(6, 1, 3, 0, 8);
    known.rewards[4] = std::numeric_limits<double>::quiet_NaN();
    known.terminated[1] = 1;
    for (std::size_t const components : {0u, 4u}) {
        exact_sr_lambda const returns{.lambda = 0.9, .components = components};
        mixtures<double> out(6, returns.capacity(6, 3));
        returns(known.view(), known.gaussians(), out.gaussians());
        for (std::size_t t = 0; t < 6; ++t)
            CHECK(std::isnan(testing::mean_of(out.row(t))) == (t >= 2 && t <= 4));
    }
}

TEST_CASE("Exact targets are the same on any number of threads") {
    random_rollout<double> const known(12, 7, 3, 6, 9);
    exact_sr_lambda const returns{.lambda = 0.9, .components = 5};
    mixtures<double> alone(84, 5), threaded(84, 5);
    returns(known.view(), known.gaussians(), alone.gaussians());
    struct many_threads final : executor {
        [[nodiscard]] std::size_t concurrency() const noexcept override { return 4; }
        void run(std::size_t count, task_ref task) override {
            std::vector<std::thread> threads;
            for (std::size_t i = count; i-- > 0;)
                threads.emplace_back([task, i] { task(i); });
            for (std::thread& thread : threads)
                thread.join();
        }
    } tasks;
    returns(known.view(), known.gaussians(), threaded.gaussians(), &tasks);
    CHECK(threaded == alone);
}
