// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>

namespace gmac::losses::detail {

/// The mean over the states of `loss(first, count)`, which gives the losses of `count` states from `first` on, a lane each.
/// Where their sum overflows, the mean is that of shares of them.
template <class V, class Loss>
[[nodiscard]] lanes::scalar_of<V> mean_over_states(std::size_t states, Loss&& loss) {
    using scalar = lanes::scalar_of<V>;
    using sum_type = lanes::accumulator_for<scalar>;
    constexpr double share = 0x1p-40;
    sum_type sum(0), shares(0);
    for (std::size_t first = 0; first < states; first += lanes::width_of<V>) {
        std::size_t const count = (std::min)(lanes::width_of<V>, states - first);
        V const losses = loss(first, count);
        auto const of_block = lanes::sum_lanes(losses, count);
        sum = sum + static_cast<sum_type>(of_block);
        if constexpr (std::floating_point<scalar>)
            shares += std::isfinite(of_block)
                          ? static_cast<sum_type>(of_block) * share
                          : static_cast<sum_type>(lanes::sum_lanes(V(losses * lanes::constant<V>(share)), count));
    }
    if constexpr (std::floating_point<scalar>)
        if (!std::isfinite(sum)) [[unlikely]]
            return static_cast<scalar>(shares / static_cast<sum_type>(states) / share);
    return static_cast<scalar>(sum / static_cast<sum_type>(states));
}

} // namespace gmac::losses::detail
