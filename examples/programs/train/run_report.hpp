// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "experiment.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

/// The report of a run. None of it is worth a run: what goes wrong is a sentence that is returned.
namespace gmac::examples::train {

/// Adds this process to machine.json of a run that had so many frames before.
[[nodiscard]] std::optional<std::string> note_machine(std::filesystem::path const& run, std::size_t threads,
                                                      std::uint64_t frames);

/// Plays the agent and writes observed.json; `stop` is that of experiment::observed.
[[nodiscard]] std::optional<std::string> observe_run(std::filesystem::path const& run, experiment& played,
                                                     std::function<bool()> stop);

/// Writes report.html from the files of the run.
[[nodiscard]] std::optional<std::string> write_report(registry const& known, std::filesystem::path const& run);

} // namespace gmac::examples::train
