// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <gmac/nn/image_trunk.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace gmac::examples::train {

/// What --trunk says: conv:FILTERSxKERNELxSTRIDE for each convolution, then the widths of the fully connected layers.
struct trunk_text {
    std::vector<nn::image_convolution> convolutions{};
    std::vector<std::size_t> hidden{}; ///< none: those of --hidden
};

/// Throws gmac::error that says which part is none.
[[nodiscard]] trunk_text read_trunk(std::string_view text);

/// How many numbers the convolutions give.
[[nodiscard]] std::size_t features_of_convolutions(nn::image_trunk_options const& trunk);

} // namespace gmac::examples::train
