// SPDX-License-Identifier: Apache-2.0
#include <gmac/actors/categorical.hpp>
#include <gmac/agents.hpp>

#include "agents/agent_checks.hpp"

namespace {

using gmac::actors::categorical;

template <class Agent>
void check_everything(bool symlog) {
    gmac::heads::categorical<21> const head{.symlog = symlog};
    gmac::testing::check_reproducible<Agent>(head);
    gmac::testing::check_resume<Agent>(head);
    gmac::testing::check_allocations<Agent>(head);
    gmac::testing::check_learning<Agent>(head);
}

} // namespace

TEST_CASE("C51 is the same for any executor and after a pause, and learns") {
    check_everything<gmac::agents::c51<categorical, 21>>(false);
}

TEST_CASE("HL-Gauss is the same for any executor and after a pause, and learns") {
    check_everything<gmac::agents::hl_gauss<categorical, 21>>(false);
}

TEST_CASE("The energy on atoms is the same for any executor and after a pause, and learns") {
    check_everything<gmac::agents::categorical_energy<categorical, 21>>(true);
}
