// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

namespace gmac::testing {

/// What an animated GIF consists of, read by the letter of the GIF89a specification.
struct gif {
    int width = 0, height = 0;
    int repeats = -1;        ///< of the animation; 0 is for ever, −1 if nothing is said
    std::vector<int> delays; ///< of each frame, in 1/100 s
    bool whole = false;      ///< the file ends where its trailer is

    [[nodiscard]] std::size_t frames() const { return delays.size(); }
};

[[nodiscard]] gif read_gif(std::filesystem::path const& path);

} // namespace gmac::testing
