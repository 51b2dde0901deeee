// SPDX-License-Identifier: Apache-2.0
#include "child.hpp"

#include "train/output/shell_word.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace gmac::examples::sweep {

namespace {

/// What the child has in the place of its standard streams.
class streams {
public:
    streams() {
        ::posix_spawn_file_actions_init(&actions_);
        ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    streams(streams const&) = delete;
    streams& operator=(streams const&) = delete;
    ~streams() { ::posix_spawn_file_actions_destroy(&actions_); }

    void write_to(int file, int stream) { ::posix_spawn_file_actions_adddup2(&actions_, file, stream); }
    [[nodiscard]] posix_spawn_file_actions_t const* get() const noexcept { return &actions_; }

private:
    posix_spawn_file_actions_t actions_;
};

/// In a group of its own, with signals as they are by default, whatever we or nohup do with them.
[[nodiscard]] pid_t start(command const& words, streams const& files) {
    std::vector<char*> arguments;
    for (std::string const& word : words)
        arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawnattr_t how;
    ::posix_spawnattr_init(&how);
    ::posix_spawnattr_setpgroup(&how, 0);
    sigset_t defaults, none;
    ::sigemptyset(&none);
    ::sigemptyset(&defaults);
    for (int const number : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ})
        ::sigaddset(&defaults, number);
    ::posix_spawnattr_setsigdefault(&how, &defaults);
    ::posix_spawnattr_setsigmask(&how, &none);
    ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    pid_t process = 0;
    int const problem = ::posix_spawn(&process, words.front().c_str(), files.get(), &how, arguments.data(), environ);
    ::posix_spawnattr_destroy(&how);
    require(problem == 0, "cannot start {}: {}", words.front(), gmac::detail::system_message(problem));
    return process;
}

[[nodiscard]] ending ending_of(int status) {
    return WIFEXITED(status) ? ending{WEXITSTATUS(status), false} : ending{128 + WTERMSIG(status), true};
}

[[nodiscard]] std::string content(std::FILE* file) {
    std::string text;
    std::array<char, 4096> part{};
    std::rewind(file);
    while (std::size_t const count = std::fread(part.data(), 1, part.size(), file))
        text.append(part.data(), count);
    return text;
}

} // namespace

std::string shell_line(command const& words) {
    std::string line;
    for (std::string const& word : words)
        line += (line.empty() ? "" : " ") + train::shell_word(word);
    return line;
}

std::string ending::text() const {
    if (!by_signal)
        return fmt::format("ended with status {}", status);
    char const* const name = ::sigabbrev_np(status - 128);
    return name != nullptr ? fmt::format("was ended by SIG{}", name)
                           : fmt::format("was ended by signal {}", status - 128);
}

child::child(command const& words, std::filesystem::path const& log) {
    auto const file = gmac::detail::open_regular(log, O_WRONLY | O_CREAT | O_APPEND);
    std::string const line = fmt::format("$ {}\n", shell_line(words));
    int const problem = gmac::detail::write_all(file.get(), std::as_bytes(std::span(line)));
    require(problem == 0, "cannot write {}: {}", log.string(), gmac::detail::system_message(problem));
    streams files;
    files.write_to(file.get(), STDOUT_FILENO);
    files.write_to(file.get(), STDERR_FILENO);
    process_ = start(words, files);
}

std::optional<ending> child::ended() {
    int status = 0;
    pid_t const found = ::waitpid(process_, &status, WNOHANG);
    require(found >= 0 || errno == EINTR, "cannot wait for process {}: {}", process_,
            gmac::detail::system_message(errno));
    return found == process_ ? std::optional(ending_of(status)) : std::nullopt;
}

void child::interrupt() noexcept {
    if (!interrupted_)
        ::kill(process_, SIGINT);
    interrupted_ = true;
}

answer ask(command const& words) {
    // Temporary files: however much it writes to either, nobody waits for the other.
    using file = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
    file const output(std::tmpfile(), &std::fclose), errors(std::tmpfile(), &std::fclose);
    require(output && errors, "cannot make a temporary file: {}", gmac::detail::system_message(errno));
    streams files;
    files.write_to(::fileno(output.get()), STDOUT_FILENO);
    files.write_to(::fileno(errors.get()), STDERR_FILENO);
    pid_t const process = start(words, files);
    int status = 0;
    while (::waitpid(process, &status, 0) < 0)
        require(errno == EINTR, "cannot wait for {}: {}", words.front(), gmac::detail::system_message(errno));
    return {ending_of(status), content(output.get()), content(errors.get())};
}

} // namespace gmac::examples::sweep
