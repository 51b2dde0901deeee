// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibrate.hpp"
#include "report/tables.hpp"
#include "report/watched_episode.hpp"
#include "train/experiment.hpp"
#include "train/settings.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace gmac::examples::train {

/// Of the environments in which an agent is observed.
struct observation_seeds {
    std::uint64_t calibration = 0, episode = 0;

    explicit observation_seeds(settings const& settings) noexcept
        : calibration(settings.seed + 4'000'000), episode(settings.seed + 2'000'000) {}
};

/// So many steps that beside the states whose return is known there are not much more whose is not.
[[nodiscard]] inline std::size_t calibration_steps(double discount) {
    return std::clamp(2 * (std::min)(horizon_of(discount), std::size_t{1'000}) + 300, std::size_t{500},
                      std::size_t{2'000});
}

/// The steps of an episode whose return is known, though it was cut.
[[nodiscard]] inline std::size_t known_steps(std::size_t steps, bool terminated, double discount) {
    return terminated ? steps : steps - (std::min)(steps, horizon_of(discount));
}

/// What observed.json holds. `scale` is of calibration_options.
[[nodiscard]] inline nlohmann::ordered_json observed_json(settings const& settings, std::uint64_t frames, double scale,
                                                          nlohmann::ordered_json calibration,
                                                          report::watched_episode const& episode) {
    return {{"format", "gmac-observed-1"},
            {"frames", frames},
            {"seed", settings.seed},
            {"discount", settings.agent.discount},
            {"scale", report::json_number(scale)},
            {"calibration", std::move(calibration)},
            {"episode", report::episode_json(episode)}};
}

} // namespace gmac::examples::train
