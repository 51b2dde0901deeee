// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gmac::examples::train {

/// A terminal's columns and rows; 80 x 24 if it does not know them.
[[nodiscard]] inline std::pair<std::size_t, std::size_t> terminal_size(int descriptor) noexcept {
    winsize size{};
    if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
        return {80, 24};
    return {size.ws_col, size.ws_row};
}

namespace detail {
/// A signal, whether it is caught, and what it did before.
struct caught_signal {
    int number;
    bool caught = false;
    struct sigaction before {};
};
} // namespace detail

/// The second screen that a terminal has for programs that draw pictures. What was on it before comes back with the end of
/// this object, and with a signal that ends the program or asks it to end; what else that signal does, it does then. After
/// Ctrl-Z the picture comes back when the program goes on. There can be one such object at a time.
class terminal_screen {
public:
    explicit terminal_screen(int descriptor) noexcept {
        terminal_ = descriptor;
        wanted_gone_ = false;
        enter();
        for (detail::caught_signal& one : entries)
            one.caught = catch_signal(one.number, one.before);
    }
    terminal_screen(terminal_screen const&) = delete;
    terminal_screen& operator=(terminal_screen const&) = delete;
    ~terminal_screen() {
        leave();
        for (detail::caught_signal const& one : entries)
            if (struct sigaction now{};
                one.caught && ::sigaction(one.number, nullptr, &now) == 0 && now.sa_handler == &terminal_screen::handle)
                ::sigaction(one.number, &one.before, nullptr);
    }

    /// False from a signal on that asked the program to end.
    [[nodiscard]] static bool shown() noexcept { return shown_; }

    /// Calls `write` with the text that shows these lines, which must fit, in the place of those before.
    template <class F>
    static void draw(std::vector<std::string> const& lines, F&& write) {
        // Each line is erased before it is written: behind a line that fills its row, the cursor stays on the last character.
        std::string text = "\x1b[H";
        for (std::size_t i = 0; i < lines.size(); ++i)
            text += (i > 0 ? "\r\n" : "") + std::string(i + 1 < lines.size() ? "\x1b[K" : "\x1b[J") + lines[i];
        drawing_ = true; // a signal must not leave the screen in the middle of a picture, whose rest would follow it
        if (shown_)
            write(text);
        drawing_ = false;
        if (wanted_gone_)
            leave();
    }

private:
    static void say(std::string_view text) noexcept {
        while (!text.empty()) {
            auto const written = ::write(terminal_, text.data(), text.size());
            if (written < 0 && errno != EINTR)
                return;
            text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
        }
    }
    // Lines that are too long for a window that has just become smaller are cut by it.
    static void enter() noexcept {
        shown_ = true;
        say("\x1b[?1049h\x1b[?25l\x1b[?7l");
    }
    // Erased before: in a window that has grown, tmux leaves some of it above what was there.
    static bool leave() noexcept {
        bool const was = shown_.exchange(false);
        if (was)
            say("\x1b[39m\x1b[2J\x1b[H\x1b[?7h\x1b[?25h\x1b[?1049l");
        return was;
    }

    /// One that is ignored stays so.
    static bool catch_signal(int number, struct sigaction& before) noexcept {
        ::sigaction(number, nullptr, &before);
        if (before.sa_handler == SIG_IGN)
            return false;
        struct sigaction action {};
        ::sigemptyset(&action.sa_mask);
        action.sa_handler = &terminal_screen::handle;
        action.sa_flags = SA_RESTART; // a write that is interrupted goes on
        return ::sigaction(number, &action, nullptr) == 0;
    }

    static void handle(int number) {
        int const error = errno;
        bool const asks = number == SIGINT || number == SIGTERM || number == SIGHUP;
        wanted_gone_ = asks;
        bool const left = asks && drawing_ ? false : leave();
        for (detail::caught_signal& one : entries)
            if (one.number == number) {
                ::sigaction(number, &one.before, nullptr);
                ::raise(number);
                if (number == SIGTSTP)
                    come_back(one, left);
            }
        errno = error;
    }
    /// The signal, which waits for the end of its handler, stops the program in here, until another lets it go on.
    static void come_back(detail::caught_signal& stop, bool left) noexcept {
        sigset_t stops;
        ::sigemptyset(&stops);
        ::sigaddset(&stops, SIGTSTP);
        ::pthread_sigmask(SIG_UNBLOCK, &stops, nullptr);
        stop.caught = catch_signal(SIGTSTP, stop.before);
        if (left)
            enter();
    }

    // A signal handler can reach nothing else.
    static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);
    static inline std::atomic<int> terminal_ = -1;
    static inline std::atomic<bool> shown_ = false, drawing_ = false, wanted_gone_ = false;
    static inline std::array<detail::caught_signal, 10> entries{
        {{SIGINT}, {SIGTERM}, {SIGHUP}, {SIGTSTP}, {SIGQUIT}, {SIGABRT}, {SIGSEGV}, {SIGBUS}, {SIGFPE}, {SIGILL}}};
};

} // namespace gmac::examples::train
