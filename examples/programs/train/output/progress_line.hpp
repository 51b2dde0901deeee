// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/storage/files.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gmac::examples::train {

/// What a progress line tells.
struct progress {
    std::uint64_t frames = 0;
    std::uint64_t total_frames = 0;
    double mean_return = std::numeric_limits<double>::quiet_NaN(); ///< NaN before the first episode has ended
    std::vector<std::pair<std::string, double>> losses{};
    std::string status{}; ///< a word or two, such as "standing"
};

namespace detail {

/// 512, 51.2k, 2M: at most four characters and a unit.
[[nodiscard]] inline std::string short_number(double value) {
    for (auto const& [unit, name] : {std::pair(1e9, 'G'), std::pair(1e6, 'M'), std::pair(1e3, 'k')})
        if (std::abs(value) >= 0.9995 * unit) {
            double const scaled = value / unit;
            return fmt::format("{:.{}f}{}", scaled,
                               std::abs(scaled) < 9.995   ? 2
                               : std::abs(scaled) < 99.95 ? 1
                                                          : 0,
                               name);
        }
    return fmt::format("{:.0f}", value);
}

/// 7 s is 0:07, an hour 1:00:00.
[[nodiscard]] inline std::string duration(double seconds) {
    if (!(seconds >= 0.0 && seconds < 1e9))
        return "-:--";
    auto const whole = static_cast<std::uint64_t>(seconds + 0.5);
    if (whole >= 3600)
        return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

/// Columns that UTF-8 text takes, if each character takes one.
[[nodiscard]] inline std::size_t columns_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
}

/// At most `width` columns of the text; no character is cut apart.
[[nodiscard]] inline std::string cut(std::string_view text, std::size_t width) {
    std::size_t bytes = 0;
    for (std::size_t columns = 0; bytes < text.size(); ++bytes) {
        bool const first = (static_cast<unsigned char>(text[bytes]) & 0xc0u) != 0x80u;
        if (first && columns++ == width)
            break;
    }
    return std::string(text.substr(0, bytes));
}

/// A control character could move the cursor.
[[nodiscard]] inline std::string without_controls(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; }, ' ');
    return text;
}

} // namespace detail

/// One line of at most `width` columns. What does not fit is left out: first the bar, then the losses, speed, frames.
[[nodiscard]] inline std::string format_progress(progress const& now, double frames_per_second, double seconds_left,
                                                 std::size_t width) {
    struct part {
        std::string text;
        int importance;
    };
    double const done =
        now.total_frames == 0
            ? 0.0
            : std::clamp(static_cast<double>(now.frames) / static_cast<double>(now.total_frames), 0.0, 1.0);
    std::size_t constexpr bar = 20;
    auto const filled = static_cast<std::size_t>(done * static_cast<double>(bar));
    std::vector<part> parts;
    parts.push_back({fmt::format("{:3.0f}%", std::floor(100.0 * done)), 9});
    parts.push_back({fmt::format("[{:<{}}]", std::string(filled, '=') + (filled < bar ? ">" : ""), bar), 0});
    parts.push_back({fmt::format("{} of {} frames", detail::short_number(static_cast<double>(now.frames)),
                                 detail::short_number(static_cast<double>(now.total_frames))),
                     3});
    parts.push_back({std::isfinite(frames_per_second) ? detail::short_number(frames_per_second) + " frames/s"
                                                      : std::string("- frames/s"),
                     2});
    parts.push_back(
        {std::isnan(now.mean_return) ? std::string("return -") : fmt::format("return {:.1f}", now.mean_return), 7});
    for (auto const& [name, value] : now.losses)
        parts.push_back({fmt::format("{} {:.3g}", detail::without_controls(name), value), 1});
    parts.push_back({detail::duration(seconds_left) + " left", 5});
    if (!now.status.empty())
        parts.push_back({detail::without_controls(now.status), 8});

    auto const needed = [&] {
        std::size_t sum = 0;
        for (auto const& one : parts)
            sum += detail::columns_of(one.text) + 2;
        return sum - 2;
    };
    while (parts.size() > 1 && needed() > width)
        parts.erase(std::ranges::min_element(parts, {}, &part::importance));
    std::string line;
    for (auto const& one : parts)
        (line += line.empty() ? "" : "  ") += one.text;
    return detail::cut(line, width);
}

/// Shows how a run goes: on a terminal one line that is drawn over and over, elsewhere (a file, a pipe) whole lines,
/// one every few seconds. Speed and time left are those of the last ten seconds. Times are seconds from any start.
class progress_line {
public:
    explicit progress_line(std::FILE* stream = stdout, double seconds_between_lines = 5.0)
        : progress_line(stream, seconds_between_lines, is_terminal(stream)) {}
    progress_line(std::FILE* stream, double seconds_between_lines, bool terminal) noexcept
        : stream_(stream), seconds_between_lines_(seconds_between_lines), terminal_(terminal) {}

    /// The frames at which this run, new or resumed, begins; without it, speed is known from the second update on.
    void start(std::uint64_t frames, double now) { samples_.assign(1, {now, frames}); }

    void update(progress const& state, double now) {
        samples_.emplace_back(now, state.frames);
        while (samples_.size() > 2 && samples_[1].first <= now - 10.0)
            samples_.pop_front();
        latest_ = state;
        bool const due = !(now - drawn_at_ < (terminal_ ? 0.05 : seconds_between_lines_));
        pending_ = !due;
        if (due) {
            drawn_at_ = now;
            draw();
        }
    }

    /// A line of text that stays, above the progress line.
    void note(std::string_view text) {
        bool const below = terminal_ && drawn_;
        write(fmt::format("{}{}\n", below ? "\r\x1b[K" : "", text));
        if (below)
            draw();
    }

    /// Draws the last state, if that is still to be done, and ends the line.
    void finish() {
        if (pending_)
            draw();
        if (terminal_ && drawn_)
            write("\n");
        pending_ = false;
        drawn_ = false;
    }

    /// Frames per second over the last ten seconds; NaN if nothing is known yet.
    [[nodiscard]] double frames_per_second() const noexcept {
        if (samples_.size() < 2 || !(samples_.back().first > samples_.front().first))
            return std::numeric_limits<double>::quiet_NaN();
        return (static_cast<double>(samples_.back().second) - static_cast<double>(samples_.front().second)) /
               (samples_.back().first - samples_.front().first);
    }

private:
    [[nodiscard]] static bool is_terminal(std::FILE* stream) {
        char const* const type = std::getenv("TERM");
        return ::isatty(::fileno(stream)) == 1 && type != nullptr && std::string_view(type) != "dumb";
    }
    [[nodiscard]] std::size_t width() const {
        if (!terminal_)
            return 1000;
        winsize size{};
        bool const known = ::ioctl(::fileno(stream_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
        return known ? size.ws_col - 1u : 79u; // in the last column, a terminal may begin a new line
    }
    void draw() {
        double const speed = frames_per_second();
        double const left = latest_.frames >= latest_.total_frames
                                ? 0.0
                                : static_cast<double>(latest_.total_frames - latest_.frames) / speed;
        auto const line = format_progress(latest_, speed, left, width());
        // The new line goes over the old one, and only then is the rest erased: so it does not flicker.
        write(terminal_ ? fmt::format("\r{}\x1b[K", line) : line + '\n');
        drawn_ = true;
        pending_ = false;
    }
    /// Nothing is thrown if it fails. Whoever reads a pipe may go, as `head` does: from then on the stream leads nowhere.
    /// Other failures are still to be seen in the stream.
    void write(std::string_view text) {
        bool const written =
            std::fwrite(text.data(), 1, text.size(), stream_) == text.size() && std::fflush(stream_) == 0;
        if (written || errno != EPIPE)
            return;
        gmac::detail::descriptor const nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        if (nowhere.open() && ::dup2(nowhere.get(), ::fileno(stream_)) >= 0)
            std::clearerr(stream_);
    }

    std::FILE* stream_;
    double seconds_between_lines_;
    bool terminal_;
    std::deque<std::pair<double, std::uint64_t>> samples_;
    progress latest_;
    double drawn_at_ = -std::numeric_limits<double>::infinity();
    bool pending_ = false; // the latest state is not drawn yet
    bool drawn_ = false;   // the cursor is on a progress line
};

} // namespace gmac::examples::train
