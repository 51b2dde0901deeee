// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run_main.hpp"

#include <CLI/CLI.hpp>

namespace gmac::examples {

/// Reads the command line inside of run_main: after --help, or a sentence about what is wrong, the program ends.
inline void parse_options(CLI::App& app, int argc, char const* const* argv) {
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& end) {
        throw exit_request{app.exit(end)};
    }
}

} // namespace gmac::examples
