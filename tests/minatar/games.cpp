// SPDX-License-Identifier: Apache-2.0
// The games as environments: action sets, settings, the bounds of what they give, and that they are restored.
#include "minatar/games.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"

#include <gmac/core/error.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

/// For each game: `check.operator()<Rules>()`.
template <class Check>
void for_each_game(Check&& check) {
    for (std::string_view const name : minatar::game_names) {
        CAPTURE(std::string(name));
        minatar::visit_game(name, check);
    }
}

} // namespace

static_assert(gmac::checkpointable_environment<minatar::game<minatar::breakout>>);

TEST_CASE("the games have the channels and the action sets of the original") {
    CHECK(minatar::game<minatar::breakout>::observation_size() == 400);
    CHECK(minatar::game<minatar::asterix>::observation_size() == 400);
    CHECK(minatar::game<minatar::freeway>::observation_size() == 700);
    CHECK(minatar::game<minatar::seaquest>::observation_size() == 1000);
    CHECK(minatar::game<minatar::space_invaders>::observation_size() == 600);
    std::array<std::size_t, 5> const minimal{5, 3, 3, 6, 4}; // in the order of game_names
    std::size_t i = 0;
    for_each_game([&]<class Rules>() {
        CHECK(minatar::game<Rules>().action_space().count == minimal[i++]);
        CHECK(minatar::game<Rules>({.full_actions = true}).action_space().count == 6);
    });
}

TEST_CASE("an action of the minimal set is the action that it names") {
    // Freeway's second action is up, which is number 2 of all six.
    minatar::game<minatar::freeway> few({.sticky = 0.0}), all({.sticky = 0.0, .full_actions = true});
    gmac::random_stream first(3), second(3);
    std::vector<std::uint8_t> a(few.observation_size()), b(all.observation_size());
    few.reset(first, a);
    all.reset(second, b);
    for (int i = 0; i < 40; ++i) {
        few.step(1, first, a);
        all.step(2, second, b);
        CHECK(a == b);
    }
    CHECK(few.state().y < 9);
}

TEST_CASE("sticky actions: with probability one the first action is carried out for ever") {
    minatar::game<minatar::space_invaders> world({.sticky = 1.0});
    gmac::random_stream random(1);
    std::vector<std::uint8_t> observation(world.observation_size());
    world.reset(random, observation);
    for (int i = 0; i < 5; ++i)
        world.step(1, random, observation); // left, but what sticks is to do nothing
    CHECK(world.state().cannon == 5);
    std::string said;
    try {
        minatar::game<minatar::breakout> const wrong({.sticky = 1.5});
    } catch (gmac::error const& problem) {
        said = problem.what();
    }
    CHECK(said == "minatar: sticky is 1.5, but must be in [0, 1]");
}

TEST_CASE("long games of random actions stay in their bounds") {
    for_each_game([]<class Rules>() {
        minatar::game<Rules> world;
        gmac::random_stream random(5), choices(6);
        std::vector<std::uint8_t> observation(world.observation_size());
        world.reset(random, observation);
        bool const pays_more = Rules::name == "seaquest"; // shots and surfacing in one step
        for (int i = 0; i < 100'000; ++i) {
            auto const actions = static_cast<std::uint32_t>(world.action_space().count);
            auto const got = world.step(static_cast<int>(choices.below(actions)), random, observation);
            REQUIRE((got.reward >= 0.0 && got.reward <= (pays_more ? 11.0 : 1.0)));
            REQUIRE(std::ranges::max(observation) == 1);
            if (got.terminated)
                world.reset(random, observation);
        }
    });
}

TEST_CASE("a game that was stored goes on as the one that was not, bit for bit") {
    for_each_game([]<class Rules>() {
        using world_type = gmac::vector_environment<minatar::game<Rules>>;
        world_type first(3, 1), second(3, 2);
        REQUIRE(first.checkpointable());
        std::size_t const size = first.observation_size();
        struct memory {
            std::vector<std::uint8_t> observations, finals, terminated, truncated;
            std::vector<float> rewards;
        };
        auto const make = [&] {
            return memory{std::vector<std::uint8_t>(3 * size), std::vector<std::uint8_t>(3 * size),
                          std::vector<std::uint8_t>(3), std::vector<std::uint8_t>(3), std::vector<float>(3)};
        };
        memory a = make(), b = make();
        gmac::random_stream choices(4);
        auto const step = [&](world_type& worlds, memory& to, std::vector<float> const& actions) {
            worlds.step({actions.data(), 3, 1}, {.observations = {to.observations.data(), 3, size},
                                                 .final_observations = {to.finals.data(), 3, size},
                                                 .rewards = to.rewards,
                                                 .terminated = to.terminated,
                                                 .truncated = to.truncated});
        };
        auto const chosen = [&] {
            std::vector<float> actions(3);
            auto const count = static_cast<std::uint32_t>(std::get<gmac::discrete>(first.action_space()).count);
            for (float& one : actions)
                one = static_cast<float>(choices.below(count));
            return actions;
        };
        first.reset({a.observations.data(), 3, size});
        second.reset({b.observations.data(), 3, size});
        for (int i = 0; i < 700; ++i) // Seaquest has objects of all kinds by then
            step(first, a, chosen());
        gmac::testing::memory_archive saved;
        first.persist(saved);
        saved.rewind();
        second.persist(saved);
        for (int i = 0; i < 300; ++i) {
            auto const actions = chosen();
            step(first, a, actions);
            step(second, b, actions);
            REQUIRE(a.observations == b.observations);
            REQUIRE(a.rewards == b.rewards);
            REQUIRE(a.terminated == b.terminated);
        }
    });
}
