// SPDX-License-Identifier: Apache-2.0
// The picture of a run in the terminal: charts against their numbers, and a real pseudo-terminal before and after.
#include "output/progress_line.hpp"
#include "output/stop_signal.hpp"

#include "support/catch.hpp"
#include "support/says.hpp"
#include "terminal.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using gmac::testing::contains;
using gmac::testing::on_terminal;
using namespace gmac::examples::train;

namespace {

/// The characters of a line of UTF-8 as numbers.
std::vector<unsigned> characters_of(std::string const& text) {
    std::vector<unsigned> characters;
    for (std::size_t i = 0; i < text.size();) {
        auto const first = static_cast<unsigned char>(text[i]);
        std::size_t const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : 3;
        unsigned value = length == 1 ? first : length == 2 ? first & 0x1fu : first & 0x0fu;
        for (std::size_t k = 1; k < length; ++k)
            value = value << 6u | (static_cast<unsigned char>(text.at(i + k)) & 0x3fu);
        characters.push_back(value);
        i += length;
    }
    return characters;
}

/// Whether the dot x from the left and y from the top of a chart is set, by the definition of Braille patterns: dots 1, 2, 3, 7
/// are the left column of a character and 4, 5, 6, 8 the right one.
bool dot(std::vector<std::string> const& chart, std::size_t x, std::size_t y) {
    unsigned const character = characters_of(chart.at(y / 4)).at(text_chart::margin + x / 2);
    if (character == ' ')
        return false;
    REQUIRE(character > 0x2800);
    REQUIRE(character <= 0x28ff);
    std::array<unsigned, 8> const numbers{1, 2, 3, 7, 4, 5, 6, 8};
    return (character - 0x2800) >> (numbers[x % 2 * 4 + y % 4] - 1) & 1u;
}

std::string joined(std::vector<std::string> const& lines) {
    std::string text;
    for (auto const& line : lines)
        text += line + '\n';
    return text;
}

progress example(std::uint64_t frames = 500'000) {
    progress state{.frames = frames, .total_frames = 1'000'000, .mean_return = 120.5};
    for (int i = 0; i < 16; ++i)
        state.values.push_back({.components = {{0.5, 10.0 + i, 1.0}, {0.5, 40.0, 3.0}}});
    return state;
}

/// Waits for a key that ends in a line.
void wait_for_key() {
    char key = 0;
    while (::read(STDIN_FILENO, &key, 1) < 0 && errno == EINTR)
        ;
}

} // namespace

TEST_CASE("the curve goes through its points") {
    // Of 20 columns and 5 rows: 40 x 20 dots. Returns from 0 to 190 take 10 a dot, frames up to 390 the same.
    std::vector<text_chart::point> const points{{0, 0}, {190, 190}, {300, 80}};
    auto const chart = text_chart::curve(points, 390, text_chart::margin + 20, 5);
    INFO(joined(chart));
    REQUIRE(chart.size() == 7);
    for (std::size_t x = 0; x < 40; ++x)
        for (std::size_t y = 0; y < 20; ++y) {
            CAPTURE(x, y);
            std::size_t const value = 19 - y;
            CHECK(dot(chart, x, y) == (x <= 19 ? value == x : x <= 30 ? value == 38 - x : false));
        }
    CHECK(contains(chart[6], "0"));
    CHECK(chart[6].ends_with("390 frames"));
    for (auto const& line : chart)
        CHECK(detail::columns_of(line) == text_chart::margin + 20);
    // A number stands where the curve has it: 100 is 10 dots from the bottom, in the third line.
    CHECK(chart[2].starts_with("    100 ┤"));
    CHECK(chart[4].starts_with("      0 ┤"));
}

TEST_CASE("a curve of one point, of equal points, of none, and of large numbers can be drawn") {
    for (double const value : {0.0, -3.5, 1e12, 1e-12}) {
        std::vector<text_chart::point> points{{10, value}};
        CHECK(text_chart::curve(points, 100, 40, 4).size() == 6);
        points.push_back({20, value});
        CHECK(text_chart::curve(points, 0, 40, 4).size() == 6);
    }
    CHECK(text_chart::curve({}, 100, 40, 4).size() == 6);
}

TEST_CASE("bars are as high as the probability of their column") {
    std::vector<density_component> const normal{{1.0, 5.0, 2.0}};
    std::size_t const width = 41, rows = 6;
    auto const chart = text_chart::bars(normal, width, rows);
    INFO(joined(chart));
    REQUIRE(chart.size() == rows + 2);
    // Its range ends 2 % beyond the quantiles 0.001 and 0.999, which are 3.0902 deviations from the mean.
    double const reach = 2.0 * 3.090232306167813 * 1.04;
    auto const up_to = [](double x) { return 0.5 * (1.0 + std::erf((x - 5.0) / std::sqrt(8.0))); };
    auto const mass = [&](std::size_t column) {
        double const cell = 2.0 * reach / static_cast<double>(width);
        double const left = 5.0 - reach + cell * static_cast<double>(column);
        return up_to(left + cell) - up_to(left);
    };
    for (std::size_t column = 0; column < width; ++column) {
        CAPTURE(column);
        double eighths = 0.0;
        for (std::size_t row = 0; row < rows; ++row) {
            unsigned const character = characters_of(chart[row]).at(column);
            REQUIRE((character == ' ' || (character >= 0x2581 && character <= 0x2588)));
            eighths += character == ' ' ? 0.0 : static_cast<double>(character - 0x2580);
        }
        CHECK(eighths == Approx(8.0 * static_cast<double>(rows) * mass(column) / mass(width / 2)).margin(0.51));
    }
    CHECK(chart.back().starts_with(fmt::format("{:.4g}", 5.0 - reach)));
    CHECK(chart.back().ends_with(fmt::format("{:.4g}", 5.0 + reach)));
}

TEST_CASE("the picture fits in every window and says when it is too small") {
    watch_picture picture("gmac on classic/cart_pole, seed 1");
    for (int i = 0; i < 5000; ++i)
        picture.add({100.0 * i, std::sin(0.01 * i)});
    picture.note("a note with a\ttab that is longer than a narrow window has columns, so it must be cut somewhere");
    for (std::size_t columns = 1; columns < 130; ++columns)
        for (std::size_t rows = 1; rows < 50; rows += columns % 3 + 1) {
            auto const lines = picture.lines(example(), 1000.0, 10.0, columns, rows);
            CAPTURE(columns, rows);
            REQUIRE(lines.size() <= rows);
            for (auto const& line : lines)
                REQUIRE(detail::columns_of(line) <= columns);
            bool const fits = columns >= 40 && rows >= 16;
            REQUIRE(contains(joined(lines), "mean return of the last 100 episodes") == fits);
            if (!fits && columns >= 24 && rows >= 2)
                REQUIRE(contains(joined(lines), "too small: needs 40 x 16"));
        }
    auto const text = joined(picture.lines(example(), 1000.0, 10.0, 80, 24));
    CHECK(contains(text, "gmac on classic/cart_pole, seed 1"));
    CHECK(contains(text, " 50%"));
    CHECK(contains(text, "value of states just seen: mean 28.75"));
    CHECK(contains(text, "value of one of them: mean 32.5"));
    CHECK(contains(text, "a note with a tab"));
    CHECK(!contains(text, "\x1b"));
    progress empty;
    CHECK(contains(joined(watch_picture("").lines(empty, NAN, NAN, 80, 24)), "none has ended yet"));
}

TEST_CASE("a terminal is drawn on, follows its size, and is left as it was") {
    on_terminal terminal([] {
        progress_line line(stdout);
        line.watch("a title");
        line.note("said before");
        line.start(0, 0.0);
        line.update(example(1000), 1.0);
        wait_for_key();
        line.note("said meanwhile");
        line.update(example(2000), 2.0);
        wait_for_key();
        line.update(example(3000), 3.0);
        wait_for_key();
        line.finish();
        line.note("said after");
        return 0;
    });
    auto& model = terminal.model;
    terminal.read_until([&] { return contains(model.text(), "value of one of them"); });
    terminal.read_until([&] { return model.lines().size() >= 21; });
    CHECK(model.second_screen());
    CHECK(!model.cursor_shown());
    CHECK(model.lines().at(0) == "a title");
    CHECK(contains(model.text(), " 1.00M frames\n")); // up to the last column
    CHECK(model.colours() > 0);
    for (auto const& line : model.lines())
        CHECK(detail::columns_of(line) <= 80);

    terminal.resize(50, 18);
    terminal.press('\n');
    terminal.read_until([&] { return contains(model.text(), "said meanwhile"); });
    CHECK(model.lines().size() <= 18);
    CHECK(!contains(model.text(), "value of one of them"));
    CHECK(contains(model.text(), "value of states just seen"));

    terminal.resize(30, 10);
    terminal.press('\n');
    terminal.read_until([&] { return contains(model.text(), "too small: needs 40 x 16"); });
    terminal.press('\n');
    CHECK(terminal.end() == 0);
    CHECK(model.as_before());
    auto const text = model.text();
    CHECK(text.find("said before") < text.find("said meanwhile"));
    CHECK(contains(text, "return 120.5"));
    CHECK(text.find("return 120.5") < text.find("said after"));
    CHECK(!contains(text, "mean return of"));
}

TEST_CASE("an error leaves the terminal as it was") {
    on_terminal terminal([]() -> int {
        try {
            progress_line line(stdout);
            line.watch("a title");
            line.update(example(1000), 1.0);
            line.note("said meanwhile");
            throw std::runtime_error("the error");
        } catch (std::runtime_error const& error) {
            std::puts(error.what());
            std::fflush(stdout);
        }
        return 3;
    });
    CHECK(terminal.end() == 3);
    CHECK(terminal.model.pictures() == 1);
    CHECK(terminal.model.as_before());
    CHECK(terminal.model.text() == "said meanwhile\nthe error\n");
}

TEST_CASE("the first Ctrl-C brings the terminal back and is handled as ever; a second one ends the program") {
    on_terminal terminal([] {
        stop_signal const stop;
        progress_line line(stdout);
        line.watch("a title");
        double now = 1.0;
        for (; !stop.requested(); now += 1.0) {
            line.update(example(1000), now);
            ::usleep(1000);
        }
        line.update(example(123'456), now);
        for (;;)
            ::pause();
        return 0;
    });
    auto& model = terminal.model;
    terminal.read_until([&] { return contains(model.text(), "a title"); });
    terminal.press(3);
    terminal.read_until([&] { return contains(model.text(), "123k of 1.00M"); });
    CHECK(model.as_before());
    terminal.press(3);
    CHECK(terminal.end() == 128 + SIGINT);
    CHECK(model.as_before());
}

TEST_CASE("a signal that ends the program leaves the terminal as it was") {
    for (int const number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
        CAPTURE(number);
        on_terminal terminal([number] {
            rlimit const no_core{0, 0};
            ::setrlimit(RLIMIT_CORE, &no_core);
            for (int const each : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM, SIGINT}) // and not Catch's
                std::signal(each, SIG_DFL);
            progress_line line(stdout);
            line.watch("a title");
            line.update(example(1000), 1.0);
            ::raise(number);
            return 0;
        });
        CHECK(terminal.end() == 128 + number);
        CHECK(terminal.model.pictures() == 1);
        CHECK(terminal.model.as_before());
    }
}

TEST_CASE("Ctrl-Z brings the terminal back, and the picture comes again when the program goes on") {
    on_terminal terminal([] {
        // As a shell does it: the program has a process group of its own, whose parent sees it stop and lets it go on.
        pid_t const child = ::fork();
        if (child == 0) {
            ::setpgid(0, 0);
            progress_line line(stdout);
            line.watch("a title");
            line.update(example(1000), 1.0);
            ::raise(SIGTSTP);
            line.update(example(700'000), 2.0);
            ::raise(SIGSTOP); // to be looked at
            line.finish();
            std::fflush(stdout);
            ::_exit(0);
        }
        int status = 0;
        while (::waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status)) {
            std::printf("\nstopped by %d\n", WSTOPSIG(status));
            std::fflush(stdout);
            wait_for_key();
            ::kill(child, SIGCONT);
        }
        return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
    });
    auto& model = terminal.model;
    terminal.read_until([&] { return contains(model.text(), fmt::format("stopped by {}", SIGTSTP)); });
    CHECK(model.pictures() == 1);
    CHECK(model.as_before());
    terminal.press('\n');
    terminal.read_until([&] { return contains(model.text(), fmt::format("stopped by {}", SIGSTOP)); });
    CHECK(model.pictures() == 2);
    CHECK(contains(model.text(), "700k of 1.00M"));
    CHECK(model.second_screen());
    terminal.press('\n');
    CHECK(terminal.end() == 0);
    CHECK(model.as_before());
}

TEST_CASE("NO_COLOR is honoured, and nothing is drawn into a pipe or on a dumb terminal") {
    auto const program = [] {
        progress_line line(stdout);
        line.watch("a title");
        line.update(example(1000), 1.0);
        line.finish();
        return 0;
    };
    {
        on_terminal terminal([&] {
            ::setenv("NO_COLOR", "1", 1);
            return program();
        });
        CHECK(terminal.end() == 0);
        CHECK(terminal.model.pictures() == 1);
        CHECK(terminal.model.colours() == 1); // back to the usual one, at the end
    }
    {
        on_terminal terminal([&] {
            ::setenv("TERM", "dumb", 1);
            return program();
        });
        CHECK(terminal.end() == 0);
        CHECK(terminal.model.pictures() == 0);
        CHECK(contains(terminal.model.text(), "return 120.5"));
    }
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> const file(std::tmpfile(), &std::fclose);
    {
        progress_line line(file.get());
        line.watch("a title");
        CHECK(!line.shows_values(1.0));
        line.update(example(1000), 1.0);
        line.finish();
    }
    std::rewind(file.get());
    std::array<char, 4096> bytes;
    std::string const text(bytes.data(), std::fread(bytes.data(), 1, bytes.size(), file.get()));
    CHECK(contains(text, "return 120.5"));
    CHECK(!contains(text, "\x1b"));
    CHECK(!contains(text, "a title"));
}
