// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

namespace gmac::examples::train {

/// What gmac-train and the programs beside it know: the classic environments, the robots and the games, and all methods. Those
/// whose library was missing when this was built are in it, and say so when they are made.
[[nodiscard]] registry our_registry();

} // namespace gmac::examples::train
