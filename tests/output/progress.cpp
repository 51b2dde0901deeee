// SPDX-License-Identifier: Apache-2.0
#include "output/progress_line.hpp"

#include "support/catch.hpp"
#include "support/says.hpp"
#include "support/scratch_folder.hpp"

#include <poll.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>

using gmac::testing::contains;
using namespace gmac::examples::train;

namespace {

using file = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

std::string all_of(std::FILE* stream) {
    std::fflush(stream);
    std::rewind(stream);
    std::string text;
    for (int c = std::fgetc(stream); c != EOF; c = std::fgetc(stream))
        text += static_cast<char>(c);
    return text;
}

/// What a terminal shows up to the end of a line: it hands on what was written to it in pieces, when it likes.
std::string line_of(int terminal) {
    std::string text;
    std::array<char, 256> piece;
    while (!text.ends_with("\r\n")) {
        pollfd waiting{terminal, POLLIN, 0};
        if (::poll(&waiting, 1, 10'000) != 1)
            break;
        auto const got = ::read(terminal, piece.data(), piece.size());
        if (got <= 0)
            break;
        text.append(piece.data(), static_cast<std::size_t>(got));
    }
    return text;
}

progress example() {
    progress state;
    state.frames = 823'040;
    state.total_frames = 2'000'000;
    state.mean_return = 1532.43;
    state.losses = {{"policy", -0.00213}, {"value", 0.0123456}};
    state.status = "hopping";
    return state;
}

} // namespace

TEST_CASE("numbers and times of the progress line are short") {
    CHECK(detail::short_number(0) == "0");
    CHECK(detail::short_number(512) == "512");
    CHECK(detail::short_number(999.4) == "999");
    CHECK(detail::short_number(999.6) == "1.00k");
    CHECK(detail::short_number(9712) == "9.71k");
    CHECK(detail::short_number(51234) == "51.2k");
    CHECK(detail::short_number(823040) == "823k");
    CHECK(detail::short_number(999'600) == "1.00M");
    CHECK(detail::short_number(2e6) == "2.00M");
    CHECK(detail::short_number(1.5e10) == "15.0G");
    CHECK(detail::duration(0) == "0:00");
    CHECK(detail::duration(7.4) == "0:07");
    CHECK(detail::duration(59.6) == "1:00");
    CHECK(detail::duration(3599) == "59:59");
    CHECK(detail::duration(3600) == "1:00:00");
    CHECK(detail::duration(100'000) == "27:46:40");
    CHECK(detail::duration(-1) == "-:--");
    CHECK(detail::duration(std::nan("")) == "-:--");
    CHECK(detail::duration(std::numeric_limits<double>::infinity()) == "-:--");
}

TEST_CASE("a progress line says all if there is room, and the most important things if there is not") {
    auto const state = example();
    CHECK(format_progress(state, 9712.0, 123.0, 200) ==
          " 41%  [========>           ]  823k of 2.00M frames  9.71k frames/s  return 1532.4  policy -0.00213  "
          "value 0.0123  2:03 left  hopping");
    CHECK(format_progress(state, 9712.0, 123.0, 80) ==
          " 41%  823k of 2.00M frames  9.71k frames/s  return 1532.4  2:03 left  hopping");
    CHECK(format_progress(state, 9712.0, 123.0, 40) == " 41%  return 1532.4  2:03 left  hopping");
    CHECK(format_progress(state, 9712.0, 123.0, 15) == " 41%  hopping");
    CHECK(format_progress(state, 9712.0, 123.0, 3) == " 41");
    for (std::size_t width = 0; width < 160; ++width)
        REQUIRE(detail::columns_of(format_progress(state, 9712.0, 123.0, width)) <= width);

    progress start;
    start.total_frames = 1000;
    CHECK(format_progress(start, std::nan(""), std::nan(""), 200) ==
          "  0%  [>                   ]  0 of 1.00k frames  - frames/s  return -  -:-- left");
    start.frames = 1500;
    CHECK(format_progress(start, 10, 0, 200) ==
          "100%  [====================]  1.50k of 1.00k frames  10 frames/s  return -  0:00 left");
    start.total_frames = 0;
    CHECK(contains(format_progress(start, 10, 0, 200), "  0%"));
}

TEST_CASE("text from elsewhere cannot move the cursor or break a character") {
    progress state = example();
    state.status = "h\x1b[2J\r\nüpfend";
    state.losses = {{"a\tb", 1.0}};
    auto const line = format_progress(state, 1.0, 1.0, 300);
    CHECK(contains(line, "h [2J  üpfend"));
    CHECK(contains(line, "a b 1"));
    state.losses.clear();
    CHECK(detail::columns_of("üpfend") == 6);
    CHECK(detail::cut("üpfend", 1) == "ü");
    CHECK(detail::cut("aü", 1) == "a");
    CHECK(detail::cut("aü", 2) == "aü");
}

TEST_CASE("where no terminal is, whole lines come every few seconds") {
    file const stream(std::tmpfile(), &std::fclose);
    progress_line line(stream.get(), 5.0);
    progress state = example();
    state.frames = 0;
    line.start(0, 0.0);
    for (int second = 1; second <= 12; ++second) {
        state.frames += 1000;
        line.update(state, second);
        if (second == 8)
            line.note("checkpoint written");
    }
    line.finish();
    auto const text = all_of(stream.get());
    CHECK(text.find('\r') == std::string::npos);
    CHECK(text.find('\x1b') == std::string::npos);
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        auto const end = text.find('\n', begin);
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    REQUIRE(lines.size() == 5);
    CHECK(contains(lines[0], "1.00k of 2.00M frames  1.00k frames/s"));
    CHECK(contains(lines[1], "6.00k of 2.00M frames"));
    CHECK(lines[2] == "checkpoint written");
    CHECK(contains(lines[3], "11.0k of 2.00M frames"));
    CHECK(contains(lines[4], "12.0k of 2.00M frames  1.00k frames/s"));
    CHECK(contains(lines[4], "33:08 left")); // 1,988,000 frames at 1000 a second
}

TEST_CASE("on a terminal the line is drawn over and over") {
    file const stream(std::tmpfile(), &std::fclose);
    progress_line line(stream.get(), 5.0, true);
    progress state = example();
    line.start(823'000, 0.0);
    line.update(state, 1.0);
    line.update(state, 1.01); // too soon to be seen
    line.note("note");
    line.update(state, 2.0);
    line.finish();
    auto const shown = [&](double seconds, double left) {
        return "\r" + format_progress(state, 40.0 / seconds, left, 79) + "\x1b[K";
    };
    double const todo = 2'000'000 - 823'040;
    CHECK(all_of(stream.get()) == shown(1.0, todo / 40.0) + "\r\x1b[Knote\n" + shown(1.01, todo / (40.0 / 1.01)) +
                                      shown(2.0, todo / 20.0) + "\n");
}

TEST_CASE("a reader that goes away ends the talking and nothing else") {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    auto const before = std::signal(SIGPIPE, SIG_IGN);
    {
        file const stream(::fdopen(ends[1], "w"), &std::fclose);
        progress_line line(stream.get());
        line.note("first");
        std::string text(100, '\0');
        text.resize(static_cast<std::size_t>(::read(ends[0], text.data(), text.size())));
        CHECK(text == "first\n");
        ::close(ends[0]);
        line.note("second");
        line.update(example(), 1.0);
        line.finish();
        CHECK(std::ferror(stream.get()) == 0);
        CHECK(std::fflush(stream.get()) == 0);
    }
    {
        // A full disk is not passed over in silence: whoever ends the program can see it.
        file const stream(std::fopen("/dev/full", "w"), &std::fclose);
        progress_line line(stream.get());
        line.note("text");
        CHECK(std::ferror(stream.get()) != 0);
    }
    std::signal(SIGPIPE, before);
}

TEST_CASE("speed is that of the last ten seconds and does not count what was done before a resume") {
    file const stream(std::tmpfile(), &std::fclose);
    progress_line line(stream.get());
    progress state = example();
    CHECK(std::isnan(line.frames_per_second()));
    state.frames = 1'000'000;
    line.start(state.frames, 100.0);
    CHECK(std::isnan(line.frames_per_second()));
    for (int second = 1; second <= 30; ++second) {
        state.frames += second <= 15 ? 100 : 300;
        line.update(state, 100.0 + second);
        if (second == 5)
            CHECK(line.frames_per_second() == 100.0);
        if (second == 20)
            CHECK(line.frames_per_second() == Approx(200.0));
    }
    CHECK(line.frames_per_second() == Approx(300.0));
}

TEST_CASE("a real terminal's width is kept") {
    int outer = -1;
    int inner = -1;
    winsize size{};
    size.ws_col = 60;
    size.ws_row = 24;
    REQUIRE(::openpty(&outer, &inner, nullptr, nullptr, &size) == 0);
    char const* const type = std::getenv("TERM");
    std::string const old = type == nullptr ? "" : type;
    ::setenv("TERM", "xterm", 1);
    {
        file const stream(::fdopen(inner, "w"), &std::fclose);
        progress_line line(stream.get());
        line.update(example(), 1.0);
        line.finish();
        CHECK(line_of(outer) == "\r" + format_progress(example(), std::nan(""), std::nan(""), 59) + "\x1b[K\r\n");
        ::setenv("TERM", "dumb", 1);
        progress_line plain(stream.get());
        plain.update(example(), 1.0);
        CHECK(line_of(outer) == format_progress(example(), std::nan(""), std::nan(""), 1000) + "\r\n");
    }
    ::close(outer);
    type == nullptr ? ::unsetenv("TERM") : ::setenv("TERM", old.c_str(), 1);
}
