// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

/// What every program has around its work: standard streams, errors, the exit status.
namespace gmac::examples {

/// Thrown to end a program with this exit status when what there was to say is said, as after --help.
struct exit_request {
    int status = EXIT_SUCCESS;
};

namespace detail {

/// Opens /dev/null in the place of standard streams that the caller has closed: else the first files of the program
/// would get their numbers, and what it prints would go into these files.
inline void open_standard_streams() noexcept {
    for (int const stream : {0, 1, 2})
        if (::fcntl(stream, F_GETFD) == -1 && errno == EBADF)
            (void)::open("/dev/null", O_RDWR); // takes the lowest number that is free
}

/// A message that a long argument or file has not made too long to read: beginning and end.
[[nodiscard]] inline std::string shortened(std::string message) {
    std::size_t constexpr most = 1000;
    if (message.size() <= most)
        return message;
    auto const begins = [&](std::size_t i) { return (static_cast<unsigned char>(message[i]) & 0xc0u) != 0x80u; };
    std::size_t head = most / 2, tail = message.size() - most / 2; // no character of UTF-8 is cut apart
    while (head > 0 && !begins(head))
        --head;
    while (tail < message.size() && !begins(tail))
        ++tail;
    return message.replace(head, tail - head, " … ");
}

} // namespace detail

/// All of a program's `main`: calls `body`, which may return an exit status, and returns the program's. Whatever is
/// thrown becomes a sentence on the standard error, begun with the program's name and not too long, and a failure; so
/// does output that could not be written, such as to a full disk.
template <std::invocable Body>
[[nodiscard]] int run_main(char const* name, Body&& body) {
    detail::open_standard_streams();
    auto const say = [name](std::string const& what, std::string const& details = {}) {
        std::fprintf(stderr, "%s: %s\n", name, detail::shortened(what + details).c_str());
    };
    int status = EXIT_FAILURE;
    std::error_code output; // why the standard output could not be written, where that is known
    try {
        if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
            std::forward<Body>(body)();
            status = EXIT_SUCCESS;
        } else {
            status = std::forward<Body>(body)();
        }
    } catch (exit_request const& request) {
        status = request.status;
    } catch (gmac::error const& problem) {
        say(problem.what());
    } catch (std::bad_alloc const&) {
        say("that takes more memory than there is");
    } catch (std::length_error const&) { // of a container
        say("that takes more memory than there can be");
    } catch (std::system_error const& problem) {
        if (std::ferror(stdout) != 0) // fmt has thrown because of it
            output = problem.code();
        else
            say("unexpected: ", problem.what());
    } catch (std::exception const& problem) {
        say("unexpected: ", problem.what());
    }

    errno = 0;
    std::cout.flush(); // and with it stdout
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)
        return status;
    if (!output && errno == 0) // it failed before this flush: asked once more, the system says why
        (void)!::write(STDOUT_FILENO, "\n", 1);
    if (!output)
        output = {errno, std::generic_category()};
    say("the standard output could not be written", output ? ": " + output.message() : "");
    return status == EXIT_SUCCESS ? EXIT_FAILURE : status;
}

} // namespace gmac::examples
