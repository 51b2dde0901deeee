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

/// How many particles are replaced at once, and how many words are drawn at once: whole blocks of the stream.
inline constexpr std::size_t chunk = 64;

/// A chunk of words, and room for the lanes that read beyond its end.
struct word_chunk {
    alignas(64) std::array<std::uint32_t, chunk + 16> words;

    void draw(random_stream& stream) noexcept { stream.fill(std::span<std::uint32_t>(words).first(chunk)); }
};

/// The gaps between particles that are replaced independently of each other, each with probability 1 − λ, are
/// geometric: P(gap = k) = (1 − λ) λ^k. One word and one look into a table (the alias method, Walker 1977) draws one,
/// exact to 2^-32. The table ends with "at least `limit`"; the law has no memory, so there the next draw goes on.
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
            slots_[poor] = {cut(share[poor]), {poor, rich}};
            share[rich] -= 1.0 - share[poor];
            if (share[rich] < 1.0) {
                order[small++] = rich; // small <= large: what was taken from the back moves to the front
                ++large;
            }
            filled_ = i + 1;
        }
        for (std::size_t i = filled_; i < slots; ++i)
            slots_[order[i]] = {whole, {order[i], order[i]}}; // one but for rounding
    }

    /// What a word draws: a gap below `limit`, or `limit`: no replaced particle among so many.
    [[nodiscard]] std::uint32_t operator()(std::uint32_t word) const noexcept {
        slot const& here = slots_[word >> fraction_bits];
        // An index instead of a branch, which would be guessed wrong half of the time.
        return here.gap[(word & (whole - 1u)) < here.cut ? 0 : 1];
    }

    static constexpr std::uint32_t limit = 127;

private:
    static constexpr std::size_t slots = limit + 1;
    static constexpr std::uint32_t fraction_bits = 25;
    static constexpr std::uint32_t whole = 1u << fraction_bits;

    struct slot {
        std::uint32_t cut = 0;
        std::array<std::uint16_t, 2> gap{}; ///< if the fraction is less than `cut`, and otherwise
    };

    [[nodiscard]] static std::uint32_t cut(double share) noexcept {
        return share > 0.0 ? static_cast<std::uint32_t>(share * whole + 0.5) : 0u;
    }

    std::array<slot, slots> slots_{};
    std::size_t filled_ = 0;
};

/// The particles of one environment that are replaced independently: their rows, end to end, are one sequence of
/// particles, and this is the list of those that are replaced, with a word for each that chooses by what.
class replacement_events {
public:
    replacement_events() noexcept { positions_.fill(beyond); }

    /// Calls replace(first, count, positions, words) for the replaced ones of the next `particles` particles, in parts of
    /// at most `at_once`; particle i of them has position first + i, modulo 2^32.
    template <class Replace>
    void next(std::uint32_t particles, geometric_gaps const& gaps, random_stream& stream, Replace&& replace) noexcept {
        done_ += particles;
        for (;;) {
            // Counts without a branch for each. Beyond the known ones are positions that no row reaches.
            std::uint32_t const* const positions = &positions_[used_];
            std::size_t count = 0;
            for (std::size_t i = 0; i < at_once; ++i)
                count += static_cast<std::size_t>(positions[i] < done_);
            if (count > 0)
                replace(done_ - particles, count, positions, &choices_.words[used_]);
            used_ += count;
            if (count == at_once)
                continue;
            if (used_ < known_ || reached_ >= done_)
                return;
            draw(gaps, stream);
        }
    }

private:
    static constexpr std::size_t at_once = 16;
    static constexpr std::uint32_t beyond = 0xffffffffu;

    void draw(geometric_gaps const& gaps, random_stream& stream) noexcept {
        // Positions count from here on, lest they overflow.
        done_ -= reached_;
        std::uint32_t reached = 0;
        std::size_t known = 0;
        choices_.draw(stream); // first the gaps
        for (std::size_t i = 0; i < chunk; ++i) {
            std::uint32_t const gap = gaps(choices_.words[i]);
            reached += gap;
            if (gap == geometric_gaps::limit) [[unlikely]]
                continue;
            positions_[known++] = reached++;
        }
        for (std::size_t i = 0; i < at_once; ++i)
            positions_[known + i] = beyond;
        choices_.draw(stream);
        reached_ = reached;
        known_ = known;
        used_ = 0;
    }

    std::uint32_t done_ = 0;    ///< particles before this one were asked for
    std::uint32_t reached_ = 0; ///< particles before this one are decided
    std::size_t used_ = 0, known_ = 0;
    std::array<std::uint32_t, chunk + at_once> positions_;
    word_chunk choices_;
};

} // namespace detail

} // namespace gmac::targets
