// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "area.hpp"
#include "emulator.hpp"
#include "frame_wrappers.hpp"
#include "grey.hpp"
#include "play_wrappers.hpp"
#include "preprocessing.hpp"

#include <gmac/core/error.hpp>
#include <gmac/environment/environment.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace gmac::examples::ale {

/// A game of an emulator with all wrappers around it, from the inside out.
template <emulator E>
using preprocessed_game =
    fire_on_reset<episodic_life<scored_game<frame_skip<frame_limit<noop_starts<sticky_actions<emulated_game<E>>>>>>>>;

template <emulator E>
[[nodiscard]] preprocessed_game<E> preprocess(E machine, preprocessing const& rules) {
    sticky_actions sticky(emulated_game(std::move(machine)), rules.sticky);
    frame_skip skipped(frame_limit(noop_starts(std::move(sticky), rules.starts), rules.frame_limit), rules.skip);
    return fire_on_reset(episodic_life(scored_game(std::move(skipped)), rules.episodic_life), rules.fire_on_reset);
}

inline constexpr std::size_t atari_side = 84; ///< height and width of an observation

/// An Atari game as an environment: 84 × 84 grey levels, oldest of `history().frames` first. Rewards are raw.
template <emulator E>
class atari {
public:
    using observation_type = std::uint8_t;

    /// `grey` may be shared by the environments of a game, to spare the processor's caches.
    atari(E machine, preprocessing const& rules, std::shared_ptr<grey_maximum const> grey = nullptr)
        : game_(preprocess(std::move(machine), rules)),
          grey_(grey ? std::move(grey) : std::make_shared<grey_maximum const>(game_.machine().colours(), rules.grey)),
          area_({game_.machine().rows(), game_.machine().columns()}, {atari_side, atari_side}),
          history_{rules.stack, rules.padding} {
        require(rules.stack > 0, "atari: a stack of 0 frames shows nothing");
    }

    [[nodiscard]] std::size_t observation_size() const noexcept { return atari_side * atari_side; }
    [[nodiscard]] observation_history history() const noexcept { return history_; }
    [[nodiscard]] discrete action_space() const { return {game_.machine().actions().size()}; }
    [[nodiscard]] E const& machine() const noexcept { return game_.machine(); }
    [[nodiscard]] frame_pair last_frames() const noexcept { return game_.last_frames(); }

    void reset(random_stream& random, std::span<std::uint8_t> observation) {
        game_.reset(random);
        observe(observation);
    }
    transition step(int action, random_stream& random, std::span<std::uint8_t> observation) {
        transition const given = game_.step(game_.machine().actions()[static_cast<std::size_t>(action)], random);
        observe(observation);
        return given;
    }
    /// A whole game that was finished and not taken yet: its raw score and its length in steps.
    [[nodiscard]] std::optional<finished_episode> take_finished() { return game_.take_finished(); }
    /// The next reset begins a new game.
    void abandon() { game_.abandon(); }

    void persist(archive& state) { game_.persist(state); }

private:
    void observe(std::span<std::uint8_t> observation) {
        auto const [previous, latest] = game_.last_frames();
        area_(grey_lines{*grey_, previous, latest, game_.machine().columns()}, observation);
    }

    preprocessed_game<E> game_;
    std::shared_ptr<grey_maximum const> grey_;
    area_interpolation area_;
    observation_history history_;
};

} // namespace gmac::examples::ale
