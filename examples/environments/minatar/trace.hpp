// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <istream>
#include <string>

/// Recorded sequences of a game: actions, chances, rewards, ends and hashes of the observations (docs/minatar.md).
namespace minatar {

struct replayed {
    std::string game;
    std::size_t steps = 0, resets = 0;
    long long reward = 0;
};

/// Plays a recorded sequence again with its own chances and compares each step: the chances asked for, reward, end, and the
/// observation by its hash (and whole where it is recorded). Throws gmac::error for what is no such file, and at the first
/// step that differs: `name`, its line, and what was expected and came.
[[nodiscard]] replayed replay(std::istream& file, std::string const& name);

} // namespace minatar
