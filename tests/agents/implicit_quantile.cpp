// SPDX-License-Identifier: Apache-2.0
#include <gmac/actors/categorical.hpp>
#include <gmac/agents.hpp>

#include "agents/agent_checks.hpp"

namespace {

using iqac = gmac::agents::iqac<gmac::actors::categorical>;
using iqac_e = gmac::agents::iqac_e<gmac::actors::categorical>;

/// The paper's head is too much for a test.
gmac::heads::implicit_quantile small_head(bool shared = false) {
    return {.samples_per_state = 8, .embedding = 8, .hidden = 16, .shared = shared};
}

} // namespace

TEST_CASE("IQAC is the same for any executor and after a pause, and learns") {
    for (bool const shared : {false, true}) {
        gmac::testing::check_reproducible<iqac>(small_head(shared));
        gmac::testing::check_resume<iqac>(small_head(shared));
        gmac::testing::check_allocations<iqac>(small_head(shared));
        gmac::testing::check_learning<iqac>(small_head(shared));
    }
}

TEST_CASE("IQAC-E is the same for any executor and after a pause, and learns") {
    gmac::testing::check_reproducible<iqac_e>(small_head());
    gmac::testing::check_resume<iqac_e>(small_head());
    gmac::testing::check_allocations<iqac_e>(small_head());
    gmac::testing::check_learning<iqac_e>(small_head());
}
