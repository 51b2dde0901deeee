// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>

#include <concepts>
#include <cstddef>

namespace gmac::inline GMAC_ABI::imputation {

/// Samples of a distribution of which only N statistics are known (Rowland et al. 2019, "Statistics and samples in
/// distributional reinforcement learning", Section 4). For the quantiles at the midpoints τ_i = (i + ½) / N the quantiles
/// themselves are such samples: the quantile of N equally likely points at τ_i is the i-th of them.
///
/// Copies quantiles [N] to samples [N]. Throws gmac::error if the sizes do not match.
template <class Quantiles, std::floating_point T = gmac::detail::vector_value<Quantiles const>>
void from_quantiles(Quantiles const& quantiles, gmac::detail::vector_of<T> samples) {
    vector_view<T const> const from = as_vector(quantiles);
    require_size(samples, from.size(), "samples", "imputation::from_quantiles");
    for (std::size_t i = 0; i < from.size(); ++i)
        samples[i] = from[i];
}

} // namespace gmac::inline GMAC_ABI::imputation
