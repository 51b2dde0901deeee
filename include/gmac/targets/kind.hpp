// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gmac::targets {

/// What a loss learns from; each loss has one as `static constexpr targets::kind target`, and an agent makes that.
enum class kind {
    returns,           ///< vector_view: the λ-return of each state
    clipped_returns,   ///< the λ-returns and the values at the time of the rollout
    dirac_particles,   ///< targets::dirac_particles from SR(λ)
    gaussian_particles ///< targets::gaussian_particles from SR(λ)
};

} // namespace gmac::targets
