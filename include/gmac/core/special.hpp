// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>

#include <cmath>
#include <concepts>

/// The transcendental functions of the kernels, over a lane type.
namespace gmac::lanes {

namespace detail {

void exp() = delete;
void log() = delete;
void log1p() = delete;
void erf() = delete;

struct exp_fn {
    template <class V>
    [[nodiscard]] V operator()(V const& x) const noexcept {
        if constexpr (std::floating_point<V>)
            return std::exp(x);
        else
            return exp(x);
    }
};
struct log_fn {
    template <class V>
    [[nodiscard]] V operator()(V const& x) const noexcept {
        if constexpr (std::floating_point<V>)
            return std::log(x);
        else
            return log(x);
    }
};
struct log1p_fn {
    template <class V>
    [[nodiscard]] V operator()(V const& x) const noexcept {
        if constexpr (std::floating_point<V>)
            return std::log1p(x);
        else
            return log1p(x);
    }
};
struct erf_fn {
    template <class V>
    [[nodiscard]] V operator()(V const& x) const noexcept {
        if constexpr (std::floating_point<V>)
            return std::erf(x);
        else
            return erf(x);
    }
};

} // namespace detail

inline constexpr detail::exp_fn exp{};
inline constexpr detail::log_fn log{};
inline constexpr detail::log1p_fn log1p{};
inline constexpr detail::erf_fn erf{};

/// a b + c, rounded once where the machine has a fused multiply-add.
template <class V>
[[nodiscard]] inline V mul_add(V const& a, V const& b, V const& c) noexcept {
    if constexpr (width_of<V> > 1)
        return xsimd::fma(a, b, c);
    else
        return a * b + c;
}

/// 1/√x.
template <class V>
[[nodiscard]] inline V inverse_sqrt(V const& x) noexcept {
    return constant<V>(1.0) / sqrt(x);
}

/// exp(−z²) and erf(z).
template <class V>
struct exp_erf_result {
    V exp, erf;
};
template <class V>
[[nodiscard]] inline exp_erf_result<V> exp_erf(V const& z) noexcept {
    return {exp(V(-(z * z))), erf(z)};
}

/// softplus(x) = log(1 + exp(x)) and sigmoid(x) = 1 / (1 + exp(−x)), its derivative, which share the exponential.
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
    // The branch x < 0 keeps tail / (1 + tail) from rounding to a difference of nearly equal numbers.
    return {select(x < zero, zero, x) + log1p(tail), select(x < zero, V(tail * above), above)};
}
template <class V>
[[nodiscard]] inline V softplus(V const& x) noexcept {
    V const zero = constant<V>(0.0);
    return select(x < zero, zero, x) + log1p(exp(V(-abs(x))));
}

} // namespace gmac::lanes
