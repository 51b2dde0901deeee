// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train/output/value_densities.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gmac::examples::report {

/// A step of an episode that a page plays.
struct watched_step {
    nlohmann::ordered_json picture{}; ///< what is drawn, {NAME: VALUE}, see page/pictures.js
    double reward = 0.0;              ///< of this step, reward units
    train::value_panel value{};       ///< before it, reward units; return_to_go is what came
};

/// An episode, and what its pictures need besides.
struct watched_episode {
    std::string kind{};              ///< of pictures: robot, lines, cells, grey or numbers
    nlohmann::ordered_json header{}; ///< of the kind, such as "radii" of a robot
    double step_seconds = 0.1;       ///< how long a step is shown
    std::string ended{};             ///< terminated, cut (by a time limit) or stopped (played no further)
    std::size_t known = 0;           ///< steps whose return is known; of the others the end is the agent's own guess
    std::vector<watched_step> steps{};
};

/// As JSON, of each k-th step, so that there are at most `most_frames` frames and their pictures take at most
/// `most_bytes`: {"kind", "steps", "every", "ended", "total", "seconds", "range", "frames": [{"step", "reward", "earned",
/// "came", "mean", "low", "high", "cut", "density" or "points", …}]}; low and high hold 80 %. Throws gmac::error if a step's
/// value is no distribution of finite numbers.
[[nodiscard]] nlohmann::ordered_json episode_json(watched_episode const& played, std::size_t most_frames = 240,
                                                  std::size_t most_bytes = 700'000);

/// A screen in 16 greys as base64 of runs of equal pixels, a byte each: 16 (length − 1) + grey.
[[nodiscard]] std::string runs_of_greys(std::span<std::uint8_t const> pixels);

} // namespace gmac::examples::report
