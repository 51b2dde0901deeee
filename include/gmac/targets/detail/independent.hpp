// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_bits.hpp>
#include <gmac/core/random.hpp>

#include <xsimd/xsimd.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace gmac::targets::detail {

/// How many particles are replaced at once, and how many words are drawn at once: whole blocks of the stream.
inline constexpr std::size_t chunk = 64;

/// How many replaced particles are handled at once: a multiple of the lanes of every machine.
inline constexpr std::size_t events_at_once = 16;

/// A chunk of words, and room for the lanes that read beyond its end.
struct word_chunk {
    alignas(64) std::array<std::uint32_t, chunk + 16> words;

    [[gnu::noinline]] void draw(random_stream& stream) noexcept {
        stream.fill(std::span<std::uint32_t>(words).first(chunk));
    }
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
            fill(poor, cut(share[poor]), rich);
            share[rich] -= 1.0 - share[poor];
            if (share[rich] < 1.0) {
                order[small++] = rich; // small <= large: what was taken from the back moves to the front
                ++large;
            }
            filled_ = i + 1;
        }
        for (std::size_t i = filled_; i < slots; ++i)
            fill(order[i], whole, order[i]); // one but for rounding
    }

    /// What a word draws: a gap below `limit`, or `limit`: no replaced particle among so many.
    [[nodiscard]] std::uint32_t operator()(std::uint32_t word) const noexcept {
        std::uint32_t const slot = word >> fraction_bits;
        // An index instead of a branch, which would be guessed wrong half of the time.
        return gaps_[2u * slot + (word < others_[slot] ? 0u : 1u)];
    }

    static constexpr std::uint32_t limit = 127;

private:
    static constexpr std::size_t slots = limit + 1;
    static constexpr std::uint32_t fraction_bits = 25;
    static constexpr std::uint32_t whole = 1u << fraction_bits;

    /// Words of slot i draw i if their fraction is less than `cut`, and otherwise `other`.
    void fill(std::size_t i, std::uint32_t cut, std::size_t other) noexcept {
        bool const all = cut == whole; // the last slot's end does not fit 32 bits: no fraction, and i otherwise
        others_[i] = static_cast<std::uint32_t>(i) * whole + (all ? 0u : cut);
        gaps_[2 * i] = static_cast<std::uint8_t>(i);
        gaps_[2 * i + 1] = static_cast<std::uint8_t>(all ? i : other);
    }
    [[nodiscard]] static std::uint32_t cut(double share) noexcept {
        return share > 0.0 ? static_cast<std::uint32_t>(share * whole + 0.5) : 0u;
    }

    std::array<std::uint32_t, slots> others_;  ///< from which word on a slot does not draw its own number
    std::array<std::uint8_t, 2 * slots> gaps_; ///< what a slot draws, below that word and from it on
    std::size_t filled_ = 0;
};

/// How many of events_at_once positions are less than `end`; all are below 2^31.
[[nodiscard, gnu::always_inline]] inline std::size_t count_below(std::uint32_t const* positions,
                                                                 std::uint32_t end) noexcept {
#if defined(__AVX512F__)
    static_assert(events_at_once == 16);
    __m512i const past = _mm512_sub_epi32(_mm512_loadu_si512(positions), _mm512_set1_epi32(static_cast<int>(end)));
    return static_cast<std::size_t>(std::popcount(_mm512_cmplt_epi32_mask(past, _mm512_setzero_si512())));
#else
    using integers = xsimd::batch<std::int32_t>;
    integers below(0); // one less for each: what is negative, shifted, is -1
    for (std::size_t i = 0; i < events_at_once; i += integers::size) {
        auto const position = xsimd::batch<std::uint32_t>::load_unaligned(positions + i);
        below += lanes::detail::recast<std::int32_t>(position - end) >> 31;
    }
    return static_cast<std::size_t>(-xsimd::hadd(below));
#endif
}

/// The particles of one environment that are replaced independently: their rows, end to end, are one sequence of
/// particles, and this is the list of those that are replaced, with a word for each that chooses by what.
class replacement_events {
public:
    replacement_events() noexcept { positions_.fill(beyond); }

    /// Calls replace(first, count, positions, words) for the replaced ones of the next `particles` particles, in parts of
    /// at most `events_at_once`; particle i of them has position first + i, modulo 2^32.
    template <class Replace>
    [[gnu::always_inline]] void next(std::uint32_t particles, geometric_gaps const& gaps, random_stream& stream,
                                     Replace&& replace) noexcept {
        done_ += particles;
        for (;;) {
            // Counts without a branch for each. Beyond the known ones are positions that no row reaches.
            std::uint32_t const* const positions = &positions_[used_];
            std::uint32_t const end = done_;
            std::size_t const count = count_below(positions, end);
            if (count > 0)
                replace(end - particles, count, positions, &choices_.words[used_]);
            used_ += count;
            if (count == events_at_once)
                continue;
            if (used_ < known_ || reached_ >= done_)
                return;
            draw(gaps, stream);
        }
    }

private:
    static constexpr std::uint32_t beyond = 0x7fffffffu;

    [[gnu::noinline]] void draw(geometric_gaps const& gaps, random_stream& stream) noexcept {
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
        for (std::size_t i = 0; i < events_at_once; ++i)
            positions_[known + i] = beyond;
        choices_.draw(stream);
        reached_ = reached;
        known_ = known;
        used_ = 0;
    }

    std::uint32_t done_ = 0;    ///< particles before this one were asked for
    std::uint32_t reached_ = 0; ///< particles before this one are decided
    std::size_t used_ = 0, known_ = 0;
    std::array<std::uint32_t, chunk + events_at_once> positions_;
    word_chunk choices_;
};

} // namespace gmac::targets::detail
