// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Pictures through the program gnuplot. Data go into the script itself, so nothing lies about if it fails.
namespace gmac::examples::train::gnuplot {

/// A picture was drawn and could not be written.
class not_written : public gmac::error {
public:
    using gmac::error::error;
};

/// Text as a gnuplot string, in which nothing has a meaning: all but letters, digits and the like is written by its
/// octal number, since gnuplot runs what is between backquotes, and does not take two single quotes at the start.
[[nodiscard]] inline std::string literal(std::string_view text) {
    std::string result = "\"";
    for (char const c : text) {
        auto const byte = static_cast<unsigned char>(c);
        bool const harmless = byte >= 128 || std::isalnum(byte) != 0 ||
                              std::string_view(" -_.,:;()/+=#").find(c) != std::string_view::npos;
        result += byte < 32 || byte == 127 ? " " : harmless ? std::string(1, c) : fmt::format("\\{:03o}", byte);
    }
    return result + '"';
}

/// A number for gnuplot, exactly; one that is not finite is a gap in a line.
[[nodiscard]] inline std::string number(double value) {
    return std::isfinite(value) ? fmt::format("{}", value) : std::string("NaN");
}

/// 1, 2 or 5 times a power of ten, such that about `count` steps make `range`.
[[nodiscard]] inline double tick_step(double range, double count) {
    double const raw = range / count;
    double const power = std::pow(10.0, std::floor(std::log10(raw)));
    return power * (raw < 1.5 * power ? 1.0 : raw < 3.5 * power ? 2.0 : raw < 7.5 * power ? 5.0 : 10.0);
}

/// How to write the numbers on an axis from `low` to `high` such that neighbours differ.
[[nodiscard]] inline std::string tick_format(double low, double high) {
    double const largest = (std::max)(std::abs(low), std::abs(high));
    double const digits = std::ceil(std::log10(largest / tick_step(high - low, 5.0))) + 1.0;
    return digits > 6.0 ? fmt::format("%.{:.0f}g", (std::min)(digits, 17.0)) : std::string("%g");
}

/// Named data inside the script: `$name << EOD … EOD`, one row a line. The columns must have one length.
[[nodiscard]] inline std::string data_block(std::string_view name, std::span<std::vector<double> const> columns) {
    std::string text = fmt::format("${} << EOD\n", name);
    std::size_t const rows = columns.empty() ? 0 : columns.front().size();
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t i = 0; i < columns.size(); ++i)
            (text += i == 0 ? "" : " ") += number(columns[i][row]);
        text += '\n';
    }
    return text + "EOD\n";
}

/// Runs gnuplot on a script, and returns what it draws to its standard output. Throws gmac::error if it is not installed,
/// or if it fails, with what it says.
inline std::string run(std::string_view script, char const* program = "gnuplot") {
    // Temporary files for all but the picture: however much either side writes, nobody waits for the other.
    using file = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
    file const input(std::tmpfile(), &std::fclose);
    file const messages(std::tmpfile(), &std::fclose);
    std::array<int, 2> ends{};
    gmac::require(input && messages && ::pipe(ends.data()) == 0, "cannot make a temporary file for gnuplot: {}",
                  gmac::detail::system_message(errno));
    gmac::detail::descriptor drawn(ends[0]);
    gmac::detail::descriptor drawing(ends[1]);
    ::fcntl(drawn.get(), F_SETFD, FD_CLOEXEC);
    ::fcntl(drawing.get(), F_SETFD, FD_CLOEXEC);
    bool const written = std::fwrite(script.data(), 1, script.size(), input.get()) == script.size() &&
                         std::fflush(input.get()) == 0 && std::fseek(input.get(), 0, SEEK_SET) == 0;
    gmac::require(written, "cannot write a temporary file for gnuplot: {}", gmac::detail::system_message(errno));

    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ::fileno(input.get()), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, drawing.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, ::fileno(messages.get()), STDERR_FILENO);
    std::array<char*, 2> arguments{const_cast<char*>(program), nullptr};
    pid_t child = 0;
    int const problem = ::posix_spawnp(&child, program, &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    gmac::require(problem != ENOENT,
                  "no picture was drawn: the program {} is not installed (on Debian: apt-get install "
                  "gnuplot-nox)",
                  program);
    gmac::require(problem == 0, "no picture was drawn: {} cannot be run: {}", program,
                  gmac::detail::system_message(problem));
    drawing.close();
    std::string picture;
    std::array<char, 65536> part{};
    for (ssize_t got = 1; got != 0;) {
        got = ::read(drawn.get(), part.data(), part.size());
        if (got > 0)
            picture.append(part.data(), static_cast<std::size_t>(got));
        else if (got < 0 && errno != EINTR)
            break;
    }
    drawn.close(); // if it could not be read to the end, gnuplot ends by its broken pipe
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        gmac::require(errno == EINTR, "cannot wait for {}: {}", program, gmac::detail::system_message(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return picture;

    std::array<char, 600> text{};
    std::rewind(messages.get());
    std::string said(text.data(), std::fread(text.data(), 1, text.size(), messages.get()));
    while (!said.empty() && (said.back() == '\n' || said.back() == ' '))
        said.pop_back();
    gmac::fail("no picture was drawn: {} {}: {}", program,
               WIFEXITED(status) ? fmt::format("ended with status {}", WEXITSTATUS(status))
                                 : fmt::format("was ended by signal {}", WTERMSIG(status)),
               said);
}

/// A picture: `data` defines what `plot` draws.
struct picture {
    std::string data;
    std::string plot;
    int width = 1200; ///< pixels
    int height = 720;
};

/// One file of a picture, and what gnuplot shall make it with.
struct output {
    std::filesystem::path file;
    std::string_view terminal;
};

/// Writes the picture to each of the files by gmac::replace_file, once all are drawn. The script names no file, so that
/// it does not matter what is in their names, and whether all is written is seen here. Throws gmac::error.
inline void write(std::span<output const> outputs, picture const& what, char const* program = "gnuplot") {
    std::vector<std::string> drawn;
    for (auto const& [file, terminal] : outputs) {
        drawn.push_back(run(fmt::format("set encoding utf8\nset terminal {} size {},{}\n{}{}\n", terminal, what.width,
                                        what.height, what.data, what.plot),
                            program));
        gmac::require(!drawn.back().empty(), "no picture was drawn: {} was given nothing to draw", program);
    }
    try {
        for (std::size_t i = 0; i < outputs.size(); ++i)
            gmac::replace_file(outputs[i].file, drawn[i]);
    } catch (gmac::error const& problem) {
        throw not_written(problem.what());
    }
}

/// Writes `stem`.png and `stem`.svg. No enhanced text: an underscore is an underscore.
inline void draw(std::filesystem::path const& stem, picture const& what, char const* program = "gnuplot") {
    std::array const outputs{output{stem.string() + ".png", "pngcairo noenhanced background '#ffffff' font 'sans,13'"},
                             output{stem.string() + ".svg", "svg noenhanced background '#ffffff' font 'sans,13'"}};
    write(outputs, what, program);
}

/// Writes an animated GIF that begins again at its end: every plot or multiplot of the picture is a frame, which is
/// shown for so many hundredths of a second. The font size is that of text which says nothing else.
inline void animate(std::filesystem::path const& file, picture const& what, int frame_hundredths, double font_size,
                    char const* program = "gnuplot") {
    std::string const terminal =
        fmt::format("gif animate delay {} loop 0 optimize noenhanced background '#ffffff' font 'sans,{:.1f}'",
                    frame_hundredths, font_size);
    write(std::array{output{file, terminal}}, what, program);
}

/// What all pictures have in common: two axes, a faint grid, ticks outside.
inline constexpr std::string_view style = R"(set border 3 linecolor rgb '#444444' linewidth 1
set tics nomirror out scale 0.6 textcolor rgb '#222222'
set grid xtics ytics back linetype 1 linecolor rgb '#e4e4e4' linewidth 1
set key textcolor rgb '#222222' samplen 2 spacing 1.15
)";

/// Colours that also the colour-blind can tell apart (Okabe and Ito 2008).
inline constexpr std::array<std::string_view, 7> colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                         "#e69f00", "#56b4e9", "#555555"};

} // namespace gmac::examples::train::gnuplot
