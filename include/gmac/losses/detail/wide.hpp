// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <concepts>
#include <type_traits>

/// Sums whose differences are taken: the sum over a stretch of a sorted list is the difference of two running sums, and
/// may be much smaller than either. They are kept with twice the digits of the numbers summed.
namespace gmac::losses::detail {

/// An unevaluated sum of two numbers, with about twice the digits of T (Dekker 1971; Joldes, Muller and Popescu 2017).
template <class T>
struct double_word {
    T high;
    T low;

    double_word(T value = T(0)) noexcept : high(value), low(T(0)) {}
    double_word(T high_part, T low_part) noexcept : high(high_part), low(low_part) {}

    explicit operator T() const noexcept { return high + low; }

    friend double_word operator-(double_word const& a) noexcept { return {T(0) - a.high, T(0) - a.low}; }
    friend double_word operator+(double_word const& a, double_word const& b) noexcept {
        double_word const sum = add(a.high, b.high);
        return renormalized(sum.high, sum.low + (a.low + b.low));
    }
    friend double_word operator-(double_word const& a, double_word const& b) noexcept { return a + -b; }
    friend double_word operator*(double_word const& a, double_word const& b) noexcept {
        double_word const product = multiply(a.high, b.high);
        return renormalized(product.high, product.low + (a.high * b.low + a.low * b.high));
    }

    /// a + b exactly.
    [[nodiscard]] static double_word add(T const& a, T const& b) noexcept {
        T const sum = a + b;
        T const b_in_sum = sum - a;
        return {sum, (a - (sum - b_in_sum)) + (b - b_in_sum)};
    }
    /// a b exactly, short of overflow.
    [[nodiscard]] static double_word multiply(T const& a, T const& b) noexcept {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__FP_FAST_FMA)
        if constexpr (std::same_as<T, double>) {
            double const rounded = a * b;
            return {rounded, std::fma(a, b, -rounded)};
        }
#endif
        double_word const x = halves(a);
        double_word const y = halves(b);
        T const product = a * b;
        return {product, ((x.high * y.high - product) + x.high * y.low + x.low * y.high) + x.low * y.low};
    }

private:
    [[nodiscard]] static double_word renormalized(T const& high, T const& low) noexcept {
        T const sum = high + low;
        return {sum, low - (sum - high)};
    }
    /// Two halves of 26 bits.
    [[nodiscard]] static double_word halves(T const& a) noexcept {
        T const scaled = T(134217729.0) * a; // 2^27 + 1
        T const high = scaled - (scaled - a);
        return {high, a - high};
    }
};

/// The type in which running sums of numbers T are kept: double for float, two words for double. Scalars that are no
/// floating-point type, such as gmac::counted, stay what they are, so that they count what float does.
template <class T>
using wide_of =
    std::conditional_t<std::same_as<T, float>, double, std::conditional_t<std::same_as<T, double>, double_word<T>, T>>;

/// A number as a wide one.
template <class T>
[[nodiscard]] wide_of<T> widened(T const& value) noexcept {
    return wide_of<T>(value);
}

/// a − b, for float and double without rounding.
template <class T>
[[nodiscard]] wide_of<T> exact_difference(T const& a, T const& b) noexcept {
    if constexpr (std::same_as<T, double>)
        return double_word<T>::add(a, -b);
    else
        return wide_of<T>(a) - wide_of<T>(b);
}

/// The nearest T.
template <class T>
[[nodiscard]] T narrowed(wide_of<T> const& value) noexcept {
    return static_cast<T>(value);
}

} // namespace gmac::losses::detail
