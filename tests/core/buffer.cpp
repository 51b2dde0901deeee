// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <gmac/core/buffer.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

using namespace gmac;

TEST_CASE("A buffer is aligned, zero at the start, and copies into the memory it has", "[core]") {
    for (std::size_t size : {1u, 3u, 100u}) {
        buffer<float> b(size);
        CHECK(reinterpret_cast<std::uintptr_t>(b.data()) % 64 == 0);
        for (float x : b)
            CHECK(x == 0.f);
    }
    buffer<double> a(4, 2.0), b(4), c;
    double const* const memory = b.data();
    b = a;
    CHECK(b.data() == memory);
    CHECK(b[3] == 2.0);
    CHECK(c.empty());
    c = a;
    CHECK(c.size() == 4);
    a[0] = 7.0;
    CHECK(c[0] == 2.0);
    double const* const moved = a.data();
    buffer<double> d(std::move(a));
    CHECK(d.data() == moved);
    c = std::move(d);
    CHECK(c[0] == 7.0);
    std::span<double const> const s = c;
    vector_view<double> const v(c);
    CHECK(s.data() == v.data());
    CHECK(v.size() == 4);
    c = buffer<double>();
    CHECK(buffer<double>(std::span<double const>(c)).empty());
    CHECK_THROWS_AS(buffer<double>((std::numeric_limits<std::size_t>::max)() / 2), error);
}
