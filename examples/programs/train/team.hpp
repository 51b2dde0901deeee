// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "experiment.hpp"
#include "settings.hpp"

#include <gmac/core/communicator.hpp>
#include <gmac/storage/checkpoint.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>

namespace gmac::examples::train {

/// The ranks of a program as rank 0 sees them, which leads the others; without ranks, or with one, there are none. What it does
/// here all others do at the same time, in `follow`, which ends with this object if nothing has begun until then.
class team {
public:
    explicit team(communicator* ranks = nullptr) : ranks_(ranks && ranks->size() > 1 ? ranks : nullptr) {}
    team(team const&) = delete;
    team& operator=(team const&) = delete;
    ~team();

    [[nodiscard]] communicator* ranks() const noexcept { return ranks_; }
    [[nodiscard]] std::size_t size() const noexcept { return ranks_ ? ranks_->size() : 1; }

    /// Tells what the run is and what it goes on from. All make their experiments then.
    void begin(settings const& settings, std::optional<checkpoint> const& stored, std::size_t threads);
    /// All train: once before training, and after each update.
    void go_on();
    /// Writes one checkpoint of all.
    void save(std::filesystem::path const& file, checkpoint_metadata const& notes, experiment& here);
    /// There is nothing more to train or to save.
    void end();

private:
    communicator* ranks_;
    bool begun_ = false;
};

/// All of a program on the ranks behind the first: trains with them if it trains, and writes nothing. Returns what main returns;
/// if that is EXIT_FAILURE the others must be ended.
[[nodiscard]] int follow(registry const& known, communicator& ranks);

} // namespace gmac::examples::train
