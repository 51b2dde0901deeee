// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <cstddef>

namespace gmac::examples::train {

/// A game that is scored is cut after so many steps: some are played without end by a policy that never does another thing.
inline constexpr std::size_t minatar_score_steps = 10'000;
/// Environments of the game of MinAtar that the settings name.
[[nodiscard]] image_games minatar_games(settings const& settings, executor& tasks);

} // namespace gmac::examples::train
