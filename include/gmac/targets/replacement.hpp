// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/random.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

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

/// Words of a random stream, the same as one by one, made many blocks at a time; the stream is left where the words
/// taken would have left it.
class word_buffer {
public:
    explicit word_buffer(random_stream& stream) noexcept : stream_(stream) {}
    word_buffer(word_buffer const&) = delete;
    word_buffer& operator=(word_buffer const&) = delete;
    ~word_buffer() { stream_.seek(stream_.position() - (words_.size() - next_)); }

    [[nodiscard]] std::uint32_t operator()() noexcept {
        if (next_ == words_.size()) [[unlikely]] {
            for (std::uint32_t& word : words_)
                word = stream_();
            next_ = 0;
        }
        return words_[next_++];
    }

private:
    static constexpr std::size_t size = 64;

    random_stream& stream_;
    alignas(64) std::array<std::uint32_t, size> words_;
    std::size_t next_ = size;
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
