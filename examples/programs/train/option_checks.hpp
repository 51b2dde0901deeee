// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>

/// Checks of command line options: what is wrong with the text of a value, or nothing.
namespace gmac::examples::train {

/// CLI11 takes -1 for the largest number of an unsigned type.
[[nodiscard]] inline std::string refuse_negative(std::string const& text) {
    return text.starts_with('-') ? fmt::format("{} is negative, but must be at least 0", text) : std::string();
}
[[nodiscard]] inline std::string refuse_zero(std::string const& text) {
    return text.find_first_not_of('0') == std::string::npos ? "it is 0, but must be at least 1" : refuse_negative(text);
}

} // namespace gmac::examples::train
