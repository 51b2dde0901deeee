// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/error.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>

namespace gmac::nn {

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
inline void require_learning_rate(double rate, std::string_view where) {
    require(std::isfinite(rate) && rate >= 0, "{}: learning_rate is {}, but must be finite and not negative", where,
            rate);
}
inline void require_step_sizes(std::size_t parameters, std::size_t gradient, std::size_t expected,
                               std::string_view where) {
    require(parameters == expected && gradient == expected,
            "{}: {} parameters and a gradient of {} elements given, but the optimiser was made for {}", where,
            parameters, gradient, expected);
}
} // namespace detail

} // namespace gmac::nn
