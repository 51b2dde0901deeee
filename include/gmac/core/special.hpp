// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/bit_cast.hpp>
#include <gmac/core/detail/normal_quantile.hpp>
#include <gmac/core/detail/special_coefficients.hpp>
#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <type_traits>

/// The transcendental functions of the kernels over a lane type: one source for float, double and every xsimd batch, so
/// that a result does not depend on the lane width beyond the rounding of fused multiply-adds. Every other lane type
/// (gmac::counted, a dual number) brings `exp`, `log`, `log1p` and `erf` in its own namespace, and may bring `exp_erf`.
///
/// NaN and infinity give what the standard library gives. Errors are in units of the last place (ulp) of the exact
/// result; the figures are the largest that tests/core/special.cpp finds.
namespace gmac::inline GMAC_ABI::lanes {

/// exp(−z²) and erf(z).
template <class V>
struct exp_erf_result {
    V exp, erf;
};

namespace detail {

/// Horner's rule, unrolled.
template <std::size_t From = 0, class V, std::size_t N>
[[nodiscard, gnu::always_inline]] inline V polynomial(V const& x, std::array<double, N> const& c) noexcept {
    if constexpr (From + 1 == N)
        return constant<V>(c[From]);
    else
        return mul_add(polynomial<From + 1>(x, c), x, constant<V>(c[From]));
}

/// exp(−x) = p · 2^n with p in [0.7, 1.5]; gives p. `shifted` holds the integer n, plus the bias, in its lowest bits.
template <class V>
[[nodiscard, gnu::always_inline]] inline V exp_of_minus(V const& x, V& n, V& shifted) noexcept {
    using T = scalar_of<V>;
    using c = coefficients<T>;
    constexpr double inverse_ln2 = 0x1.71547652b82fep0;
    V const magic = constant<V>(layout<T>::round + layout<T>::bias);
    shifted = mul_add(x, constant<V>(-inverse_ln2), magic);
    n = shifted - magic;
    V const r = mul_add(n, constant<V>(c::ln2_low), mul_add(n, constant<V>(c::ln2_high), x)); // −r is what is left
    return polynomial(r, c::exp);
}

/// exp(x): 2^n is put on in two halves, so that neither overflow nor gradual underflow needs a case of its own.
template <class V>
[[nodiscard]] inline V exp_native(V const& x) noexcept {
    using T = scalar_of<V>;
    using c = coefficients<T>;
    V const lowest = constant<V>(c::exp_lowest);
    V const highest = constant<V>(c::exp_highest);
    V n, shifted;
    V const value = exp_of_minus(V(-at_least(lowest, at_most(highest, x))), n, shifted);
    V const magic = constant<V>(layout<T>::round + layout<T>::bias);
    V const half = mul_add(n, constant<V>(0.5), magic);
    V const rest = V(n - V(half - magic)) + magic;
    return value * power_of_two(half) * power_of_two(rest);
}

/// Inlined by force: what the call would pass through memory is what the kernels spend their time on.
template <class V>
[[nodiscard, gnu::always_inline]] inline exp_erf_result<V> exp_erf_native(V const& z) noexcept {
    using c = coefficients<scalar_of<V>>;
    // From the end on n is −bias, so that the power of two is exactly zero. Subnormal numbers would come next: machines
    // take ten times as long for those.
    V const a = at_most(constant<V>(c::erf_end), abs(z));
    V const square = a * a;
    V n, shifted;
    V const value = exp_of_minus(square, n, shifted);
    V const exponential = value * power_of_two(shifted);
    V const split = constant<V>(c::erf_split);
    V const low = mul_add(polynomial(square, c::erf_low), z, z);
    V const high = mul_add(exponential, polynomial(V(a - split), c::erf_high), constant<V>(1.0));
    return {exponential, select(a < split, low, with_sign_of(z, high))};
}

/// log(x) for x > 0, finite.
template <class V>
[[nodiscard]] inline V log_positive(V const& x) noexcept {
    using T = scalar_of<V>;
    using B = typename bits_of<V>::type;
    using c = coefficients<T>;
    V const one = constant<V>(1.0);
    V const zero = constant<V>(0.0);
    // Subnormal numbers are scaled up first.
    constexpr double scale = sizeof(T) == 4 ? 0x1p24 : 0x1p54;
    auto const subnormal = x < constant<V>(static_cast<double>((std::numeric_limits<T>::min)()));
    B const bits = to_bits(V(select(subnormal, V(x * constant<V>(scale)), x)));
    // The exponent as a number: put into the last bits of 2^mantissa_bits, which is taken away again.
    constexpr double two_to_mantissa = sizeof(T) == 4 ? 0x1p23 : 0x1p52;
    V const biased = from_bits<V>(shift_right<layout<T>::mantissa_bits>(bits) |
                                  B(gmac::detail::bit_cast<unsigned_of<T>>(static_cast<T>(two_to_mantissa))));
    V const mantissa = from_bits<V>((bits & B(layout<T>::mantissa)) | B(layout<T>::one)); // in [1, 2)
    auto const upper = mantissa > constant<V>(0x1.6a09e6p0);
    V const m = select(upper, V(mantissa * constant<V>(0.5)), mantissa); // in [√½, √2]
    V const e = V(biased - constant<V>(two_to_mantissa + layout<T>::bias)) + select(upper, one, zero) -
                select(subnormal, constant<V>(sizeof(T) == 4 ? 24.0 : 54.0), zero);
    // log m = f − s (f − s² R), with f = m − 1 exact and s = f / (2 + f).
    V const f = m - one;
    V const s = f / (f + constant<V>(2.0));
    V const s2 = s * s;
    V const small = s * (f - s2 * polynomial(s2, c::log));
    return mul_add(e, constant<V>(c::ln2_high), V(f - (small - e * constant<V>(c::ln2_low))));
}

template <class V>
[[nodiscard]] inline V log_native(V const& x) noexcept {
    using limits = std::numeric_limits<scalar_of<V>>;
    V const zero = constant<V>(0.0);
    V const infinity(limits::infinity());
    V const special = select(x == zero, V(-infinity), select(x < zero, V(limits::quiet_NaN()), x));
    return select(x > zero, select(x < infinity, log_positive(x), special), special);
}

template <class V>
[[nodiscard]] inline V log1p_native(V const& x) noexcept {
    V const one = constant<V>(1.0);
    V const zero = constant<V>(0.0);
    V const sum = x + one;
    // What the addition lost, to first order. Beyond 2^60 nothing was, and infinity has no difference.
    V const lost = x - V(sum - one);
    auto const corrected = V(sum * sum) < constant<V>(0x1p120); // not NaN
    V const correction = select(sum > zero, select(corrected, V(lost / sum), zero), zero);
    return log_native(sum) + correction;
}

} // namespace detail

namespace lookup {

// As in lanes.hpp: unqualified calls find the overloads of the lane type and nothing else.
void exp() = delete;
void log() = delete;
void log1p() = delete;
void erf() = delete;
void exp_erf() = delete;

struct exp_fn {
    template <class V>
    [[nodiscard]] V operator()(V const& x) const noexcept {
        if constexpr (native<V>)
            return detail::exp_native(x);
        else
            return exp(x);
    }
};
struct log_fn {
    template <class V>
    [[nodiscard]] V operator()(V const& x) const noexcept {
        if constexpr (native<V>)
            return detail::log_native(x);
        else
            return log(x);
    }
};
struct log1p_fn {
    template <class V>
    [[nodiscard]] V operator()(V const& x) const noexcept {
        if constexpr (native<V>)
            return detail::log1p_native(x);
        else
            return log1p(x);
    }
};
struct exp_erf_fn {
    template <class V>
    [[nodiscard, gnu::always_inline]] exp_erf_result<V> operator()(V const& z) const noexcept {
        if constexpr (native<V>)
            return detail::exp_erf_native(z);
        else if constexpr (requires { exp_erf(z); })
            return exp_erf(z);
        else
            return {exp(V(-(z * z))), erf(z)};
    }
};
struct erf_fn {
    template <class V>
    [[nodiscard]] V operator()(V const& x) const noexcept {
        if constexpr (native<V>)
            return detail::exp_erf_native(x).erf;
        else
            return erf(x);
    }
};

} // namespace lookup

/// exp(x), to 1.2 ulp (0.9 with fused multiply-adds).
inline constexpr lookup::exp_fn exp{};
/// log(x), to 0.8 ulp.
inline constexpr lookup::log_fn log{};
/// log(1 + x), to 1.5 ulp.
inline constexpr lookup::log1p_fn log1p{};
/// erf(x), to 1.3 ulp (1.1 with fused multiply-adds).
inline constexpr lookup::erf_fn erf{};
/// {exp(−z²), erf(z)}, which share the exponential. exp(−z²) is that of the square as rounded, to 1.2 ulp, and 0 where it
/// would be less than the smallest normal number.
inline constexpr lookup::exp_erf_fn exp_erf{};

/// φ(z), Φ(z) and Φ(−z) of the standard normal distribution, the smaller of the two to a relative error of 1e-14 in double
/// and 3e-7 in float, and z² ulp of the exponential.
template <class V>
struct normal_result {
    V density, below, above;
};
template <class V>
[[nodiscard]] inline normal_result<V> normal_at(V const& z) noexcept {
    using c = detail::coefficients<std::conditional_t<sizeof(scalar_of<V>) == 4, float, double>>;
    V const one = constant<V>(1.0);
    V const three = constant<V>(3.0);
    V const a = at_most(constant<V>(40.0), V(abs(z) * constant<V>(std::numbers::sqrt2 / 2))); // exp(−a²) is 0 there
    V const exponential = exp(V(-(a * a)));
    V const ratio = detail::polynomial(V((a - three) / (a + three)), c::erfc) / (one + a + a);
    V const tail = constant<V>(0.5) * exponential * ratio;
    auto const negative = z < constant<V>(0.0);
    return {constant<V>(std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2) * exponential,
            select(negative, tail, V(one - tail)), select(negative, V(one - tail), tail)};
}

/// softplus(x) = log(1 + exp(x)) to 2 ulp and its derivative sigmoid(x) = 1 / (1 + exp(−x)) to 2.8 ulp, which share the
/// exponential.
template <class V>
struct softplus_result {
    V value, derivative;
};
template <class V>
[[nodiscard]] inline softplus_result<V> softplus_sigmoid(V const& x) noexcept {
    V const zero = constant<V>(0.0);
    V const one = constant<V>(1.0);
    V const tail = exp(V(-abs(x))); // in (0, 1]: nothing overflows
    V const above = one / (one + tail);
    // For x < 0, tail / (1 + tail) keeps its relative accuracy, 1 − above would not.
    return {select(x < zero, zero, x) + log1p(tail), select(x < zero, V(tail * above), above)};
}
template <class V>
[[nodiscard]] inline V softplus(V const& x) noexcept {
    V const zero = constant<V>(0.0);
    return select(x < zero, zero, x) + log1p(exp(V(-abs(x))));
}

/// The quantile function of the standard normal distribution: infinite at 0 and 1, NaN outside of [0, 1]. In double to
/// 4e-15 relative.
template <class V>
[[nodiscard]] inline V normal_quantile(V const& p) noexcept {
    using table = gmac::detail::normal_quantile_table;
    auto const ratio = [](V const& x, std::array<double, 8> const& above, std::array<double, 8> const& below) {
        return V(detail::polynomial(x, above) / detail::polynomial(x, below));
    };
    V const zero = constant<V>(0.0);
    V const q = p - constant<V>(0.5);
    V const outer = select(q < zero, p, V(constant<V>(1.0) - p));
    V const r = sqrt(V(-log(outer)));
    V const tail =
        select(r < constant<V>(5.0), ratio(V(r - constant<V>(1.6)), table::middle_numerator, table::middle_denominator),
               select(outer > zero, ratio(V(r - constant<V>(5.0)), table::far_numerator, table::far_denominator), r));
    V const central = q * ratio(V(constant<V>(0.180625) - q * q), table::central_numerator, table::central_denominator);
    return select(abs(q) < constant<V>(0.425), central, select(q < zero, V(-tail), tail));
}

} // namespace gmac::inline GMAC_ABI::lanes
