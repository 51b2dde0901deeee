// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "environments.hpp"

#include <gmac/storage/checkpoint.hpp>
#include <gmac/train/trainer.hpp>

#include <filesystem>
#include <memory>
#include <optional>

namespace gmac::examples::train {

class experiment;

/// The checkpoint that a path is, or that of the folder of a run. Throws gmac::error if there is none.
[[nodiscard]] std::filesystem::path checkpoint_of(registry const& known, std::filesystem::path const& path);
/// The settings that the program of a registry has put into a checkpoint; `file` is its name in messages. Throws gmac::error if
/// there are none.
[[nodiscard]] settings settings_of(registry const& known, checkpoint const& stored, std::filesystem::path const& file);

/// What a run has learned, to look at: the agent's parameters and the statistics that normalise observations and
/// rewards. The environments of the training and the optimiser's state are left where they are.
class stored_run {
public:
    /// `path` is a checkpoint or the folder of a run. Throws gmac::error that names the file and says what
    /// is wrong with it; the file is not changed.
    stored_run(registry const& known, std::filesystem::path const& path, executor& tasks);

    [[nodiscard]] train::settings const& settings() const noexcept { return settings_; }
    [[nodiscard]] trainer& agent() noexcept { return *trainer_; }
    /// How many frames the agent was trained for.
    [[nodiscard]] std::uint64_t frames() const noexcept { return frames_; }

    /// See observed_environments.
    [[nodiscard]] observed_environments evaluation(std::unique_ptr<environment_batch> worlds, std::uint64_t seed,
                                                   std::optional<double> risk) const {
        return worlds_->evaluation(std::move(worlds), seed, risk);
    }

private:
    train::settings settings_;
    std::unique_ptr<observed_environments> worlds_; ///< one environment, whose sizes the agent is made for
    std::unique_ptr<trainer> trainer_;
    std::uint64_t frames_ = 0;
};

/// Those of the run. Throws gmac::error for what is no checkpoint of a run; `where` names it.
[[nodiscard]] std::uint64_t frames_of(checkpoint const& stored, std::string_view where);

/// Loads the part of this rank. Returns whether the checkpoint is of as many ranks; else only what all ranks share was loaded,
/// and environments are where they were. Throws gmac::error for a checkpoint of another run.
bool load_rank(checkpoint const& stored, std::string_view where, communicator const* ranks, experiment& to);

} // namespace gmac::examples::train
