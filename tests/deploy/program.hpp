// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/program.hpp"

#include <fmt/format.h>

#include <string>

namespace gmac::testing {

/// What gmac-act says to these arguments of the shell.
[[nodiscard]] inline testing::program_outcome act(std::string const& arguments) {
    return testing::run_program(fmt::format("'{}' {} 2>&1", GMAC_ACT, arguments));
}

} // namespace gmac::testing
