// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/train/registry.hpp>

#include <string>

/// What is a sub-command of a program, and some of it a program of its own, too: each reads a command line, argv[0] is left out,
/// calls itself `name` in messages, and returns what main returns. `program` is the name of the one that trains.
namespace gmac::examples::train {

using gmac::train::registry;
class team;

[[nodiscard]] int train_command(registry const& known, std::string const& name, int argc, char const* const* argv,
                                team& ranks);
[[nodiscard]] int evaluate_command(registry const& known, std::string const& name, int argc, char const* const* argv);
[[nodiscard]] int play_command(registry const& known, std::string const& name, int argc, char const* const* argv);
[[nodiscard]] int report_command(registry const& known, std::string const& name, int argc, char const* const* argv);
[[nodiscard]] int curves_command(std::string const& program, std::string const& name, int argc,
                                 char const* const* argv);
[[nodiscard]] int act_command(std::string const& program, std::string const& name, int argc, char const* const* argv);
/// What --help of a program says of them.
[[nodiscard]] std::string about_commands(std::string const& program);

} // namespace gmac::examples::train
