// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <type_traits>

namespace gmac::testing {

/// A number and its derivatives in N directions: forward-mode automatic differentiation, the judge of every analytic
/// gradient. Kernels take it as a lane type. Comparisons look at the value only.
template <std::floating_point T, std::size_t N = 1>
struct dual {
    T value{};
    std::array<T, N> slope{};

    dual() = default;
    template <class U>
        requires std::is_arithmetic_v<U>
    dual(U number) : value(static_cast<T>(number)) {}
    dual(T number, std::array<T, N> const& derivatives) : value(number), slope(derivatives) {}

    /// The variable of direction i.
    [[nodiscard]] static dual variable(T number, std::size_t i) {
        dual result(number);
        result.slope[i] = T(1);
        return result;
    }
    explicit operator double() const { return static_cast<double>(value); }

    friend dual operator-(dual const& a) { return a.map(-a.value, T(-1)); }
    friend dual operator+(dual const& a) { return a; }
    friend dual operator+(dual const& a, dual const& b) { return combine(a.value + b.value, a, T(1), b, T(1)); }
    friend dual operator-(dual const& a, dual const& b) { return combine(a.value - b.value, a, T(1), b, T(-1)); }
    friend dual operator*(dual const& a, dual const& b) { return combine(a.value * b.value, a, b.value, b, a.value); }
    friend dual operator/(dual const& a, dual const& b) {
        T const quotient = a.value / b.value;
        return combine(quotient, a, T(1) / b.value, b, -quotient / b.value);
    }
    dual& operator+=(dual const& b) { return *this = *this + b; }
    dual& operator-=(dual const& b) { return *this = *this - b; }
    dual& operator*=(dual const& b) { return *this = *this * b; }
    dual& operator/=(dual const& b) { return *this = *this / b; }

    friend bool operator==(dual const& a, dual const& b) { return a.value == b.value; }
    friend bool operator!=(dual const& a, dual const& b) { return a.value != b.value; }
    friend bool operator<(dual const& a, dual const& b) { return a.value < b.value; }
    friend bool operator>(dual const& a, dual const& b) { return a.value > b.value; }
    friend bool operator<=(dual const& a, dual const& b) { return a.value <= b.value; }
    friend bool operator>=(dual const& a, dual const& b) { return a.value >= b.value; }

    friend dual exp(dual const& a) {
        T const result = std::exp(a.value);
        return a.map(result, result);
    }
    friend dual log(dual const& a) { return a.map(std::log(a.value), T(1) / a.value); }
    friend dual log1p(dual const& a) { return a.map(std::log1p(a.value), T(1) / (T(1) + a.value)); }
    friend dual sqrt(dual const& a) {
        T const root = std::sqrt(a.value);
        return a.map(root, T(0.5) / root);
    }
    friend dual erf(dual const& a) {
        return a.map(std::erf(a.value), 2 * std::numbers::inv_sqrtpi_v<T> * std::exp(-a.value * a.value));
    }
    friend dual tanh(dual const& a) {
        T const result = std::tanh(a.value);
        return a.map(result, T(1) - result * result);
    }
    friend dual sin(dual const& a) { return a.map(std::sin(a.value), std::cos(a.value)); }
    friend dual cos(dual const& a) { return a.map(std::cos(a.value), -std::sin(a.value)); }
    friend dual pow(dual const& a, T exponent) {
        return a.map(std::pow(a.value, exponent), exponent * std::pow(a.value, exponent - T(1)));
    }
    /// The derivative at 0 is 0, one of the subgradients.
    friend dual abs(dual const& a) {
        return a.map(std::abs(a.value), a.value > T(0) ? T(1) : a.value < T(0) ? T(-1) : T(0));
    }
    friend bool isfinite(dual const& a) { return std::isfinite(a.value); }
    friend bool isnan(dual const& a) { return std::isnan(a.value); }

private:
    /// f(a) with f' = derivative. A direction in which a does not move stays exactly 0, also where f' is infinite.
    [[nodiscard]] dual map(T number, T derivative) const {
        dual result(number);
        for (std::size_t i = 0; i < N; ++i)
            result.slope[i] = times(slope[i], derivative);
        return result;
    }
    [[nodiscard]] static dual combine(T number, dual const& a, T by_a, dual const& b, T by_b) {
        dual result(number);
        for (std::size_t i = 0; i < N; ++i)
            result.slope[i] = times(a.slope[i], by_a) + times(b.slope[i], by_b);
        return result;
    }
    [[nodiscard]] static T times(T direction, T derivative) {
        return direction == T(0) ? T(0) : direction * derivative;
    }
};

} // namespace gmac::testing
