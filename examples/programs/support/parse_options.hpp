// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run_main.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <iostream>
#include <sstream>

namespace gmac::examples {

/// Reads the command line inside of run_main: after --help, or a sentence about what is wrong, the program ends.
inline void parse_options(CLI::App& app, int argc, char const* const* argv) {
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& end) {
        std::ostringstream problem;
        int const status = app.exit(end, std::cout, problem);
        std::fputs(detail::shortened(problem.str()).c_str(), stderr);
        throw exit_request{status};
    }
}

} // namespace gmac::examples
