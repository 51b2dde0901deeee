// SPDX-License-Identifier: Apache-2.0
#include <gmac/actors/categorical.hpp>
#include <gmac/agents.hpp>

#include "agents/agent_checks.hpp"

namespace {

using gmac::actors::categorical;

template <class Agent>
void check_everything() {
    gmac::testing::check_reproducible<Agent>();
    gmac::testing::check_resume<Agent>();
    gmac::testing::check_allocations<Agent>();
    gmac::testing::check_learning<Agent>();
}

} // namespace

TEST_CASE("Diracs with the Huber quantile loss are the same for any executor and after a pause, and learn") {
    check_everything<gmac::agents::dirac_huber_quantile<categorical, 16>>();
}

TEST_CASE("Diracs with the expectile loss are the same for any executor and after a pause, and learn") {
    check_everything<gmac::agents::dirac_expectile<categorical, 16>>();
}

TEST_CASE("Diracs with the sample energy are the same for any executor and after a pause, and learn") {
    check_everything<gmac::agents::dirac_energy<categorical, 16>>();
}
