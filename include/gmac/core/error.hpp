// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

// These switches let the compiler take a NaN for impossible, or add numbers in another order than is written.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || defined(__ASSOCIATIVE_MATH__)
#error "gmac needs IEEE arithmetic: compile without -ffast-math, -ffinite-math-only and -funsafe-math-optimizations"
#endif

namespace gmac {

/// What every check of this library throws: sizes, ranges, options and numbers that are not finite.
/// The message says what was given, what is allowed, and where.
class error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Throws gmac::error; where exceptions are switched off it prints the message and aborts.
[[noreturn]] inline void raise(std::string const& message) {
#if defined(__cpp_exceptions)
    throw error(message);
#else
    std::fprintf(stderr, "gmac: %s\n", message.c_str());
    std::abort();
#endif
}

/// Formats the message with fmt and raises it.
template <class... Arguments>
[[noreturn]] void fail(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    raise(fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// Fails with the formatted message unless the condition holds; nothing is formatted when it does.
template <class... Arguments>
constexpr void require(bool condition, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    if (!condition) [[unlikely]]
        fail(format, std::forward<Arguments>(arguments)...);
}

} // namespace gmac
