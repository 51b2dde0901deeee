// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy_layers.hpp"

#include <cstddef>
#include <string>

namespace gmac::examples::exporting {

/// A header in C99, and what it asks of a machine.
struct c_header {
    std::string text;
    std::size_t constant_bytes = 0; ///< of numbers; the code comes on top
    std::size_t memory_bytes = 0;   ///< of the layers' outputs, while it acts
};

/// Writes a policy, whose weights are bytes if they were rounded, as one header of C99. All its names begin with `name`, those of
/// macros in capitals. Throws gmac::error for a name that is none in C.
[[nodiscard]] c_header write_c(policy_layers const& policy, std::string const& name);

} // namespace gmac::examples::exporting
