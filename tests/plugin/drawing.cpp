// SPDX-License-Identifier: Apache-2.0
// Drawings: from an environment through the batch, its decorators and a shared library, and what is no drawing.
#include "classic/cart_pole.hpp"
#include "classic/deep_sea.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"

#include <gmac/environment/normalized.hpp>
#include <gmac/environment/plugin/environments.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

using namespace gmac;

namespace {

bool alike(drawing const& a, drawing const& b) {
    bool same = a.left == b.left && a.right == b.right && a.bottom == b.bottom && a.top == b.top &&
                a.seconds == b.seconds && a.lines.size() == b.lines.size();
    for (std::size_t i = 0; same && i < a.lines.size(); ++i)
        same = a.lines[i].colour == b.lines[i].colour && a.lines[i].points == b.lines[i].points;
    return same;
}

std::string refused(std::vector<float> const& numbers) {
    return testing::message_of([&] { return gmac::detail::drawing_of("it", numbers); });
}

} // namespace

TEST_CASE("a pole is drawn where it is, through every decorator", "[plugin]") {
    vector_environment<classic::cart_pole> worlds(2, 1);
    normalized_environments const normalized(worlds);
    std::vector<float> observations(8);
    worlds.reset({observations.data(), 2, 4});
    worlds[1].world().set({.position = 1.0, .angle = 0.1});
    auto const drawn = normalized.draw(1);
    REQUIRE(drawn);
    CHECK(drawn->seconds == 0.02f);
    REQUIRE(drawn->lines.size() == 3);
    // A pole of 1 m on a cart 0.2 m high, 0.1 rad to the right.
    CHECK(drawn->lines[2].points[0] == std::array{1.0f, 0.2f});
    CHECK(drawn->lines[2].points[1][0] == Approx(1.0 + std::sin(0.1)));
    CHECK(drawn->lines[2].points[1][1] == Approx(0.2 + std::cos(0.1)));

    plugin_environments loaded(GMAC_CART_POLE, 2, 1);
    loaded.reset({observations.data(), 2, 4});
    worlds.reset({observations.data(), 2, 4});
    vector_environment<classic::cart_pole> again(2, 1);
    again.reset({observations.data(), 2, 4});
    REQUIRE(loaded.draw(1));
    CHECK(alike(*loaded.draw(1), *again.draw(1)));
    CHECK_FALSE(alike(*loaded.draw(1), *again.draw(0)));
}

TEST_CASE("a member draw of another kind is no drawing", "[plugin]") {
    struct painted : classic::deep_sea {
        painted() : deep_sea(3) {}
        void draw(int) const {}
    };
    CHECK_FALSE(vector_environment<painted>(1, 1).draw(0));
    CHECK(vector_environment<classic::deep_sea>(1, 1, [](std::size_t) { return classic::deep_sea(3); }).draw(0));
}

TEST_CASE("an environment in C is drawn", "[plugin]") {
    plugin_environments worlds(GMAC_CORRIDOR, 3, 1);
    std::vector<float> observations(3);
    worlds.reset({observations.data(), 3, 1});
    for (std::size_t e = 0; e < 3; ++e) {
        auto const drawn = worlds.draw(e);
        REQUIRE(drawn);
        REQUIRE(drawn->lines.size() == 3);
        // The observation is the place between −1 and 1, of nine fields.
        CHECK(drawn->lines[2].points[0][0] == Approx(4.0f * (observations[e] + 1.0f)));
    }
}

TEST_CASE("what is no drawing is refused by its number", "[plugin]") {
    std::string const window =
        "it: the drawing must begin with its window, the left, right, lower and upper end, and the seconds of a step";
    CHECK(refused({}) == window);
    CHECK(refused({0, 1, 0, 1}) == window);
    CHECK(refused({1, 1, 0, 1, 1}) == window);
    CHECK(refused({0, 1, 0, 1, 0}) == window);
    CHECK(refused({0, 1, 0, 1, 1, std::numeric_limits<float>::infinity()}) ==
          "it: number 5 of the drawing is inf, but must be finite");
    CHECK(refused({0, 1, 0, 1, 1, 2}) == "it: the drawing ends within its line 0");
    CHECK(refused({0, 1, 0, 1, 1, 2, 0}) ==
          "it: line 0 of the drawing has 0 points, but must have 1 at least, and there are 0 numbers left");
    CHECK(refused({0, 1, 0, 1, 1, 2, 1, 5, 5, 3, 2, 1, 2, 3}) ==
          "it: line 1 of the drawing has 2 points, but must have 1 at least, and there are 3 numbers left");
    auto const whole = gmac::detail::drawing_of("it", std::vector<float>{0, 1, 0, 1, 1, 7, 1, 5, 6});
    CHECK(whole.lines[0].colour == 4);
    CHECK(whole.lines[0].points[0] == std::array{5.0f, 6.0f});
}
