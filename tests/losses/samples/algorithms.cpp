// SPDX-License-Identifier: Apache-2.0
// All ways to compute a loss between samples give the same: pairs and sorting, float and double; lanes.cpp has the lane widths.
#include "losses/samples/outcomes.hpp"
#include "losses/samples/problems.hpp"
#include "losses/samples/ways.hpp"
#include "support/catch.hpp"

#include <gmac/losses/expectile.hpp>
#include <gmac/losses/huber_quantile.hpp>
#include <gmac/losses/sample_energy.hpp>

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
using namespace gmac::testing;

namespace {

/// The ways to sort that have room for so many samples and particles.
std::vector<way> sorting_ways(std::size_t samples, std::size_t particles) {
    bool const few = losses::detail::whole_blocks(samples) + losses::detail::whole_blocks(particles) <=
                     losses::detail::most_points_in_lanes;
    return few ? std::vector{way::lanes, way::rows} : std::vector{way::rows};
}

} // namespace

TEST_CASE("Sorting gives what pairs give, to 1e-12 in double") {
    random_stream random(1);
    std::vector<shape> const shapes{{17, 1, 1},    {9, 1, 40},   {20, 40, 1},   {18, 7, 8},    {5, 8, 8},
                                    {6, 9, 31},    {3, 64, 64},  {10, 65, 127}, {2, 200, 56},  {1, 160, 160},
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
                        CHECK(difference(run(huber_by{way::pairs, kappa}, p), run(huber_by{way::rows, kappa}, p)) <
                              1e-12);
                    }
                    for (bool target_term : {false, true})
                        for (way const how : sorting_ways(s.samples, s.particles)) {
                            CAPTURE(target_term, how == way::rows);
                            auto const pairs = run(energy_by{way::pairs, {.target_term = target_term}}, p);
                            auto const sorted = run(energy_by{how, {.target_term = target_term}}, p);
                            // With the target term the value is a small difference of the pairs' sums.
                            if (!target_term)
                                CHECK(difference(pairs, sorted) < 1e-12);
                            else
                                CHECK(std::abs(pairs.value - sorted.value) < 1e-12 * scale);
                        }
                }
}

TEST_CASE("Each loss takes a way that has room, and gives what pairs give") {
    random_stream random(9);
    for (shape const& s : std::vector<shape>{{3, 12, 40},
                                             {3, 13, 40},
                                             {2, 160, 160},
                                             {2, 161, 160},
                                             {1, 1700, 1700},
                                             {1, 8192, 3},
                                             {1, 8193, 3},
                                             {1, 3, 8193},
                                             {1, 2, 8192}}) {
        auto const p = random_problem<double>(random, s.states, s.samples, s.particles);
        CAPTURE(s.samples, s.particles);
        CHECK(difference(run(huber_by{way::pairs}, p), run(losses::huber_quantile{}, p)) < 1e-12);
        CHECK(difference(run(huber_by{way::pairs, 0.0}, p), run(losses::huber_quantile{.kappa = 0.0}, p)) < 1e-12);
        CHECK(difference(run(energy_by{way::pairs}, p), run(losses::sample_energy{}, p)) < 1e-12);
    }
}

TEST_CASE("Sorting gives what pairs give where the target's points lie a million times farther apart than kappa") {
    random_stream random(2);
    auto p = random_problem<double>(random, 4, 300, 300, {.weighted = true});
    for (std::size_t i = 0; i < p.targets.size(); i += 3)
        p.targets[i] *= 1e7;
    for (double kappa : {1e-6, 1e-3, 1.0})
        CHECK(difference(run(huber_by{way::pairs, kappa}, p), run(huber_by{way::rows, kappa}, p)) < 1e-12);
}

TEST_CASE("Sorting draws the line at kappa where pairs draw it, even if kappa is lost beside the points") {
    random_stream random(8);
    // Points are multiples of 16 here, and so are sums of a point and kappa after rounding.
    auto const p = random_problem<float>(random, 3, 50, 60, {.scale = 48.0, .offset = 2e8});
    for (double kappa : {5.0, 12.0, 23.0})
        CHECK(difference(run(huber_by{way::pairs, kappa}, p), run(huber_by{way::rows, kappa}, p)) < 1e-5);
}

TEST_CASE("A kappa beyond the range of float is half the squared error over kappa") {
    random_stream random(10);
    for (float const scale : {1.0F, 1e15F}) {
        auto const p = random_problem<float>(random, 3, 40, 50, {.scale = static_cast<double>(scale)});
        for (double const kappa : {1e39, 1e40}) {
            double wanted = 0.0;
            std::vector<double> slopes(p.values.size());
            for (std::size_t s = 0; s < 3; ++s)
                for (std::size_t i = 0; i < 40; ++i)
                    for (std::size_t j = 0; j < 50; ++j) {
                        double const delta =
                            static_cast<double>(p.targets[50 * s + j]) - static_cast<double>(p.values[40 * s + i]);
                        auto const tau = static_cast<double>(p.fractions[40 * s + i]);
                        double const level = delta < 0.0 ? 1.0 - tau : tau;
                        wanted += level * delta * delta / (2.0 * kappa) / 150.0;
                        slopes[40 * s + i] -= level * delta / kappa / 150.0;
                    }
            for (way const how : {way::pairs, way::rows}) {
                auto const found = run(huber_by{how, kappa}, p);
                CAPTURE(scale, kappa, how == way::rows);
                // Numbers of so little size have few digits: the smallest is 1.4e-45.
                CHECK(static_cast<double>(found.value) == Approx(wanted).epsilon(1e-2).margin(3e-43));
                for (std::size_t i = 0; i < slopes.size(); ++i)
                    CHECK(static_cast<double>(found.gradient[i]) == Approx(slopes[i]).epsilon(1e-2).margin(3e-43));
            }
        }
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
                auto ways = sorting_ways(s.samples, s.particles);
                ways.push_back(way::pairs);
                auto const look = [&](auto by, double gradient_unit, double value_unit) {
                    for (way const how : ways) {
                        by.how = how;
                        auto const single = run(by, p);
                        auto const twice = run(by, exact);
                        CAPTURE(s.samples, s.particles, scale, weighted, static_cast<int>(how));
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
                    look(huber_by{way::pairs, kappa}, 1.0, run(huber_by{way::pairs, kappa}, exact).value);
                look(energy_by{way::pairs}, 4.0 / n, 8.0 * scale);
            }
}

TEST_CASE("A NaN or an infinity is not swallowed, in the value or in the gradient") {
    random_stream random(6);
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    auto const nans_of_state = [](auto const& found, std::size_t state, std::size_t samples) {
        auto const row = std::span(found.gradient).subspan(state * samples, samples);
        return static_cast<std::size_t>(std::ranges::count_if(row, [](double g) { return std::isnan(g); }));
    };
    for (shape const& s : std::vector<shape>{{20, 5, 6}, {20, 20, 30}, {3, 600, 600}, {1, 1700, 1700}})
        for (double bad : {nan, infinity, -infinity})
            for (bool in_targets : {false, true}) {
                auto p = random_problem<double>(random, s.states, s.samples, s.particles);
                auto& numbers = in_targets ? p.targets : p.values;
                auto const place = random.below(static_cast<std::uint32_t>(numbers.size()));
                numbers[place] = bad;
                std::size_t const columns = in_targets ? s.particles : s.samples;
                std::size_t const state = place / columns;
                auto ways = sorting_ways(s.samples, s.particles);
                ways.push_back(way::pairs);
                auto const look = [&](auto const& found, std::size_t nans) {
                    CAPTURE(bad, in_targets, s.samples);
                    CHECK_FALSE(std::isfinite(found.value));
                    CHECK(std::ranges::count(found.gradient, 77.0) == 0); // every slope is written
                    for (std::size_t other = 0; other < s.states; ++other)
                        if (other != state)
                            CHECK(nans_of_state(found, other, s.samples) == 0);
                    if (std::isnan(bad))
                        CHECK(nans_of_state(found, state, s.samples) == nans);
                };
                // A quantile is learned for itself: only a target touches all of them. Samples touch each other.
                std::size_t const touched = in_targets ? s.samples : 1;
                for (way const how : ways) {
                    for (double const kappa : {1.0, 0.0})
                        look(run(huber_by{how, kappa}, p), touched);
                    look(run(energy_by{how}, p), s.samples);
                }
                for (double const kappa : {1.0, 0.0})
                    look(run(losses::huber_quantile{.kappa = kappa}, p), touched);
                look(run(losses::sample_energy{}, p), s.samples);
                look(run(losses::expectile{}, p), touched);
            }
}
