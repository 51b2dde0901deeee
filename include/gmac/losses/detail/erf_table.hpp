// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/bit_cast.hpp>
#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/losses/detail/folded_normal.hpp>
#include <gmac/losses/detail/target_block.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numbers>

/// Pairs of the mixture energy with erf looked up, in lanes of float with AVX-512, where a table of sixteen numbers is one
/// register and a lookup one instruction. erf is a polynomial of degree 6 for each of sixteen intervals and exp(−z²) is its
/// derivative: no reduction of the range, no branch between small and large arguments. The particles are gone through twice,
/// since a pair is a longer chain of dependent operations than the machine can overlap with the next ones. With it the
/// mixture energy of K = 5 and m = 128 is 1.6 times as fast (Zen 5; Zen 4: 1.55).
namespace gmac::inline GMAC_ABI::losses::detail {

/// Does one instruction look up sixteen numbers?
template <class V>
inline constexpr bool looks_up_sixteen = lanes::detail::is_avx512<V> && std::same_as<lanes::scalar_of<V>, float>;

/// The width of an interval of the table, z = erf_step x for the argument x of erf_by_table: the derivative is 5/16 at 0.
inline constexpr double erf_step = 5.0 / 32.0 / std::numbers::inv_sqrtpi;

template <class V>
struct erf_and_slope {
    V erf, slope; ///< with respect to x: 5/16 exp(−z²)
};

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
#if defined(__AVX512F__)
    if constexpr (looks_up_sixteen<V>)
        return _mm512_maskz_permutexvar_ps(static_cast<__mmask16>(0xffff), _mm512_castps_si512(places),
                                           _mm512_load_ps(row.data()));
    else
#endif
        return V(row[gmac::detail::bit_cast<std::uint32_t>(places) % 16]);
}

/// erf(erf_step x), and its derivative, of N arguments side by side. Errors: 1.2e-7 of erf(z), absolute and, near 0, relative,
/// and 1.4e-7 of exp(−z²), absolute. From z = 4.02 on they are exactly 1 and 0. NaN gives NaN. V is float, or lanes that look
/// up sixteen.
template <class V, std::size_t N>
[[nodiscard, gnu::always_inline]] inline std::array<erf_and_slope<V>, N> erf_by_table(
    std::array<V, N> const& x) noexcept {
    // Rounds to n, which then stands in the lowest bits.
    V const magic = lanes::constant<V>(lanes::detail::layout<float>::round);
    V const last = lanes::constant<V>(15.0);
    std::array<V, N> places, t;
    std::array<erf_and_slope<V>, N> found;
#pragma GCC unroll 2
    for (std::size_t i = 0; i < N; ++i) {
        V const size = lanes::at_most(last, V(lanes::abs(x[i])));
        places[i] = size + magic;
        t[i] = size - V(places[i] - magic);
        found[i].slope = look_up(erf_table[6], places[i]);
        found[i].erf = lanes::mul_add(found[i].slope, t[i], look_up(erf_table[5], places[i]));
    }
    // Horner's rule for the polynomial and its derivative.
#pragma GCC unroll 5
    for (std::size_t k = 0; k < 5; ++k)
#pragma GCC unroll 2
        for (std::size_t i = 0; i < N; ++i) {
            found[i].slope = lanes::mul_add(found[i].slope, t[i], found[i].erf);
            found[i].erf = lanes::mul_add(found[i].erf, t[i], look_up(erf_table[4 - k], places[i]));
        }
#pragma GCC unroll 2
    for (std::size_t i = 0; i < N; ++i)
        found[i].erf = lanes::detail::with_sign_of(x[i], found[i].erf);
    return found;
}

/// Particles j … j + N − 1, whose arguments of the table stand in x and h.
template <std::size_t N, bool WithGradient, bool Weighted, bool Points, class V>
[[gnu::always_inline]] inline void add_looked_up(kernels::pair_sums<V>& sums, V const& mean, V const& doubled_variance,
                                                 particle_tile<V> const& tile, V const* x, V const* h,
                                                 std::size_t j) noexcept {
    std::array<V, N> arguments;
    std::copy_n(x + j, N, arguments.begin());
    auto const found = erf_by_table(arguments);
#pragma GCC unroll 2
    for (std::size_t i = 0; i < N; ++i) {
        kernels::pair_terms<V> const terms{V(found[i].slope * h[j + i]), found[i].erf};
        V const d = mean - tile.means[j + i];
        V const q = Points ? doubled_variance : doubled_variance + tile.doubled_variances[j + i];
        if constexpr (Weighted)
            kernels::add_terms<WithGradient>(sums, terms, d, q, tile.weights[j + i]);
        else
            kernels::add_terms<WithGradient>(sums, terms, d, q);
    }
}

/// What sums_over_tile gives, by the table.
template <bool WithGradient, bool Weighted, bool Points, class V>
[[nodiscard, gnu::always_inline]] inline kernels::pair_sums<V> sums_by_table(V const& mean, V const& doubled_variance,
                                                                             particle_tile<V> const& tile,
                                                                             std::size_t start) noexcept {
    std::array<V, tile_size> x, h; // d h and h in steps of the table
    V const own_mean = mean, own_variance = doubled_variance;
    V const scale = lanes::constant<V>(erf_step * erf_step);
    V const scaled = own_variance * scale;
    V const root_of_points = kernels::inverse_root(scaled);
    for (std::size_t j = start; j < tile.size; ++j) {
        h[j] =
            Points ? root_of_points : kernels::inverse_root(lanes::mul_add(tile.doubled_variances[j], scale, scaled));
        x[j] = V(own_mean - tile.means[j]) * h[j];
    }
    kernels::pair_sums<V> sums;
    std::size_t j = start;
    for (; j + 2 <= tile.size; j += 2)
        add_looked_up<2, WithGradient, Weighted, Points>(sums, own_mean, own_variance, tile, x.data(), h.data(), j);
    if (j < tile.size)
        add_looked_up<1, WithGradient, Weighted, Points>(sums, own_mean, own_variance, tile, x.data(), h.data(), j);
    V const factor = lanes::constant<V>(0.5 / kernels::inverse_sqrt_pi); // of exp(−d² h²) in the slope
    sums.exponentials = sums.exponentials * factor;
    sums.density = sums.density * factor;
    return sums;
}

} // namespace gmac::inline GMAC_ABI::losses::detail
