// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>

namespace gmac::inline GMAC_ABI::losses::detail {

/// The sum over the states of `loss(first, count)`, which gives the losses of `count` states from `first` on, a lane each.
template <class V, class Loss>
[[nodiscard]] auto sum_over_states(std::size_t states, Loss&& loss) {
    using sum_type = lanes::accumulator_for<lanes::scalar_of<V>>;
    sum_type sum(0);
    for (std::size_t first = 0; first < states; first += lanes::width_of<V>) {
        std::size_t const count = (std::min)(lanes::width_of<V>, states - first);
        V const losses = loss(first, count);
        sum = sum + static_cast<sum_type>(lanes::sum_lanes(losses, count));
    }
    return sum;
}

/// Their mean. Of numbers it is the sum of shares, which does not overflow where the mean is a number.
template <class V, class Loss>
[[nodiscard]] lanes::scalar_of<V> mean_over_states(std::size_t states, Loss&& loss) {
    using scalar = lanes::scalar_of<V>;
    auto const all = static_cast<double>(states);
    if constexpr (std::floating_point<scalar>) {
        return static_cast<scalar>(sum_over_states<V>(states, [&](std::size_t first, std::size_t count) {
            return V(loss(first, count) * lanes::constant<V>(1.0 / all));
        }));
    } else {
        return static_cast<scalar>(sum_over_states<V>(states, loss) / static_cast<scalar>(all));
    }
}

} // namespace gmac::inline GMAC_ABI::losses::detail
