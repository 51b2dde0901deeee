// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <gmac/core/random.hpp>
#include <gmac/targets/detail/few_components.hpp>
#include <gmac/targets/detail/independent.hpp>
#include <gmac/targets/detail/stratified.hpp>
#include <gmac/targets/sources.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using namespace gmac;
using gmac::targets::detail::component_picker;
using gmac::targets::detail::even_places;
using gmac::targets::detail::geometric_gaps;
using gmac::targets::detail::replacement_events;
using gmac::targets::detail::stratified_events;

TEST_CASE("Gaps are geometric") {
    for (double const lambda : {1e-9, 0.1, 0.5, 0.95, 0.99, 0.999999, 1.0 - 1e-12}) {
        geometric_gaps const gaps(lambda);
        // Words at equal distances, 2^22 of them.
        constexpr std::size_t seen = 128;
        std::array<double, seen> counts{};
        double at_limit = 0.0;
        std::uint64_t const step = 1u << 10u;
        std::array<std::uint32_t, 16> words, found;
        for (std::uint64_t first = step / 2; first < (1ull << 32u); first += 16 * step) {
            for (std::size_t i = 0; i < 16; ++i)
                words[i] = static_cast<std::uint32_t>(first + i * step);
            gaps(words.data(), 16, found.data());
            REQUIRE(*std::max_element(found.begin(), found.end()) <= geometric_gaps::limit);
            for (std::uint32_t const gap : found) {
                if (gap < seen)
                    counts[gap] += static_cast<double>(step) * 0x1p-32;
                at_limit += gap == geometric_gaps::limit ? static_cast<double>(step) * 0x1p-32 : 0.0;
            }
        }
        // Both ends of the words that draw k fall between two that we see.
        double const bound = 0x1p-21;
        double at_least = 1.0;
        for (double const count : counts) {
            CHECK(std::abs(count - at_least * (1.0 - lambda)) < bound);
            at_least *= lambda;
        }
        CHECK(std::abs(at_limit - std::pow(lambda, geometric_gaps::limit)) < bound);
    }
}

TEST_CASE("Each particle is replaced with probability 1 - lambda, independently of the one before") {
    for (double const lambda : {0.3, 0.95, 0.998}) {
        std::size_t const particles = 37; // no divisor of anything here
        std::size_t const rows = 40000;
        geometric_gaps const gaps(lambda);
        random_stream random(11);
        replacement_events events;
        std::vector<int> replaced(particles * rows);
        std::uint64_t bits = 0;
        bool outside = false;
        for (std::size_t row = 0; row < rows; ++row)
            events.next(particles, gaps, random,
                        [&](std::uint32_t first, std::size_t count, std::uint32_t const* positions,
                            std::uint32_t const* words) {
                            for (std::size_t i = 0; i < count; ++i) {
                                std::uint32_t const particle = positions[i] - first;
                                outside = outside || particle >= particles;
                                if (!outside)
                                    ++replaced[row * particles + particle];
                                bits += words[i] >> 31u;
                            }
                        });
        REQUIRE_FALSE(outside);
        REQUIRE(*std::max_element(replaced.begin(), replaced.end()) <= 1);
        double count = 0.0;
        double pairs = 0.0;
        std::array<double, 37> by_particle{};
        for (std::size_t i = 0; i < replaced.size(); ++i) {
            count += replaced[i];
            by_particle[i % particles] += replaced[i];
            pairs += i > 0 ? replaced[i] * replaced[i - 1] : 0;
        }
        double const n = static_cast<double>(replaced.size());
        double const p = 1.0 - lambda;
        // Six standard deviations: a probability below 2e-9 each.
        CHECK(std::abs(count - n * p) < 6.0 * std::sqrt(n * p * lambda));
        CHECK(std::abs(pairs - n * p * p) < 6.0 * std::sqrt(n * p * p * (1.0 + 2.0 * p)) + 6.0);
        CHECK(std::abs(static_cast<double>(bits) - 0.5 * count) < 6.0 * std::sqrt(0.25 * count));
        for (double const c : by_particle) {
            double const m = static_cast<double>(rows);
            CHECK(std::abs(c - m * p) < 6.0 * std::sqrt(m * p * lambda) + 3.0);
        }
    }
}

TEMPLATE_TEST_CASE("Components are chosen with their weights, and never one of weight zero", "", float, double) {
    using T = TestType;
    std::vector<std::vector<T>> const rows{
        {T(1)},
        {T(0), T(1), T(0)},
        {T(0.1), T(0), T(0.2), T(0.7), T(0)},
        {T(0.999999), T(0.000001)},
        {T(1) / 3, T(1) / 3, T(1) / 3},
        std::vector<T>(32, T(1) / 32),
        std::vector<T>(33, T(1) / 33), // beyond the table
    };
    for (std::vector<T> const& weights : rows) {
        // Every third element of a longer vector, to see the stride.
        std::vector<T> spread(3 * weights.size(), T(9));
        for (std::size_t k = 0; k < weights.size(); ++k)
            spread[3 * k] = weights[k];
        component_picker<T> const dense(weights.data(), 1, weights.size());
        component_picker<T> const strided(spread.data(), 3, weights.size());
        std::vector<double> shares(weights.size());
        std::uint32_t const step = 1u << 14u;
        std::array<std::uint32_t, 64> words, chosen, again;
        for (std::uint64_t first = 0; first < (1ull << 32u); first += 64ull * step) {
            for (std::size_t i = 0; i < 64; ++i)
                words[i] = static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(i) * step + step / 2;
            if (first == 0)
                words[0] = 0;
            if (first + 64ull * step == (1ull << 32u))
                words[63] = 0xffffffffu;
            dense(words.data(), 64, chosen.data());
            strided(words.data(), 64, again.data());
            REQUIRE(chosen == again);
            REQUIRE(*std::max_element(chosen.begin(), chosen.end()) < weights.size());
            for (std::uint32_t const k : chosen)
                shares[k] += static_cast<double>(step) * 0x1p-32;
        }
        for (std::size_t k = 0; k < weights.size(); ++k) {
            CHECK(std::abs(shares[k] - static_cast<double>(weights[k])) < 0x1p-17);
            if (weights[k] == T(0))
                CHECK(shares[k] == 0.0);
        }
    }
}

TEST_CASE("Without weights all components are equally likely") {
    component_picker<float> const pick(nullptr, 0, 5);
    std::array<std::uint32_t, 16> words{}, chosen;
    for (std::uint32_t i = 0; i < 16; ++i)
        words[i] = i << 28u;
    pick(words.data(), 16, chosen.data());
    for (std::uint32_t i = 0; i < 16; ++i)
        CHECK(chosen[i] == i * 5 / 16);
}

TEST_CASE("What is blended of few components is what the words choose") {
    using gmac::targets::detail::events_at_once;
    std::vector<std::vector<float>> const rows{
        {1.0f},
        {0.0f, 1.0f, 0.0f},
        {0.1f, 0.0f, 0.2f, 0.7f, 0.0f},
        {0.1f, 0.3f, 0.0f, 0.0f, 0.2f, 0.3f, 0.1f, 0.0f},
        {0.3f, 0.0f, 0.6999f, 0.0f, 0.0f}, // the third also takes what is missing from one
    };
    random_stream random(5);
    for (std::vector<float> const& weights : rows) {
        std::size_t const k = weights.size();
        std::vector<float> means(k), deviations(k);
        for (std::size_t i = 0; i < k; ++i) {
            means[i] = random.normal<float>();
            deviations[i] = random.uniform<float>();
        }
        targets::gaussian_source<float> const source{{weights.data(), 1, k},
                                                     {means.data(), 1, k},
                                                     {deviations.data(), 1, k}};
        REQUIRE(targets::detail::few_components(source));
        component_picker<float> const pick(weights.data(), 1, k);
        for (int round = 0; round < 400; ++round) {
            std::array<std::uint32_t, events_at_once> words, chosen;
            random.fill(words);
            words[0] = round == 0 ? 0xffffffffu : words[0];
            words[1] = round == 0 ? 0u : words[1];
            pick(words.data(), events_at_once, chosen.data());
            std::array<float, events_at_once> locations, widths;
            targets::detail::blend(source, 0, 0.5f, 0.25f, words.data(), locations.data(), widths.data());
            for (std::size_t i = 0; i < events_at_once; ++i) {
                REQUIRE(locations[i] == Approx(0.5f + 0.25f * means[chosen[i]])
                                            .epsilon(4.0 * static_cast<double>(std::numeric_limits<float>::epsilon())));
                REQUIRE(widths[i] == 0.25f * deviations[chosen[i]]);
            }
        }
    }
}

TEST_CASE("Stratified replacement takes even places of the order by age, and puts its particles to the end") {
    for (std::size_t const count : {1u, 2u, 31u, 64u, 128u, 255u, 256u, 257u, 500u, 512u})
        for (double const rate : {0.9999, 0.6, 0.5, 0.05, 1.0 / 32.5, 1.0 / 33.5, 0.01, 0.0013, 1e-7}) {
            even_places const places(count, rate);
            stratified_events events;
            events.reset(count);
            std::vector<std::uint32_t> order(count);
            for (std::size_t i = 0; i < count; ++i)
                order[i] = static_cast<std::uint32_t>(i);
            random_stream random(3, count);
            std::size_t wrong = 0;
            for (int step = 0; step < 200; ++step) {
                random_stream same = random;
                double const shift = same() * 0x1p-32;
                std::uint32_t const offset = same();
                std::vector<std::uint32_t> taken, rest;
                std::size_t next = 0;
                bool apart = true; // no mark is so close to a place's end that its rounding matters
                for (std::size_t j = 0; apart; ++j) {
                    double const mark = (static_cast<double>(j) + shift) / rate;
                    apart = std::abs(mark - std::round(mark)) > 1e-6 || mark > 1e3;
                    std::size_t const place =
                        mark < static_cast<double>(count) ? static_cast<std::size_t>(mark) : count;
                    rest.insert(rest.end(), order.begin() + static_cast<std::ptrdiff_t>(next),
                                order.begin() + static_cast<std::ptrdiff_t>(place));
                    if (place == count)
                        break;
                    taken.push_back(order[place]);
                    next = place + 1;
                }
                if (!apart) {
                    random = same;
                    continue;
                }
                events.next(places, random);
                wrong += events.count() != taken.size();
                for (std::size_t i = 0; i < (std::min)(events.count(), taken.size()); ++i) {
                    wrong += events.positions()[i] != taken[i];
                    double const share = static_cast<double>(events.words()[i] - offset) * 0x1p-32;
                    wrong += std::abs(share - static_cast<double>(i) / static_cast<double>(taken.size())) > 1e-6;
                }
                rest.insert(rest.end(), taken.begin(), taken.end());
                order = rest;
                wrong += random.position() != same.position();
            }
            CAPTURE(count, rate);
            CHECK(wrong == 0);
        }
}
