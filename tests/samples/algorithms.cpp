// SPDX-License-Identifier: Apache-2.0
// All ways to compute a loss between samples give the same: pairs and sorting, float and double; lanes.cpp has the lane widths.
#include "samples/outcomes.hpp"
#include "samples/problems.hpp"
#include "samples/says.hpp"
#include "support/catch.hpp"

#include <gmac/losses/expectile.hpp>
#include <gmac/losses/huber_quantile.hpp>
#include <gmac/losses/sample_energy.hpp>
#include <gmac/losses/sample_workspace.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

using namespace gmac;
using namespace gmac::test;
using losses::sample_algorithm;

TEST_CASE("Sorting gives what pairs give, to 1e-12 in double") {
    random_stream random(1);
    // The last ones go beyond what lanes hold (1,024 points).
    std::vector<shape> const shapes{{17, 1, 1},    {9, 1, 40},   {20, 40, 1},   {18, 7, 8},    {5, 8, 8},
                                    {6, 9, 31},    {3, 64, 64},  {10, 65, 127}, {2, 200, 56},  {1, 512, 512},
                                    {1, 700, 700}, {2, 1, 1100}, {2, 1300, 3},  {1, 1024, 300}};
    for (shape const& s : shapes)
        for (bool weighted : {false, true})
            for (double scale : {1e-8, 1.0, 1e8})
                for (double offset : {0.0, 1000.0}) {
                    if (s.samples * s.particles > 10'000 && scale != 1.0)
                        continue;
                    auto const p =
                        random_problem<double>(random, s.states, s.samples, s.particles,
                                               {.scale = scale, .offset = offset * scale, .weighted = weighted});
                    CAPTURE(s.states, s.samples, s.particles, weighted, scale, offset);
                    for (double kappa : {0.0, 1e-3 * scale, scale, 1e3 * scale}) {
                        CAPTURE(kappa);
                        auto const pairs =
                            run(losses::huber_quantile{.kappa = kappa, .algorithm = sample_algorithm::pairwise}, p);
                        auto const sorted =
                            run(losses::huber_quantile{.kappa = kappa, .algorithm = sample_algorithm::sorted}, p);
                        CHECK(difference(pairs, sorted) < 1e-12);
                    }
                    for (bool target_term : {false, true}) {
                        auto const pairs = run(losses::sample_energy{.target_term = target_term,
                                                                     .algorithm = sample_algorithm::pairwise},
                                               p);
                        auto const sorted = run(losses::sample_energy{.target_term = target_term,
                                                                      .algorithm = sample_algorithm::sorted},
                                                p);
                        // With the target term the value is a small difference of the pairs' sums.
                        if (!target_term)
                            CHECK(difference(pairs, sorted) < 1e-12);
                        else
                            CHECK(std::abs(pairs.value - sorted.value) < 1e-12 * scale);
                    }
                }
}

TEST_CASE("Sorting gives what pairs give where the target's points lie a million times farther apart than kappa") {
    random_stream random(2);
    auto p = random_problem<double>(random, 4, 300, 300, {.weighted = true});
    for (std::size_t i = 0; i < p.targets.size(); i += 3)
        p.targets[i] *= 1e7;
    for (double kappa : {1e-6, 1e-3, 1.0}) {
        auto const pairs = run(losses::huber_quantile{.kappa = kappa, .algorithm = sample_algorithm::pairwise}, p);
        auto const sorted = run(losses::huber_quantile{.kappa = kappa, .algorithm = sample_algorithm::sorted}, p);
        CHECK(difference(pairs, sorted) < 1e-12);
    }
}

TEST_CASE("Sorting draws the line at kappa where pairs draw it, even if kappa is lost beside the points") {
    random_stream random(8);
    // Points are multiples of 16 here, and so are sums of a point and kappa after rounding.
    auto const p = random_problem<float>(random, 3, 50, 60, {.scale = 48.0, .offset = 2e8});
    for (double kappa : {5.0, 12.0, 23.0}) {
        auto const pairs = run(losses::huber_quantile{.kappa = kappa, .algorithm = sample_algorithm::pairwise}, p);
        auto const sorted = run(losses::huber_quantile{.kappa = kappa, .algorithm = sample_algorithm::sorted}, p);
        CHECK(difference(pairs, sorted) < 1e-5);
    }
}

TEST_CASE("Few points sorted state by state give what pairs give") {
    // The loss itself takes lanes for so few.
    random_stream random(3);
    for (int repetition = 0; repetition < 2000; ++repetition) {
        auto const p = random_problem<double>(random, 1, 1 + random.below(9), 1 + random.below(9),
                                              {.weighted = random.below(2) == 0});
        auto const n = static_cast<double>(p.samples);
        auto const m = static_cast<double>(p.particles);
        losses::detail::energy_terms const terms{1.0, 1.0, 1.0 / n, 1.0 / m, 1.0};
        losses::detail::row_stack<double, 64> stack;
        std::vector<double> gradient(p.samples);
        auto const targets = p.target_view();
        double const value =
            p.weights.empty()
                ? losses::detail::energy_of_row<true, false>(p.value_view().row(0), targets.values.row(0), {},
                                                             vector_view<double>(gradient), terms, stack.memory())
                : losses::detail::energy_of_row<true, true>(p.value_view().row(0), targets.values.row(0),
                                                            targets.weights.row(0), vector_view<double>(gradient),
                                                            terms, stack.memory());
        auto const pairs = run(losses::sample_energy{.target_term = true, .algorithm = sample_algorithm::pairwise}, p);
        CHECK(value == Approx(pairs.value).epsilon(1e-12).margin(1e-14));
        for (std::size_t i = 0; i < p.samples; ++i)
            CHECK(gradient[i] == Approx(pairs.gradient[i]).epsilon(1e-12).margin(1e-14));
    }
}

TEST_CASE("float is as near to double as its precision allows") {
    // Stated bound: 4 units of float's precision, in the value relative to Σ |terms|, in the gradient to Σ |slopes|; and
    // as many more as a root of the number of terms summed. Inputs are float numbers for both.
    random_stream random(4);
    for (shape const& s : std::vector<shape>{{33, 5, 7}, {17, 64, 64}, {4, 128, 128}, {2, 300, 300}, {1, 700, 700}})
        for (double scale : {1e-8, 1.0, 1e8})
            for (bool weighted : {false, true}) {
                double const offset = weighted ? 3.0 * scale : 1e4 * scale;
                auto const p = random_problem<float>(random, s.states, s.samples, s.particles,
                                                     {.scale = scale, .offset = offset, .weighted = weighted});
                problem<double> const exact{p.states,
                                            p.samples,
                                            p.particles,
                                            {p.values.begin(), p.values.end()},
                                            {p.fractions.begin(), p.fractions.end()},
                                            {p.targets.begin(), p.targets.end()},
                                            {p.weights.begin(), p.weights.end()}};
                double const bound = 4.0 * std::numeric_limits<float>::epsilon() *
                                     (1.0 + std::sqrt(static_cast<double>(s.samples + s.particles)));
                auto const look = [&](auto loss, double gradient_unit, double value_unit) {
                    for (auto algorithm : {sample_algorithm::pairwise, sample_algorithm::sorted}) {
                        loss.algorithm = algorithm;
                        auto const single = run(loss, p);
                        auto const twice = run(loss, exact);
                        CAPTURE(s.samples, s.particles, scale, weighted, algorithm == sample_algorithm::sorted);
                        CHECK(std::abs(static_cast<double>(single.value) - twice.value) < bound * value_unit);
                        double off = 0.0;
                        for (std::size_t i = 0; i < single.gradient.size(); ++i)
                            off =
                                (std::max)(off, std::abs(static_cast<double>(single.gradient[i]) - twice.gradient[i]));
                        CHECK(off * static_cast<double>(s.states) < bound * gradient_unit);
                    }
                };
                auto const n = static_cast<double>(s.samples);
                for (double kappa : {0.0, 0.5 * scale})
                    look(losses::huber_quantile{.kappa = kappa}, 1.0,
                         run(losses::huber_quantile{.kappa = kappa}, exact).value);
                look(losses::sample_energy{}, 4.0 / n, 8.0 * scale);
            }
}

TEST_CASE("A NaN or an infinity is not swallowed, whatever the algorithm") {
    random_stream random(6);
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (shape const& s : std::vector<shape>{{20, 5, 6}, {3, 600, 600}})
        for (double bad : {nan, infinity, -infinity})
            for (bool in_targets : {false, true})
                for (auto algorithm : {sample_algorithm::pairwise, sample_algorithm::sorted}) {
                    auto p = random_problem<double>(random, s.states, s.samples, s.particles);
                    auto& numbers = in_targets ? p.targets : p.values;
                    numbers[random.below(static_cast<std::uint32_t>(numbers.size()))] = bad;
                    CAPTURE(bad, in_targets, algorithm == sample_algorithm::sorted, s.samples);
                    CHECK_FALSE(
                        std::isfinite(run(losses::huber_quantile{.kappa = 1.0, .algorithm = algorithm}, p).value));
                    CHECK_FALSE(
                        std::isfinite(run(losses::huber_quantile{.kappa = 0.0, .algorithm = algorithm}, p).value));
                    CHECK_FALSE(std::isfinite(run(losses::sample_energy{.algorithm = algorithm}, p).value));
                    CHECK_FALSE(std::isfinite(run(losses::expectile{}, p).value));
                    if (std::isnan(bad) && !in_targets) {
                        // Every slope is written; those of the state are no numbers where a sort may have lost them.
                        auto const energy = run(losses::sample_energy{.algorithm = algorithm}, p);
                        CHECK(std::ranges::count(energy.gradient, 77.0) == 0);
                        if (algorithm == sample_algorithm::sorted)
                            CHECK(std::ranges::count_if(energy.gradient, [](double g) { return std::isnan(g); }) ==
                                  static_cast<std::ptrdiff_t>(p.samples));
                    }
                }
}

TEST_CASE("A workspace takes more points than the stack") {
    random_stream random(7);
    auto const p = random_problem<double>(random, 2, 100, 8200);
    losses::sample_energy const energy{.algorithm = sample_algorithm::sorted};
    losses::huber_quantile const huber{.algorithm = sample_algorithm::sorted};
    CHECK_THROWS_WITH(run(energy, p), says("100 samples and 8200 particles are too many") && says("sample_workspace"));
    CHECK_THROWS_WITH(run(huber, p), says("huber_quantile: 100 samples and 8200 particles are too many"));

    losses::sample_workspace<double> workspace(100, 4100);
    CHECK_THROWS_WITH(run(energy, p, workspace), says("too many"));
    workspace.reserve(50, 8200);
    CHECK(difference(run(losses::sample_energy{.algorithm = sample_algorithm::pairwise}, p),
                     run(energy, p, workspace)) < 1e-12);
    CHECK(difference(run(losses::huber_quantile{.algorithm = sample_algorithm::pairwise}, p),
                     run(huber, p, workspace)) < 1e-12);
    // Without one, and without a wish, pairs do.
    CHECK(difference(run(losses::sample_energy{}, p), run(energy, p, workspace)) < 1e-12);
    heads::implicit_quantile const head{.samples_per_state = p.samples};
    CHECK(energy.value(head, p.outputs(), p.target_view(), workspace) ==
          Approx(run(energy, p, workspace).value).epsilon(1e-13));
    CHECK(huber.value(head, p.outputs(), p.target_view(), workspace) ==
          Approx(run(huber, p, workspace).value).epsilon(1e-13));
}
