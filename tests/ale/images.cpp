// SPDX-License-Identifier: Apache-2.0
// From two screens to one small grey image.
#include "support/catch.hpp"
#include "support/says.hpp"

#include "../../examples/environments/ale/area.hpp"
#include "../../examples/environments/ale/grey.hpp"

#include <gmac/core/random.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace gmac::examples::ale;
using gmac::testing::says;
using image = std::vector<std::uint8_t>;

struct shape {
    std::size_t rows, columns, to_rows, to_columns;
};

/// The length of the part of the source pixel [i, i + 1) that lies in the result's pixel j, in source pixels.
double overlap(std::size_t i, std::size_t j, std::size_t from, std::size_t to) {
    double const scale = static_cast<double>(from) / static_cast<double>(to);
    double const low = std::max(static_cast<double>(i), static_cast<double>(j) * scale);
    double const high = std::min(static_cast<double>(i + 1), static_cast<double>(j + 1) * scale);
    return std::max(0.0, high - low);
}

/// The mean over the rectangle that a pixel of the result covers, straight from its definition.
double area_mean(image const& source, shape const& s, std::size_t row, std::size_t column) {
    double sum = 0.0, area = 0.0;
    for (std::size_t y = 0; y < s.rows; ++y)
        if (double const height = overlap(y, row, s.rows, s.to_rows); height > 0.0)
            for (std::size_t x = 0; x < s.columns; ++x) {
                double const part = height * overlap(x, column, s.columns, s.to_columns);
                sum += part * source[y * s.columns + x];
                area += part;
            }
    return sum / area;
}

/// An image in memory, which says that a line repeats when it does, or never.
struct lines_of {
    image const& source;
    std::size_t columns;
    bool say = true;

    [[nodiscard]] bool repeats(std::size_t row) const {
        auto const line = source.begin() + static_cast<std::ptrdiff_t>(row * columns);
        auto const width = static_cast<std::ptrdiff_t>(columns);
        return say && std::equal(line - width, line, line);
    }
    void read(std::size_t row, std::span<std::uint8_t> line) const {
        REQUIRE(line.size() == columns);
        std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(row * columns), columns, line.begin());
    }
};

image random_image(std::size_t size, gmac::random_stream& random, bool black_and_white) {
    image result(size);
    for (auto& pixel : result)
        pixel = static_cast<std::uint8_t>(black_and_white ? 255 * random.below(2) : random.below(256));
    return result;
}

TEST_CASE("area interpolation is the mean over what a pixel covers") {
    gmac::random_stream random(1);
    for (shape const s : {shape{210, 160, 84, 84}, shape{250, 160, 84, 84}, shape{97, 100, 84, 60},
                          shape{210, 160, 105, 80}, shape{5, 7, 5, 7}, shape{256, 256, 1, 1}, shape{7, 5, 2, 3}}) {
        area_interpolation area({s.rows, s.columns}, {s.to_rows, s.to_columns});
        for (bool const black_and_white : {false, true}) {
            image const source = random_image(s.rows * s.columns, random, black_and_white);
            image result(s.to_rows * s.to_columns);
            area(lines_of{source, s.columns}, result);
            double worst = 0.0;
            for (std::size_t row = 0; row < s.to_rows; ++row)
                for (std::size_t column = 0; column < s.to_columns; ++column)
                    worst = std::max(worst,
                                     std::abs(result[row * s.to_columns + column] - area_mean(source, s, row, column)));
            CHECK(worst < 0.5 + 1e-9); // rounded to the nearest level
        }
    }
}

TEST_CASE("area interpolation: lines that repeat need not be read again") {
    // Blocks of 1 to 9 equal lines, some of which are equal to a block before.
    shape const s{210, 160, 84, 84};
    gmac::random_stream random(2);
    area_interpolation area({s.rows, s.columns}, {s.to_rows, s.to_columns});
    for (int trial = 0; trial < 20; ++trial) {
        image const three_lines = random_image(3 * s.columns, random, false);
        image source;
        while (source.size() < s.rows * s.columns)
            for (std::uint32_t line = random.below(3), left = 1 + random.below(9); left > 0; --left)
                source.insert(source.end(), three_lines.begin() + 160 * line, three_lines.begin() + 160 * (line + 1));
        source.resize(s.rows * s.columns);
        image known(s.to_rows * s.to_columns), unknown(known.size());
        area(lines_of{source, s.columns, true}, known);
        area(lines_of{source, s.columns, false}, unknown);
        CHECK(known == unknown);
        for (std::size_t i = 0; i < known.size(); i += 7)
            REQUIRE(std::abs(known[i] - area_mean(source, s, i / 84, i % 84)) < 0.5 + 1e-9);
    }
}

// Recorded from cv::resize with INTER_AREA of OpenCV 4.6 (Debian 12), of the 210 x 160 image (i * i / 7 + 13 i) mod 256.
// Every 91st pixel of the result.
constexpr std::array<std::uint8_t, 78> recorded{86,  133, 167, 121, 138, 119, 97,  122, 137, 123, 116, 115, 109,
                                                103, 94,  106, 123, 142, 140, 97,  124, 145, 115, 130, 184, 106,
                                                54,  76,  83,  87,  74,  106, 159, 134, 137, 117, 137, 121, 143,
                                                151, 138, 110, 122, 102, 112, 95,  187, 125, 154, 188, 115, 104,
                                                177, 109, 97,  139, 93,  88,  109, 150, 111, 133, 108, 121, 68,
                                                161, 126, 148, 145, 91,  136, 94,  143, 129, 91,  132, 124, 164};

TEST_CASE("area interpolation equals OpenCV's INTER_AREA to one grey level") {
    image source(210 * 160);
    for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<std::uint8_t>((i * i / 7 + 13 * i) % 256);
    area_interpolation area({210, 160}, {84, 84});
    image result(84 * 84);
    area(lines_of{source, 160}, result);
    for (std::size_t i = 0; i < recorded.size(); ++i)
        CHECK(std::abs(int(result[91 * i]) - int(recorded[i])) <= 1);
}

TEST_CASE("area interpolation only makes images smaller") {
    CHECK_THROWS_WITH(area_interpolation({83, 160}, {84, 84}), says("83 pixels cannot become 84"));
    CHECK_THROWS_WITH(area_interpolation({300, 160}, {84, 84}), says("at most 256"));
    CHECK_THROWS_WITH(area_interpolation({210, 160}, {84, 0}), says("cannot become 0"));
}

palette some_colours() {
    palette colours{};
    for (std::size_t i = 0; i < colours.size(); ++i)
        colours[i] = static_cast<std::uint32_t>((i * 7'654'321u + 99u) & 0xffffffu);
    return colours;
}

TEST_CASE("grey: the maximum of each colour channel, then the luminance") {
    palette const colours = some_colours();
    grey_maximum const grey(colours, grey_rule::maximum_colour);
    image a(128 * 128), b(128 * 128), result(128 * 128);
    for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = static_cast<std::uint8_t>(2 * (i / 128));
        b[i] = static_cast<std::uint8_t>(2 * (i % 128));
    }
    grey(a, b, result);
    double worst = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::uint32_t const first = colours[i / 128], second = colours[i % 128];
        auto const channel = [&](unsigned shift) {
            return static_cast<double>(std::max(first >> shift & 255u, second >> shift & 255u));
        };
        double const exact = 0.299 * channel(16) + 0.587 * channel(8) + 0.114 * channel(0);
        worst = std::max(worst, std::abs(result[i] - exact));
    }
    CHECK(worst < 0.51);
}

TEST_CASE("grey: OpenCV's luminance, and ALE's") {
    // Recorded from cv::cvtColor with COLOR_RGB2GRAY of OpenCV 4.6.
    CHECK(opencv_luminance(255, 255, 255) == 255);
    CHECK(opencv_luminance(200, 72, 72) == 110);
    CHECK(opencv_luminance(142, 142, 142) == 142);
    CHECK(opencv_luminance(45, 87, 176) == 85);
    // ALE rounds 0.2989 R + 0.5870 G + 0.1140 B: 110.27 and 84.58.
    CHECK(ale_luminance(rgb(0xc84848)) == 110);
    CHECK(ale_luminance(rgb(0x2d57b0)) == 85);
    CHECK(ale_luminance(rgb(0xffffff)) == 255);
}

TEST_CASE("grey: the maximum of two greys is at most the grey of the maximum") {
    palette const colours = some_colours();
    grey_maximum const of_colours(colours, grey_rule::maximum_colour);
    grey_maximum const of_greys(colours, grey_rule::maximum_grey);
    gmac::random_stream random(4);
    image a(600), b(600), first(600), second(600);
    for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = static_cast<std::uint8_t>(2 * random.below(128));
        b[i] = static_cast<std::uint8_t>(2 * random.below(128));
    }
    of_colours(a, b, first);
    of_greys(a, b, second);
    bool different = false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(second[i] == std::max(ale_luminance(rgb(colours[a[i] / 2])), ale_luminance(rgb(colours[b[i] / 2]))));
        CHECK(second[i] <= first[i] + 1); // the two luminances round differently
        different = different || second[i] + 1 < first[i];
    }
    CHECK(different);
}

TEST_CASE("grey: a line repeats if it does in both screens") {
    grey_maximum const grey(some_colours(), grey_rule::maximum_colour);
    image const a{0, 2, 0, 2, 0, 2, 4, 2}, b{6, 6, 6, 6, 6, 8, 6, 8};
    grey_lines const lines{grey, a, b, 2};
    CHECK(lines.repeats(1));
    CHECK(!lines.repeats(2)); // only the first does
    CHECK(!lines.repeats(3)); // only the second does
    image line(2), expected(2);
    lines.read(3, line);
    grey(std::span(a).last(2), std::span(b).last(2), expected);
    CHECK(line == expected);
}

} // namespace
