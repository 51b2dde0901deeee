// SPDX-License-Identifier: Apache-2.0
// The head and the loss of examples/programs/extension: the mathematics, and that they make an agent like the library's own.
#include <gmac/actors/categorical.hpp>
#include <gmac/agent/actor_critic.hpp>
#include <gmac/core/random.hpp>

#include "agents/agent_checks.hpp"
#include "extension/logistic_mixture.hpp"
#include "refusals/own.hpp"
#include "support/catch.hpp"
#include "support/dual.hpp"
#include "support/quadrature.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace {

constexpr std::size_t K = 3;
using head_type = my::logistic_mixture<K>;
using mixture_type = head_type::parameters<double>;
using gmac::targets::dirac_particles;

/// Raw outputs and particles, far apart, close together or equal.
struct random_case {
    std::array<double, head_type::outputs> raw;
    std::vector<double> points, weights;

    explicit random_case(gmac::random_stream& random) {
        double const spread = std::exp(6.0 * random.uniform<double>() - 3.0);
        for (double& x : raw)
            x = spread * random.normal<double>();
        raw[2 * K] = 6.0 * random.uniform<double>() - 4.0;
        if (random.uniform<double>() < 0.3)
            raw[K + 1] = raw[K] + 0.02 * random.normal<double>();
        double sum = 0.0;
        for (int j = 0; j < 5; ++j) {
            points.push_back(random.uniform<double>() < 0.2 ? raw[K] : spread * random.normal<double>());
            weights.push_back(random.uniform<double>());
            sum += weights.back();
        }
        for (double& weight : weights)
            weight /= sum;
    }
    [[nodiscard]] dirac_particles<double const> targets(bool weighted) const {
        gmac::matrix_view<double const> const shares(weights.data(), 1, weights.size());
        return {{points.data(), 1, points.size()}, weighted ? shares : gmac::matrix_view<double const>()};
    }
};

double loss_of(mixture_type const& mixture, dirac_particles<double const> const& targets) {
    mixture_type unused;
    return my::logistic_energy::of_state(mixture, targets, unused);
}

} // namespace

TEST_CASE("the logistic energy is 2 integral (F - G)^2 but for the term of the targets") {
    gmac::random_stream random(1, 0);
    for (int repeat = 0; repeat < 50; ++repeat) {
        random_case const given(random);
        bool const weighted = repeat % 2 == 1;
        auto const targets = given.targets(weighted);
        auto const mixture = head_type{}.transform(given.raw);
        auto const weight = [&](std::size_t j) { return weighted ? given.weights[j] : 0.2; };
        double of_targets = 0.0;
        for (std::size_t j = 0; j < 5; ++j)
            for (std::size_t l = 0; l < 5; ++l)
                of_targets += weight(j) * weight(l) * std::abs(given.points[j] - given.points[l]);

        auto breaks = given.points;
        for (double const mean : mixture.means)
            for (double const side : {-45.0, -4.0, 0.0, 4.0, 45.0})
                breaks.push_back(mean + side * mixture.scale);
        double const distance = gmac::testing::integrate_between(
            [&](double x) {
                double below = 0.0;
                for (std::size_t j = 0; j < 5; ++j)
                    below += given.points[j] <= x ? weight(j) : 0.0;
                double const difference = mixture.cdf(x) - below;
                return 2.0 * difference * difference;
            },
            breaks, 1e-12);
        CHECK(loss_of(mixture, targets) - of_targets == Approx(distance).epsilon(1e-10).margin(1e-11));
    }
}

TEST_CASE("the gradient of the logistic energy is that of dual numbers") {
    using dual = gmac::testing::dual<double, head_type::outputs>;
    gmac::random_stream random(2, 0);
    head_type const head;
    double worst = 0.0;
    for (int repeat = 0; repeat < 20'000; ++repeat) {
        random_case const given(random);
        auto const targets = given.targets(repeat % 2 == 1);
        std::array<dual, head_type::outputs> variables;
        for (std::size_t i = 0; i < variables.size(); ++i)
            variables[i] = dual::variable(given.raw[i], i);
        my::logistic_parameters<dual, K> unused;
        dual const wanted = my::logistic_energy::of_state(head.transform(variables), targets, unused);

        std::array<double, head_type::outputs> gradient;
        double const loss =
            my::logistic_energy{}.value_and_gradient(head,
                                                     gmac::matrix_view<double const>(given.raw.data(), 1,
                                                                                     given.raw.size()),
                                                     targets,
                                                     gmac::matrix_view<double>(gradient.data(), 1, gradient.size()));
        double largest = 1.0;
        for (double const x : given.raw)
            largest = std::max(largest, std::abs(x));
        for (double const x : given.points)
            largest = std::max(largest, std::abs(x));
        worst = std::max(worst, std::abs(loss - wanted.value) / largest);
        for (std::size_t i = 0; i < gradient.size(); ++i)
            worst = std::max(worst, std::abs(gradient[i] - wanted.slope[i]) / largest);
    }
    CHECK(worst < 1e-12);
}

TEST_CASE("the quantiles of a logistic mixture invert its distribution function") {
    gmac::random_stream random(3, 0);
    for (int repeat = 0; repeat < 300; ++repeat) {
        random_case const given(random);
        auto const mixture = head_type{}.transform(given.raw);
        double previous = -1e300;
        for (double const fraction : {1e-6, 0.01, 0.3, 0.5, 0.77, 0.999}) {
            double const x = head_type::quantile(mixture, fraction);
            CHECK(mixture.cdf(x) == Approx(fraction).margin(1e-12));
            CHECK(x > previous);
            previous = x;
        }
    }
}

TEST_CASE("the head and the loss take batches of any layout, and average over the states") {
    gmac::random_stream random(4, 0);
    head_type const head{.points = 4};
    constexpr std::size_t states = 3, width = head_type::outputs;
    std::vector<float> by_column(states * width), particles(states * 6), gradient(states * (width + 2), -7.0f);
    for (float& x : by_column)
        x = random.normal<float>();
    for (float& x : particles)
        x = random.normal<float>();
    gmac::matrix_view<float const> const raw(by_column.data(), states, width, 1, states);
    dirac_particles<float const> const targets{{particles.data(), states, 6}};
    gmac::matrix_view<float> const slopes(gradient.data(), states, width, width + 2, 1);
    float const loss = my::logistic_energy{}.value_and_gradient(head, raw, targets, slopes);

    std::vector<float> values(states), points(states * 4);
    head.mean(raw, gmac::vector_view<float>(values));
    head.support(raw, gmac::matrix_view<float>(points.data(), states, 4));
    double sum = 0.0;
    for (std::size_t i = 0; i < states; ++i) {
        std::vector<double> row, wanted(width), particles_of_state;
        for (std::size_t j = 0; j < width; ++j)
            row.push_back(static_cast<double>(raw(i, j)));
        for (std::size_t j = 0; j < 6; ++j)
            particles_of_state.push_back(static_cast<double>(targets.values(i, j)));
        gmac::matrix_view<double const> const one(row.data(), 1, width);
        sum +=
            my::logistic_energy{}.value_and_gradient(head, one,
                                                     dirac_particles<double const>{{particles_of_state.data(), 1, 6}},
                                                     gmac::matrix_view<double>(wanted.data(), 1, width));
        for (std::size_t j = 0; j < width; ++j)
            CHECK(static_cast<double>(slopes(i, j)) == Approx(wanted[j] / 3.0).margin(1e-6));
        CHECK(gradient[i * (width + 2) + width] == -7.0f);
        auto const mixture = head.transform(head_type::row(one, 0));
        double mean = 0.0;
        for (std::size_t k = 0; k < K; ++k)
            mean += mixture.weights[k] * mixture.means[k];
        CHECK(static_cast<double>(values[i]) == Approx(mean).margin(1e-6));
        for (std::size_t j = 0; j < 4; ++j)
            CHECK(mixture.cdf(static_cast<double>(points[i * 4 + j])) ==
                  Approx((2.0 * static_cast<double>(j) + 1.0) / 8.0));
    }
    CHECK(static_cast<double>(loss) == Approx(sum / 3.0).epsilon(1e-5));
    CHECK_THROWS_AS(head.mean(raw, gmac::vector_view<float>(values.data(), 2)), gmac::error);
    CHECK_THROWS_AS(my::logistic_energy{}.value_and_gradient(head, raw.middle_cols(0, 4), targets, slopes),
                    gmac::error);
}

TEST_CASE("an agent with a head and a loss of the user's own is the same after a pause, and learns") {
    using agent = gmac::actor_critic<gmac::actors::categorical, head_type, my::logistic_energy>;
    gmac::testing::check_reproducible<agent>();
    gmac::testing::check_resume<agent>();
    gmac::testing::check_allocations<agent>();
    gmac::testing::check_learning<agent>();
}

TEST_CASE("heads and losses are composable if nothing is missing") {
    using backend = gmac::backends::simd<float>;
    using gmac::detail::composable;
    CHECK(composable<head_type, my::logistic_energy, backend>);
    CHECK(composable<my::head, my::loss_on_returns, backend>);
    CHECK(composable<my::head_with_points, my::loss_on_points, backend>);
    CHECK(composable<my::head_with_components, my::loss_on_components, backend>);
    CHECK_FALSE(composable<my::head, my::logistic_energy, backend>);
    CHECK_FALSE(composable<my::head, my::loss_on_points, backend>);
}
