// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/environment/environment.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

/// The five games of MinAtar (Young and Tian 2019, arXiv:1903.03176) on a grid of 10 × 10 cells, written from a
/// description of their behaviour: docs/minatar.md.
namespace minatar {

inline constexpr int side = 10;

enum action : int { none, left, up, right, down, fire };
inline constexpr int action_count = 6;

/// Where a game takes its chances from: `unit()` is uniform in [0, 1), `number(a, b)` over a, …, b − 1. Another source than
/// a random stream is a recorded list (trace.hpp).
class stream_draws {
public:
    explicit stream_draws(gmac::random_stream& random) noexcept : random_(random) {}

    [[nodiscard]] double unit() noexcept { return random_.uniform<double>(); }
    [[nodiscard]] int number(int first, int last) noexcept {
        return first + static_cast<int>(random_.below(static_cast<std::uint32_t>(last - first)));
    }

private:
    gmac::random_stream& random_;
};

/// What a step gave. `over` stays true until the next reset.
struct outcome {
    int reward = 0;
    bool over = false;
};

/// The observation as a game draws it: 10 × 10 × channels bytes, [y][x][channel], 0 or 1.
template <std::size_t Channels>
class canvas {
public:
    explicit canvas(std::span<std::uint8_t> bytes) noexcept : bytes_(bytes.data()) {
        std::fill_n(bytes_, side * side * Channels, std::uint8_t{0});
    }
    void set(int x, int y, std::size_t channel) noexcept {
        bytes_[static_cast<std::size_t>(y * side + x) * Channels + channel] = 1;
    }
    /// The same where the cell is on the grid.
    void set_inside(int x, int y, std::size_t channel) noexcept {
        if (x >= 0 && x < side)
            set(x, y, channel);
    }

private:
    std::uint8_t* bytes_;
};

/// The rules of one game: a small struct with its state, which `reset(draws)` and `step(action, ramping, draws)` change,
/// `draw(canvas)` shows and `persist(archive)` stores.
template <class G>
concept rules = std::default_initializable<G> && requires(G& game, G const& same, stream_draws& draws,
                                                          canvas<G::channels> picture, gmac::archive& state) {
    { G::name } -> std::convertible_to<std::string_view>;
    { G::actions[0] } -> std::convertible_to<int>; // the minimal action set
    game.reset(draws);
    { game.step(0, true, draws) } -> std::same_as<outcome>;
    same.draw(picture);
    game.persist(state);
};

struct settings {
    double sticky = 0.1;       ///< the chance that an action is replaced by the one carried out before, in [0, 1]
    bool ramping = true;       ///< the game becomes harder as it goes on
    bool full_actions = false; ///< all six actions in place of those that do something
};

/// A game as an environment of bytes. The action that was carried out last outlives the end of an episode.
template <rules Rules>
class game {
public:
    using observation_type = std::uint8_t;

    static constexpr std::size_t cells = side * side * Rules::channels;

    /// Throws gmac::error unless the settings are in their range.
    explicit game(settings const& how = {}) : how_(how) {
        gmac::require(how.sticky >= 0.0 && how.sticky <= 1.0, "minatar: sticky is {}, but must be in [0, 1]",
                      how.sticky);
    }

    [[nodiscard]] static constexpr std::size_t observation_size() noexcept { return cells; }
    [[nodiscard]] gmac::discrete action_space() const noexcept {
        return {how_.full_actions ? action_count : Rules::actions.size()};
    }
    [[nodiscard]] Rules const& state() const noexcept { return rules_; }

    void reset(gmac::random_stream& random, std::span<std::uint8_t> observation) {
        stream_draws draws(random);
        restart(draws);
        observe(observation);
    }
    gmac::transition step(int chosen, gmac::random_stream& random, std::span<std::uint8_t> observation) {
        stream_draws draws(random);
        outcome const result =
            advance(how_.full_actions ? chosen : Rules::actions[static_cast<std::size_t>(chosen)], draws);
        observe(observation);
        return {.reward = static_cast<double>(result.reward), .terminated = result.over};
    }

    /// A new episode with chances from any source.
    template <class Draws>
    void restart(Draws& draws) {
        rules_.reset(draws);
        over_ = false;
    }
    /// One step with one of the six actions. The first chance is whether the action sticks, in every step.
    template <class Draws>
    outcome advance(int chosen, Draws& draws) {
        if (draws.unit() >= how_.sticky)
            last_ = chosen;
        if (over_)
            return {0, true};
        outcome const result = rules_.step(last_, how_.ramping, draws);
        over_ = result.over;
        return result;
    }
    /// Writes the observation, `cells` bytes.
    void observe(std::span<std::uint8_t> observation) const { rules_.draw(canvas<Rules::channels>(observation)); }

    void persist(gmac::archive& state) {
        state("last_action", last_);
        state("over", over_);
        rules_.persist(state);
    }

private:
    settings how_;
    Rules rules_;
    int last_ = none;
    bool over_ = false;
};

/// Objects in order of their creation, in place: `Capacity` is above what the rules of a game can make.
template <class T, std::size_t Capacity>
class age_list {
public:
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] T& operator[](std::size_t i) noexcept { return items_[i]; }
    [[nodiscard]] T const& operator[](std::size_t i) const noexcept { return items_[i]; }
    [[nodiscard]] T* begin() noexcept { return items_.data(); }
    [[nodiscard]] T* end() noexcept { return items_.data() + size_; }
    [[nodiscard]] T const* begin() const noexcept { return items_.data(); }
    [[nodiscard]] T const* end() const noexcept { return items_.data() + size_; }

    void clear() noexcept { size_ = 0; }
    void append(T const& item) {
        gmac::require(size_ < Capacity, "minatar: more than {} objects of a kind", Capacity);
        items_[size_++] = item;
    }
    void remove(std::size_t i) noexcept {
        std::copy(begin() + i + 1, end(), begin() + i);
        --size_;
    }
    /// Removes the oldest object on a cell, if there is one.
    bool remove_at(int x, int y) noexcept {
        for (std::size_t i = 0; i < size_; ++i)
            if (items_[i].x == x && items_[i].y == y) {
                remove(i);
                return true;
            }
        return false;
    }

    void persist(gmac::archive& state, std::string_view name) {
        static_assert(sizeof(T) % sizeof(std::int32_t) == 0);
        std::uint64_t size = size_;
        state.inside(name, [&] {
            state("size", size);
            state("items", std::span(reinterpret_cast<std::int32_t*>(items_.data()),
                                     Capacity * (sizeof(T) / sizeof(std::int32_t))));
        });
        gmac::require(size <= Capacity, "minatar: the stored {} are {}, but can be at most {}", name, size, Capacity);
        size_ = static_cast<std::size_t>(size);
    }

private:
    std::array<T, Capacity> items_{};
    std::size_t size_ = 0;
};

} // namespace minatar
