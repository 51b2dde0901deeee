// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/catch.hpp"

#include <fmt/format.h>

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace gmac::test {

struct outcome {
    int code = 0;
    std::string text;
};

/// What gmac-act says to these arguments of the shell.
[[nodiscard]] inline outcome act(std::string const& arguments) {
    std::FILE* const pipe = ::popen(fmt::format("{} {} 2>&1", GMAC_ACT, arguments).c_str(), "r");
    REQUIRE(pipe != nullptr);
    outcome result;
    std::array<char, 4096> text;
    while (std::size_t const count = std::fread(text.data(), 1, text.size(), pipe))
        result.text.append(text.data(), count);
    int const status = ::pclose(pipe);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
}

} // namespace gmac::test
