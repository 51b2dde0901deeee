// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/bit_cast.hpp>
#include <gmac/core/lanes.hpp>

#include <xsimd/xsimd.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

/// What the special functions need to know of the machine: the bits of a number, fused multiply-add and the reciprocal
/// square root. Lane types that are computed this way are float, double and their xsimd batches.
namespace gmac::inline GMAC_ABI::lanes {

/// float, double and batches of them: lane types whose functions this library computes itself.
template <class V>
concept native = std::same_as<scalar_of<V>, float> || std::same_as<scalar_of<V>, double>;

namespace detail {

// xsimd 8 writes a b + c for AVX-512 and leaves it to the compiler to fuse the two, which clang does not.
template <class V>
[[nodiscard, gnu::always_inline]] inline V fused_mul_add(V const& a, V const& b, V const& c) noexcept {
#if defined(__AVX512F__)
    if constexpr (is_avx512<V> && sizeof(scalar_of<V>) == 4)
        return _mm512_fmadd_ps(a, b, c);
    else if constexpr (is_avx512<V>)
        return _mm512_fmadd_pd(a, b, c);
    else
#endif
        return xsimd::fma(a, b, c);
}
template <class V>
[[nodiscard, gnu::always_inline]] inline V fused_mul_sub(V const& a, V const& b, V const& c) noexcept {
#if defined(__AVX512F__)
    if constexpr (is_avx512<V> && sizeof(scalar_of<V>) == 4)
        return _mm512_fnmadd_ps(a, b, c);
    else if constexpr (is_avx512<V>)
        return _mm512_fnmadd_pd(a, b, c);
    else
#endif
        return xsimd::fnma(a, b, c);
}
// One instruction on x86, which gives its second operand where one is NaN; a comparison and a selection take four times
// as long. (xsimd's own min and max swapped their operands between versions. The masks: as lanes::sqrt.)
template <class V>
[[nodiscard, gnu::always_inline]] inline V smaller(V const& limit, V const& x) noexcept {
#if defined(__SSE2__)
    [[maybe_unused]] constexpr bool single = sizeof(scalar_of<V>) == 4;
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64 && single)
        return _mm512_maskz_min_ps(static_cast<__mmask16>(0xffff), limit, x);
    else if constexpr (sizeof(V) == 64)
        return _mm512_maskz_min_pd(static_cast<__mmask8>(0xff), limit, x);
    else
#endif
#if defined(__AVX__)
        if constexpr (sizeof(V) == 32 && single)
        return _mm256_min_ps(limit, x);
    else if constexpr (sizeof(V) == 32)
        return _mm256_min_pd(limit, x);
    else
#endif
        if constexpr (single)
        return _mm_min_ps(limit, x);
    else
        return _mm_min_pd(limit, x);
#else
    return select(limit < x, limit, x);
#endif
}
template <class V>
[[nodiscard, gnu::always_inline]] inline V greater(V const& limit, V const& x) noexcept {
#if defined(__SSE2__)
    [[maybe_unused]] constexpr bool single = sizeof(scalar_of<V>) == 4;
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64 && single)
        return _mm512_maskz_max_ps(static_cast<__mmask16>(0xffff), limit, x);
    else if constexpr (sizeof(V) == 64)
        return _mm512_maskz_max_pd(static_cast<__mmask8>(0xff), limit, x);
    else
#endif
#if defined(__AVX__)
        if constexpr (sizeof(V) == 32 && single)
        return _mm256_max_ps(limit, x);
    else if constexpr (sizeof(V) == 32)
        return _mm256_max_pd(limit, x);
    else
#endif
        if constexpr (single)
        return _mm_max_ps(limit, x);
    else
        return _mm_max_pd(limit, x);
#else
    return select(x < limit, limit, x);
#endif
}

} // namespace detail

/// a b + c, rounded once where the machine has a fused multiply-add.
template <class V>
[[nodiscard, gnu::always_inline]] inline V mul_add(V const& a, V const& b, V const& c) noexcept {
    if constexpr (is_batch<V>)
        return detail::fused_mul_add(a, b, c);
    else
        return a * b + c;
}

/// c − a b, in the same way.
template <class V>
[[nodiscard, gnu::always_inline]] inline V mul_sub(V const& a, V const& b, V const& c) noexcept {
    if constexpr (is_batch<V>)
        return detail::fused_mul_sub(a, b, c);
    else
        return c - a * b;
}

/// The smaller (greater) of the limit and x; a NaN in x stays.
template <class V>
[[nodiscard, gnu::always_inline]] inline V at_most(V const& limit, V const& x) noexcept {
    if constexpr (is_batch<V>)
        return detail::smaller(limit, x);
    else
        return select(limit < x, limit, x);
}
template <class V>
[[nodiscard, gnu::always_inline]] inline V at_least(V const& limit, V const& x) noexcept {
    if constexpr (is_batch<V>)
        return detail::greater(limit, x);
    else
        return select(x < limit, limit, x);
}

namespace detail {

template <class T>
using unsigned_of = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// IEEE 754 binary32 and binary64.
template <class T>
struct layout {
    static constexpr int mantissa_bits = sizeof(T) == 4 ? 23 : 52;
    static constexpr int bias = sizeof(T) == 4 ? 127 : 1023;
    static constexpr unsigned_of<T> mantissa = (unsigned_of<T>(1) << mantissa_bits) - 1;
    static constexpr unsigned_of<T> one = unsigned_of<T>(bias) << mantissa_bits;
    /// 1.5 · 2^mantissa_bits: adding it rounds to an integer, which then stands in the lowest bits.
    static constexpr double round = sizeof(T) == 4 ? 0x1.8p23 : 0x1.8p52;
};

template <class V>
struct bits_of {
    using type = unsigned_of<V>;
};
template <class T, class A>
struct bits_of<xsimd::batch<T, A>> {
    using type = xsimd::batch<unsigned_of<T>, A>;
};

/// The bits of a batch as numbers of another type of that size.
template <class U, class T, class A>
[[nodiscard, gnu::always_inline]] inline xsimd::batch<U, A> recast(xsimd::batch<T, A> const& x) noexcept {
#if XSIMD_VERSION_MAJOR >= 11
    return xsimd::bitwise_cast<U>(x);
#else
    return xsimd::bitwise_cast<xsimd::batch<U, A>>(x);
#endif
}
template <class V>
[[nodiscard, gnu::always_inline]] inline auto to_bits(V const& x) noexcept {
    if constexpr (is_batch<V>)
        return recast<unsigned_of<scalar_of<V>>>(x);
    else
        return gmac::detail::bit_cast<unsigned_of<V>>(x);
}
template <class V>
[[nodiscard, gnu::always_inline]] inline V from_bits(typename bits_of<V>::type const& x) noexcept {
    if constexpr (is_batch<V>)
        return recast<scalar_of<V>>(x);
    else
        return gmac::detail::bit_cast<V>(x);
}

#if defined(__AVX512F__)
// Masked, as lanes::sqrt.
template <int Count, class T, class A>
[[nodiscard, gnu::always_inline]] inline xsimd::batch<T, A> shift_left_512(xsimd::batch<T, A> const& x) noexcept {
    if constexpr (sizeof(T) == 4)
        return _mm512_maskz_slli_epi32(static_cast<__mmask16>(0xffff), x, Count);
    else
        return _mm512_maskz_slli_epi64(static_cast<__mmask8>(0xff), x, Count);
}
template <int Count, class T, class A>
[[nodiscard, gnu::always_inline]] inline xsimd::batch<T, A> shift_right_512(xsimd::batch<T, A> const& x) noexcept {
    if constexpr (sizeof(T) == 4)
        return _mm512_maskz_srli_epi32(static_cast<__mmask16>(0xffff), x, Count);
    else
        return _mm512_maskz_srli_epi64(static_cast<__mmask8>(0xff), x, Count);
}
#endif

template <int Count, class B>
[[nodiscard, gnu::always_inline]] inline B shift_left(B const& x) noexcept {
#if defined(__AVX512F__)
    if constexpr (is_avx512<B>)
        return shift_left_512<Count>(x);
    else
#endif
        return x << Count;
}
template <int Count, class B>
[[nodiscard, gnu::always_inline]] inline B shift_right(B const& x) noexcept {
#if defined(__AVX512F__)
    if constexpr (is_avx512<B>)
        return shift_right_512<Count>(x);
    else
#endif
        return x >> Count;
}

/// Whole numbers below 2^31 as float, and back, rounded towards 0.
template <class A>
[[nodiscard, gnu::always_inline]] inline xsimd::batch<float, A> to_real(
    xsimd::batch<std::uint32_t, A> const& x) noexcept {
#if defined(__AVX512F__)
    if constexpr (is_avx512<xsimd::batch<float, A>>)
        return _mm512_maskz_cvtepi32_ps(static_cast<__mmask16>(0xffff), x); // masked, as lanes::sqrt
    else
#endif
        return xsimd::to_float(recast<std::int32_t>(x));
}
template <class A>
[[nodiscard, gnu::always_inline]] inline xsimd::batch<std::uint32_t, A> to_whole(
    xsimd::batch<float, A> const& x) noexcept {
#if defined(__AVX512F__)
    if constexpr (is_avx512<xsimd::batch<float, A>>)
        return _mm512_maskz_cvttps_epi32(static_cast<__mmask16>(0xffff), x);
    else
#endif
        return recast<std::uint32_t>(xsimd::to_int(x));
}

/// 2^n for the integer n whose bits, plus the bias, are the lowest of x: the exponent field of a normal number.
template <class V>
[[nodiscard, gnu::always_inline]] inline V power_of_two(V const& x) noexcept {
    return from_bits<V>(shift_left<layout<scalar_of<V>>::mantissa_bits>(to_bits(x)));
}

/// magnitude ≥ 0 with the sign of x.
template <class V>
[[nodiscard, gnu::always_inline]] inline V with_sign_of(V const& x, V const& magnitude) noexcept {
    using B = typename bits_of<V>::type;
    using T = scalar_of<V>;
    return from_bits<V>(to_bits(magnitude) | (to_bits(x) & B(gmac::detail::bit_cast<unsigned_of<T>>(T(-0.0)))));
}

#if defined(__AVX512F__)
/// 1/√x to 14 bits.
template <class T, class A>
[[nodiscard, gnu::always_inline]] inline xsimd::batch<T, A> estimate_inverse_sqrt(
    xsimd::batch<T, A> const& x) noexcept {
    if constexpr (std::same_as<T, float>)
        return _mm512_maskz_rsqrt14_ps(static_cast<__mmask16>(0xffff), x);
    else
        return _mm512_maskz_rsqrt14_pd(static_cast<__mmask8>(0xff), x);
}
// Doubled by Newton's steps this is several times as fast as a square root and a division.
template <class V>
[[nodiscard, gnu::always_inline]] inline V inverse_sqrt_512(V const& x, V const& cap) noexcept {
    V estimate = at_most(cap, estimate_inverse_sqrt(x)); // so that the steps find no infinity
    V const half_x = constant<V>(-0.5) * x;
    for (int step = 0; step < (std::same_as<scalar_of<V>, float> ? 1 : 2); ++step) {
        V const defect = mul_add(V(half_x * estimate), estimate, constant<V>(0.5)); // (1 − x y²) / 2
        estimate = mul_add(estimate, defect, estimate);
    }
    return estimate;
}
#endif

} // namespace detail

/// 1/√x for x = 0 or normal x > 0, to 2 units in the last place; where that is greater than `cap` (x = 0 among them), a finite number
/// between cap and three times cap.
template <class V>
[[nodiscard, gnu::always_inline]] inline V inverse_sqrt(V const& x, V const& cap) noexcept {
#if defined(__AVX512F__)
    if constexpr (detail::is_avx512<V>)
        return detail::inverse_sqrt_512(x, cap);
    else
#endif
        return at_most(cap, V(constant<V>(1.0) / sqrt(x)));
}

} // namespace gmac::inline GMAC_ABI::lanes
