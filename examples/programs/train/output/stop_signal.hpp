// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <csignal>

namespace gmac::examples::train {

namespace detail {
// A signal handler can reach nothing but a global of this type.
inline std::sig_atomic_t volatile received_signal = 0;
} // namespace detail

/// While one of these lives, the first SIGINT, SIGTERM or SIGHUP only sets a flag, so that the program can finish its
/// update and write a checkpoint; a second SIGINT or SIGTERM ends the program as usual. One that was ignored before
/// stays so: that is how nohup and a shell's background jobs ask for it. And a write that nobody reads, or beyond the
/// largest size of a file, fails instead of ending the program.
class stop_signal {
public:
    stop_signal() noexcept {
        detail::received_signal = 0;
        for (entry& one : entries_) {
            ::sigaction(one.number, nullptr, &one.before);
            struct sigaction action {};
            ::sigemptyset(&action.sa_mask);
            if (one.number == SIGPIPE || one.number == SIGXFSZ || one.before.sa_handler == SIG_IGN) {
                action.sa_handler = SIG_IGN;
            } else {
                action.sa_handler = [](int number) { detail::received_signal = number; };
                // SA_RESTART: a write that is interrupted goes on. SA_RESETHAND: the next signal does what it always
                // does; but a terminal that is closed may send SIGHUP twice.
                action.sa_flags = SA_RESTART | (one.number == SIGHUP ? 0 : static_cast<int>(SA_RESETHAND));
            }
            ::sigaction(one.number, &action, nullptr);
        }
    }
    stop_signal(stop_signal const&) = delete;
    stop_signal& operator=(stop_signal const&) = delete;
    ~stop_signal() {
        for (entry const& one : entries_)
            ::sigaction(one.number, &one.before, nullptr);
    }

    [[nodiscard]] bool requested() const noexcept { return detail::received_signal != 0; }
    /// Of the signal received; 0 if there was none.
    [[nodiscard]] int number() const noexcept { return detail::received_signal; }
    /// The same; nullptr if there was none.
    [[nodiscard]] char const* name() const noexcept {
        switch (number()) {
        case SIGINT:
            return "SIGINT";
        case SIGTERM:
            return "SIGTERM";
        case SIGHUP:
            return "SIGHUP";
        default:
            return nullptr;
        }
    }

private:
    struct entry {
        int number;
        struct sigaction before {};
    };
    std::array<entry, 5> entries_{{{SIGINT}, {SIGTERM}, {SIGHUP}, {SIGPIPE}, {SIGXFSZ}}};
};

} // namespace gmac::examples::train
