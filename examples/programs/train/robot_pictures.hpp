// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "observe/picture_source.hpp"
#include "settings.hpp"

#include <memory>

namespace gmac::examples::train {

/// The shapes of a robot; nothing of other environments, and where Bullet was missing when this was built.
[[nodiscard]] std::unique_ptr<picture_source> robot_pictures(environment_batch& worlds);

} // namespace gmac::examples::train
