// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "emulator.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gmac::examples::ale {

/// The ROM of a game: `file` if it is given, or else GAME.bin or another ROM of the game in `folder`. Throws gmac::error
/// that says what would work if there is none, or if it cannot be read, is not known to the Arcade Learning Environment
/// or is that of another game.
[[nodiscard]] std::filesystem::path find_rom(std::string const& game, std::filesystem::path const& file,
                                             std::filesystem::path const& folder);

struct arcade_options {
    bool full_action_set = false;
    std::optional<int> mode{}; ///< by default the game's own
    int difficulty = 0;
};

/// The emulator of the Arcade Learning Environment with one game.
class arcade {
public:
    /// Throws gmac::error for a ROM that is not supported, and for a mode or difficulty that the game has not; the
    /// message names those that it has.
    arcade(std::filesystem::path const& rom, arcade_options const& options);
    ~arcade();
    arcade(arcade&&) noexcept;
    arcade& operator=(arcade&&) noexcept;

    [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
    [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
    [[nodiscard]] std::span<std::uint8_t const> screen() const noexcept { return screen_; }
    [[nodiscard]] palette const& colours() const noexcept { return colours_; }
    [[nodiscard]] std::span<int const> actions() const noexcept { return actions_; }
    [[nodiscard]] int lives() const;
    [[nodiscard]] bool game_over() const;
    void reset();
    int act(int action);
    void persist(archive& state);

private:
    struct machine;
    std::unique_ptr<machine> machine_;
    std::size_t rows_ = 0, columns_ = 0;
    std::span<std::uint8_t const> screen_;
    palette colours_{};
    std::vector<int> actions_;
};

} // namespace gmac::examples::ale
