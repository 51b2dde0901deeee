// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <gmac/core/detail/transpose.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/random.hpp>
#include <gmac/losses/detail/sorted_rows.hpp>
#include <gmac/losses/detail/sorting_network.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

using namespace gmac;
using namespace gmac::detail;
using namespace gmac::losses::detail;

namespace {

/// Column-wise data for lane vectors: element i of lane l is at [i * width + l].
template <class V>
std::vector<V> in_lanes(std::vector<lanes::scalar_of<V>> const& numbers) {
    std::vector<V> result(numbers.size() / lanes::width_of<V>);
    lanes::read_columns<V>(matrix_view<lanes::scalar_of<V> const>(numbers.data(), lanes::width_of<V>, result.size(), 1,
                                                                  static_cast<std::ptrdiff_t>(lanes::width_of<V>)),
                           0, 0, result.size(), result.data());
    return result;
}
template <class V>
std::vector<lanes::scalar_of<V>> lane(std::vector<V> const& vectors, std::size_t which) {
    using T = lanes::scalar_of<V>;
    std::vector<T> all(vectors.size() * lanes::width_of<V>);
    lanes::write_columns<V>(vectors.data(), matrix_view<T>(all.data(), lanes::width_of<V>, vectors.size()), 0, 0,
                            vectors.size());
    return {all.begin() + static_cast<std::ptrdiff_t>(which * vectors.size()),
            all.begin() + static_cast<std::ptrdiff_t>((which + 1) * vectors.size())};
}

template <class V>
void sorts_and_merges(std::size_t first, std::size_t second) {
    using T = lanes::scalar_of<V>;
    using Tag = tag_of<V>;
    constexpr std::size_t width = lanes::width_of<V>;
    random_stream random(first * 1000 + second);
    std::vector<T> numbers((first + second) * width);
    for (T& number : numbers)
        number = static_cast<T>(random.below(random.below(2) == 0 ? 10u : 100000u));
    std::vector<V> keys = in_lanes<V>(numbers);
    std::vector<V> const before = keys;
    std::vector<V> keys_alone = keys;
    std::vector<Tag> tags(keys.size());
    for (std::size_t i = 0; i < tags.size(); ++i)
        tags[i] = lanes::constant<Tag>(static_cast<double>(i));

    sort(sortable<V, Tag>{keys.data(), tags.data()}, first);
    sort(sortable<V, Tag>{keys.data() + first, tags.data() + first}, second);
    sort(sortable<V, no_tags>{keys_alone.data(), nullptr}, first);
    CAPTURE(first, second, width);
    for (std::size_t l = 0; l < width; ++l) {
        auto wanted = lane(before, l);
        std::sort(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(first));
        auto alone = lane(keys_alone, l);
        REQUIRE(std::equal(alone.begin(), alone.begin() + static_cast<std::ptrdiff_t>(first), wanted.begin()));
        std::sort(wanted.begin() + static_cast<std::ptrdiff_t>(first), wanted.end());
        REQUIRE(lane(keys, l) == wanted);
    }
    merge(sortable<V, Tag>{keys.data(), tags.data()}, first, second);
    for (std::size_t l = 0; l < width; ++l) {
        auto const original = lane(before, l);
        auto wanted = original;
        std::ranges::sort(wanted);
        auto const sorted = lane(keys, l);
        REQUIRE(sorted == wanted);
        auto const places = lane(tags, l);
        std::vector<bool> seen(places.size());
        for (std::size_t i = 0; i < places.size(); ++i) {
            auto const place = static_cast<std::size_t>(places[i]);
            REQUIRE(original[place] == sorted[i]);
            REQUIRE_FALSE(seen[place]);
            seen[place] = true;
        }
    }
}

template <class T>
void sorts_places(std::size_t count) {
    random_stream random(count);
    std::vector<T> numbers(2 * count);
    for (T& number : numbers)
        number = random.below(4) == 0
                     ? static_cast<T>(random.below(3)) - T(1)
                     : static_cast<T>(std::ldexp(random.normal<double>(), static_cast<int>(random.below(60)) - 30));
    vector_view<T const> const every_second(numbers.data(), count, 2);
    std::vector<std::uint16_t> places(count), spare(count);
    sort_places(every_second, places.data(), spare.data());
    std::vector<std::uint16_t> wanted(count);
    std::iota(wanted.begin(), wanted.end(), std::uint16_t(0));
    std::ranges::stable_sort(wanted, {}, [&](std::uint16_t i) { return every_second[i]; });
    CAPTURE(count);
    REQUIRE(places == wanted);
}

} // namespace

TEST_CASE("Networks sort and merge each lane for itself, with their tags") {
    for (std::size_t first : {8u, 16u, 24u, 40u, 64u, 72u, 200u, 256u})
        for (std::size_t second : {8u, 24u, 56u, 64u, 328u}) {
            sorts_and_merges<lanes::widest<float>>(first, second);
            sorts_and_merges<lanes::widest<double>>(first, second);
            sorts_and_merges<double>(first, second);
        }
}

TEST_CASE("Infinities that pad a network stay at its ends") {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    std::vector<double> keys{-infinity, -infinity, -infinity, 5, -infinity, 1,        3,        2,
                             infinity,  4,         0,         7, infinity,  infinity, infinity, infinity};
    std::vector<double> tags(16);
    std::iota(tags.begin(), tags.end(), 0.0);
    sort(sortable<double, double>{keys.data(), tags.data()}, 8);
    sort(sortable<double, double>{keys.data() + 8, tags.data() + 8}, 8);
    merge(sortable<double, double>{keys.data(), tags.data()}, 8, 8);
    // Padding is tags 0 to 2 and 12 to 15; −∞ with tag 4 and +∞ with tag 8 are keys.
    CHECK(std::vector<double>(tags.begin(), tags.begin() + 3) == std::vector<double>{0, 1, 2});
    CHECK(tags[3] == 4.0);
    CHECK(tags[11] == 8.0);
    auto rest = std::vector<double>(tags.begin() + 12, tags.end());
    std::ranges::sort(rest);
    CHECK(rest == std::vector<double>{12, 13, 14, 15});
}

TEST_CASE("Rows are sorted by their digits") {
    for (std::size_t count : {0u, 1u, 2u, 3u, 17u, 255u, 1000u, 8192u}) {
        sorts_places<float>(count);
        sorts_places<double>(count);
    }
    CHECK(ordered_bits(-0.0f) < ordered_bits(0.0f));
    CHECK(ordered_bits(-std::numeric_limits<double>::infinity()) < ordered_bits(std::numeric_limits<double>::lowest()));
    CHECK(ordered_bits((std::numeric_limits<double>::max)()) < ordered_bits(std::numeric_limits<double>::infinity()));
    CHECK(ordered_bits(-1.0) < ordered_bits(-0.5));
}
