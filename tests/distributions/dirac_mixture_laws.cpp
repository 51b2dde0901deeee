// SPDX-License-Identifier: Apache-2.0
#include "support/laws.hpp"

#include <gmac/distributions/dirac_mixture.hpp>
#include <gmac/distributions/energy.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace gmac;
using testing::law;
using testing::near;
using testing::points;

TEST_CASE("Laws of Dirac mixtures") {
    law("the quantile function inverts the distribution function", [] {
        std::vector<double> const x = *points(20);
        dirac_mixture<double> const d(x);
        for (double point : x)
            RC_ASSERT(d.quantile(d.cdf(point)) == point);
        double const p = *rc::gen::inRange(0, 1001) / 1000.0;
        double const q = d.quantile(p);
        RC_ASSERT(d.cdf(q) >= p);
        RC_ASSERT(d.cdf(std::nextafter(q, -100.0)) <= p);
    });
    law("the distance to another is that of the general formula for mixtures", [] {
        dirac_mixture<double> const a(*points(12));
        dirac_mixture<double> const b(*points(12));
        double const cross = 4.0 * gmac::detail::quarter_difference_of<double>(a, b);
        double const own = 4.0 * (gmac::detail::quarter_difference_of<double>(a, a) +
                                  gmac::detail::quarter_difference_of<double>(b, b));
        RC_ASSERT(near(energy(a, b), 2.0 * cross - own, 10.0));
        RC_ASSERT(near(2.0 * cramer(a, b), energy(a, b)));
    });
    law("cvar is the mean of the lowest part: it grows with it, up to the mean", [] {
        dirac_mixture<double> const d(*points(12));
        double const lower = *rc::gen::inRange(1, 1000) / 1000.0;
        double const upper = *rc::gen::inRange(1, 1001) / 1000.0;
        RC_ASSERT(near(d.cvar(1.0), d.mean(), 10.0));
        RC_ASSERT((d.cvar((std::min)(lower, upper)) <= d.cvar((std::max)(lower, upper)) + 1e-12));
        RC_ASSERT(d.cvar(upper) <= d.quantile(upper) + 1e-12);
    });
}
