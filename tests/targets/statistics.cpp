// SPDX-License-Identifier: Apache-2.0
// Sampled SR(λ) against the whole distribution by its definition. Every bound is that of Dvoretzky, Kiefer and Wolfowitz
// with Massart's constant, P(sup |F_n − F| > ε) <= 2 exp(−2 n ε²), at a confidence of 1 − 1e-9 for each comparison; the
// seeds are fixed, so a test passes always or never.
#include "rollouts.hpp"
#include "support/catch.hpp"

#include <gmac/targets/sr_lambda.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace gmac;
using gmac::testing::atom;
using gmac::testing::random_rollout;
using targets::resampling;
using targets::sr_lambda;

namespace {

double ks_bound(std::size_t draws) {
    return std::sqrt(std::log(2.0 / 1e-9) / (2.0 * static_cast<double>(draws)));
}

/// sup |F_n − F| over points that are not steps of F: the midpoints between its atoms, where rounding does not matter.
double ks_distance(std::vector<double> draws, std::vector<atom> const& law) {
    std::sort(draws.begin(), draws.end());
    std::vector<double> atoms;
    for (atom const& a : law)
        atoms.push_back(a.mean);
    std::sort(atoms.begin(), atoms.end());
    double worst = 0.0;
    for (std::size_t i = 0; i <= atoms.size(); ++i) {
        if (i > 0 && i < atoms.size() && atoms[i] - atoms[i - 1] < 1e-9)
            continue;
        double const x = i == 0              ? atoms[0] - 1.0
                         : i == atoms.size() ? atoms.back() + 1.0
                                             : 0.5 * (atoms[i - 1] + atoms[i]);
        double const below = static_cast<double>(std::upper_bound(draws.begin(), draws.end(), x) - draws.begin());
        double expected = 0.0;
        for (atom const& a : law)
            expected += a.mean <= x ? a.weight : 0.0;
        worst = std::max(worst, std::abs(below / static_cast<double>(draws.size()) - expected));
    }
    return worst;
}

std::vector<atom> deviations_as_means(std::vector<atom> law) {
    for (atom& a : law)
        a.mean = a.deviation;
    return law;
}

/// What a number of runs with different seeds gave: [run][row][particle].
struct draws {
    std::size_t runs, rows, particles;
    std::vector<double> means, deviations;

    [[nodiscard]] double mean(std::size_t run, std::size_t row, std::size_t i) const {
        return means[(run * rows + row) * particles + i];
    }
    /// One row of all runs: of one particle, or of all.
    [[nodiscard]] std::vector<double> of(std::vector<double> const& all, std::size_t row, std::size_t first,
                                         std::size_t last) const {
        std::vector<double> result;
        for (std::size_t run = 0; run < runs; ++run)
            for (std::size_t i = first; i < last; ++i)
                result.push_back(all[(run * rows + row) * particles + i]);
        return result;
    }
};

template <class Source>
draws draw(random_rollout<double> const& known, Source const& source, sr_lambda const& returns, std::size_t runs) {
    std::size_t const rows = known.steps * known.environments;
    draws all{runs, rows, returns.particles, {}, {}};
    all.means.resize(runs * rows * returns.particles);
    all.deviations.resize(all.means.size());
    std::vector<random_stream> streams;
    for (std::size_t e = 0; e < known.environments; ++e)
        streams.emplace_back(2024, e);
    for (std::size_t run = 0; run < runs; ++run) {
        std::size_t const first = run * rows * returns.particles;
        matrix_view<double> const means(&all.means[first], rows, returns.particles);
        if constexpr (requires { source.deviations; })
            returns(known.view(), source, streams,
                    targets::gaussian_particles<double>{means, {&all.deviations[first], rows, returns.particles}});
        else
            returns(known.view(), source, streams, targets::dirac_particles<double>{means});
    }
    return all;
}

} // namespace

TEST_CASE("Independent particles follow the mixture of n-step returns, with ends inside") {
    random_rollout<double> known(14, 2, 4, 9, 21);
    known.terminated[5 * 2] = known.truncated[9 * 2 + 1] = 1; // one of each at least
    known = [&] {
        random_rollout<double> grown(14, 2, 4, 9, 21);
        grown.terminated = known.terminated;
        grown.truncated = known.truncated;
        while (grown.values.size() < grown.rows()) { // rows for the final observations that were added
            std::size_t const row = grown.values.size() - 7;
            for (std::size_t k = 0; k < 4; ++k) {
                grown.weights.push_back(grown.weights[row * 4 + k]);
                grown.means.push_back(grown.means[row * 4 + k] + 0.37);
                grown.deviations.push_back(grown.deviations[row * 4 + k]);
            }
            grown.values.push_back(0.0);
        }
        return grown;
    }();
    std::size_t const particles = 128;
    std::size_t const runs = 300;
    for (double const lambda : {0.0, 0.5, 0.9, 1.0}) {
        sr_lambda const returns{.discount = 0.95, .lambda = lambda, .particles = particles};
        draws const gaussian = draw(known, known.gaussians(), returns, runs);
        draws const dirac = draw(known, known.diracs(), returns, runs);
        double const bound = ks_bound(runs * particles);
        for (std::size_t t = 0; t < known.steps; ++t)
            for (std::size_t e = 0; e < 2; ++e) {
                std::size_t const row = t * 2 + e;
                auto const law = testing::n_step_returns(known, t, e, 0.95, lambda);
                CHECK(ks_distance(gaussian.of(gaussian.means, row, 0, particles), law) < bound);
                CHECK(ks_distance(gaussian.of(gaussian.deviations, row, 0, particles), deviations_as_means(law)) <
                      bound);
                CHECK(ks_distance(dirac.of(dirac.means, row, 0, particles), law) < bound);
            }
    }
}

TEST_CASE("A wrong lambda is seen by the same bound") {
    random_rollout<double> const known(14, 1, 4, 0, 22);
    draws const all = draw(known, known.gaussians(), {.discount = 0.95, .lambda = 0.9, .particles = 128}, 300);
    CHECK(ks_distance(all.of(all.means, 0, 0, 128), testing::n_step_returns(known, 0, 0, 0.95, 0.87)) >
          ks_bound(300 * 128));
}

TEST_CASE("Stratified particles have the same marginal law, each of them") {
    random_rollout<double> const known(8, 2, 4, 9, 23);
    std::size_t const particles = 12;
    std::size_t const runs = 6000;
    for (double const lambda : {0.0, 0.4, 0.9}) {
        draws const all =
            draw(known, known.gaussians(),
                 {.discount = 0.95, .lambda = lambda, .particles = particles, .replacement = resampling::stratified},
                 runs);
        for (std::size_t const row : {0u, 1u, 6u, 15u})
            for (std::size_t const i : {0u, 1u, 5u, 11u}) {
                auto const law = testing::n_step_returns(known, row / 2, row % 2, 0.95, lambda);
                CHECK(ks_distance(all.of(all.means, row, i, i + 1), law) < ks_bound(runs));
            }
    }
}

TEST_CASE("More particles than are stratified together") {
    random_rollout<double> const known(4, 1, 3, 0, 26);
    std::size_t const particles = 1100; // two groups and a part of one
    std::size_t const runs = 600;
    draws const all =
        draw(known, known.gaussians(),
             {.discount = 0.95, .lambda = 0.7, .particles = particles, .replacement = resampling::stratified}, runs);
    auto const law = testing::n_step_returns(known, 0, 0, 0.95, 0.7);
    for (std::size_t const i : {0u, 511u, 512u, 1023u, 1024u, 1099u})
        CHECK(ks_distance(all.of(all.means, 0, i, i + 1), law) < ks_bound(runs));
    // All particles of all runs are no independent draws; but no worse than so many independent ones.
    CHECK(ks_distance(all.of(all.means, 0, 0, particles), law) < ks_bound(runs * particles));
}

TEST_CASE("Samples of an implicit quantile head give their mixture on average over the samples") {
    // The samples are drawn anew for each run, as the head would: row i is normal with its own mean.
    random_rollout<double> known(6, 1, 4, 0, 24);
    std::size_t const particles = 8;
    std::size_t const runs = 4000;
    double const lambda = 0.6;
    std::vector<double> row_means = known.values;
    random_stream random(31), stream(32);
    std::vector<double> out(6 * particles), firsts;
    std::vector<random_stream> streams{stream};
    for (std::size_t run = 0; run < runs; ++run) {
        for (std::size_t i = 0; i < known.rows(); ++i)
            for (std::size_t k = 0; k < 4; ++k)
                known.means[4 * i + k] = row_means[i] + random.normal<double>();
        sr_lambda{.discount = 0.9,
                  .lambda = lambda,
                  .particles = particles}(known.view(),
                                          targets::sample_source<double>{{known.means.data(), known.rows(), 4}},
                                          streams, targets::dirac_particles<double>{{out.data(), 6, particles}});
        firsts.push_back(out[3]);
    }
    // The law is a mixture of normal distributions: one component a state.
    random_rollout<double> law_of(6, 1, 1, 0, 24);
    law_of.rewards = known.rewards;
    law_of.means = row_means;
    law_of.deviations.assign(known.rows(), 1.0);
    law_of.weights.assign(known.rows(), 1.0);
    auto const law = testing::n_step_returns(law_of, 0, 0, 0.9, lambda);
    std::sort(firsts.begin(), firsts.end());
    double worst = 0.0;
    for (std::size_t i = 0; i < runs; ++i) {
        double const expected = testing::cdf_of(law, firsts[i]);
        double const n = static_cast<double>(runs);
        worst = std::max({worst, std::abs(static_cast<double>(i) / n - expected),
                          std::abs(static_cast<double>(i + 1) / n - expected)});
    }
    CHECK(worst < ks_bound(runs));
}

TEST_CASE("Stratified replacement varies less") {
    // The variance, over runs, of two things that a loss sees: the particles' mean, and their distribution function at
    // the median of the law. 128 particles and 5 components as in the paper, at the start of 32 steps.
    random_rollout<double> const known(32, 1, 5, 0, 25);
    std::size_t const runs = 1500;
    auto const law = testing::n_step_returns(known, 0, 0, 0.99, 0.95);
    double median = testing::mean_of(law);
    for (double step = 4.0; step > 1e-6; step *= 0.5)
        median += testing::cdf_of(law, median) < 0.5 ? step : -step;

    struct spread {
        double of_mean, of_cdf, mean;
    };
    auto const measure = [&](resampling replacement) {
        draws const all = draw(known, known.gaussians(),
                               {.discount = 0.99, .lambda = 0.95, .particles = 128, .replacement = replacement}, runs);
        double m = 0, mm = 0, c = 0, cc = 0;
        for (std::size_t run = 0; run < runs; ++run) {
            double mean = 0.0, below = 0.0;
            for (std::size_t i = 0; i < 128; ++i) {
                mean += all.mean(run, 0, i) / 128.0;
                double const deviation = all.deviations[run * 32 * 128 + i];
                below += 0.5 * std::erfc((all.mean(run, 0, i) - median) / (deviation * std::sqrt(2.0))) / 128.0;
            }
            m += mean;
            mm += mean * mean;
            c += below;
            cc += below * below;
        }
        double const n = static_cast<double>(runs);
        return spread{mm / n - m / n * m / n, cc / n - c / n * c / n, m / n};
    };
    spread const independent = measure(resampling::independent);
    spread const stratified = measure(resampling::stratified);
    double const in_mean = independent.of_mean / stratified.of_mean;
    double const in_cdf = independent.of_cdf / stratified.of_cdf;
    WARN("stratified replacement divides the variance of the mean by "
         << in_mean << " and of the distribution function by " << in_cdf);
    // Independent particles: the variance of the law, divided by their number. An estimated variance of 1500 runs has
    // a relative deviation of 3.7 %; six of them.
    double means_variance = 0.0;
    for (atom const& a : law)
        means_variance += a.weight * (a.mean - testing::mean_of(law)) * (a.mean - testing::mean_of(law));
    CHECK(independent.of_mean == Approx(means_variance / 128.0).epsilon(0.22));
    CHECK(in_mean > 6.0);
    CHECK(in_cdf > 5.0);
    for (spread const& s : {independent, stratified}) // the mean of the means, without bias: six standard errors
        CHECK(std::abs(s.mean - testing::mean_of(law)) < 6.0 * std::sqrt(s.of_mean / static_cast<double>(runs)));
}
