// SPDX-License-Identifier: Apache-2.0
// Where environments forbid actions, what the programs do with an agent of gmac-train goes by that.
#include "agent/worlds.hpp"
#include "support/catch.hpp"
#include "support/masked_ring.hpp"
#include "train/episode.hpp"
#include "train/make_trainer.hpp"
#include "train/our_environments.hpp"

#include <gmac/core/executor.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

using namespace gmac::examples::train;
using gmac::testing::masked_ring;

TEST_CASE("an agent with masks is evaluated, looked at and drawn from within them") {
    settings chosen;
    chosen.algorithm = "ppo";
    chosen.agent = gmac::testing::small_options();
    chosen.agent.actor_gain = 3.0; // logits apart from each other
    gmac::serial_executor tasks;
    gmac::vector_environment<masked_ring> worlds(4, 1), others(6, 2), one(1, 3);
    auto const agent = make_trainer(our_registry(), chosen, worlds, tasks);
    agent->train({.frames = 128});
    // A batch refuses what is forbidden.
    CHECK(agent->evaluate(others).size() == 6);
    for (int i = 0; i < 10; ++i)
        CHECK(play_episode(*agent, one).rewards.size() == 9);

    std::array<float, 2> const state{0.5f, 0.25f};
    for (std::size_t only = 0; only < masked_ring::actions; ++only) {
        std::array<std::uint8_t, masked_ring::actions> mask{};
        mask[only] = 1;
        std::array<float, 1> action{};
        agent->act(state, action, {mask.data(), 1, mask.size()});
        CHECK(action[0] == static_cast<float>(only));
        std::array<gmac::random_stream, 1> random{gmac::random_stream(5, only)};
        agent->sample({state.data(), 1, 2}, random, {action.data(), 1, 1}, {mask.data(), 1, mask.size()});
        CHECK(action[0] == static_cast<float>(only));
    }
}
