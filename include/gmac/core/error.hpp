// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/abi.hpp>

#include <fmt/core.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

// These switches let the compiler take a NaN for impossible, or add numbers in another order than is written.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || defined(__ASSOCIATIVE_MATH__)
#error "gmac needs IEEE arithmetic: compile without -ffast-math, -ffinite-math-only and -funsafe-math-optimizations"
#endif

namespace gmac::inline GMAC_ABI {

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

namespace detail {

void each_argument_of_a_message_needs_a_pair_of_braces(); // not constexpr: a call is a compile-time error

using message_argument = fmt::basic_format_arg<fmt::format_context>;

template <class T>
[[nodiscard]] message_argument as_message_argument(T const& value) {
    return fmt::format_args(fmt::make_format_args(value)).get(0);
}

[[noreturn]] inline void fail_with(std::string_view format, std::initializer_list<message_argument> arguments) {
    raise(fmt::vformat(format, fmt::format_args(arguments.begin(), static_cast<int>(arguments.size()))));
}

} // namespace detail

/// The text of a message for fmt, with as many {} as there are arguments; else the call does not compile.
/// fmt::format_string would check more, but compiles a parser for each list of types, which costs an agent a twentieth of
/// its compile time.
template <std::size_t Arguments>
class message_format {
public:
    consteval message_format(char const* text) : text_(text) {
        std::size_t braces = 0;
        for (std::size_t i = 0; i < text_.size(); ++i)
            if (text_[i] == '{') {
                if (text_[i + 1] == '{')
                    ++i;
                else
                    ++braces;
            }
        if (braces != Arguments)
            detail::each_argument_of_a_message_needs_a_pair_of_braces();
    }
    [[nodiscard]] constexpr std::string_view text() const noexcept { return text_; }

private:
    std::string_view text_;
};

/// Formats the message with fmt and raises it.
template <class... Arguments>
[[noreturn]] void fail(message_format<sizeof...(Arguments)> format, Arguments const&... arguments) {
    detail::fail_with(format.text(), {detail::as_message_argument(arguments)...});
}

/// Fails with the formatted message unless the condition holds; nothing is formatted when it does.
template <class... Arguments>
constexpr void require(bool condition, message_format<sizeof...(Arguments)> format, Arguments const&... arguments) {
    if (!condition) [[unlikely]]
        fail(format, arguments...);
}

} // namespace gmac::inline GMAC_ABI
