// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "catch.hpp"

#include <sys/wait.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace gmac::testing {

/// How a program ended and what it wrote.
struct program_outcome {
    int status = 0; ///< its exit code; −1 if a signal ended it
    std::string text;
    [[nodiscard]] bool says(std::string_view part) const { return text.find(part) != std::string::npos; }
};

/// Runs a line of the shell and collects what it writes to its standard output.
inline program_outcome run_program(std::string const& line) {
    std::FILE* const pipe = ::popen(line.c_str(), "r");
    REQUIRE(pipe != nullptr);
    program_outcome result;
    std::array<char, 4096> text{};
    while (std::size_t const count = std::fread(text.data(), 1, text.size(), pipe))
        result.text.append(text.data(), count);
    int const status = ::pclose(pipe);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
}

} // namespace gmac::testing
