// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_bits.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/pack.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numbers>

/// erf and its derivative from a table of polynomials, for machines on which a table of sixteen numbers is one register and a
/// lookup one instruction: an exponential's worth of arithmetic is saved. Other lane types can use it, too, for tests.
namespace gmac::lanes {

/// Does one instruction look up sixteen numbers?
template <class V>
inline constexpr bool looks_up_sixteen = detail::is_avx512<V> && std::same_as<scalar_of<V>, float>;

/// The width of an interval of the table, z = erf_step x for the argument x of erf_by_table: the derivative is 5/16 at 0.
inline constexpr double erf_step = 5.0 / 32.0 / std::numbers::inv_sqrtpi;

template <class V>
struct erf_and_slope {
    V erf, slope; ///< with respect to x: 5/16 exp(−z²)
};

namespace detail {

/// Row k holds the coefficients of t^k, t = x − n, of polynomials of our own for n = 0 … 15: exp(−z²) interpolated at the
/// Chebyshev points of |t| ≤ 1/2 (for n = 0 at 0, too), and integrated from n. The last is 1. Before rounding, erf is exact to
/// 1.4e-8 and exp(−z²) to 1e-7, which is its size where the last interval begins, and before it to 4e-8.
alignas(64) inline constexpr std::array<std::array<float, 16>, 7> erf_table{{
    {0, 0x1.3800eep-2F, 0x1.22145cp-1F, 0x1.851e78p-1F, 0x1.c3fe98p-1F, 0x1.e64ceap-1F, 0x1.f66318p-1F, 0x1.fcdeaep-1F,
     0x1.ff1d6ep-1F, 0x1.ffc87cp-1F, 0x1.fff43ap-1F, 0x1.fffdd8p-1F, 0x1.ffffa8p-1F, 0x1.fffff4p-1F, 0x1.fffffep-1F, 1},
    {0x1.4p-2F, 0x1.285fbap-2F, 0x1.d6e992p-3F, 0x1.40ea4ap-3F, 0x1.773078p-4F, 0x1.784326p-5F, 0x1.43ad26p-6F,
     0x1.ddaf48p-8F, 0x1.2e5bb6p-9F, 0x1.4854dep-11F, 0x1.31d526p-13F, 0x1.e8b9f4p-16F, 0x1.4ef6f6p-18F,
     0x1.89dcb2p-21F, 0x1.8d41e6p-24F, 0},
    {0, -0x1.6bb49ep-6F, -0x1.20f2bep-5F, -0x1.275ddcp-5F, -0x1.cc6d34p-6F, -0x1.2096fp-6F, -0x1.29e876p-7F,
     -0x1.00773cp-8F, -0x1.730ca8p-10F, -0x1.c549e2p-12F, -0x1.d523f8p-14F, -0x1.9c54d4p-16F, -0x1.344b6ap-18F,
     -0x1.88b52p-21F, -0x1.aa8e34p-24F, 0},
    {-0x1.05cae2p-7F, -0x1.9a8adap-8F, -0x1.29c032p-9F, 0x1.8fa264p-10F, 0x1.be67fap-9F, 0x1.b457a2p-9F, 0x1.2b651p-9F,
     0x1.3e58b6p-10F, 0x1.10a60ap-11F, 0x1.7f9d14p-13F, 0x1.c0702cp-15F, 0x1.b6bb54p-17F, 0x1.6907dcp-19F,
     0x1.f58c3ap-22F, 0x1.26d75ep-24F, 0},
    {0, 0x1.a77fa4p-11F, 0x1.1a0fe4p-10F, 0x1.8753a2p-11F, 0x1.9b17bap-13F, -0x1.8a3f1p-13F, -0x1.3360b2p-12F,
     -0x1.d9d5fcp-13F, -0x1.02b2c8p-13F, -0x1.b4eb7ep-15F, -0x1.280226p-16F, -0x1.481092p-18F, -0x1.2ce13ap-20F,
     -0x1.cc347cp-23F, -0x1.270b6p-25F, 0},
    {0x1.7e1e4ap-13F, 0x1.f0cd74p-14F, -0x1.b8d61p-17F, -0x1.ae1494p-14F, -0x1.aaba3ap-14F, -0x1.919498p-15F,
     0x1.0a803cp-20F, 0x1.54b3f2p-16F, 0x1.321f5cp-16F, 0x1.56775ep-17F, 0x1.1b79e6p-18F, 0x1.70213ap-20F,
     0x1.81a4eep-22F, 0x1.4b22cp-24F, 0x1.d6dcc6p-27F, 0},
    {0, -0x1.456bc4p-16F, -0x1.62e132p-16F, -0x1.ead9bp-18F, 0x1.aaff72p-18F, 0x1.4b7ed8p-17F, 0x1.83bf4ap-18F,
     0x1.030e2cp-20F, -0x1.42dcb4p-20F, -0x1.550a72p-20F, -0x1.7d4f06p-21F, -0x1.2e55b6p-22F, -0x1.709b54p-24F,
     -0x1.661d88p-26F, -0x1.1acp-28F, 0},
}};

/// Of the sixteen numbers those whose places stand in the lowest four bits of the lanes.
template <class V>
[[nodiscard, gnu::always_inline]] inline V look_up(std::array<float, 16> const& row, V const& places) noexcept {
    if constexpr (is_pack<V>)
        return map(
            [&](auto const& p) __attribute__((always_inline)) { return look_up(row, p); }, places);
#if defined(__AVX512F__)
    else if constexpr (looks_up_sixteen<V>)
        return _mm512_maskz_permutexvar_ps(static_cast<__mmask16>(0xffff), _mm512_castps_si512(places),
                                           _mm512_load_ps(row.data()));
#endif
    else
        return V(row[std::bit_cast<std::uint32_t>(places) % 16]);
}

/// Horner's rule for the polynomial of erf and its derivative; packs go by reference, since copies of them pass through
/// memory.
template <std::size_t Left, class V>
[[nodiscard, gnu::always_inline]] inline erf_and_slope<V> horner_by_table(V const& x, V const& places, V const& t,
                                                                          V const& value, V const& slope) noexcept {
    auto const& row = erf_table[Left - 1];
    if constexpr (Left == 1)
        return {with_sign_of(x, mul_add(value, t, look_up(row, places))), mul_add(slope, t, value)};
    else
        return horner_by_table<Left - 1>(x, places, t, mul_add(value, t, look_up(row, places)),
                                         mul_add(slope, t, value));
}

} // namespace detail

/// erf(erf_step x), and its derivative. Errors: 1.2e-7 of erf(z), absolute and, near 0, relative, and 1.4e-7 of exp(−z²),
/// absolute. From z = 4.02 on they are exactly 1 and 0. NaN gives NaN. V has scalars of float.
template <class V>
[[nodiscard, gnu::always_inline]] inline erf_and_slope<V> erf_by_table(V const& x) noexcept {
    V const magic = constant<V>(detail::layout<float>::round); // rounds to n, which then stands in the lowest bits
    V const size = at_most(constant<V>(15.0), V(abs(x)));
    V const places = size + magic;
    V const t = size - V(places - magic);
    V const last = detail::look_up(detail::erf_table[6], places);
    return detail::horner_by_table<5>(x, places, t, mul_add(last, t, detail::look_up(detail::erf_table[5], places)),
                                      last);
}

} // namespace gmac::lanes
