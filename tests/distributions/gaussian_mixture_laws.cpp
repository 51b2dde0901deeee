// SPDX-License-Identifier: Apache-2.0
#include "support/laws.hpp"

#include <gmac/distributions/energy.hpp>
#include <gmac/distributions/gaussian_mixture.hpp>
#include <gmac/distributions/modes.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace {

using mixture = gmac::gaussian_mixture<double>;
using component = gmac::normal_component<double>;
using gmac::testing::law;

/// A number in [-1, 1] with the edges among the likely ones.
rc::Gen<double> number() {
    return rc::gen::map(rc::gen::inRange(-1000, 1001), [](int x) { return static_cast<double>(x) / 1000.0; });
}

/// One to five components, some of them points or of weight 0.
rc::Gen<mixture> mixtures() {
    auto const parts = rc::gen::tuple(rc::gen::inRange(0, 100), number(), rc::gen::inRange(0, 200));
    return rc::gen::
        map(rc::gen::suchThat(rc::gen::container<std::vector<std::tuple<int, double, int>>>(parts),
                              [](auto const& all) {
                                  int sum = 0;
                                  for (auto const& part : all)
                                      sum += std::get<0>(part);
                                  return sum > 0 && all.size() <= 5;
                              }),
            [](std::vector<std::tuple<int, double, int>> const& all) {
                double sum = 0.0;
                for (auto const& part : all)
                    sum += std::get<0>(part);
                std::vector<component> components;
                for (auto const& [weight, mean, deviation] : all)
                    components.push_back({weight / sum, 4.0 * mean, deviation < 50 ? 0.0 : deviation / 100.0});
                return mixture(components);
            });
}

mixture transformed(mixture const& m, double a, double b) {
    std::vector<component> components;
    for (auto const& c : m.components())
        components.push_back({c.weight, a * c.mean + b, std::abs(a) * c.deviation});
    return mixture(components);
}

/// The largest of the terms that an energy is the difference of: what rounding is relative to.
double size_of(mixture const& u, mixture const& v) {
    return 20.0 + std::abs(u.mean()) + std::abs(v.mean());
}

} // namespace

TEST_CASE("laws of the energy distance", "[mixture]") {
    law("never negative, symmetric, zero for the same", [] {
        auto const u = *mixtures(), v = *mixtures();
        RC_ASSERT(gmac::energy(u, v) >= 0.0);
        RC_ASSERT(std::abs(gmac::energy(u, v) - gmac::energy(v, u)) <= 1e-15 * size_of(u, v));
        RC_ASSERT(gmac::energy(u, u) == 0.0);
    });
    law("positive for mixtures that differ", [] {
        auto const u = *mixtures(), v = *mixtures();
        // Means that differ by g force 2 ∫ (F − G)² ≥ 2 g² / L where F and G differ within a length L only.
        double const gap = std::abs(u.mean() - v.mean());
        RC_PRE(gap > 1e-3);
        RC_ASSERT(gmac::energy(u, v) >= 2.0 * gap * gap / 40.0);
    });
    law("translation changes nothing, scale scales", [] {
        auto const u = *mixtures(), v = *mixtures();
        double const b = 10.0 * *number();
        double const a = *rc::gen::element(-3.0, -1.0, 1e-5, 0.5, 1e4);
        double const whole = gmac::energy(u, v);
        double const moved = gmac::energy(transformed(u, a, b), transformed(v, a, b)) / std::abs(a);
        RC_ASSERT(std::abs(moved - whole) <= 1e-15 * size_of(u, v) * (1.0 + std::abs(b / a)));
    });
    law("the root of it is a metric", [] {
        auto const u = *mixtures(), v = *mixtures(), w = *mixtures();
        auto const distance = [](mixture const& x, mixture const& y) { return std::sqrt(gmac::energy(x, y)); };
        RC_ASSERT(distance(u, w) <= distance(u, v) + distance(v, w) + 3e-7); // the root of the rounding
    });
    law("the order of the components does not matter", [] {
        auto const u = *mixtures(), v = *mixtures();
        std::vector<component> parts(u.components().begin(), u.components().end());
        std::reverse(parts.begin(), parts.end());
        mixture const reversed(parts);
        RC_ASSERT(std::abs(gmac::energy(reversed, v) - gmac::energy(u, v)) <= 1e-14 * size_of(u, v));
        RC_ASSERT(gmac::energy(reversed, u) <= 1e-14 * size_of(u, u));
    });
    law("a component in two halves is the component", [] {
        auto const u = *mixtures(), v = *mixtures();
        std::vector<component> parts;
        for (auto const& c : u.components()) {
            parts.push_back({0.25 * c.weight, c.mean, c.deviation});
            parts.push_back({0.75 * c.weight, c.mean, c.deviation});
        }
        mixture const halves(parts);
        RC_ASSERT(std::abs(gmac::energy(halves, v) - gmac::energy(u, v)) <= 1e-14 * size_of(u, v));
        RC_ASSERT(gmac::energy(halves, u) <= 1e-14 * size_of(u, u));
        RC_ASSERT(std::abs(halves.mean() - u.mean()) <= 1e-14);
        RC_ASSERT(std::abs(halves.variance() - u.variance()) <= 1e-13);
    });
}

TEST_CASE("laws of the quantile function", "[mixture]") {
    law("it inverts the distribution function", [] {
        auto const u = *mixtures();
        double const p = *rc::gen::map(rc::gen::inRange(1, 10000), [](int x) { return x / 10000.0; });
        double const x = u.quantile(p);
        double above = x, below = x;
        for (int step = 0; step < 2; ++step) {
            above = std::nextafter(above, 1e300);
            below = std::nextafter(below, -1e300);
        }
        RC_ASSERT(u.cdf(above) >= p - 1e-13);
        RC_ASSERT(u.cdf(below) <= p + 1e-13);
    });
    law("it never falls, and the mean of the worst never does", [] {
        auto const u = *mixtures();
        auto const p = *rc::gen::pair(rc::gen::inRange(1, 1000), rc::gen::inRange(1, 1000));
        double const low = std::min(p.first, p.second) / 1000.0, high = std::max(p.first, p.second) / 1000.0;
        RC_ASSERT(u.quantile(low) <= u.quantile(high) + 1e-12);
        RC_ASSERT(u.cvar(low) <= u.cvar(high) + 1e-11);
        RC_ASSERT(u.cvar(high) <= u.quantile(high) + 1e-11);
    });
}

TEST_CASE("laws of modes, intervals and expectiles", "[mixture]") {
    law("there are no more modes than components, and what gathers around them is all", [] {
        auto const u = *mixtures();
        auto const modes = gmac::modes(u);
        RC_ASSERT(!modes.empty());
        RC_ASSERT(modes.size() <= u.size());
        double sum = 0.0;
        for (std::size_t i = 0; i < modes.size(); ++i) {
            RC_ASSERT(modes[i].mass > 0.0);
            RC_ASSERT(modes[i].density == u.pdf(modes[i].location));
            if (i > 0) // no `||` within RC_ASSERT, which computes both of its sides
                RC_ASSERT(modes[i - 1].location < modes[i].location);
            sum += modes[i].mass;
        }
        RC_ASSERT(std::abs(sum - 1.0) <= 1e-14);
    });
    law("modes move with the distribution, and keep their masses", [] {
        auto const u = *mixtures();
        double const a = *rc::gen::element(-4.0, -1.0, 1e-5, 0.5, 1e4);
        double const b = *number();
        auto const before = gmac::modes(u);
        auto after = gmac::modes(transformed(u, a, b));
        if (a < 0.0)
            std::reverse(after.begin(), after.end());
        RC_ASSERT(after.size() == before.size());
        for (std::size_t i = 0; i < before.size(); ++i) {
            RC_ASSERT(std::abs((after[i].location - b) / a - before[i].location) <= 1e-6);
            RC_ASSERT(std::abs(after[i].mass - before[i].mass) <= 1e-6);
        }
    });
    law("an interval has what the distribution function gains in it", [] {
        auto const u = *mixtures();
        double const a = 10.0 * *number();
        double const b = a + 5.0 * std::abs(*number());
        RC_ASSERT(std::abs(u.probability(a, b) - (u.cdf(b) - u.cdf(a))) <= 1e-14);
        double const whole = u.probability(a - 1.0, b);
        RC_ASSERT(std::abs(u.probability(a - 1.0, a) + u.probability(a, b) - whole) <= 1e-14 * whole);
    });
    law("an expectile grows with its level, and mirrors", [] {
        auto const u = *mixtures();
        auto const levels = *rc::gen::pair(rc::gen::inRange(1, 1000), rc::gen::inRange(1, 1000));
        double const low = std::min(levels.first, levels.second) / 1000.0;
        double const high = std::max(levels.first, levels.second) / 1000.0;
        RC_ASSERT(u.expectile(low) <= u.expectile(high) + 1e-12);
        RC_ASSERT(std::abs(u.expectile(low) + u.mirrored().expectile(1.0 - low)) <= 1e-12);
        RC_ASSERT(std::abs(u.expectile(0.5) - u.mean()) <= 1e-14);
    });
}
