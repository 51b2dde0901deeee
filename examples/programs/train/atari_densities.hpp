// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "image_experiment.hpp"
#include "output/density_history.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

namespace gmac::examples::train {

/// A state of an Atari game beside the densities that runs of gmac-train on it, folders, gave its value at the moments of
/// which they kept checkpoints, or at the end. The state is the one after `step` steps of the game `seed`, which the last
/// run's latest agent plays. Throws gmac::error for a folder that is no such run.
[[nodiscard]] density_picture atari_densities(
    std::span<std::filesystem::path const> runs, std::size_t step, std::uint64_t seed,
    std::function<std::unique_ptr<image_experiment>(settings const&)> const& make);

} // namespace gmac::examples::train
