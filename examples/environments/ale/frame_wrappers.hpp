// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "emulator.hpp"

#include <gmac/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

/// Wrappers whose steps are frames, and the one that makes a step of several frames.
namespace gmac::examples::ale {

/// Sticky actions (Machado et al. 2018, section 5.2): with this probability a frame is played with the action of the
/// frame before instead of the one given. A new game begins with no action.
template <game G>
class sticky_actions : public game_wrapper<G> {
public:
    sticky_actions(G inner, double probability) : game_wrapper<G>(std::move(inner)), probability_(probability) {
        require(probability >= 0.0 && probability < 1.0,
                "sticky_actions: the probability is {}, but must be at least 0 and below 1", probability);
    }

    void reset(random_stream& random) {
        last_ = noop;
        this->inner().reset(random);
    }
    transition step(int action, random_stream& random) {
        if (probability_ == 0.0 || random.uniform<double>() >= probability_)
            last_ = action;
        return this->inner().step(last_, random);
    }
    void persist(archive& state) {
        state("last_action", last_);
        this->inner().persist(state);
    }

private:
    double probability_;
    std::int32_t last_ = noop;
};

/// Starts a game with a random number of frames without an action. A game that ends meanwhile is started anew, and the
/// number is still made full.
struct start_options {
    std::size_t fewest = 1, most = 30; ///< frames; none at all if `most` is 0
    bool fire_first = false;           ///< the first of them presses fire, if the game's action set has it
};

template <game G>
class noop_starts : public game_wrapper<G> {
public:
    noop_starts(G inner, start_options options) : game_wrapper<G>(std::move(inner)), options_(options) {
        require(options.fewest <= options.most, "noop_starts: between {} and {} frames are none", options.fewest,
                options.most);
    }

    void reset(random_stream& random) {
        this->inner().reset(random);
        std::size_t left = options_.fewest;
        if (options_.most > options_.fewest)
            left += random.below(static_cast<std::uint32_t>(options_.most - options_.fewest + 1));
        if (options_.fire_first && this->has_action(fire)) {
            play(fire, random);
            left -= left > 0 ? 1 : 0;
        }
        for (; left > 0; --left)
            play(noop, random);
    }

private:
    void play(int action, random_stream& random) {
        transition const given = this->inner().step(action, random);
        if (given.terminated || given.truncated)
            this->inner().reset(random);
    }

    start_options options_;
};

/// Truncates a game after a number of frames; those of the start do not count. 0 is no limit.
template <game G>
class frame_limit : public game_wrapper<G> {
public:
    frame_limit(G inner, std::uint64_t frames) : game_wrapper<G>(std::move(inner)), limit_(frames) {}

    void reset(random_stream& random) {
        frames_ = 0;
        this->inner().reset(random);
    }
    transition step(int action, random_stream& random) {
        transition given = this->inner().step(action, random);
        frames_ += 1;
        given.truncated = given.truncated || (limit_ > 0 && frames_ >= limit_ && !given.terminated);
        return given;
    }
    void persist(archive& state) {
        state("frames", frames_);
        this->inner().persist(state);
    }

private:
    std::uint64_t limit_;
    std::uint64_t frames_ = 0;
};

/// The last two screens of a step, palette numbers; both the same after a reset, and where a game ended within the step
/// before its last frame.
struct frame_pair {
    std::span<std::uint8_t const> previous, latest;
};

/// A step plays several frames with one action and adds up what they pay; it ends early with the game.
template <game G>
class frame_skip : public game_wrapper<G> {
public:
    frame_skip(G inner, std::size_t frames) : game_wrapper<G>(std::move(inner)), skip_(frames) {
        require(frames > 0, "frame_skip: a step has 0 frames, but must have at least 1");
        previous_.resize(this->machine().rows() * this->machine().columns());
    }

    [[nodiscard]] frame_pair last_frames() const noexcept {
        std::span<std::uint8_t const> const latest = this->machine().screen();
        return {two_ ? std::span<std::uint8_t const>(previous_) : latest, latest};
    }

    void reset(random_stream& random) {
        two_ = false;
        this->inner().reset(random);
    }
    transition step(int action, random_stream& random) {
        transition sum;
        two_ = false;
        for (std::size_t frame = 0; frame < skip_ && !sum.terminated && !sum.truncated; ++frame) {
            if (frame > 0 && frame + 1 == skip_) {
                std::memcpy(previous_.data(), this->machine().screen().data(), previous_.size());
                two_ = true;
            }
            transition const given = this->inner().step(action, random);
            sum = {sum.reward + given.reward, given.terminated, given.truncated};
        }
        return sum;
    }

private:
    std::size_t skip_;
    std::vector<std::uint8_t> previous_;
    bool two_ = false; // the previous screen is that of this step
};

} // namespace gmac::examples::ale
