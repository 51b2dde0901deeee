// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace gmac::examples::train {

/// One for each core to which this process is bound, or else of this machine, whose ranks share them.
[[nodiscard]] std::size_t threads_by_default();

/// What the command line asks for. The settings decide what a run computes; the rest does not change its numbers.
struct request {
    train::settings settings;
    std::filesystem::path out;
    std::filesystem::path resume;
    std::optional<std::uint64_t> frames;   ///< given on the command line, for a resumed run
    std::optional<double> target_return{}; ///< the same
    std::string rom;                       ///< the same
    std::size_t threads = threads_by_default();
    bool overwrite = false;
    double checkpoint_seconds = 60.0;
    std::optional<std::size_t> keep_checkpoints{};    ///< evenly over the run, beside the latest; as before, or none
    std::optional<std::size_t> evaluation_episodes{}; ///< by default 20, but none of Atari games
    bool pictures = true;
    bool report = true;
    bool watch = false;                   ///< on a terminal, as a picture
    std::optional<std::uint16_t> serve{}; ///< the report, on this port
    bool check = false;                   ///< looks for what is wrong with the environment, and trains nothing
    bool print_settings = false;          ///< as JSON, and trains nothing
};

/// Reads the command line inside of run_main, which ends the program after --help. Throws gmac::error that says what is
/// wrong and what would be right.
[[nodiscard]] request parse(registry const& known, int argc, char const* const* argv);

/// The command that goes on with the run in a folder, with what was asked for this time and is no setting of the run.
[[nodiscard]] std::string resume_command(registry const& known, request const& asked,
                                         std::filesystem::path const& folder);

} // namespace gmac::examples::train
