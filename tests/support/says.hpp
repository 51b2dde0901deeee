// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/catch.hpp"

#include <string>

namespace gmac::test {

/// A matcher for messages that contain this, in Catch2 2 and 3.
inline auto says(std::string const& part) {
#if __has_include(<catch2/catch_all.hpp>)
    return Catch::Matchers::ContainsSubstring(part);
#else
    return Catch::Contains(part);
#endif
}

} // namespace gmac::test
