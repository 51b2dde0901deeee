// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace gmac::examples::train {

namespace detail {
// A signal handler can reach nothing but a global of this type.
inline std::sig_atomic_t volatile received_signal = 0;
} // namespace detail

/// While one of these lives, the first SIGINT or SIGTERM only sets a flag, so that the program can finish its update
/// and write a checkpoint; a second one of the same kind ends the program as usual.
class stop_signal {
public:
    stop_signal() noexcept {
        detail::received_signal = 0;
        struct sigaction action {};
        action.sa_handler = [](int number) { detail::received_signal = number; };
        // SA_RESTART: a write that is interrupted goes on. SA_RESETHAND: the next signal does what it always does.
        action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
        ::sigemptyset(&action.sa_mask);
        ::sigaction(SIGINT, &action, &old_interrupt_);
        ::sigaction(SIGTERM, &action, &old_terminate_);
    }
    stop_signal(stop_signal const&) = delete;
    stop_signal& operator=(stop_signal const&) = delete;
    ~stop_signal() {
        ::sigaction(SIGINT, &old_interrupt_, nullptr);
        ::sigaction(SIGTERM, &old_terminate_, nullptr);
    }

    [[nodiscard]] bool requested() const noexcept { return detail::received_signal != 0; }
    /// Of the signal received; nullptr if there was none.
    [[nodiscard]] char const* name() const noexcept {
        auto const number = detail::received_signal;
        return number == SIGINT ? "SIGINT" : number == SIGTERM ? "SIGTERM" : nullptr;
    }

private:
    struct sigaction old_interrupt_ {};
    struct sigaction old_terminate_ {};
};

} // namespace gmac::examples::train
