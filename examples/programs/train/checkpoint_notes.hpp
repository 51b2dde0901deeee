// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <gmac/storage/checkpoint.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace gmac::examples::train {

/// What a program writes into a checkpoint besides the state.
struct checkpoint_notes {
    train::settings settings;
    double seconds = 0.0;               ///< of training so far
    std::uint64_t keep_checkpoints = 0; ///< evenly over the run, beside the latest
    /// Fingerprints of the tables' rows so far; empty if an older gmac wrote it, or if there is no such table.
    std::string metrics{}, episodes{}, evaluations{};

    [[nodiscard]] checkpoint_metadata metadata() const;
    /// `file` is the checkpoint's name in messages. Throws gmac::error for what no such program can have written.
    [[nodiscard]] static checkpoint_notes of(registry const& known, checkpoint const& stored,
                                             std::filesystem::path const& file);
};

} // namespace gmac::examples::train
