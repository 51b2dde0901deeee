// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/detail/normal_quantile.hpp>
#include <gmac/core/error.hpp>

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace gmac::inline GMAC_ABI {

/// A counter-based random stream: Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").
///
/// `seed` is the key, `stream` the upper half of the counter and the position the lower half, so streams of one seed
/// never overlap and need no warming up. Give every environment and every purpose a stream of its own; then a run is
/// the same for any number of threads. Models std::uniform_random_bit_generator. The samplers below are our own, since
/// those of the standard library differ between its implementations.
class random_stream {
public:
    using result_type = std::uint32_t;

    explicit constexpr random_stream(std::uint64_t seed = 0, std::uint64_t stream = 0) noexcept
        : seed_(seed), stream_(stream) {}

    [[nodiscard]] static constexpr result_type(min)() noexcept { return 0; }
    [[nodiscard]] static constexpr result_type(max)() noexcept { return 0xffffffffu; }

    constexpr result_type operator()() noexcept {
        auto const word = static_cast<std::size_t>(position_ & 3u);
        if (word == 0)
            block_ = philox(position_ >> 2u);
        ++position_;
        return block_[word];
    }

    /// The next words, the same as one by one, many blocks at a time where the machine can.
    void fill(std::span<result_type> words) noexcept {
        std::size_t i = 0;
#if defined(__AVX2__)
        for (; i < words.size() && (position_ & 3u) != 0; ++i)
            words[i] = (*this)();
        for (; words.size() - i >= words_at_once; i += words_at_once, position_ += words_at_once)
            many_blocks(position_ >> 2u, &words[i]);
#endif
        for (; i < words.size(); ++i)
            words[i] = (*this)();
    }

    /// Uniform on [0, 1): 24 random bits for float, 53 for double.
    template <std::floating_point T>
    constexpr T uniform() noexcept {
        if constexpr (std::numeric_limits<T>::digits <= 24) {
            return static_cast<T>((*this)() >> 8u) * T(0x1p-24);
        } else {
            std::uint64_t const high = (*this)() >> 5u;
            std::uint64_t const low = (*this)() >> 6u;
            return static_cast<T>(high * 67108864u + low) * T(0x1p-53);
        }
    }

    /// Uniform on (0, 1): the centres of the 2^24 or 2^53 cells; never 0 or 1, so a quantile of it is finite.
    template <std::floating_point T>
    constexpr T open_uniform() noexcept {
        if constexpr (std::numeric_limits<T>::digits <= 24)
            return (static_cast<T>((*this)() >> 9u) + T(0.5)) * T(0x1p-23);
        else
            return uniform<T>() * (T(1) - T(0x1p-53)) + T(0x1p-54);
    }

    /// Standard normal, by inversion of one uniform: no state beyond the position, monotone in the uniform.
    template <std::floating_point T>
    T normal() noexcept;

    /// Uniform on {0, …, count − 1}, exactly (Lemire 2019); count must be positive.
    constexpr std::uint32_t below(std::uint32_t count) noexcept {
        std::uint64_t product = static_cast<std::uint64_t>((*this)()) * count;
        if (static_cast<std::uint32_t>(product) < count) {
            std::uint32_t const threshold = (0u - count) % count;
            while (static_cast<std::uint32_t>(product) < threshold)
                product = static_cast<std::uint64_t>((*this)()) * count;
        }
        return static_cast<std::uint32_t>(product >> 32u);
    }

    /// Fisher-Yates.
    template <class T>
    constexpr void shuffle(std::span<T> items) noexcept {
        for (std::size_t i = items.size(); i > 1; --i)
            std::swap(items[i - 1], items[below(static_cast<std::uint32_t>(i))]);
    }

    [[nodiscard]] constexpr std::uint64_t seed() const noexcept { return seed_; }
    [[nodiscard]] constexpr std::uint64_t stream() const noexcept { return stream_; }
    /// How many 32-bit words were drawn.
    [[nodiscard]] constexpr std::uint64_t position() const noexcept { return position_; }

    constexpr void seek(std::uint64_t position) noexcept {
        position_ = position;
        if ((position & 3u) != 0)
            block_ = philox(position >> 2u);
    }

    void persist(archive& state, std::string_view name) {
        std::array<std::uint64_t, 3> words{seed_, stream_, position_};
        state(name, std::span<std::uint64_t>(words));
        seed_ = words[0];
        stream_ = words[1];
        seek(words[2]);
    }

    /// One block of four words: the function that the authors publish known answers for.
    [[nodiscard]] static constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                                                       std::array<std::uint32_t, 2> key) noexcept {
        for (int round = 0; round < 10; ++round) {
            std::uint64_t const a = static_cast<std::uint64_t>(counter[0]) * 0xD2511F53u;
            std::uint64_t const b = static_cast<std::uint64_t>(counter[2]) * 0xCD9E8D57u;
            counter = {static_cast<std::uint32_t>(b >> 32u) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
                       static_cast<std::uint32_t>(a >> 32u) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
            key[0] += 0x9E3779B9u;
            key[1] += 0xBB67AE85u;
        }
        return counter;
    }

private:
    [[nodiscard]] constexpr std::array<std::uint32_t, 4> philox(std::uint64_t block) const noexcept {
        auto const low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
        auto const high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32u); };
        return philox({low(block), high(block), low(stream_), high(stream_)}, {low(seed_), high(seed_)});
    }

#if defined(__AVX2__)
#if defined(__AVX512DQ__)
    static constexpr std::size_t vector_bytes = 64;
#else
    static constexpr std::size_t vector_bytes = 32;
#endif
    using lanes = std::uint64_t __attribute__((vector_size(vector_bytes)));
    /// Two vectors of blocks, of four words each: their chains of products hide each other's latency.
    static constexpr std::size_t words_at_once = vector_bytes;

    /// The product of the lower halves of each lane with 32 bits.
    [[nodiscard]] static lanes multiply(lanes x, std::uint64_t factor) noexcept {
#if defined(__AVX512DQ__)
        return (x & 0xffffffffu) * factor;
#else
        return reinterpret_cast<lanes>(
            _mm256_mul_epu32(reinterpret_cast<__m256i>(x), _mm256_set1_epi64x(static_cast<long long>(factor))));
#endif
    }

    /// philox of some blocks in a row: a lane is a block and holds 32 bits, so a product keeps all of its 64. What stands above
    /// the 32 bits is ignored until the end.
    void many_blocks(std::uint64_t block, result_type* words) const noexcept {
        constexpr std::uint64_t low = 0xffffffffu;
        constexpr std::size_t width = vector_bytes / sizeof(std::uint64_t);
        lanes const zero = {};
        lanes count;
        for (std::uint64_t lane = 0; lane < width; ++lane)
            count[lane] = lane;
        std::array<std::array<lanes, 4>, 2> counter;
        for (std::uint64_t half = 0; half < 2; ++half) {
            lanes const number = count + (block + width * half);
            counter[half] = {number, number >> 32u, zero + stream_, zero + (stream_ >> 32u)};
        }
        std::array<lanes, 2> key{zero + seed_, zero + (seed_ >> 32u)};
        for (int round = 0; round < 10; ++round) {
            for (auto& c : counter) {
                lanes const a = multiply(c[0], 0xD2511F53u);
                lanes const b = multiply(c[2], 0xCD9E8D57u);
                c = {(b >> 32u) ^ c[1] ^ key[0], b, (a >> 32u) ^ c[3] ^ key[1], a};
            }
            key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
        }
        for (auto const& c : counter) {
            lanes const first = (c[0] & low) | c[1] << 32u; // two words of each block
            lanes const second = (c[2] & low) | c[3] << 32u;
#if defined(__AVX512DQ__)
            std::array<lanes, 2> const blocks{__builtin_shufflevector(first, second, 0, 8, 1, 9, 2, 10, 3, 11),
                                              __builtin_shufflevector(first, second, 4, 12, 5, 13, 6, 14, 7, 15)};
#else
            std::array<lanes, 2> const blocks{__builtin_shufflevector(first, second, 0, 4, 1, 5),
                                              __builtin_shufflevector(first, second, 2, 6, 3, 7)};
#endif
            std::memcpy(words, blocks.data(), sizeof blocks);
            words += 4 * width;
        }
    }
#endif

    std::uint64_t seed_;
    std::uint64_t stream_;
    std::uint64_t position_ = 0;
    std::array<std::uint32_t, 4> block_{};
};

/// What a stream is for: the upper bits of its number. `stream_for(purpose, index)` keeps purposes apart.
enum class stream_purpose : std::uint64_t {
    initialisation = 1,
    environment = 2,
    action = 3,
    target = 4,
    minibatch = 5,
    fraction = 6,
    evaluation = 7,
    condition = 8,
    exploration = 9,
    rank = 10,
    user = 100
};

[[nodiscard]] constexpr random_stream stream_for(std::uint64_t seed, stream_purpose purpose,
                                                 std::uint64_t index = 0) noexcept {
    return random_stream(seed, (static_cast<std::uint64_t>(purpose) << 48u) | index);
}

/// The seed of one of several processes that train together: `seed` itself for rank 0.
[[nodiscard]] constexpr std::uint64_t seed_of_rank(std::uint64_t seed, std::size_t rank) noexcept {
    if (rank == 0)
        return seed;
    random_stream random = stream_for(seed, stream_purpose::rank, rank);
    std::uint64_t const high = random();
    return high << 32u | random();
}

/// The quantile function of the standard normal distribution on (0, 1), to 1e-15 relative (Wichura 1988, AS 241).
template <std::floating_point T>
[[nodiscard]] inline T standard_normal_quantile(T probability) noexcept {
    using table = detail::normal_quantile_table;
    auto const ratio = [](double x, std::array<double, 8> const& numerator, std::array<double, 8> const& denominator) {
        double above = numerator[7];
        double below = denominator[7];
        for (std::size_t i = 7; i-- > 0;) {
            above = above * x + numerator[i];
            below = below * x + denominator[i];
        }
        return above / below;
    };
    auto const p = static_cast<double>(probability);
    double const q = p - 0.5;
    if (std::abs(q) <= 0.425)
        return static_cast<T>(q * ratio(0.180625 - q * q, table::central_numerator, table::central_denominator));
    double const r = std::sqrt(-std::log(q < 0.0 ? p : 1.0 - p));
    double const tail = r <= 5.0 ? ratio(r - 1.6, table::middle_numerator, table::middle_denominator)
                                 : ratio(r - 5.0, table::far_numerator, table::far_denominator);
    return static_cast<T>(q < 0.0 ? -tail : tail);
}

template <std::floating_point T>
T random_stream::normal() noexcept {
    return standard_normal_quantile(open_uniform<T>());
}

} // namespace gmac::inline GMAC_ABI
