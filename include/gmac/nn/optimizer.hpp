// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/detail/as_float.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>

namespace gmac::inline GMAC_ABI::nn {

/// What an agent needs of an optimiser over its flat parameter buffer. `step` adds one update to the parameters;
/// `persist` visits all that a resumed run needs, the learning rate included.
template <class O, class T>
concept optimizer = requires(O o, O const c, std::span<T> parameters, std::span<T const> gradient, archive& state) {
    o.step(parameters, gradient);
    { c.learning_rate() } -> std::convertible_to<double>;
    o.set_learning_rate(double{});
    o.persist(state);
};

namespace detail {
/// (1 − decay) g² + decay v, also where g² overflows and its share does not. By name: the same bits in every lane.
template <class V>
[[nodiscard, gnu::always_inline]] inline V mean_square(V const& rate, V const& g, V const& decay, V const& v) noexcept {
    V const square = g * g;
    V const infinity(std::numeric_limits<lanes::scalar_of<V>>::infinity());
    auto const large = square == infinity;
    return lanes::mul_add(lanes::select(large, V(rate * g), rate), lanes::select(large, g, square), V(decay * v));
}
/// The root of a mean square; NaN of infinity, by which a gradient would be divided to nothing.
template <class V>
[[nodiscard, gnu::always_inline]] inline V root(V const& mean_square) noexcept {
    V const infinity(std::numeric_limits<lanes::scalar_of<V>>::infinity());
    return lanes::select(mean_square == infinity, V(infinity - infinity), lanes::sqrt(mean_square));
}
template <class T>
void require_learning_rate(double rate, std::string_view where) {
    require(std::isfinite(static_cast<T>(rate)) && rate >= 0,
            "{}: learning_rate is {}, but must be finite and not negative{}", where, rate,
            gmac::detail::as_float(rate));
}
template <class T>
void require_epsilon(double epsilon, std::string_view where) {
    T const number = static_cast<T>(epsilon);
    require(std::isfinite(number) && number > 0, "{}: epsilon is {}, but must be positive and finite{}", where, epsilon,
            gmac::detail::as_float(epsilon));
}
inline void require_step_sizes(std::size_t parameters, std::size_t gradient, std::size_t expected,
                               std::string_view where) {
    require(parameters == expected && gradient == expected,
            "{}: {} parameters and a gradient of {} elements given, but the optimiser was made for {}", where,
            parameters, gradient, expected);
}
} // namespace detail

} // namespace gmac::inline GMAC_ABI::nn
