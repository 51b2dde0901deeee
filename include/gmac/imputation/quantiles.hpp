// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace gmac::inline GMAC_ABI::imputation {

/// Samples of a distribution of which only N statistics are known (Rowland et al. 2019, "Statistics and samples in
/// distributional reinforcement learning", Section 4). For the quantiles at the midpoints τ_i = (i + ½) / N the quantiles
/// themselves are such samples: the quantile of N equally likely points at τ_i is the i-th of them.
///
/// Copies quantiles [N] to samples [N]. Throws gmac::error if the sizes do not match.
template <std::floating_point T>
void from_quantiles(vector_view<T const> quantiles, std::type_identity_t<vector_view<T>> samples) {
    require_size(samples, quantiles.size(), "samples", "imputation::from_quantiles");
    for (std::size_t i = 0; i < quantiles.size(); ++i)
        samples[i] = quantiles[i];
}

} // namespace gmac::inline GMAC_ABI::imputation
