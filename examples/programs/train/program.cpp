// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "settings.hpp"
#include "support/parse_options.hpp"
#include "team.hpp"

#include <gmac/core/error.hpp>
#include <gmac/train/program.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gmac::examples::train {

namespace {

struct sub_command {
    std::string_view name, help;
    int (*run)(registry const& known, std::string const& name, int argc, char const* const* argv); // but for train
};

constexpr std::array<sub_command, 6> sub_commands{
    {{"train", "what is done without a sub-command, too", nullptr},
     {"evaluate", "how well trained agents do, as JSON or as a table", evaluate_command},
     {"play", "an episode of a trained agent as a page for browsers", play_command},
     {"report", "the page of a run, or of several beside each other", report_command},
     {"curves", "learning curves of several runs as a picture and a table",
      [](registry const& known, std::string const& name, int argc, char const* const* argv) {
          return curves_command(known.program, name, argc, argv);
      }},
     {"act", "acts on observations from the standard input",
      [](registry const& known, std::string const& name, int argc, char const* const* argv) {
          return act_command(known.program, name, argc, argv);
      }}}};

/// The first argument of a command line, unless it is an option.
[[nodiscard]] sub_command const& chosen(int argc, char const* const* argv) {
    std::string const first = argc > 1 ? argv[1] : "-";
    if (first.empty() || first.starts_with('-'))
        return sub_commands.front();
    auto const found = std::ranges::find(sub_commands, first, &sub_command::name);
    if (found != sub_commands.end())
        return *found;
    std::vector<std::string> names;
    for (auto const& one : sub_commands)
        names.emplace_back(one.name);
    auto const nearest = std::ranges::min_element(names, {}, [&](std::string const& one) {
        return examples::detail::edit_distance(first, one);
    });
    bool const near = examples::detail::edit_distance(first, *nearest) <= 2;
    fail("there is no sub-command {}; {}", first,
         near ? fmt::format("did you mean {}?", *nearest) : fmt::format("there are {}", fmt::join(names, ", ")));
}

[[nodiscard]] bool is_plain(std::string_view name) {
    return !name.empty() && name.front() != '-' &&
           std::ranges::none_of(name, [](char one) { return one == ' ' || one == '=' || one == ',' || one < ' '; });
}

/// Or each of several would write the same folder.
void require_one_process() {
    for (char const* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
        if (char const* const size = std::getenv(name))
            require(
                std::string_view(size) == "1",
                "mpirun has started this program {} times, and each knows of no other, so they would write the same folder: "
                "it was built without MPI, or for another one, or its main does not give program::run the ranks "
                "(docs/scale.md)",
                size);
}

/// A program is made before its errors can be told: so they are told here.
void require_sound(registry const& known) {
    require(!known.methods.empty(), "the program has no methods, but needs one to learn by");
    require(!known.environments.empty(), "the program has no environments, but needs one to train on");
    std::set<std::string> names;
    for (auto const& one : known.methods) {
        require(is_plain(one.name), "\"{}\" is no name for a method", one.name);
        require(names.insert(one.name).second, "the method {} is registered twice", one.name);
    }
    names.clear();
    for (auto const& one : known.environments) {
        require(is_plain(one.name) && !is_file(one.name), "\"{}\" is no name for an environment, but mine/{} would be",
                one.name, one.name.empty() ? "task" : "NAME");
        require(names.insert(one.name).second, "the environment {} is registered twice", one.name);
        require((one.make != nullptr) != (one.make_images != nullptr),
                "{}: it must make environments either of real observations or of images", one.name);
        require(one.make_images == nullptr || one.images != nullptr,
                "{}: its observations are bytes, so its description must say what images these are", one.name);
        require(one.make_images != nullptr || one.images == nullptr,
                "{}: its description has images, but its observations are real numbers", one.name);
        std::set<std::string> options;
        for (auto const& option : one.options) {
            require(is_plain(option.name), "{}: \"{}\" is no name for an option", one.name, option.name);
            require(options.insert(option.name).second, "{}: its option {} is there twice", one.name, option.name);
        }
    }
    names.clear();
    for (auto const& one : known.presets) {
        require(is_plain(one.name), "\"{}\" is no name for a preset", one.name);
        require(names.insert(one.name).second, "the preset {} is registered twice", one.name);
        try {
            static_cast<void>(preset_settings(known, one.name));
        } catch (error const& problem) {
            fail("the preset {}: {}", one.name, problem.what());
        }
    }
}

} // namespace

std::string about_commands(std::string const& program) {
    std::string text =
        fmt::format("Sub-commands, each with a --help of its own, such as {} evaluate --help:\n", program);
    for (auto const& one : sub_commands)
        text += fmt::format("  {:<27} {}\n", one.name, one.help);
    return text;
}

} // namespace gmac::examples::train

int gmac::train::program::run(int argc, char const* const* argv, communicator* ranks) const {
    namespace train = examples::train;
    if (ranks && ranks->rank() > 0)
        return train::follow(known_, *ranks);
    train::team team(ranks);
    train::sub_command const* command = nullptr;
    int const refused = examples::run_main(known_.program.c_str(), [&] {
        train::require_sound(known_);
        if (!ranks || ranks->size() == 1)
            train::require_one_process();
        command = &train::chosen(argc, argv);
    });
    if (command == nullptr)
        return refused;
    bool const named = argc > 1 && command->name == argv[1];
    int const skipped = named ? 1 : 0;
    bool const trains = command == &train::sub_commands.front();
    std::string const name = trains ? known_.program : fmt::format("{} {}", known_.program, command->name);
    return trains ? train::train_command(known_, name, argc - skipped, argv + skipped, team)
                  : command->run(known_, name, argc - skipped, argv + skipped);
}
