// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/special.hpp>
#include <gmac/targets/sources.hpp>

#include <xsimd/xsimd.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gmac::inline GMAC_ABI::targets::detail {

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
/// geometric: P(gap ≥ k) = λ^k. A word draws one by the inverse of that law, exact to 2^-24: of u in (0, 1], log u / log λ.
/// A gap of `limit` stands for all from there on: none is replaced among so many; the law has no memory, so the next draw
/// goes on there.
class geometric_gaps {
public:
    explicit geometric_gaps(double lambda) noexcept : factor_(static_cast<float>(1.0 / std::log(lambda))) {}

    /// Writes the gaps of `count` words, a multiple of 16.
    void operator()(std::uint32_t const* words, std::size_t count, std::uint32_t* gaps) const noexcept {
        using V = lanes::widest<float>;
        for (std::size_t i = 0; i < count; i += V::size) {
            V const u = marks_of_words(words + i) + 0x1p-25f;
            V const gap = lanes::at_most(V(static_cast<float>(limit)), V(lanes::log(u) * factor_));
            lanes::detail::to_whole(gap).store_unaligned(gaps + i);
        }
    }

    static constexpr std::uint32_t limit = 1u << 20u;

private:
    float factor_;
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
        std::array<std::uint32_t, chunk> apart;
        gaps(choices_.words.data(), chunk, apart.data());
        for (std::uint32_t const gap : apart) {
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

} // namespace gmac::inline GMAC_ABI::targets::detail
