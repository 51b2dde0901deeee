// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "emulator.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

/// Wrappers whose steps are those of the agent.
namespace gmac::examples::ale {

/// Counts what a whole game pays and how many steps it takes, those that other wrappers play at a reset included. It
/// stands inside of them, as the field's monitors do.
template <game G>
class scored_game : public game_wrapper<G> {
public:
    explicit scored_game(G inner) : game_wrapper<G>(std::move(inner)) { finished_.reserve(2); }

    [[nodiscard]] double score() const noexcept { return score_; }
    /// The first of the finished games that were not taken yet.
    [[nodiscard]] std::optional<finished_episode> take_finished() {
        if (finished_.empty())
            return std::nullopt;
        finished_episode const first = finished_.front();
        finished_.erase(finished_.begin());
        return first;
    }

    void reset(random_stream& random) {
        score_ = 0.0;
        steps_ = 0;
        this->inner().reset(random);
    }
    transition step(int action, random_stream& random) {
        transition const given = this->inner().step(action, random);
        score_ += given.reward;
        steps_ += 1;
        if (given.terminated || given.truncated)
            finished_.push_back({.reward_sum = score_, .length = static_cast<std::size_t>(steps_)});
        return given;
    }
    void persist(archive& state) {
        state("score", score_);
        state("steps", steps_);
        this->inner().persist(state);
    }

private:
    double score_ = 0.0;
    std::uint64_t steps_ = 0;
    std::vector<finished_episode> finished_; // and not taken yet
};

/// A lost life ends the episode that is learned from, and the game goes on: the next reset plays one step without an
/// action instead of a new game, unless the game was over. Losing the last life is left to the game's own end, since
/// some games go on for a few frames without a life.
template <game G>
class episodic_life : public game_wrapper<G> {
public:
    episodic_life(G inner, bool enabled) : game_wrapper<G>(std::move(inner)), enabled_(enabled) {}

    void abandon() {
        over_ = true;
        game_wrapper<G>::abandon();
    }
    void reset(random_stream& random) {
        if (over_ || !enabled_) {
            this->inner().reset(random);
        } else {
            transition const given = this->inner().step(noop, random);
            if (given.terminated || given.truncated)
                this->inner().reset(random);
        }
        over_ = false;
        lives_ = this->machine().lives();
    }
    transition step(int action, random_stream& random) {
        transition given = this->inner().step(action, random);
        over_ = given.terminated || given.truncated;
        std::int32_t const lives = this->machine().lives();
        bool const lost = lives < lives_ && lives > 0;
        lives_ = lives;
        if (enabled_ && lost && !over_)
            given.terminated = true;
        return given;
    }
    void persist(archive& state) {
        std::uint8_t over = over_ ? 1 : 0;
        state("over", over);
        over_ = over != 0;
        state("lives", lives_);
        this->inner().persist(state);
    }

private:
    bool enabled_;
    bool over_ = true; // nothing was played yet
    std::int32_t lives_ = 0;
};

/// Presses fire after a reset, and then the action after it in the game's set, in games that wait for it: those whose
/// action set has fire in second place and a third action. A game that ends meanwhile is started anew.
template <game G>
class fire_on_reset : public game_wrapper<G> {
public:
    fire_on_reset(G inner, bool enabled) : game_wrapper<G>(std::move(inner)), enabled_(enabled) {}

    void reset(random_stream& random) {
        this->inner().reset(random);
        if (!enabled_ || !waits())
            return;
        for (std::size_t action : {1u, 2u}) {
            transition const given = this->inner().step(this->machine().actions()[action], random);
            if (given.terminated || given.truncated)
                this->inner().reset(random);
        }
    }

private:
    [[nodiscard]] bool waits() const {
        auto const actions = this->machine().actions();
        return actions.size() >= 3 && actions[1] == fire;
    }

    bool enabled_;
};

} // namespace gmac::examples::ale
