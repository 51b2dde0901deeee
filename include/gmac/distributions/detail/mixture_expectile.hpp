// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/distributions/component.hpp>
#include <gmac/distributions/detail/mixture_quantile.hpp>

#include <cstddef>

namespace gmac::inline GMAC_ABI::kernels {

/// The root e of g(e) = τ E max(X − e, 0) − (1 − τ) E max(e − X, 0), for τ in (0, 1).
///
/// g falls, with the slope −(τ P(X > e) + (1 − τ) P(X ≤ e)). For τ ≥ ½ it is convex and not negative at the mean, so Newton's steps
/// from there rise and never pass the root: the search ends when a step does not rise any more. On points g is made of
/// straight pieces, and the step inside the last of them is exact. A smaller τ is 1 − τ of the mirrored distribution.
template <component_mixture D>
[[nodiscard]] typename D::value_type mixture_expectile(D const& distribution, typename D::value_type tau) noexcept {
    using T = typename D::value_type;
    using R = wide<T>;
    R const above = static_cast<R>(tau);
    R const below = R(1) - above;
    bool const mirrored = above < below;
    R const larger = mirrored ? below : above;
    R const smaller = mirrored ? above : below;
    auto const component = [&](std::size_t i) {
        normal_component<R> c = widened(distribution.component(i));
        c.mean = mirrored ? -c.mean : c.mean;
        return c;
    };
    R half = 0; // of the expectile: a step to it never overflows
    for (std::size_t i = 0; i < distribution.size(); ++i)
        half += component(i).weight * (component(i).mean / 2);
    while (true) {
        R const x = 2 * half;
        R excess = 0; // half of g
        R steepness = 0;
        for (std::size_t i = 0; i < distribution.size(); ++i) {
            normal_component<R> const c = component(i);
            excess += larger * half_shortfall({c.weight, -c.mean, c.deviation}, -x, R(1)) -
                      smaller * half_shortfall(c, x, R(1));
            steepness += larger * mixture_tail<R>({&c, 1}, x) + smaller * mixture_cdf<R>({&c, 1}, x);
        }
        R const next = half + excess / steepness;
        if (!(next > half))
            return static_cast<T>(mirrored ? -x : x);
        half = next;
    }
}

} // namespace gmac::inline GMAC_ABI::kernels
