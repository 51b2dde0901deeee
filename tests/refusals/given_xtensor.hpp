// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/heads.hpp>
#include <gmac/losses.hpp>
#include <gmac/targets.hpp>

#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

namespace heads = gmac::heads;
namespace losses = gmac::losses;
namespace targets = gmac::targets;

/// What a user has at hand.
struct given {
    xt::xtensor<double, 2> matrix, other;
    targets::dirac_particles<double const> points;
};

#ifdef GMAC_CONTROL
/// The calls whose misuse is refused.
inline void use(given& x) {
    static_cast<void>(losses::huber_quantile{}.value(heads::dirac<5>(), x.matrix, x.points));
    static_cast<void>(targets::sample_source{x.matrix});
}
#endif
