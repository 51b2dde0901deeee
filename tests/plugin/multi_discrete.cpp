// SPDX-License-Identifier: Apache-2.0
// Several discrete actions at once in environments of shared libraries and of programs.
#include "environment/worlds.hpp"
#include "support/catch.hpp"
#include "support/dials.hpp"
#include "support/memory_archive.hpp"

#include <gmac/environment/plugin/environments.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

namespace {

using namespace gmac;
using gmac::testing::buffers;
using gmac::testing::choose_allowed;
using gmac::testing::masked_dials;
using gmac::testing::message_of;

std::vector<std::size_t> counts_of(environment_batch const& worlds) {
    return std::get<multi_discrete>(worlds.action_space()).counts;
}

/// One step of environment 0 alone.
template <class... Numbers>
void step(plugin_environments& worlds, buffers& b, Numbers... numbers) {
    b.actions = {static_cast<float>(numbers)...};
    b.step(worlds);
}

} // namespace

TEST_CASE("several actions at once go through a shared library bit for bit", "[plugin]") {
    vector_environment<masked_dials> compiled(5, 2);
    plugin_environments loaded(GMAC_DIALS, 5, 2), restored(GMAC_DIALS, 5, 99);
    CHECK(counts_of(loaded) == std::vector<std::size_t>{3, 4, 2});
    buffers a(compiled), b(loaded), c(restored);
    compiled.reset(a.observation_view());
    loaded.reset(b.observation_view());
    CHECK(a.observations == b.observations);
    random_stream random(8);
    std::size_t ended = 0;
    auto const check = [&] {
        REQUIRE(a.observations == b.observations);
        REQUIRE(a.finals == b.finals);
        REQUIRE(a.rewards == b.rewards);
        REQUIRE(a.terminated == b.terminated);
        REQUIRE(a.truncated == b.truncated);
        auto const masks = compiled.action_masks(), same = loaded.action_masks();
        REQUIRE(same.cols() == 9);
        for (std::size_t e = 0; e < masks.rows(); ++e)
            for (std::size_t j = 0; j < masks.cols(); ++j)
                REQUIRE(masks(e, j) == same(e, j));
        ended += loaded.finished().size();
    };
    for (int i = 0; i < 100; ++i) {
        choose_allowed(compiled, a.actions, random);
        b.actions = a.actions;
        a.step(compiled);
        b.step(loaded);
        check();
    }
    CHECK(ended == 5 * 16);

    testing::memory_archive stored;
    loaded.persist(stored);
    stored.rewind();
    restored.persist(stored);
    choose_allowed(loaded, b.actions, random);
    c.actions = b.actions;
    b.step(loaded);
    c.step(restored);
    CHECK(c.observations == b.observations);
    CHECK(c.rewards == b.rewards);
}

TEST_CASE("a component that a library's environment does not have, or forbids, is told with its file", "[plugin]") {
    plugin_environments worlds(GMAC_DIALS, 2, 2);
    buffers b(worlds);
    worlds.reset(b.observation_view());
    b.actions = {1, 1, 1, 1, 4, 1};
    CHECK(message_of([&] { b.step(worlds); }) ==
          fmt::format(
              "{}: environment 1, step 1 of its episode: component 1 of the action is 4, but must be a whole number "
              "from 0 to 3",
              GMAC_DIALS));
    b.actions = {1, 1, 1, 1, 3, 1};
    CHECK(message_of([&] { b.step(worlds); }) ==
          fmt::format(
              "{}: environment 1, step 1 of its episode: component 1 of the action is 3, which action_mask forbids "
              "there",
              GMAC_DIALS));
    b.actions = {1, 1, 1, 1, 2, 1};
    b.step(worlds);
    CHECK(b.observations[9] > 0.0f);
}

#ifdef GMAC_WORLDS
TEST_CASE("several actions at once come over to another process, flat and nested", "[plugin]") {
    plugin_environments flat(GMAC_WORLDS, 1, 1, "several"), nested(GMAC_WORLDS, 1, 1, "nested"),
        arrays(GMAC_WORLDS, 1, 1, "alone");
    CHECK(counts_of(flat) == std::vector<std::size_t>{2, 3, 4});
    CHECK(flat.action_masks().empty());
    buffers b(flat), c(nested);
    flat.reset(b.observation_view());
    step(flat, b, 1, 2, 3);
    CHECK(b.observations == std::vector<float>{1, 2, 3, 1});
    CHECK(b.rewards == std::vector<float>{6});

    CHECK(counts_of(nested) == std::vector<std::size_t>{2, 3, 4, 5});
    nested.reset(c.observation_view());
    step(nested, c, 1, 2, 3, 4);
    CHECK(c.observations == std::vector<float>{1, 2, 3, 4});

    // One alone is as one discrete action; the program is given a list of it.
    CHECK(std::get<discrete>(arrays.action_space()).count == 7);
    buffers d(arrays);
    arrays.reset(d.observation_view());
    step(arrays, d, 6);
    CHECK(d.observations == std::vector<float>{6, 1});
}

TEST_CASE("masks of several actions at once come over, and what a program forbids is refused", "[plugin]") {
    plugin_environments worlds(GMAC_WORLDS, 1, 1, "several masked"), none(GMAC_WORLDS, 1, 1, "several stuck");
    buffers b(worlds);
    worlds.reset(b.observation_view());
    auto const masks = worlds.action_masks();
    REQUIRE(masks.cols() == 9);
    step(worlds, b, 1, 2, 3);
    for (std::size_t j = 0; j < 9; ++j) // what was done may not be done again
        CHECK(masks(0, j) == (j == 1 || j == 4 || j == 8 ? 0 : 1));
    CHECK(
        message_of([&] { step(worlds, b, 0, 1, 3); }) ==
        std::string(GMAC_WORLDS) +
            ": environment 0, step 2 of its episode: component 2 of the action is 3, which action_mask forbids there");
    CHECK(
        message_of([&] { none.reset(b.observation_view()); }) ==
        std::string(GMAC_WORLDS) +
            ": environment 0, after step 0 of its episode: all of the 3 values of component 1 are forbidden, but at least "
            "one must be allowed");
}

TEST_CASE("spaces of a program that are no several actions from 0 on are refused", "[plugin]") {
    auto const refused = [](std::string const& kind) {
        return message_of([&] { plugin_environments(GMAC_WORLDS, 1, 1, kind); });
    };
    std::string const no = std::string(GMAC_WORLDS) + ": there is no environment: ";
    CHECK(refused("several late").starts_with(no + "ValueError: discrete actions must begin with 0 (File "));
    CHECK(refused("several bits")
              .starts_with(
                  no + "TypeError: action_space is neither discrete (n, nvec) nor a box (shape, low, high) (File "));
    CHECK(refused("several none")
              .starts_with(std::string(GMAC_WORLDS) + ": component 1 of the actions has the bounds 0 and -1"));
}
#endif
