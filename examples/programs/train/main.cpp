// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"
#include "environments.hpp"
#include "session.hpp"
#include "support/run_main.hpp"

#include <gmac/core/executor.hpp>
#include <gmac/environment/check.hpp>
#include <gmac/environment/plugin/environments.hpp>

#include <fmt/core.h>

namespace {

/// A line for each question that is asked of the environment; false if one has a bad answer.
bool check(gmac::examples::train::settings const& settings) {
    namespace train = gmac::examples::train;
    gmac::serial_executor serial;
    auto const make = [&](std::size_t count, std::uint64_t seed) {
        auto worlds = train::make_environments(settings, count, seed, serial);
        if (auto* const own = dynamic_cast<gmac::plugin_environments*>(worlds.get()))
            own->guard_memory();
        return worlds;
    };
    bool sound = true;
    for (auto const& finding : gmac::check_environments<float>(make, {.seed = settings.seed})) {
        fmt::print("{}  {}: {}\n", finding.sound ? "ok    " : "WRONG ", finding.asked, finding.found);
        sound = sound && finding.sound;
    }
    return sound;
}

} // namespace

int main(int argc, char** argv) {
    namespace train = gmac::examples::train;
    return gmac::examples::run_main("gmac-train", [&] {
        train::request const asked = train::parse(argc, argv);
        if (asked.check)
            return check(asked.settings) ? 0 : 1;
        return train::session(asked).run();
    });
}
