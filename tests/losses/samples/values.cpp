// SPDX-License-Identifier: Apache-2.0
// What the losses between samples mean: minimisers, distances between step functions, unbiasedness.
#include "losses/samples/problems.hpp"
#include "losses/samples/ways.hpp"
#include "support/catch.hpp"

#include <gmac/distributions/dirac_mixture.hpp>
#include <gmac/distributions/gaussian_mixture.hpp>
#include <gmac/heads/dirac.hpp>
#include <gmac/heads/implicit_quantile.hpp>
#include <gmac/losses/expectile.hpp>
#include <gmac/losses/huber_quantile.hpp>
#include <gmac/losses/sample_energy.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

/// The loss of one prediction at one fraction, and its slope.
template <class Loss>
std::pair<double, double> at(Loss const& loss, double theta, double tau, std::vector<double> const& z) {
    heads::implicit_quantile const head{.samples_per_state = 1};
    double slope = 0.0;
    double const value = loss.value_and_gradient(head, quantile_outputs<double const>{{&theta, 1, 1}, {&tau, 1, 1}},
                                                 targets::dirac_particles<double const>{{z.data(), 1, z.size()}, {}},
                                                 matrix_view<double>(&slope, 1, 1));
    return {value, slope};
}

/// ∫ (F − G)² of two lists of equally likely points, from their distribution functions between all places.
long double cramer_of_steps(std::vector<double> const& x, std::vector<double> const& y) {
    std::vector<double> places = x;
    places.insert(places.end(), y.begin(), y.end());
    std::ranges::sort(places);
    long double sum = 0.0L;
    for (std::size_t p = 0; p + 1 < places.size(); ++p) {
        auto const below = [&](std::vector<double> const& points) {
            auto const count = std::ranges::count_if(points, [&](double point) { return point <= places[p]; });
            return static_cast<long double>(count) / static_cast<long double>(points.size());
        };
        long double const difference = below(x) - below(y);
        sum +=
            difference * difference * (static_cast<long double>(places[p + 1]) - static_cast<long double>(places[p]));
    }
    return sum;
}

} // namespace

TEST_CASE("The pinball loss is least at the quantile, and its slope there changes sign") {
    random_stream random(1);
    for (int repetition = 0; repetition < 200; ++repetition) {
        std::vector<double> z(1 + random.below(30));
        for (double& point : z)
            point = random.normal<double>();
        dirac_mixture<double> const distribution(z);
        double const tau = random.uniform<double>();
        double const quantile = distribution.quantile(tau);
        losses::huber_quantile const pinball{.kappa = 0.0};
        double const least = at(pinball, quantile, tau, z).first;
        for (double other : z)
            CHECK(least <= at(pinball, other, tau, z).first + 1e-15);
        CHECK(at(pinball, quantile - 1e-9, tau, z).second <= 1e-12);
        CHECK(at(pinball, quantile + 1e-9, tau, z).second >= -1e-12);
        CHECK(at(pinball, quantile - 1e6, tau, z).second == Approx(-tau));
        CHECK(at(pinball, quantile + 1e6, tau, z).second == Approx(1.0 - tau));
    }
}

TEST_CASE("The expectile loss is least at the mean for one half, and at the expectile elsewhere") {
    random_stream random(2);
    for (int repetition = 0; repetition < 100; ++repetition) {
        std::vector<double> z(1 + random.below(30));
        double mean = 0.0;
        for (double& point : z)
            mean += (point = random.normal<double>()) / static_cast<double>(z.size());
        CHECK(at(losses::expectile{}, mean, 0.5, z).second == Approx(0.0).margin(1e-14));

        // The expectile e of τ balances τ E(Z − e)⁺ = (1 − τ) E(e − Z)⁺.
        double const tau = 0.02 + 0.96 * random.uniform<double>();
        double const e = random.normal<double>();
        double above = 0.0;
        double below = 0.0;
        for (double point : z)
            (point > e ? above : below) += std::abs(point - e) / static_cast<double>(z.size());
        CHECK(at(losses::expectile{}, e, tau, z).second ==
              Approx(-2.0 * (tau * above - (1.0 - tau) * below)).margin(1e-14));
    }
}

TEST_CASE("The sample energy with the target term is 2 ∫ (F − G)²") {
    random_stream random(3);
    for (int repetition = 0; repetition < 300; ++repetition) {
        auto const p = random_problem<double>(random, 1, 1 + random.below(40), 1 + random.below(40));
        heads::implicit_quantile const head{.samples_per_state = p.samples};
        double const wanted = static_cast<double>(2.0L * cramer_of_steps(p.values, p.targets));
        for (way const how : all_ways) {
            energy_by const loss{how, {.target_term = true}};
            CHECK(loss.value(head, p.outputs(), p.target_view()) == Approx(wanted).epsilon(1e-12).margin(1e-14));
        }
        CHECK(energy(dirac_mixture<double>(p.values), dirac_mixture<double>(p.targets)) ==
              Approx(wanted).epsilon(1e-12).margin(1e-14));
    }
}

TEST_CASE("By hand: two samples, two weighted particles") {
    heads::dirac<2> const head;
    std::vector<double> const x{0.0, 3.0};
    std::vector<double> const y{1.0, 2.0};
    std::vector<double> const v{0.25, 0.75};
    std::vector<double> gradient(2);
    matrix_view<double const> const outputs(x.data(), 1, 2);
    targets::dirac_particles<double const> const targets{{y.data(), 1, 2}, {v.data(), 1, 2}};
    matrix_view<double> const to(gradient.data(), 1, 2);

    // 2 · ½ (¼ · 1 + ¾ · 2 + ¼ · 2 + ¾ · 1) − ¼ (3 + 3)
    CHECK(losses::sample_energy{}.value_and_gradient(head, outputs, targets, to) == Approx(3.0 - 1.5));
    CHECK(gradient == std::vector<double>{-0.5, 0.5});
    CHECK(losses::sample_energy{.target_term = true}.value(head, outputs, targets) == Approx(1.5 - 2.0 * 0.1875));
    CHECK(losses::sample_energy{.statistic = losses::energy_statistic::u}.value(head, outputs, targets) ==
          Approx(3.0 - 3.0));

    // Fractions ¼ and ¾: at 0 both δ are positive, at 3 both are negative; κ = 1 is reached by δ = ±1 and ±2.
    double const low = 0.25 * (0.25 * 0.5 + 0.75 * 1.5);
    double const high = 0.25 * (0.25 * 1.5 + 0.75 * 0.5);
    CHECK(losses::huber_quantile{}.value_and_gradient(head, outputs, targets, to) == Approx(low + high));
    CHECK(gradient[0] == Approx(-0.25));
    CHECK(gradient[1] == Approx(0.25));

    CHECK(losses::expectile{}.value_and_gradient(head, outputs, targets, to) ==
          Approx(0.25 * (0.25 * 1.0 + 0.75 * 4.0) + 0.25 * (0.25 * 4.0 + 0.75 * 1.0)));
    CHECK(gradient[0] == Approx(-2.0 * 0.25 * (0.25 * 1.0 + 0.75 * 2.0)));
    CHECK(gradient[1] == Approx(2.0 * 0.25 * (0.25 * 2.0 + 0.75 * 1.0)));
}

TEST_CASE("The U-statistic is unbiased and the V-statistic is above it, by the means of both") {
    // 400,000 draws of 3 samples of one normal distribution and 4 particles of another. With probability 0.9999 the mean of
    // as many draws is within 3.9 standard errors.
    gaussian_mixture<double> const predicted{{1.0, 0.0, 1.0}};
    gaussian_mixture<double> const wanted{{0.5, -1.0, 0.5}, {0.5, 2.0, 1.0}};
    double const truth = energy(predicted, wanted);
    constexpr std::size_t states = 1000;
    heads::dirac<3> const head;
    std::vector<double> x(3 * states), y(4 * states);
    random_stream random(4);
    double sum = 0.0;
    double squares = 0.0;
    double biased = 0.0;
    constexpr int batches = 400;
    for (int b = 0; b < batches; ++b) {
        predicted.sample(random, x);
        wanted.sample(random, y);
        matrix_view<double const> const outputs(x.data(), states, 3);
        targets::dirac_particles<double const> const targets{{y.data(), states, 4}, {}};
        losses::sample_energy const u{.statistic = losses::energy_statistic::u, .target_term = true};
        double const value = u.value(head, outputs, targets);
        sum += value;
        squares += value * value;
        biased += losses::sample_energy{.target_term = true}.value(head, outputs, targets);
    }
    double const mean = sum / batches;
    double const error = std::sqrt((squares / batches - mean * mean) / (batches - 1));
    CHECK(std::abs(mean - truth) < 3.9 * error);
    CHECK(error < 0.01 * truth);
    // The V-statistic has too little of E|X − X'| / 3 and E|Y − Y'| / 4.
    auto const spread = [](auto const& distribution) {
        return 4.0 * gmac::detail::quarter_difference_of<double>(distribution, distribution);
    };
    CHECK(std::abs(biased / batches - truth - spread(predicted) / 3.0 - spread(wanted) / 4.0) < 3.9 * error);
}
