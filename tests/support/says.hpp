// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/catch.hpp"

#include <gmac/core/error.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace gmac::testing {

/// A matcher for messages that contain this, in Catch2 2 and 3.
inline auto says(std::string const& part) {
#if __has_include(<catch2/catch_all.hpp>)
    return Catch::Matchers::ContainsSubstring(part);
#else
    return Catch::Contains(part);
#endif
}

/// What the gmac::error thrown by `action` says; empty if none was thrown.
template <class Action>
[[nodiscard]] std::string message_of(Action&& action) {
    try {
        static_cast<void>(std::forward<Action>(action)());
    } catch (error const& problem) {
        return problem.what();
    }
    return {};
}

[[nodiscard]] inline bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

} // namespace gmac::testing
