// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/random.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gmac::targets {

/// How SR(λ) chooses the particles that it replaces, and what replaces them.
enum class resampling {
    /// Each particle for itself, with probability 1 − λ, as the paper says.
    independent,
    /// The same marginal law for every particle, with one random number for all choices of a step: at m (1 − λ) (rounded
    /// up or down at random) evenly spaced places from a random offset, by draws that divide [0, 1) evenly from another
    /// (systematic sampling, Cochran 1977, chapter 8). The particles are no longer independent of each other; what is
    /// estimated from all of them together varies less.
    stratified
};

namespace detail {

/// How many particles are replaced at once.
inline constexpr std::size_t particles_at_once = 64;

/// Words of a random stream, the same as one by one, made many blocks at a time.
class word_buffer {
public:
    void open(random_stream& stream) noexcept {
        stream_ = &stream;
        next_ = size;
    }
    /// Leaves the stream where it would be if the words had been drawn one by one.
    void close() noexcept { stream_->seek(stream_->position() - (size - next_)); }

    [[nodiscard]] std::uint32_t operator()() noexcept {
        if (next_ == size) [[unlikely]]
            refill();
        return words_[next_++];
    }
    /// The next `count` <= particles_at_once words, in a row; up to the next multiple of 16 may be read.
    [[nodiscard]] std::uint32_t const* take(std::size_t count) noexcept {
        while (next_ + count > size) [[unlikely]]
            refill();
        next_ += count;
        return &words_[next_ - count];
    }

private:
    static constexpr std::size_t size = 2 * particles_at_once + 4;

    /// Moves what is left to the front and fills the rest up to a whole block of the stream.
    void refill() noexcept {
        std::size_t const left = size - next_;
        std::size_t const fresh = particles_at_once - static_cast<std::size_t>(stream_->position() & 3u);
        std::size_t const first = size - fresh;
        std::copy_n(&words_[next_], left, &words_[first - left]);
        stream_->fill(std::span<std::uint32_t>(words_).subspan(first, fresh));
        next_ = first - left;
    }

    random_stream* stream_ = nullptr;
    std::size_t next_ = size;
    alignas(64) std::array<std::uint32_t, size + 16> words_{};
};

/// The gaps between particles that are replaced independently of each other, each with probability 1 − λ, are
/// geometric: P(gap = k) = (1 − λ) λ^k. One word and one look into a table (the alias method, Walker 1977) draws one,
/// exact to 2^-32. The table ends with "at least `limit`"; the law has no memory, so there the draw starts again.
class geometric_gaps {
public:
    explicit geometric_gaps(double lambda) noexcept {
        // Scaled probabilities whose mean over the slots is one; then Vose's way of filling the slots (1991).
        std::array<double, slots> share;
        double at_least = 1.0;
        for (std::size_t k = 0; k < limit; ++k) {
            share[k] = at_least * (1.0 - lambda) * slots;
            at_least *= lambda;
        }
        share[limit] = at_least * slots;

        std::array<std::uint8_t, slots> order; // the small shares from the front, the large ones from the back
        std::size_t small = 0;
        std::size_t large = slots;
        for (std::size_t k = 0; k < slots; ++k)
            order[share[k] < 1.0 ? small++ : --large] = static_cast<std::uint8_t>(k);
        for (std::size_t i = 0; i < small && large < slots; ++i) {
            std::uint8_t const poor = order[i];
            std::uint8_t const rich = order[large];
            slots_[poor] = {cut(share[poor]), poor, rich};
            share[rich] -= 1.0 - share[poor];
            if (share[rich] < 1.0) {
                order[small++] = rich; // small <= large: what was taken from the back moves to the front
                ++large;
            }
            filled_ = i + 1;
        }
        for (std::size_t i = filled_; i < slots; ++i)
            slots_[order[i]] = {whole, order[i], order[i]}; // one but for rounding
    }

    template <class Words>
    [[nodiscard]] std::size_t operator()(Words& words) const noexcept {
        std::size_t gap = 0;
        for (;;) {
            std::uint32_t const word = words();
            slot const& here = slots_[word >> fraction_bits];
            std::size_t const drawn = (word & (whole - 1u)) < here.cut ? here.below : here.above;
            gap += drawn;
            if (drawn != limit) [[likely]]
                return gap;
        }
    }

private:
    static constexpr std::size_t slots = 128;
    static constexpr std::size_t limit = slots - 1;
    static constexpr std::uint32_t fraction_bits = 25;
    static constexpr std::uint32_t whole = 1u << fraction_bits;

    struct slot {
        std::uint32_t cut = 0;
        std::uint8_t below = 0, above = 0;
    };

    [[nodiscard]] static std::uint32_t cut(double share) noexcept {
        return share > 0.0 ? static_cast<std::uint32_t>(share * whole + 0.5) : 0u;
    }

    std::array<slot, slots> slots_{};
    std::size_t filled_ = 0;
};

} // namespace detail

} // namespace gmac::targets
