// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>

#include <algorithm>
#include <cstddef>

namespace gmac::losses::detail {

/// The mean over the states of `loss(first, count)`, which gives the losses of `count` states from `first` on, a lane each.
template <class V, class Loss>
[[nodiscard]] lanes::scalar_of<V> mean_over_states(std::size_t states, Loss&& loss) {
    using sum_type = lanes::accumulator_for<lanes::scalar_of<V>>;
    sum_type sum(0);
    for (std::size_t first = 0; first < states; first += lanes::width_of<V>) {
        std::size_t const count = (std::min)(lanes::width_of<V>, states - first);
        V const losses = loss(first, count);
        sum = sum + static_cast<sum_type>(lanes::sum_lanes(losses, count));
    }
    return static_cast<lanes::scalar_of<V>>(sum / static_cast<sum_type>(states));
}

} // namespace gmac::losses::detail
