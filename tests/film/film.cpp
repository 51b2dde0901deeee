// SPDX-License-Identifier: Apache-2.0
#include "train/play/film.hpp"

#include "gif.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"
#include "support/scratch_folder.hpp"

#include <vector>

using gmac::testing::contains;
using gmac::testing::gif;
using gmac::testing::message_of;
using gmac::testing::read_gif;
using gmac::testing::scratch_folder;
using namespace gmac::examples::train;

namespace {

film_frame frame(value_panel value) {
    return {{{{0.0, 0.5}, {0.2, 1.0}, 0.1, 0.0, body_side::left}}, 0.1, "now", std::move(value)};
}

} // namespace

TEST_CASE("a film has its frames, its size and its pace", "[film]") {
    scratch_folder const folder;
    film what{.title = "it's a \"film\" `x`", .frames = {}, .frame_hundredths = 7, .width = 600, .pixels_high = 250};
    what.frames.push_back(frame({0, 12.0, {{0.5, 10.0, 2.0}, {0.5, 14.0, 1.0}}, {}})); // a mixture
    what.frames.push_back(frame({3, 13.0, {}, {9.0, 11.0, 12.0, 15.0}}));              // samples
    what.frames.push_back(frame({6, 14.0, {{1.0, 13.0, 0.0}}, {}}));                   // a point
    draw_film(folder / "a.gif", what);
    gif const drawn = read_gif(folder / "a.gif");
    CHECK(drawn.whole);
    CHECK(drawn.delays == std::vector<int>{7, 7, 7});
    CHECK(drawn.width == 600);
    CHECK(drawn.height == 250);
    CHECK(drawn.repeats == 0);
    CHECK(folder.files() == 1);
}

TEST_CASE("a film of points alone, and of one frame, can be drawn", "[film]") {
    scratch_folder const folder;
    film const what{.title = "points", .frames = {frame({0, 1.0, {{1.0, 1.0, 0.0}}, {}})}};
    draw_film(folder / "a.gif", what);
    CHECK(read_gif(folder / "a.gif").frames() == 1);
}

TEST_CASE("a film that cannot be drawn leaves nothing", "[film]") {
    scratch_folder const folder;
    CHECK(contains(message_of([&] { draw_film(folder / "a.gif", {.title = "", .frames = {}}); }),
                   "there is no frame to draw"));
    film const bad{.title = "", .frames = {frame({0, 1.0, {}, {}})}};
    CHECK(contains(message_of([&] { draw_film(folder / "a.gif", bad); }), "components or samples"));
    film const good{.title = "", .frames = {frame({0, 1.0, {{1.0, 0.0, 1.0}}, {}})}};
    CHECK(contains(message_of([&] { draw_film(folder / "no/a.gif", good); }), "no/a.gif"));
    CHECK(folder.files() == 0);
}
