// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>

namespace gmac::losses::detail {

/// The mean over the states of `loss(first, count)`, which gives the losses of `count` states from `first` on, a lane each. Of
/// numbers it is the sum of their shares, which does not overflow where the mean is a number.
template <class V, class Loss>
[[nodiscard]] lanes::scalar_of<V> mean_over_states(std::size_t states, Loss&& loss) {
    using scalar = lanes::scalar_of<V>;
    using sum_type = lanes::accumulator_for<scalar>;
    auto const all = static_cast<double>(states);
    constexpr bool shares = std::floating_point<scalar>;
    sum_type sum(0);
    for (std::size_t first = 0; first < states; first += lanes::width_of<V>) {
        std::size_t const count = (std::min)(lanes::width_of<V>, states - first);
        V losses = loss(first, count);
        if constexpr (shares)
            losses = losses * lanes::constant<V>(1.0 / all);
        sum = sum + static_cast<sum_type>(lanes::sum_lanes(losses, count));
    }
    return static_cast<scalar>(shares ? sum : sum / static_cast<sum_type>(all));
}

} // namespace gmac::losses::detail
