// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "progress.hpp"
#include "terminal_screen.hpp"
#include "watch_picture.hpp"

#include <gmac/storage/files.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gmac::examples::train {

/// Shows how a run goes: on a terminal one line that is drawn over and over, elsewhere (a file, a pipe) whole lines,
/// one every few seconds. Speed and time left are those of the last ten seconds. Times are seconds from any start. A
/// terminal that is to `watch` shows a picture instead, until the end or a signal that asks for it.
class progress_line {
public:
    explicit progress_line(std::FILE* stream = stdout, double seconds_between_lines = 5.0)
        : progress_line(stream, seconds_between_lines, is_terminal(stream)) {}
    progress_line(std::FILE* stream, double seconds_between_lines, bool terminal) noexcept
        : stream_(stream), seconds_between_lines_(seconds_between_lines), terminal_(terminal) {}
    progress_line(progress_line const&) = delete;
    progress_line& operator=(progress_line const&) = delete;
    ~progress_line() { stop_watching(); }

    /// The frames at which this run, new or resumed, begins; without it, speed is known from the second update on.
    void start(std::uint64_t frames, double now) { samples_.assign(1, {now, frames}); }

    /// From the next update on a terminal shows a picture of the run, elsewhere nothing changes. `history` is of the curve so
    /// far.
    void watch(std::string title, std::vector<text_chart::point> const& history = {}) {
        if (!terminal_)
            return;
        char const* const plain = std::getenv("NO_COLOR"); // no-color.org
        picture_.emplace(std::move(title), history, plain == nullptr || *plain == '\0');
    }
    /// Whether an update now would show `values`, which takes time to find.
    [[nodiscard]] bool shows_values(double now) const noexcept { return watching() && due(now); }

    void update(progress const& state, double now) {
        samples_.emplace_back(now, state.frames);
        while (samples_.size() > 2 && samples_[1].first <= now - 10.0)
            samples_.pop_front();
        auto values = std::move(latest_.values);
        latest_ = state;
        if (latest_.values.empty())
            latest_.values = std::move(values);
        if (picture_)
            picture_->add({static_cast<double>(state.frames), state.mean_return});
        pending_ = !due(now);
        if (!pending_) {
            drawn_at_ = now;
            draw();
        }
    }

    /// A line of text that stays, above the progress line.
    void note(std::string_view text) {
        if (screen_ && watching()) // it is told once more when the picture is gone
            return picture_->note(text);
        if (screen_)
            stop_watching();
        bool const below = terminal_ && drawn_;
        write(fmt::format("{}{}\n", below ? "\r\x1b[K" : "", text));
        if (below)
            draw();
    }

    /// Draws the last state, if that is still to be done, and ends the line.
    void finish() {
        pending_ = pending_ || screen_; // of whose picture nothing stays
        stop_watching();
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
        // In the last column, a terminal may begin a new line.
        return terminal_ ? terminal_size(::fileno(stream_)).first - 1 : 1000;
    }
    [[nodiscard]] bool watching() const noexcept { return picture_ && (!screen_ || terminal_screen::shown()); }
    [[nodiscard]] bool due(double now) const noexcept {
        return !(now - drawn_at_ < (watching() ? 0.2 : terminal_ ? 0.05 : seconds_between_lines_));
    }
    void stop_watching() {
        screen_.reset();
        if (picture_)
            for (std::string const& note : picture_->notes())
                write(note + '\n');
        picture_.reset();
    }
    void draw() {
        if (!watching())
            stop_watching();
        double const speed = frames_per_second();
        double const left = latest_.frames >= latest_.total_frames
                                ? 0.0
                                : static_cast<double>(latest_.total_frames - latest_.frames) / speed;
        pending_ = false;
        if (picture_) {
            if (!screen_)
                screen_.emplace(::fileno(stream_));
            auto const [columns, rows] = terminal_size(::fileno(stream_));
            terminal_screen::draw(picture_->lines(latest_, speed, left, columns, rows),
                                  [this](std::string_view text) { write(text); });
            return;
        }
        auto const line = format_progress(latest_, speed, left, width());
        // The new line goes over the old one, and only then is the rest erased: so it does not flicker.
        write(terminal_ ? fmt::format("\r{}\x1b[K", line) : line + '\n');
        drawn_ = true;
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
    std::optional<watch_picture> picture_;
    std::optional<terminal_screen> screen_; // while the picture is shown
    double drawn_at_ = -std::numeric_limits<double>::infinity();
    bool pending_ = false; // the latest state is not drawn yet
    bool drawn_ = false;   // the cursor is on a progress line
};

} // namespace gmac::examples::train
