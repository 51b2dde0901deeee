// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace gmac::examples::train {

struct show_options {
    std::filesystem::path checkpoint; ///< a checkpoint of gmac-train or the folder of a run
    std::filesystem::path out;        ///< by default play.gif beside the checkpoint
    std::filesystem::path json;       ///< the recording; without it none
    std::uint64_t seed = 1;           ///< of the episode
    std::optional<double> risk{};     ///< parameter of the statistic, of a run that has learned a range; or else drawn
    std::size_t steps = 1000;         ///< at most so many, of 0.0165 s each
    std::size_t every = 3;            ///< steps from one frame to the next
    int width = 800, height = 340;    ///< pixels
};

/// Plays an episode of a trained robot with the most likely actions and draws it beside the value distribution that it
/// predicts, or writes it for docs/playground; says what was done. Throws gmac::error.
void show(show_options chosen);

} // namespace gmac::examples::train
