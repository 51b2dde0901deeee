// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "read_value.hpp"
#include "run_main.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Command lines of all programs: CLI11 knows the options and writes --help, `read_value` reads their values.
namespace gmac::examples {

/// Adds an option whose value `read_value` reads; without it `value` stays as it is, and is the default in --help.
template <class T>
CLI::Option* add_option(CLI::App& app, std::string const& name, T& value, std::string const& help) {
    auto const read = [name, &value](CLI::results_t const& given) {
        read_value(name, given.front(), value);
        return true;
    };
    CLI::Option* const option = app.add_option(name, read, help);
    if constexpr (std::is_enum_v<T>)
        option->type_name("NAME");
    else if constexpr (std::same_as<T, std::vector<std::size_t>>)
        option->type_name("N,N");
    else
        option->type_name(CLI::detail::type_name<T>());
    return option->default_str(text_of(value));
}

/// The same for a number that must not be smaller than `least`.
template <number T>
CLI::Option* add_option(CLI::App& app, std::string const& name, T& value, std::string const& help,
                        std::type_identity_t<T> least) {
    CLI::Option* const option = add_option(app, name, value, help);
    return option->check(
        [name, least](std::string const& text) {
            T read{};
            read_value(name, text, read);
            require(read >= least, "{} is {}, but must be at least {}", name, read, least);
            return std::string();
        },
        "");
}

/// Adds a flag: `--name`, or `name = true` in a configuration file.
inline CLI::Option* add_flag(CLI::App& app, std::string const& name, bool& value, std::string const& help) {
    return app.add_flag(name, value, help)
        ->check(
            [name](std::string const& text) {
                bool read = false;
                read_value(name, text, read);
                return std::string();
            },
            "");
}

namespace detail {

/// How many letters must be left out, put in or replaced to make one word of the other.
[[nodiscard]] inline std::size_t edit_distance(std::string_view one, std::string_view other) {
    std::vector<std::size_t> row(other.size() + 1); // distances of the beginning of `one` to those of `other`
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < one.size(); ++i) {
        std::size_t before = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < other.size(); ++j)
            before = std::exchange(row[j + 1], (std::min)({row[j] + 1, row[j + 1] + 1, before + (one[i] != other[j])}));
    }
    return row.back();
}

} // namespace detail

/// Says that there is no such option, and which one is called almost so.
[[noreturn]] inline void refuse_unknown(CLI::App const& app, std::string const& name) {
    std::string nearest;
    std::size_t least = (std::max)(std::size_t{2}, name.size() / 3) + 1;
    for (CLI::Option const* const option : app.get_options())
        for (std::string const& known : option->get_lnames())
            if (std::size_t const distance = detail::edit_distance(name, "--" + known); distance < least) {
                least = distance;
                nearest = "--" + known;
            }
    if (nearest.empty())
        fail("there is no option {}; --help lists those that there are", name);
    fail("there is no option {}; did you mean {}?", name, nearest);
}

namespace detail {

/// What CLI11 would let pass: an option that is not known beside another error, an empty value, and an option in the
/// place of the value that was left out before it.
inline void check_arguments(CLI::App const& app, std::vector<std::string> const& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        std::string const& argument = arguments[i];
        require(!argument.empty(), "argument {} is empty", i + 1);
        if (argument == "--")
            return;
        if (argument[0] != '-' || argument == "-")
            continue;
        std::size_t const equals = argument.find('=');
        std::string const name = argument.substr(0, equals);
        CLI::Option const* const option = app.get_option_no_throw(name);
        if (option == nullptr)
            refuse_unknown(app, name);
        if (equals != std::string::npos) {
            require(equals + 1 < argument.size(), "{} is empty", name);
        } else if (option->get_expected_min() > 0) {
            require(++i < arguments.size() && !arguments[i].starts_with("--"), "{} needs a value", name);
            require(!arguments[i].empty(), "{} is empty", name);
        }
    }
}

} // namespace detail

/// Reads the command line inside of run_main: after --help the program ends. Throws gmac::error, or ends the program
/// with what CLI11 says, if something is wrong.
inline void parse_options(CLI::App& app, int argc, char const* const* argv) {
    detail::check_arguments(app, {argv + 1, argv + argc});
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& end) {
        std::ostringstream problem;
        int const status = app.exit(end, std::cout, problem);
        std::fputs(detail::shortened(problem.str()).c_str(), stderr);
        throw exit_request{status};
    }
}

} // namespace gmac::examples
