// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/random.hpp>
#include <gmac/environment/environment.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

/// Atari 2600 games as environments: an emulator, and wrappers around it that are composed as the field composes them.
namespace gmac::examples::ale {

/// Actions by the numbers of the Arcade Learning Environment; only these two have a meaning of their own here.
inline constexpr int noop = 0;
inline constexpr int fire = 1;

/// The colours of a screen as 0x00RRGGBB, by the even palette numbers of its pixels: colour of pixel p is [p / 2].
using palette = std::array<std::uint32_t, 128>;

/// What plays a game frame by frame. `act` takes one of `actions` and returns what the frame paid; after the end of a
/// game only `reset` is allowed. `persist` stores all that the next frame depends on; the screen may be stale after it
/// was restored, until the next frame.
template <class E>
concept emulator = requires(E& machine, E const& same, archive& state, int action) {
    { same.rows() } -> std::convertible_to<std::size_t>;
    { same.columns() } -> std::convertible_to<std::size_t>;
    { same.screen() } -> std::convertible_to<std::span<std::uint8_t const>>; // palette numbers, [rows, columns]
    { same.colours() } -> std::convertible_to<palette const&>;
    { same.actions() } -> std::convertible_to<std::span<int const>>; // the action set
    { same.lives() } -> std::convertible_to<int>;
    { same.game_over() } -> std::convertible_to<bool>;
    { machine.reset() } -> std::same_as<void>;
    { machine.act(action) } -> std::convertible_to<int>;
    { machine.persist(state) } -> std::same_as<void>;
};

/// A game that is played step by step, with its emulator inside. What follows is a model of it around another one.
template <class G>
concept game = requires(G& played, G const& same, random_stream& random, archive& state, int action) {
    requires emulator<std::remove_cvref_t<decltype(same.machine())>>;
    { played.reset(random) } -> std::same_as<void>;
    { played.step(action, random) } -> std::same_as<transition>;
    { played.persist(state) } -> std::same_as<void>;
};

/// A game at its plainest: a step is a frame.
template <emulator E>
class emulated_game {
public:
    explicit emulated_game(E machine) : machine_(std::move(machine)) {}

    [[nodiscard]] E const& machine() const noexcept { return machine_; }
    void reset(random_stream&) { machine_.reset(); }
    transition step(int action, random_stream&) {
        double const reward = machine_.act(action);
        return {.reward = reward, .terminated = machine_.game_over(), .truncated = false};
    }
    void persist(archive& state) {
        state.inside("emulator", [&] { machine_.persist(state); });
    }

private:
    E machine_;
};

/// Passes everything on to the game inside: wrappers derive from it and replace what shall be different.
template <game G>
class game_wrapper {
public:
    explicit game_wrapper(G inner) : inner_(std::move(inner)) {}

    [[nodiscard]] G& inner() noexcept { return inner_; }
    [[nodiscard]] G const& inner() const noexcept { return inner_; }
    [[nodiscard]] auto const& machine() const noexcept { return inner_.machine(); }
    /// The last two frames, where a wrapper inside keeps them.
    [[nodiscard]] auto last_frames() const noexcept
        requires requires(G const& inner) { inner.last_frames(); }
    {
        return inner_.last_frames();
    }
    /// A game that was finished since this was last asked, where a wrapper inside counts.
    [[nodiscard]] auto take_finished()
        requires requires(G& inner) { inner.take_finished(); }
    {
        return inner_.take_finished();
    }

    /// The next reset begins a new game, where a wrapper inside would go on with this one.
    void abandon() {
        if constexpr (requires { inner_.abandon(); })
            inner_.abandon();
    }
    void reset(random_stream& random) { inner_.reset(random); }
    transition step(int action, random_stream& random) { return inner_.step(action, random); }
    void persist(archive& state) { inner_.persist(state); }

protected:
    [[nodiscard]] bool has_action(int action) const {
        std::span<int const> const actions = machine().actions();
        return std::ranges::find(actions, action) != actions.end();
    }

private:
    G inner_;
};

} // namespace gmac::examples::ale
