// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gmac::examples::train {

/// Text that a shell reads as one word, the same text: in quotes, if it has anything that could mean something.
[[nodiscard]] inline std::string shell_word(std::string_view text) {
    constexpr std::string_view harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,";
    if (!text.empty() && text.find_first_not_of(harmless) == std::string_view::npos)
        return std::string(text);
    std::string quoted = "'";
    for (char const c : text)
        c == '\'' ? quoted += "'\\''" : quoted += c;
    return quoted + '\'';
}

} // namespace gmac::examples::train
