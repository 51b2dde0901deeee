// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// Programs that run beside this one.
namespace gmac::examples::sweep {

/// A program and its arguments.
using command = std::vector<std::string>;

/// As a line for the shell.
[[nodiscard]] std::string shell_line(command const& words);

/// How a process ended.
struct ending {
    int status = 0; ///< its exit status, or that of a shell for a signal: 128 and its number
    [[nodiscard]] bool well() const noexcept { return status == 0; }
    /// "ended with status 1", "was ended by SIGKILL"
    [[nodiscard]] std::string text() const;
    bool by_signal = false;
};

/// A child process in a group of its own, so that Ctrl-C reaches it only through us, and once: the second one would end it
/// without a checkpoint. It has nothing on its standard input, and writes all that it says to the end of a file. It has to be
/// waited for: an object that is destroyed before leaves the process running.
class child {
public:
    /// Throws gmac::error if it cannot be started.
    child(command const& words, std::filesystem::path const& log);

    /// How it ended, or nothing while it runs.
    [[nodiscard]] std::optional<ending> ended();
    /// SIGINT, at which a program that trains writes a checkpoint and ends. Told once.
    void interrupt() noexcept;
    [[nodiscard]] bool interrupted() const noexcept { return interrupted_; }

private:
    pid_t process_ = 0;
    bool interrupted_ = false;
};

/// What a program that has ended wrote to its standard output, and to its standard error.
struct answer {
    ending end;
    std::string output, errors;
};
/// Runs a program that is done at once. Throws gmac::error if it cannot be started.
[[nodiscard]] answer ask(command const& words);

} // namespace gmac::examples::sweep
