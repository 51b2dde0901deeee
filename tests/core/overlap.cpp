// SPDX-License-Identifier: Apache-2.0
// Which views share elements.
#include "support/catch.hpp"
#include "support/matrices.hpp"

#include <gmac/core/overlap.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>

using gmac::matrix_view;
using gmac::testing::table;

TEST_CASE("overlap of matrices is found exactly where rows do not interleave", "[core]") {
    table<double> memory(8, 10);
    auto const all = memory.view();
    CHECK(gmac::may_overlap(all, all));
    CHECK_FALSE(gmac::may_overlap(all.middle_rows(0, 4), all.middle_rows(4, 4)));
    CHECK(gmac::may_overlap(all.middle_rows(0, 5), all.middle_rows(4, 4)));
    CHECK_FALSE(gmac::may_overlap(all.middle_cols(0, 4), all.middle_cols(4, 6)));
    CHECK_FALSE(gmac::may_overlap(all.middle_cols(4, 6), all.middle_cols(0, 4)));
    CHECK(gmac::may_overlap(all.middle_cols(0, 5), all.middle_cols(4, 6)));
    CHECK(gmac::may_overlap(all.middle_cols(4, 6), all.middle_cols(0, 5)));
    CHECK_FALSE(gmac::may_overlap(all.middle_cols(0, 0), all));
    // Column-major, and backwards.
    matrix_view<double> const columns(memory.data.data(), 10, 8, 1, 10);
    CHECK_FALSE(gmac::may_overlap(columns.middle_rows(0, 5), columns.middle_rows(5, 5)));
    CHECK(gmac::may_overlap(columns.middle_rows(0, 6), columns.middle_rows(5, 5)));
    matrix_view<double> const backwards(memory.data.data() + 79, 8, 10, -10, -1);
    CHECK(gmac::may_overlap(backwards, all));
    CHECK_FALSE(gmac::may_overlap(backwards.middle_rows(0, 4), all.middle_rows(0, 4)));
    // Every other column, and those between; one column in two guises.
    matrix_view<double> const even(memory.data.data(), 8, 5, 10, 2), odd(memory.data.data() + 1, 8, 5, 10, 2);
    CHECK_FALSE(gmac::may_overlap(even, odd));
    CHECK(gmac::may_overlap(even, all.middle_cols(2, 1)));
    CHECK_FALSE(gmac::may_overlap(all.middle_cols(3, 1), all.middle_cols(4, 1)));
    matrix_view<double> const narrow(memory.data.data(), 8, 1, 10, 77);
    CHECK(gmac::same_elements(narrow, all.middle_cols(0, 1)));
    CHECK(gmac::may_overlap(narrow, all.middle_cols(0, 1)));
    CHECK_FALSE(gmac::may_overlap(narrow, all.middle_cols(1, 1)));
    CHECK(gmac::same_elements(all, all));
    CHECK_FALSE(gmac::same_elements(all, columns));
}

TEST_CASE("no overlap is missed, whatever the strides", "[core]") {
    gmac::random_stream random(1);
    std::array<int, 100> const memory{};
    auto const some_view = [&] {
        auto const stride = [&](std::uint32_t most) {
            return static_cast<std::ptrdiff_t>(random.below(2 * most + 1)) - most;
        };
        return matrix_view<int const>(memory.data() + 40 + random.below(10), random.below(4), random.below(4),
                                      stride(7), stride(3));
    };
    auto const places_of = [](matrix_view<int const> const& m) {
        std::set<int const*> places;
        for (std::size_t i = 0; i < m.rows(); ++i)
            for (std::size_t j = 0; j < m.cols(); ++j)
                places.insert(&m(i, j));
        return places;
    };
    int missed = 0, shared = 0, apart = 0;
    for (int i = 0; i < 20'000; ++i) {
        auto const a = some_view(), b = some_view();
        auto const in_a = places_of(a), in_b = places_of(b);
        bool const share = std::ranges::any_of(in_a, [&](int const* place) { return in_b.contains(place); });
        bool const found = gmac::may_overlap(a, b);
        CHECK(found == gmac::may_overlap(b, a));
        missed += share && !found;
        shared += share;
        apart += !share && !found;
    }
    CHECK(missed == 0);
    CHECK(shared > 1000);
    CHECK(apart > 1000); // it does not say "perhaps" all the time
}
