// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/random.hpp>
#include <gmac/targets/detail/independent.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gmac::inline GMAC_ABI::targets::detail {

/// How many particles are stratified together.
inline constexpr std::size_t stratum = 512;

/// Systematic choices of places 0 … count − 1, each with probability `rate`: the integer parts of (j + shift) / rate, j = 0,
/// 1, …, for a shift in [0, 1) that a word gives; exact to 2^-32.
class even_places {
public:
    even_places(std::size_t count, double rate) noexcept
        : count_(count),
          spacing_(static_cast<std::uint64_t>((std::min)(1.0 / rate, 0x1p30) * one)),
          most_(static_cast<std::size_t>(((std::uint64_t{count} << 32u) + spacing_ - 1) / spacing_)) {}

    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    /// So many are chosen, or one less.
    [[nodiscard]] std::size_t most() const noexcept { return most_; }
    /// (j + shift) / rate in units of 2^-32; of j + 1, one spacing more.
    [[nodiscard]] std::uint64_t mark(std::size_t j, std::uint32_t word) const noexcept {
        // Through signed numbers, since only AVX-512 converts unsigned ones.
        double const first = word * (1.0 / one) * static_cast<double>(static_cast<std::int64_t>(spacing_));
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(first)) + j * spacing_;
    }
    [[nodiscard]] std::uint64_t spacing() const noexcept { return spacing_; }
    /// The place of a mark, or `count`.
    [[nodiscard]] std::size_t place(std::uint64_t mark) const noexcept {
        return (std::min)(static_cast<std::size_t>(mark >> 32u), count_);
    }

private:
    static constexpr double one = 0x1p32;

    std::size_t count_;
    std::uint64_t spacing_; ///< at least one, in units of 2^-32
    std::size_t most_;
};

/// The order of a group's particles by age, the oldest first, and choices from it.
class age_order {
    using Number = std::uint16_t;

public:
    /// All `count` <= stratum particles are new.
    void reset(std::size_t count) noexcept {
        for (auto& order : order_)
            order[before + count] = 0; // is read, but not used
        for (std::size_t i = 0; i < count; ++i)
            order_[now_][before + i] = static_cast<Number>(i);
    }

    /// The particles at places that a word gives; they become the youngest. Returns their number; writes places.most().
    std::size_t choose(even_places const& places, std::uint32_t word, std::uint32_t* chosen) noexcept {
        std::size_t const count = places.count();
        std::size_t const gap = static_cast<std::size_t>(places.spacing() >> 32u); // no wider one is between two places
        Number const* const old = &order_[now_][before];
        now_ = 1 - now_;
        Number* const order = &order_[now_][before];
        // What is moved in excess is before the gap, and is written over later: from the last gap to the first.
        auto const move_gap_before = [&](std::size_t place, std::size_t by) __attribute__((always_inline)) {
            std::memcpy(order + place - by - before, old + place - before, before * sizeof(Number));
            if (gap > before) [[unlikely]]
                move(old + place, order + place - by, (std::min)(gap, place));
        };
        std::uint64_t mark = places.mark(places.most() - 1, word);
        std::size_t const number = places.most() - (places.place(mark) < count ? 0u : 1u);
        Number* const youngest = order + (count - number);
        move_gap_before(count, number);
        // Also one too many: the end of a loop over those that are chosen would be guessed wrong half of the time.
        for (std::size_t j = places.most(); j-- > 0; mark -= places.spacing()) {
            std::size_t const place = places.place(mark);
            Number const particle = old[place];
            chosen[j] = particle;
            youngest[j] = particle;
            move_gap_before(place, j);
        }
        return number;
    }

private:
    /// So much of a gap is moved at once, and may be moved in excess.
    static constexpr std::size_t before = 32;

    /// The last `size` numbers before two places.
    [[gnu::noinline]] static void move(Number const* from, Number* to, std::size_t size) noexcept {
        std::memcpy(to - size, from - size, size * sizeof(Number));
    }

    std::array<std::array<Number, before + stratum + 1>, 2> order_;
    std::size_t now_ = 0;
};

/// The particles of one environment that are replaced in strata in a step, with a word for each that chooses by what.
class stratified_events {
public:
    /// All `count` particles are new.
    void reset(std::size_t count) noexcept { order_.reset(count); }

    void next(even_places const& places, random_stream& stream) noexcept {
        std::uint32_t const shift = stream();
        std::uint32_t const offset = stream();
        count_ = order_.choose(places, shift, positions_.data());
        if (count_ > 0)
            stratify(choices_.data(), offset, 0, count_, count_);
    }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    /// There is room for events_at_once more.
    [[nodiscard]] std::uint32_t const* positions() const noexcept { return positions_.data(); }
    [[nodiscard]] std::uint32_t const* words() const noexcept { return choices_.data(); }

    /// Words first … first + here − 1 of `count` that divide the range of words evenly.
    static void stratify(std::uint32_t* words, std::uint32_t offset, std::size_t first, std::size_t here,
                         std::size_t count) noexcept {
        std::uint32_t const share = static_cast<std::uint32_t>((std::uint64_t(1) << 32u) / count); // of one: 0, all
        for (std::size_t i = 0; i < here; ++i)
            words[i] = offset + static_cast<std::uint32_t>(first + i) * share;
    }

private:
    std::size_t count_ = 0;
    age_order order_;
    std::array<std::uint32_t, stratum + events_at_once> positions_, choices_;
};

} // namespace gmac::inline GMAC_ABI::targets::detail
