// SPDX-License-Identifier: Apache-2.0
// Modes of mixtures: constructed ones whose modes are known, and random ones against a fine grid in long double.
#include <gmac/distributions/modes.hpp>

#include "support/catch.hpp"

#include <gmac/core/random.hpp>
#include <gmac/distributions/dirac_mixture.hpp>
#include <gmac/distributions/gaussian_mixture.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

namespace {

using real = long double;
using mixture = gmac::gaussian_mixture<double>;
using component = gmac::normal_component<double>;

template <class T>
[[nodiscard]] std::vector<double> locations(std::vector<gmac::mode<T>> const& modes) {
    std::vector<double> result;
    for (auto const& one : modes)
        result.push_back(static_cast<double>(one.location));
    return result;
}
template <class T>
[[nodiscard]] std::vector<double> masses(std::vector<gmac::mode<T>> const& modes) {
    std::vector<double> result;
    for (auto const& one : modes)
        result.push_back(static_cast<double>(one.mass));
    return result;
}
template <class T>
[[nodiscard]] double total_mass(std::vector<gmac::mode<T>> const& modes) {
    auto const parts = masses(modes);
    return std::accumulate(parts.begin(), parts.end(), 0.0);
}

/// The root of a function that is positive at `low` and negative at `high`.
template <class F>
[[nodiscard]] real bisect(F&& f, real low, real high) {
    for (int i = 0; i < 200; ++i) {
        real const middle = (low + high) / 2;
        (f(middle) > 0 ? low : high) = middle;
    }
    return (low + high) / 2;
}

/// The derivative of the density, times a positive number that keeps it from underflow.
[[nodiscard]] real slope(mixture const& m, real x) {
    auto const exponent = [x](component const& c) {
        real const z = (x - static_cast<real>(c.mean)) / static_cast<real>(c.deviation);
        return std::log(static_cast<real>(c.weight)) - 2 * std::log(static_cast<real>(c.deviation)) - z * z / 2;
    };
    real largest = -std::numeric_limits<real>::infinity();
    for (auto const& c : m.components())
        if (c.weight > 0.0)
            largest = std::max(largest, exponent(c));
    real sum = 0;
    for (auto const& c : m.components())
        if (c.weight > 0.0)
            sum -= (x - static_cast<real>(c.mean)) / static_cast<real>(c.deviation) * std::exp(exponent(c) - largest);
    return sum;
}

[[nodiscard]] real probability_below(mixture const& m, real x) {
    real sum = 0;
    for (auto const& c : m.components())
        sum +=
            static_cast<real>(c.weight) *
            std::erfc((static_cast<real>(c.mean) - x) / static_cast<real>(c.deviation) / std::numbers::sqrt2_v<real>) /
            2;
    return sum;
}

/// Location and mass of the modes that a grid shows: 64 places a deviation around each component, and 5000 in all.
[[nodiscard]] std::vector<std::pair<real, real>> modes_on_grid(mixture const& m) {
    std::vector<real> places;
    real low = std::numeric_limits<real>::infinity(), high = -low;
    for (auto const& c : m.components()) {
        low = std::min(low, static_cast<real>(c.mean));
        high = std::max(high, static_cast<real>(c.mean));
        for (int i = -768; i <= 768; ++i)
            places.push_back(static_cast<real>(c.mean) + static_cast<real>(i) / 64 * static_cast<real>(c.deviation));
    }
    for (int i = 0; i <= 5000; ++i)
        places.push_back(low + (high - low) * static_cast<real>(i) / 5000);
    std::ranges::sort(places);
    std::vector<real> turns;
    real before = places.front();
    int sign = 1;
    for (real const place : places) {
        real const here = slope(m, place);
        if (here == 0 || (here > 0) == (sign > 0)) {
            before = place;
            continue;
        }
        turns.push_back(bisect([&](real x) { return static_cast<real>(sign) * slope(m, x); }, before, place));
        sign = -sign;
        before = place;
    }
    std::vector<std::pair<real, real>> result;
    real below = 0;
    for (std::size_t i = 0; i < turns.size(); i += 2) {
        real const next = i + 1 < turns.size() ? probability_below(m, turns[i + 1]) : 1;
        result.emplace_back(turns[i], next - below);
        below = next;
    }
    return result;
}

[[nodiscard]] mixture random_mixture(gmac::random_stream& random, std::size_t size, double scales) {
    std::vector<component> components(size);
    double sum = 0.0;
    for (auto& c : components) {
        c = {random.uniform<double>() + 0.01, 4.0 * random.uniform<double>() - 2.0,
             std::exp(scales * (random.uniform<double>() - 1.0))};
        sum += c.weight;
    }
    for (auto& c : components)
        c.weight /= sum;
    return mixture(components);
}

} // namespace

TEMPLATE_TEST_CASE("one normal component has one mode, its mean", "[modes]", float, double) {
    using T = TestType;
    for (T const deviation : {T(1e-6), T(1), T(1e6)}) {
        auto const found = gmac::modes(gmac::gaussian_mixture<T>{{T(1), T(-3), deviation}});
        REQUIRE(found.size() == 1);
        CHECK(found[0].location == T(-3));
        CHECK(found[0].density ==
              Approx(1.0 / (std::sqrt(2.0 * std::numbers::pi) * static_cast<double>(deviation))).epsilon(1e-6));
        CHECK(found[0].mass == T(1));
    }
    // Components of one mean are one mode, however they differ; those of weight 0 are not there.
    auto const found = gmac::modes(gmac::gaussian_mixture<T>{{T(0.25), T(2), T(1e-5)},
                                                             {T(0.5), T(2), T(10)},
                                                             {T(0.25), T(2), T(1)},
                                                             {T(0), T(0), T(0.1)},
                                                             {T(0), T(1), T(0)}});
    REQUIRE(found.size() == 1);
    CHECK(found[0].location == T(2));
    CHECK(found[0].mass == T(1));
}

TEMPLATE_TEST_CASE("two equal components merge where their means are two deviations apart", "[modes]", float, double) {
    using T = TestType;
    for (T const deviation : {T(0.03125), T(1), T(1024)})
        for (T const middle : {T(0), T(512)}) {
            double const rounding = 512.0 * static_cast<double>(std::numeric_limits<T>::epsilon());
            for (double const half : {0.25, 0.5, 0.984375, 1.0}) { // of the distance, in deviations
                T const step = static_cast<T>(half) * deviation;
                auto const found = gmac::modes(
                    gmac::gaussian_mixture<T>{{T(0.5), middle - step, deviation}, {T(0.5), middle + step, deviation}});
                REQUIRE(found.size() == 1);
                // At 1 the first three derivatives vanish together: the place is known to the cube root of rounding.
                CHECK(std::abs(found[0].location - middle) <= T(1e-4) * deviation);
                CHECK(found[0].mass == Approx(1.0).epsilon(1e-14));
            }
            for (double const half : {1.0078125, 1.015625, 1.5, 4.0, 32.0}) {
                T const step = static_cast<T>(half) * deviation;
                auto const found = gmac::modes(
                    gmac::gaussian_mixture<T>{{T(0.5), middle - step, deviation}, {T(0.5), middle + step, deviation}});
                REQUIRE(found.size() == 2);
                // By f' = 0, t = h tanh(t h) for modes at ± t deviations.
                real const h = static_cast<real>(half);
                real const t = bisect([h](real x) { return h * std::tanh(x * h) - x; }, 1e-3L, 2 * h);
                double const place = static_cast<double>(t * static_cast<real>(deviation));
                CHECK(static_cast<double>(found[1].location - middle) == Approx(place).epsilon(1e-6).margin(rounding));
                CHECK(static_cast<double>(middle - found[0].location) == Approx(place).epsilon(1e-6).margin(rounding));
                CHECK(found[0].mass == Approx(0.5).epsilon(1e-6));
                CHECK(found[1].mass == Approx(0.5).epsilon(1e-6));
            }
        }
    // In double also where the two are but a millionth apart in their fate.
    CHECK(gmac::modes(mixture{{0.5, -1.0 - 1e-6, 1.0}, {0.5, 1.0 + 1e-6, 1.0}}).size() == 2);
    CHECK(gmac::modes(mixture{{0.5, -1.0 + 1e-6, 1.0}, {0.5, 1.0 - 1e-6, 1.0}}).size() == 1);
}

TEMPLATE_TEST_CASE("as many modes as there are groups of components", "[modes]", float, double) {
    using T = TestType;
    constexpr std::size_t size = 8;
    for (std::size_t groups = 1; groups <= size; ++groups) {
        std::vector<gmac::normal_component<T>> components;
        std::vector<double> centres, weights(groups, 0.0);
        for (std::size_t i = 0; i < size; ++i) {
            std::size_t const group = i * groups / size;
            double const weight = static_cast<double>(i + 1) / 36.0;
            // Within a group half a deviation at most, and between two of them 40.
            components.push_back({static_cast<T>(weight),
                                  static_cast<T>(40.0 * static_cast<double>(group)) + T(0.0625) * static_cast<T>(i),
                                  T(1)});
            weights[group] += weight;
        }
        auto const found = gmac::modes(gmac::gaussian_mixture<T>(components));
        REQUIRE(found.size() == groups);
        for (std::size_t g = 0; g < groups; ++g) {
            CHECK(std::abs(static_cast<double>(found[g].location) - 40.0 * static_cast<double>(g)) < 0.5);
            CHECK(found[g].mass == Approx(weights[g]).epsilon(1e-6));
        }
    }
}

TEST_CASE("scales that differ by a million", "[modes]") {
    // A narrow component on the slope of a wide one: a mode of its own even if it weighs little, and a shoulder at the most
    // if it weighs next to nothing. Its slope is at most w φ(1) / σ², that of the wide one at z = −1 φ(1).
    auto const with = [](double weight, double deviation) {
        return mixture{{1.0 - weight, 0.0, 1.0}, {weight, -1.0, deviation}};
    };
    for (double const deviation : {1e-3, 1e-6}) {
        double const threshold = deviation * deviation;
        auto const one = gmac::modes(with(0.99 * threshold, deviation));
        CHECK(one.size() == 1);
        auto const two = gmac::modes(with(1.01 * threshold, deviation));
        REQUIRE(two.size() == 2);
        // f' < 0 only around z = 1, where it is narrowest.
        CHECK(two[0].location > -1.0 + 0.8 * deviation);
        CHECK(two[0].location < -1.0 + deviation);
        CHECK(two[0].mass + two[1].mass == Approx(1.0).epsilon(1e-14));
        CHECK(two[0].mass == Approx(0.5 * std::erfc(std::numbers::sqrt2 / 2)).epsilon(5 * deviation));
    }
    auto const heavy = gmac::modes(mixture{{0.5, 0.0, 1e6}, {0.25, 3e5, 1.0}, {0.25, -3e5, 1e-6}});
    REQUIRE(heavy.size() == 3);
    CHECK(heavy[0].location == Approx(-3e5).epsilon(1e-14));
    CHECK(heavy[1].location == Approx(0.0).margin(1e-2));
    CHECK(heavy[2].location == Approx(3e5).epsilon(1e-14));
    CHECK(total_mass(heavy) == Approx(1.0).epsilon(1e-14));
}

TEST_CASE("the place between modes far apart, where densities underflow", "[modes]") {
    // At this place log(w₁ (x − μ₁) / σ₁³) − z₁²/2 and that of the other are equal.
    component const left{0.3, -1e6, 1.0}, right{0.7, 1e6, 3.0};
    auto const term = [](component const& c, real x) {
        real const d = std::abs(x - static_cast<real>(c.mean));
        real const s = static_cast<real>(c.deviation);
        return std::log(static_cast<real>(c.weight) * d / (s * s * s)) - d * d / (2 * s * s);
    };
    real const antimode = bisect([&](real x) { return term(left, x) - term(right, x); }, -999'990.0L, 999'990.0L);
    gmac::kernels::turning_points<double> search;
    std::vector<component> const components{left, right};
    auto const turns = search.find(components);
    REQUIRE(turns.size() == 3);
    CHECK(turns[0].location == -1e6);
    CHECK(turns[1].location == Approx(static_cast<double>(antimode)).epsilon(1e-15));
    CHECK(turns[2].location == 1e6);
    auto const found = gmac::modes(mixture{left, right});
    CHECK(masses(found) == std::vector{0.3, 0.7});

    // So far that no exponential there is a number.
    for (double const far : {1e160, 1e300}) {
        auto const extreme = gmac::modes(mixture{{0.25, -far, 1.0}, {0.75, far, 1.0}});
        CHECK(locations(extreme) == std::vector{-far, far});
        CHECK(masses(extreme) == std::vector{0.25, 0.75});
    }
    // A small component in the tail of another, of which double knows nothing there (e^-5000).
    auto const tail = gmac::modes(mixture{{1.0 - 1e-300, 0.0, 1.0}, {1e-300, 100.0, 1.0}});
    REQUIRE(tail.size() == 2);
    CHECK(tail[1].location == Approx(100.0).epsilon(1e-14));
    CHECK(tail[1].mass == Approx(1e-300).epsilon(1e-12));
}

TEMPLATE_TEST_CASE("points are modes of infinite density", "[modes]", float, double) {
    using T = TestType;
    using gaussian = gmac::gaussian_mixture<T>;
    constexpr T infinite = std::numeric_limits<T>::infinity();
    double const beyond = 0.5 * std::erfc(std::numbers::sqrt2 / 2); // of a normal distribution, one deviation away

    SECTION("on a rising slope") { // what lies on its left climbs to it; the antimode is right beside it
        auto const found = gmac::modes(gaussian{{T(0.5), T(0), T(1)}, {T(0.5), T(-1), T(0)}});
        REQUIRE(found.size() == 2);
        CHECK(found[0].location == T(-1));
        CHECK(found[0].density == infinite);
        CHECK(found[0].mass == Approx(0.5 + 0.5 * beyond).epsilon(1e-6));
        CHECK(found[1].location == T(0));
        CHECK(found[1].density == Approx(0.5 / std::sqrt(2.0 * std::numbers::pi)).epsilon(1e-6));
        CHECK(found[1].mass == Approx(0.5 * (1.0 - beyond)).epsilon(1e-6));
    }
    SECTION("on a falling slope") {
        auto const found = gmac::modes(gaussian{{T(0.5), T(0), T(1)}, {T(0.25), T(1), T(0)}, {T(0.25), T(1), T(0)}});
        REQUIRE(found.size() == 2);
        CHECK(found[0].location == T(0));
        CHECK(found[0].mass == Approx(0.5 * (1.0 - beyond)).epsilon(1e-6));
        CHECK(found[1].location == T(1));
        CHECK(found[1].mass == Approx(0.5 + 0.5 * beyond).epsilon(1e-6));
    }
    SECTION("on a mode, which is one with it") {
        auto const found = gmac::modes(gaussian{{T(0.25), T(0), T(1)}, {T(0.5), T(0), T(0)}, {T(0.25), T(0), T(2)}});
        REQUIRE(found.size() == 1);
        CHECK(found[0].location == T(0));
        CHECK(found[0].density == infinite);
        CHECK(found[0].mass == Approx(1.0).epsilon(1e-7));
    }
    SECTION("at the least density between two modes") {
        auto const found = gmac::modes(gaussian{{T(0.25), T(-3), T(1)}, {T(0.25), T(3), T(1)}, {T(0.5), T(0), T(0)}});
        REQUIRE(found.size() == 3);
        CHECK(found[1].location == T(0));
        CHECK(found[1].mass == Approx(0.5).epsilon(1e-7));
        CHECK(found[0].mass == Approx(0.25).epsilon(1e-7));
        CHECK(found[2].mass == Approx(0.25).epsilon(1e-7));
    }
    SECTION("beyond all other means") {
        auto const found = gmac::modes(gaussian{{T(0.5), T(0), T(1)}, {T(0.25), T(-9), T(0)}, {T(0.25), T(9), T(0)}});
        CHECK(locations(found) == std::vector{-9.0, 0.0, 9.0});
        CHECK(masses(found)[0] == Approx(0.25).epsilon(1e-7));
        CHECK(masses(found)[1] == Approx(0.5).epsilon(1e-7));
    }
    SECTION("and nothing else") {
        gaussian const points{{T(0.25), T(2), T(0)},
                              {T(0.5), T(-1), T(0)},
                              {T(0.125), T(2), T(0)},
                              {T(0.125), T(5), T(0)}};
        gmac::dirac_mixture<T> const same{{T(0.25), T(2)}, {T(0.5), T(-1)}, {T(0.125), T(2)}, {T(0.125), T(5)}};
        for (auto const& found : {gmac::modes(points), gmac::modes(same)}) {
            CHECK(locations(found) == std::vector{-1.0, 2.0, 5.0});
            CHECK(masses(found) == std::vector{0.5, 0.375, 0.125});
        }
        // Neighbours among the numbers.
        T const next = std::nextafter(T(1), T(2));
        auto const close = gmac::modes(gaussian{{T(0.25), T(1), T(0)}, {T(0.75), next, T(0)}});
        CHECK(masses(close) == std::vector{0.25, 0.75});
    }
}

TEMPLATE_TEST_CASE("modes of mixtures of any size", "[modes]", float, double) {
    using T = TestType;
    using limits = std::numeric_limits<T>;
    T const most = (limits::max)();
    T const root = std::sqrt(most);
    std::vector<gmac::normal_component<T>> components;
    for (T const mean : {T(0), T(-1), root, most, -most})
        for (T const deviation : {T(0), limits::denorm_min(), T(1), root * 4, most})
            components.push_back({T(0.25), mean, deviation});
    std::size_t wrong = 0;
    for (auto a : components)
        for (auto b : components)
            for (T const weight : {T(0.25), (limits::min)(), T(0)}) {
                a.weight = weight;
                b.weight = T(1) - weight;
                auto const found = gmac::modes(gmac::gaussian_mixture<T>{a, b});
                auto const has = [&](auto const& c) {
                    return std::ranges::any_of(found, [&](auto const& one) { return one.location == c.mean; });
                };
                bool right = !found.empty() && found.size() <= 2 && std::abs(total_mass(found) - 1.0) < 1e-6;
                // A point is a mode, and so is the only component.
                right = right && (b.deviation > T(0) || has(b)) && (a.deviation > T(0) || weight == T(0) || has(a));
                right = right && (weight > T(0) || (found.size() == 1 && has(b)));
                // Two that are a tenth as wide as they are apart are two modes.
                T const wider = std::max(a.deviation, b.deviation);
                if (weight == T(0.25) && a.mean != b.mean && wider / 2 < std::abs(a.mean / 20 - b.mean / 20))
                    right = right && found.size() == 2;
                wrong += static_cast<std::size_t>(!right);
            }
    CHECK(wrong == 0);
}

TEST_CASE("a component that is too narrow for its place is a point to the search", "[modes]") {
    // Its neighbours among the numbers are 1.5e-8 away.
    auto const found = gmac::modes(mixture{{0.5, 1e8, 1e-12}, {0.5, 1e8 + 1.0, 1.0}});
    REQUIRE(found.size() == 2);
    CHECK(found[0].location == 1e8);
    CHECK(found[0].density == Approx(0.5e12 / std::sqrt(2.0 * std::numbers::pi)).epsilon(1e-10));
    CHECK(found[0].mass == Approx(0.5 + 0.25 * std::erfc(std::numbers::sqrt2 / 2)).epsilon(1e-7));
    CHECK(total_mass(found) == Approx(1.0).epsilon(1e-14));
}

TEST_CASE("a plateau of many components, whose ripples rounding hides", "[modes]") {
    // Components Δ apart have ripples of the size exp(−2π²σ²/Δ²): e^-19.7 for Δ = σ, and e^-40 for 0.7 σ.
    auto const row = [](std::size_t size, double step) {
        std::vector<component> components;
        for (std::size_t i = 0; i < size; ++i)
            components.push_back({1.0 / static_cast<double>(size), step * static_cast<double>(i), 1.0});
        return gmac::modes(mixture(components));
    };
    auto const smooth = row(40, 0.7);
    REQUIRE(smooth.size() == 1);
    CHECK(smooth[0].location == Approx(0.7 * 19.5).margin(7.0));
    CHECK(smooth[0].mass == Approx(1.0).epsilon(1e-14));
    // Beyond 2 deviations every component is a mode.
    CHECK(row(40, 2.5).size() == 40);
    auto const rippled = row(40, 1.0);
    mixture const same = [] {
        std::vector<component> components;
        for (std::size_t i = 0; i < 40; ++i)
            components.push_back({1.0 / 40.0, static_cast<double>(i), 1.0});
        return mixture(components);
    }();
    CHECK(rippled.size() == modes_on_grid(same).size());
}

TEST_CASE("random mixtures have the modes that a fine grid shows", "[modes]") {
    gmac::random_stream random(11);
    std::size_t several = 0;
    for (int trial = 0; trial < 240; ++trial) {
        auto const size = static_cast<std::size_t>(1 + trial % 6);
        double const scales = trial % 3 == 0 ? 14.0 : trial % 3 == 1 ? 3.0 : 1.0; // deviations down to e^-scales
        mixture const m = random_mixture(random, size, scales);
        auto const expected = modes_on_grid(m);
        auto const found = gmac::modes(m);
        CAPTURE(trial, size);
        REQUIRE(found.size() == expected.size());
        REQUIRE(found.size() <= size);
        several += static_cast<std::size_t>(found.size() > 1);
        for (std::size_t i = 0; i < found.size(); ++i) {
            auto const [location, mass] = expected[i];
            CHECK(found[i].location == Approx(static_cast<double>(location)).margin(1e-9));
            CHECK(found[i].mass == Approx(static_cast<double>(mass)).epsilon(1e-9));
            CHECK(found[i].density == m.pdf(found[i].location));
        }
        CHECK(total_mass(found) == Approx(1.0).epsilon(1e-14));
        // In float it is the same mixture but for its rounding, which a mode on the verge does not survive.
        std::vector<gmac::normal_component<float>> rounded;
        for (auto const& c : m.components())
            rounded.push_back(
                {static_cast<float>(c.weight), static_cast<float>(c.mean), static_cast<float>(c.deviation)});
        auto const single = gmac::modes(gmac::gaussian_mixture<float>(rounded));
        REQUIRE(single.size() == found.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            CHECK(single[i].location == Approx(found[i].location).margin(1e-5));
            CHECK(single[i].mass == Approx(found[i].mass).margin(1e-4));
        }
    }
    CHECK(several > 100);
}
