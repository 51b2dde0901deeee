// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "child.hpp"
#include "configurations.hpp"
#include "sweep_file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace gmac::examples::sweep {

/// What a program says of the settings that it was given.
struct asked_settings {
    std::string environment, algorithm;
    std::uint64_t frames = 0;
    bool has_target = false; ///< a return that ends the run
};

/// The program that trains, and what is the same for all runs.
struct trainer {
    std::filesystem::path program;
    std::size_t threads = 1;
    sweep_file const* sweep = nullptr;

    /// Has the program check the settings of one configuration. Throws gmac::error with what it says of them; `where` is the
    /// sweep's file.
    [[nodiscard]] asked_settings check(configuration const& one, std::string const& where) const;
};

/// A configuration with a seed, in a folder.
struct run {
    std::string name; ///< of the folder
    std::filesystem::path folder, log;
    configuration const* what = nullptr;
    std::uint64_t seed = 0;

    /// Another process trains into the folder, such as one that a killed sweep has left.
    [[nodiscard]] bool in_use() const;
    /// It has trained at least so many frames; without a number that it is finished.
    [[nodiscard]] bool reached(std::optional<std::uint64_t> frames) const;
    /// What trains it, or goes on with it.
    [[nodiscard]] command next_command(trainer const& by) const;
};

/// What a run has come to after so many frames: by the first row of metrics.csv that has as many, or by the last one. The
/// evaluation, if that is asked for, is of the end.
struct outcome {
    std::optional<double> score; ///< nothing if no episode has ended
    double frames = 0.0, seconds = 0.0;
};
/// Throws gmac::error that names the file if it cannot be read.
[[nodiscard]] outcome outcome_of(run const& one, std::optional<std::uint64_t> frames, score_kind kind);

} // namespace gmac::examples::sweep
