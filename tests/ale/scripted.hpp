// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../../examples/environments/ale/emulator.hpp"

#include <gmac/core/archive.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace gmac::testing::scripted {

inline constexpr int reset_mark = -1;

/// What happens when a frame of a game is over.
struct event {
    int reward = 0;
    int lives = 3; ///< from then on
    bool over = false;
};

/// An emulator that plays a script: the same events, by frame, in every game. It keeps a log of what it was told, and
/// draws each frame as an image of its own.
class emulator {
public:
    std::map<int, event> script;
    std::vector<int> set{0, 1, 3, 4};
    std::size_t height = 2, width = 3;
    std::shared_ptr<std::vector<int>> log = std::make_shared<std::vector<int>>();

    /// Pixel i of frame f of game g. All palette numbers are even.
    [[nodiscard]] static std::uint8_t pixel(int game, int frame, std::size_t i) {
        return static_cast<std::uint8_t>(2u * ((static_cast<std::size_t>(37 * game + 11 * frame) + 5 * i) % 128u));
    }

    [[nodiscard]] std::size_t rows() const { return height; }
    [[nodiscard]] std::size_t columns() const { return width; }
    [[nodiscard]] std::span<std::uint8_t const> screen() const { return screen_; }
    [[nodiscard]] gmac::examples::ale::palette const& colours() const { return colours_; }
    [[nodiscard]] std::span<int const> actions() const { return set; }
    [[nodiscard]] int lives() const { return lives_; }
    [[nodiscard]] bool game_over() const { return over_ != 0; }
    [[nodiscard]] int frame() const { return frame_; }
    [[nodiscard]] int game() const { return game_; }

    void reset() {
        log->push_back(reset_mark);
        ++game_;
        frame_ = 0;
        lives_ = 3;
        over_ = 0;
        draw();
    }
    int act(int action) {
        log->push_back(action);
        ++frame_;
        draw();
        auto const found = script.find(frame_);
        if (found == script.end())
            return 0;
        lives_ = found->second.lives;
        over_ = found->second.over ? 1 : 0;
        return found->second.reward;
    }
    /// Like the real one, it leaves the screen stale when it is restored.
    void persist(gmac::archive& state) {
        state("frame", frame_);
        state("game", game_);
        state("lives", lives_);
        state("over", over_);
    }

private:
    void draw() {
        screen_.resize(height * width);
        for (std::size_t i = 0; i < screen_.size(); ++i)
            screen_[i] = pixel(game_, frame_, i);
    }
    [[nodiscard]] static gmac::examples::ale::palette make_colours() {
        gmac::examples::ale::palette colours{};
        for (std::size_t i = 0; i < colours.size(); ++i)
            colours[i] = static_cast<std::uint32_t>((i * 1'234'577u) & 0xffffffu);
        return colours;
    }

    gmac::examples::ale::palette colours_ = make_colours();
    std::vector<std::uint8_t> screen_;
    std::int32_t frame_ = 0, game_ = 0, lives_ = 0, over_ = 0;
};

/// Three lives of 30 frames each on screens of the usual size; points now and then.
inline emulator three_lives() {
    emulator machine;
    machine.height = 210;
    machine.width = 160;
    machine.script = {{35, {.reward = 7}},
                      {40, {.lives = 2}},
                      {61, {.reward = -3, .lives = 2}},
                      {70, {.lives = 1}},
                      {100, {.reward = 20, .lives = 0, .over = true}}};
    return machine;
}

} // namespace gmac::testing::scripted
