// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gmac::losses {

/// How a loss between N predicted samples and m target particles is computed. Both ways give the same to rounding.
enum class sample_algorithm {
    automatic, ///< whichever was measured to be faster at this N and m
    pairwise,  ///< all N m pairs
    sorted     ///< by sorting and running sums: O((N + m) log(N + m))
};

} // namespace gmac::losses
