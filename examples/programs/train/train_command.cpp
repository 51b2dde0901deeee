// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"
#include "commands.hpp"
#include "environments.hpp"
#include "experiment.hpp"
#include "session.hpp"
#include "settings.hpp"
#include "support/run_main.hpp"
#include "team.hpp"

#include <gmac/core/executor.hpp>
#include <gmac/environment/check.hpp>
#include <gmac/environment/plugin/environments.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace gmac::examples::train {

namespace {

/// A line for each question that is asked of the environment; false if one has a bad answer.
[[nodiscard]] bool check(registry const& known, settings const& settings) {
    serial_executor serial;
    auto const make = [&](std::size_t count, std::uint64_t seed) {
        auto worlds = make_environments(known, settings, count, seed, serial);
        if (auto* const own = dynamic_cast<plugin_environments*>(worlds.get()))
            own->guard_memory();
        return worlds;
    };
    bool sound = true;
    for (auto const& finding : check_environments<float>(make, {.seed = settings.seed})) {
        fmt::print("{}  {}: {}\n", finding.sound ? "ok    " : "WRONG ", finding.asked, finding.found);
        sound = sound && finding.sound;
    }
    return sound;
}

} // namespace

int train_command(registry const& known, std::string const& name, int argc, char const* const* argv, team& ranks) {
    return run_main(name.c_str(), [&] {
        request const asked = parse(known, argc, argv);
        if (asked.print_settings) {
            if (!is_file(asked.settings.environment)) { // what a user's program prints would be among them
                serial_executor serial;
                static_cast<void>(make_experiment(known, asked.settings, serial));
            }
            fmt::print("{}\n",
                       to_json(asked.settings).dump(4, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
            return 0;
        }
        if (asked.check)
            return check(known, asked.settings) ? 0 : 1;
        return session(known, asked, ranks).run();
    });
}

} // namespace gmac::examples::train
