// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>
#include <gmac/environment/environment.hpp>

#include <cstddef>
#include <variant>

namespace gmac::inline GMAC_ABI {

/// Writes sampled actions [n, action size] as an environment takes them: the real ones clipped to the box. A NaN stays.
template <class T>
void to_environment(action_space const& space, matrix_view<T const> sampled, matrix_view<float> actions) {
    auto const* const bounds = std::get_if<box>(&space);
    for (std::size_t i = 0; i < sampled.rows(); ++i)
        for (std::size_t j = 0; j < sampled.cols(); ++j) {
            float const action = static_cast<float>(sampled(i, j));
            actions(i, j) = !bounds                    ? action
                            : action < bounds->low[j]  ? bounds->low[j]
                            : action > bounds->high[j] ? bounds->high[j]
                                                       : action;
        }
}

} // namespace gmac::inline GMAC_ABI
