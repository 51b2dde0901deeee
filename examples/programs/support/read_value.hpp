// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "split.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

/// The one reader of values that are given as text, whether on a command line, in a configuration file or in what a run
/// has stored. A value is the whole text or none, so nothing is guessed: no blanks around it, no number bases but ten.
namespace gmac::examples {

template <class Enum>
struct named {
    std::string_view name;
    Enum value;
};
/// The names of an enumeration's values, for whoever reads and writes them; specialised beside its users.
template <class Enum>
inline constexpr std::array<named<Enum>, 0> names_of{};

template <class Enum>
[[nodiscard]] std::string_view name_of(Enum value) {
    for (auto const& one : names_of<Enum>)
        if (one.value == value)
            return one.name;
    fail("{} is not the number of a name", static_cast<int>(value));
}

template <class T>
concept number = (std::integral<T> || std::floating_point<T>)&&!std::same_as<T, bool>;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// Reads `text` into `value`, or throws gmac::error, in which it is called `name`. Not a number is no number here;
/// infinity is one, as `infinity` or `inf`.
template <number T>
void read_value(std::string_view name, std::string_view text, T& value) {
    T read{};
    char const* const last = text.data() + text.size();
    auto const [end, problem] = std::from_chars(text.data(), last, read);
    if constexpr (std::integral<T>) {
        // With its sign, which from_chars does not take for an unsigned number: that one is out of range.
        std::string_view const digits = text.substr(text.starts_with('-') ? 1 : 0);
        require(!digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos,
                "{} is \"{}\", but must be a whole number in decimal digits", name, text);
        require(problem == std::errc(), "{} is {}, but must be in [{}, {}]", name, text, std::numeric_limits<T>::min(),
                std::numeric_limits<T>::max());
    } else {
        require(problem != std::errc::invalid_argument && end == last && !std::isnan(read),
                "{} is \"{}\", but must be a decimal number, such as 0.25 or 1e-4", name, text);
        require(problem == std::errc(), "{} is {}, but a number can be no larger than {} and no closer to zero than {}",
                name, text, std::numeric_limits<T>::max(), std::numeric_limits<T>::min());
    }
    value = read;
}

inline void read_value(std::string_view name, std::string_view text, bool& value) {
    require(text == "true" || text == "false", "{} is \"{}\", but must be true or false", name, text);
    value = text == "true";
}

inline void read_value(std::string_view name, std::string_view text, std::string& value) {
    require(!text.empty(), "{} is empty", name);
    value = text;
}

inline void read_value(std::string_view name, std::string_view text, std::filesystem::path& value) {
    require(!text.empty(), "{} is empty", name);
    value = text;
}

template <class Enum>
    requires std::is_enum_v<Enum>
void read_value(std::string_view name, std::string_view text, Enum& value) {
    std::string known;
    for (auto const& one : names_of<Enum>) {
        if (one.name == text) {
            value = one.value;
            return;
        }
        known += fmt::format("{}{}", known.empty() ? "" : ", ", one.name);
    }
    fail("{} is \"{}\", but must be one of {}", name, text, known);
}

template <class T>
void read_value(std::string_view name, std::string_view text, std::optional<T>& value) {
    T read{};
    read_value(name, text, read);
    value = std::move(read);
}

/// Numbers with a comma between two of them.
template <number T>
void read_value(std::string_view name, std::string_view text, std::vector<T>& value) {
    std::vector<T> read;
    for (std::string_view const piece : split(text, ','))
        read_value(fmt::format("a number of {}", name), piece, read.emplace_back());
    value = std::move(read);
}

/// The text from which `read_value` reads this value.
template <class T>
[[nodiscard]] std::string text_of(T const& value) {
    if constexpr (std::is_enum_v<T>)
        return std::string(name_of(value));
    else if constexpr (is_optional<T>)
        return value ? text_of(*value) : std::string();
    else if constexpr (std::same_as<T, std::string> || std::same_as<T, std::filesystem::path>)
        return value;
    else if constexpr (number<T> || std::same_as<T, bool>)
        return fmt::format("{}", value);
    else
        return fmt::format("{}", fmt::join(value, ","));
}

} // namespace gmac::examples
