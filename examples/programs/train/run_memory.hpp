// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include "support/memory.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace gmac::examples::train {

/// What an environment gives and takes at each step.
struct step_size {
    double observation_bytes = 0.0;
    double inputs = 0.0; ///< of the first layer of --hidden
    double actions = 0.0;
};

/// `count` environments of any kind, as an option of this name asks for: a slot each, of whole cache lines, for its state,
/// random stream and sums.
[[nodiscard]] inline memory_use memory_of_environments(std::string_view option, std::size_t count) {
    return {fmt::format("{} {}", option, count), static_cast<double>(count) * 128.0};
}

/// What a run takes at least, in parts that are named by the options which decide them.
[[nodiscard]] std::vector<memory_use> memory_of(settings const& all, step_size const& step);

} // namespace gmac::examples::train
