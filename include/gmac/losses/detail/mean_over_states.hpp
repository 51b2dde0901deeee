// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>

#include <algorithm>
#include <cstddef>

namespace gmac::losses::detail {

/// The mean over the states of `loss(first, count)`, which gives the losses of `count` states from `first` on, a lane each: the
/// sum of their shares, which does not overflow where the mean is a number.
template <class V, class Loss>
[[nodiscard]] lanes::scalar_of<V> mean_over_states(std::size_t states, Loss&& loss) {
    using scalar = lanes::scalar_of<V>;
    using sum_type = lanes::accumulator_for<scalar>;
    V const share = lanes::constant<V>(1.0 / static_cast<double>(states));
    sum_type sum(0);
    for (std::size_t first = 0; first < states; first += lanes::width_of<V>) {
        std::size_t const count = (std::min)(lanes::width_of<V>, states - first);
        sum = sum + static_cast<sum_type>(lanes::sum_lanes(V(loss(first, count) * share), count));
    }
    return static_cast<scalar>(sum);
}

} // namespace gmac::losses::detail
