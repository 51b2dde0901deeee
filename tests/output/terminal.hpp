// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/catch.hpp"

#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// A terminal, as far as pictures of gmac-train use one: two screens, a cursor, codes that erase, and modes.
namespace gmac::testing {

class terminal_model {
public:
    explicit terminal_model(std::size_t columns) : columns_(columns) {}

    void resize(std::size_t columns) { columns_ = columns; }

    /// What a program writes, as it comes.
    void feed(std::string_view bytes) {
        pending_ += bytes;
        std::size_t used = 0;
        while (std::size_t const length = one(std::string_view(pending_).substr(used)))
            used += length;
        pending_.erase(0, used);
    }

    [[nodiscard]] bool second_screen() const { return second_; }
    [[nodiscard]] bool cursor_shown() const { return cursor_; }
    /// As a program found it.
    [[nodiscard]] bool as_before() const { return !second_ && cursor_ && wraps_; }
    [[nodiscard]] std::size_t colours() const { return colours_; } ///< codes of colours that came
    [[nodiscard]] std::size_t pictures() const { return pictures_; }
    /// The lines of the screen that is shown; blanks behind the text are left out.
    [[nodiscard]] std::vector<std::string> lines() const {
        std::vector<std::string> text;
        for (auto const& line : second_ ? other_ : main_) {
            std::string joined;
            for (auto const& cell : line)
                joined += cell;
            text.push_back(joined.substr(0, joined.find_last_not_of(' ') + 1));
        }
        return text;
    }
    [[nodiscard]] std::string text() const {
        std::string joined;
        for (auto const& line : lines())
            joined += line + '\n';
        return joined;
    }

private:
    using screen = std::vector<std::vector<std::string>>; // a character a cell

    [[nodiscard]] std::vector<std::string>& line() {
        auto& shown = second_ ? other_ : main_;
        if (shown.size() <= row_)
            shown.resize(row_ + 1);
        return shown[row_];
    }

    /// From the cursor on, which is on the last character of a row that is full.
    void erase_line() {
        std::size_t const from = (std::min)(column_, columns_ - 1);
        if (line().size() > from)
            line().resize(from);
    }

    /// Takes one character or code from the front; 0 if it is not complete.
    std::size_t one(std::string_view text) {
        if (text.empty())
            return 0;
        if (text[0] == '\x1b')
            return code(text);
        if (text[0] == '\r' || text[0] == '\n') {
            text[0] == '\r' ? column_ = 0 : ++row_;
            return 1;
        }
        auto const first = static_cast<unsigned char>(text[0]);
        REQUIRE(first >= 32);
        std::size_t const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
        if (text.size() < length)
            return 0;
        if (column_ < columns_ || wraps_) { // else it is lost
            if (line().size() <= column_)
                line().resize(column_ + 1, " ");
            line()[column_++] = text.substr(0, length);
        }
        return length;
    }

    std::size_t code(std::string_view text) {
        std::size_t const end = text.find_first_of("HKJmhl", 1);
        if (end == std::string_view::npos)
            return 0;
        std::string_view const inner = text.substr(1, end); // with its letter
        if (inner == "[H") {
            row_ = column_ = 0;
        } else if (inner == "[K") {
            erase_line();
        } else if (inner == "[J") {
            erase_line();
            auto& shown = second_ ? other_ : main_;
            shown.resize((std::min)(shown.size(), row_ + 1));
            ++pictures_; // whose last line begins with it
        } else if (inner == "[2J") {
            (second_ ? other_ : main_).clear();
        } else if (inner.back() == 'm') {
            ++colours_;
        } else if (inner == "[?1049h" || inner == "[?1049l") {
            REQUIRE(second_ == (inner.back() == 'l'));
            std::swap(row_, other_row_);
            std::swap(column_, other_column_);
            other_.clear();
            second_ = inner.back() == 'h';
        } else if (inner == "[?25h" || inner == "[?25l") {
            cursor_ = inner.back() == 'h';
        } else if (inner == "[?7h" || inner == "[?7l") {
            wraps_ = inner.back() == 'h';
        } else {
            FAIL("the terminal got the code " << inner);
        }
        return end + 1;
    }

    std::size_t columns_;
    screen main_, other_;
    std::size_t row_ = 0, column_ = 0, other_row_ = 0, other_column_ = 0;
    bool second_ = false, cursor_ = true, wraps_ = true;
    std::size_t colours_ = 0, pictures_ = 0;
    std::string pending_;
};

/// A pseudo-terminal, on which a child process runs `program`; its exit code, or 128 and the signal that ended it.
class on_terminal {
public:
    explicit on_terminal(std::function<int()> const& program, unsigned short columns = 80, unsigned short rows = 24)
        : model(columns) {
        winsize size{};
        size.ws_col = columns, size.ws_row = rows;
        child_ = ::forkpty(&outer_, nullptr, nullptr, &size);
        if (child_ == 0) {
            ::setenv("TERM", "xterm", 1);
            ::unsetenv("NO_COLOR");
            ::_exit(program());
        }
        REQUIRE(child_ > 0);
    }
    on_terminal(on_terminal const&) = delete;
    on_terminal& operator=(on_terminal const&) = delete;
    ~on_terminal() {
        ::close(outer_);
        if (child_ > 0) {
            ::kill(child_, SIGKILL);
            ::waitpid(child_, nullptr, 0);
        }
    }

    void resize(unsigned short columns, unsigned short rows) {
        winsize size{};
        size.ws_col = columns, size.ws_row = rows;
        REQUIRE(::ioctl(outer_, TIOCSWINSZ, &size) == 0);
        model.resize(columns);
    }
    void press(char key) { REQUIRE(::write(outer_, &key, 1) == 1); }
    /// Takes what the program writes until something is so; a minute at most.
    void read_until(std::function<bool()> const& so) {
        while (!so()) {
            INFO(model.text());
            REQUIRE(read_some());
        }
    }
    int end() {
        while (read_some())
            ;
        int status = 0;
        ::waitpid(child_, &status, 0);
        child_ = 0;
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }

    terminal_model model;

private:
    bool read_some() {
        pollfd waiting{outer_, POLLIN, 0};
        if (::poll(&waiting, 1, 60'000) != 1)
            return false;
        std::array<char, 1024> piece;
        auto const got = ::read(outer_, piece.data(), piece.size());
        if (got <= 0) // EIO: nobody has the terminal any more
            return false;
        model.feed({piece.data(), static_cast<std::size_t>(got)});
        return true;
    }

    int outer_ = -1;
    pid_t child_ = -1;
};

} // namespace gmac::testing
