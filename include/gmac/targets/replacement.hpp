// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/abi.hpp>

namespace gmac::inline GMAC_ABI::targets {

/// How SR(λ) chooses the particles that it replaces, and what replaces them.
enum class resampling {
    /// Each particle for itself, with probability 1 − λ, as the paper says.
    independent,
    /// Systematic sampling (Cochran 1977, chapter 8), in groups of at most 512 particles: of each group m (1 − λ) (rounded
    /// up or down at random) are replaced, evenly spaced from a random offset in the order of their ages, by components
    /// that are evenly spaced in [0, 1) from another. Every particle is replaced with probability 1 − λ in every step,
    /// whatever happened before, by a component with its weight as probability: each has the same marginal law as an
    /// independent one. But the particles of a group are not independent of each other: the shares of all ages and
    /// components are nearly what they should be, so what is estimated from all particles together varies less.
    stratified
};

} // namespace gmac::inline GMAC_ABI::targets
