// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/abi.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// From a stack of four frames of bytes to pixels of four floats: what a first convolution on Atari reads, each image
/// twice an update. Picked together byte by byte it would take a third of the layer's time.
namespace gmac::inline GMAC_ABI::nn::detail {

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector) && __has_builtin(__builtin_convertvector)
#define GMAC_SHUFFLES_BYTES 1
#endif
#endif

#if defined(GMAC_SHUFFLES_BYTES)
typedef std::uint8_t sixteen_bytes __attribute__((vector_size(16)));
typedef std::int32_t four_integers __attribute__((vector_size(16)));
typedef float four_floats __attribute__((vector_size(16)));

/// The bytes of `a` and `b` in turns, those of the first halves and those of the second halves.
inline sixteen_bytes low_in_turns(sixteen_bytes a, sixteen_bytes b) noexcept {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
inline sixteen_bytes high_in_turns(sixteen_bytes a, sixteen_bytes b) noexcept {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/// Eight 16-bit numbers as 32-bit ones, times `scale`.
inline void write_eight(sixteen_bytes halves, float scale, float* to) noexcept {
    sixteen_bytes const zero{};
    sixteen_bytes const words[2]{__builtin_shufflevector(halves, zero, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7,
                                                         22, 23),
                                 __builtin_shufflevector(halves, zero, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14,
                                                         15, 30, 31)};
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 2; ++i) {
        four_integers integers;
        std::memcpy(&integers, &words[i], sizeof integers);
        four_floats const numbers = __builtin_convertvector(integers, four_floats) * scale;
        std::memcpy(to + 4 * i, &numbers, sizeof numbers);
    }
}

/// Sixteen pixels at a time; returns how many were done.
inline std::size_t interleave_four(std::uint8_t const* planes, std::size_t pixels, float scale, float* to) noexcept {
    if constexpr (std::endian::native != std::endian::little)
        return 0;
    sixteen_bytes const zero{};
    std::size_t p = 0;
    for (; p + 16 <= pixels; p += 16) {
        sixteen_bytes plane[4];
#pragma GCC unroll 4
        for (std::size_t c = 0; c < 4; ++c)
            std::memcpy(&plane[c], planes + c * pixels + p, sizeof plane[c]);
        sixteen_bytes const even[2]{low_in_turns(plane[0], plane[2]), high_in_turns(plane[0], plane[2])};
        sixteen_bytes const odd[2]{low_in_turns(plane[1], plane[3]), high_in_turns(plane[1], plane[3])};
#pragma GCC unroll 4
        for (std::size_t i = 0; i < 2; ++i) {
            sixteen_bytes const four[2]{low_in_turns(even[i], odd[i]), high_in_turns(even[i], odd[i])};
#pragma GCC unroll 4
            for (std::size_t j = 0; j < 2; ++j) {
                float* const place = to + 4 * (p + 8 * i + 4 * j);
                write_eight(low_in_turns(four[j], zero), scale, place);
                write_eight(high_in_turns(four[j], zero), scale, place + 8);
            }
        }
    }
    return p;
}
#else
inline std::size_t interleave_four(std::uint8_t const*, std::size_t, float, float*) noexcept {
    return 0;
}
#endif

} // namespace gmac::inline GMAC_ABI::nn::detail
