// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/tbb_executor.hpp>
#include <gmac/environment/normalized.hpp>
#include <gmac/environment/vector_environment.hpp>

#include "agent/worlds.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"

namespace gmac::testing {

/// A run of these agents is the same on three threads, and after it was stored in the middle.
template <class Agent, class World>
void check_threads_and_resume(typename Agent::actor_type const& actor = {}) {
    tbb_executor three(3);
    vector_environment<World> inner(5, 3), threaded_inner(5, 3, &three), other_inner(5, 99);
    normalized_environments worlds(inner), threaded_worlds(threaded_inner), others(other_inner);
    Agent agent(worlds, small_options(), {.actor = actor, .seed = 11});
    Agent threaded(threaded_worlds, small_options(), {.actor = actor, .seed = 11, .tasks = &three});
    Agent resumed(others, small_options(), {.actor = actor, .seed = 12});
    for (int i = 0; i < 3; ++i)
        CHECK(agent.update().value_loss == threaded.update().value_loss);
    CHECK(parameters_of(agent) == parameters_of(threaded));
    memory_archive file;
    agent.persist(file);
    file.rewind();
    static_cast<void>(resumed.update());
    resumed.persist(file);
    for (int i = 0; i < 3; ++i)
        CHECK(agent.update().value_loss == resumed.update().value_loss);
    CHECK(parameters_of(agent) == parameters_of(resumed));
}

} // namespace gmac::testing
