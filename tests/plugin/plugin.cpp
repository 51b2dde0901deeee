// SPDX-License-Identifier: Apache-2.0
// Environments of shared libraries: the same numbers as the ones that are compiled in, and what is refused.
#include "classic/cart_pole.hpp"
#include "environment/worlds.hpp"
#include "exported.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"
#include "support/scratch_folder.hpp"

#include <gmac/environment/plugin/environments.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace gmac;
using gmac::testing::buffers;
using gmac::testing::memory_archive;
using gmac::testing::message_of;

/// Actions at random that the masks allow.
void choose(random_stream& random, environment_batch const& worlds, std::vector<float>& actions, unsigned count) {
    auto const masks = worlds.action_masks();
    for (std::size_t e = 0; e < actions.size(); ++e)
        do
            actions[e] = static_cast<float>(random.below(count));
        while (!masks.empty() && masks(e, static_cast<std::size_t>(actions[e])) == 0);
}

void check_same(environment_batch& compiled, environment_batch& loaded, unsigned actions, int steps) {
    REQUIRE(loaded.size() == compiled.size());
    REQUIRE(loaded.observation_size() == compiled.observation_size());
    REQUIRE(loaded.action_masks().cols() == compiled.action_masks().cols());
    buffers a(compiled), b(loaded);
    compiled.reset(a.observation_view());
    loaded.reset(b.observation_view());
    CHECK(a.observations == b.observations);
    random_stream random(8);
    std::size_t ended = 0;
    for (int i = 0; i < steps; ++i) {
        choose(random, compiled, a.actions, actions);
        b.actions = a.actions;
        a.step(compiled);
        b.step(loaded);
        REQUIRE(a.observations == b.observations);
        REQUIRE(a.finals == b.finals);
        REQUIRE(a.rewards == b.rewards);
        REQUIRE(a.terminated == b.terminated);
        REQUIRE(a.truncated == b.truncated);
        REQUIRE(compiled.finished().size() == loaded.finished().size());
        for (std::size_t k = 0; k < loaded.finished().size(); ++k) {
            auto const &x = compiled.finished()[k], &y = loaded.finished()[k];
            CHECK(x.environment == y.environment);
            CHECK(x.length == y.length);
            CHECK(x.reward_sum == y.reward_sum);
            ++ended;
        }
        auto const masks = compiled.action_masks(), same = loaded.action_masks();
        for (std::size_t e = 0; e < masks.rows(); ++e)
            for (std::size_t j = 0; j < masks.cols(); ++j)
                CHECK(masks(e, j) == same(e, j));
    }
    CHECK(ended > 20);
}

[[nodiscard]] std::string faulty(std::string const& options, int steps, bool guarded = false) {
    plugin_environments worlds(GMAC_FAULTY, 3, 1, options);
    if (guarded)
        worlds.guard_memory();
    buffers b(worlds);
    return message_of([&] {
        worlds.reset(b.observation_view());
        for (int i = 0; i < steps; ++i)
            b.step(worlds);
    });
}

} // namespace

TEST_CASE("environments that were exported are the ones that are compiled in, bit for bit", "[plugin]") {
    {
        vector_environment<classic::cart_pole> compiled(7, 11);
        plugin_environments loaded(GMAC_CART_POLE, 7, 11);
        CHECK(loaded.name() == "classic::cart_pole");
        check_same(compiled, loaded, 2, 300);
    }
    vector_environment<gmac::testing::optional_walk> compiled(5, 2);
    plugin_environments loaded(GMAC_EXPORTED, 5, 2, "anything");
    check_same(compiled, loaded, 3, 300);
}

TEST_CASE("a state that was stored goes on, in C++ and in C", "[plugin]") {
    for (auto const& [file, actions] :
         {std::pair(GMAC_CART_POLE, 2u), std::pair(GMAC_EXPORTED, 3u), std::pair(GMAC_CORRIDOR, 2u)}) {
        INFO(file);
        plugin_environments first(file, 4, 3), second(file, 4, 99);
        CHECK(first.checkpointable());
        buffers a(first), b(second);
        first.reset(a.observation_view());
        random_stream random(1);
        auto const step = [&](plugin_environments& worlds, buffers& memory) {
            memory.actions = a.actions;
            memory.step(worlds);
        };
        for (int i = 0; i < 37; ++i) {
            choose(random, first, a.actions, actions);
            step(first, a);
        }
        memory_archive stored;
        first.persist(stored);
        stored.rewind();
        auto const changes = second.changes();
        second.persist(stored);
        CHECK(second.changes() != changes);
        second.observe(b.observation_view());
        CHECK(b.observations == a.observations);
        for (int i = 0; i < 100; ++i) {
            choose(random, first, a.actions, actions);
            step(first, a);
            step(second, b);
            REQUIRE(a.observations == b.observations);
            REQUIRE(a.rewards == b.rewards);
            REQUIRE(a.terminated == b.terminated);
            REQUIRE(first.finished().size() == second.finished().size());
            for (std::size_t k = 0; k < first.finished().size(); ++k)
                CHECK(first.finished()[k].length == second.finished()[k].length);
        }
        // Another number of environments has another state.
        plugin_environments other(file, 5, 3);
        memory_archive others;
        buffers c(other);
        other.reset(c.observation_view());
        other.persist(others);
        others.entries()["state"] = stored.entries().at("state");
        others.rewind();
        CHECK(message_of([&] {
                  other.persist(others);
              }).starts_with(fmt::format("{}: load failed: the stored state", file)));
        CHECK(message_of([&] { c.step(other); }).find("reset has to be called first, since the last step failed") !=
              std::string::npos);
    }
}

TEST_CASE("a step takes no memory, and episodes of C have their ends", "[plugin]") {
    plugin_environments worlds(GMAC_CORRIDOR, 16, 5);
    buffers b(worlds);
    worlds.reset(b.observation_view());
    b.actions.assign(16, 1.0f);
    std::size_t ended = 0;
    for (int i = 0; i < 200; ++i) {
        CHECK(gmac::testing::allocations_during([&] { b.step(worlds); }) == 0);
        for (auto const& episode : worlds.finished()) {
            ++ended;
            CHECK(b.terminated[episode.environment] == 1);
            CHECK(b.final_view()(episode.environment, 0) == 1.0f);
            CHECK(b.observation_view()(episode.environment, 0) < 1.0f);
            CHECK(episode.reward_sum == Approx(1.0 - 0.01 * static_cast<double>(episode.length - 1)).epsilon(1e-6));
        }
    }
    // Four fields and a half on average, at 0.8 fields a step.
    CHECK(ended > 16 * 200 / 8);
    b.actions.assign(16, 0.0f);
    int cut = 0;
    for (int i = 0; i < 100; ++i) {
        b.step(worlds);
        for (std::size_t e = 0; e < 16; ++e)
            cut += b.truncated[e];
    }
    CHECK(cut > 0);
}

TEST_CASE("what a library does wrong is told with its file, the environment and the step", "[plugin]") {
    std::string const at = fmt::format("{}: environment 1, step 3 of its episode: ", GMAC_FAULTY);
    CHECK(faulty("", 5).empty());
    CHECK(faulty("reward", 2).empty());
    CHECK(faulty("reward", 3) == at + "the reward is nan, but must be finite");
    CHECK(faulty("observation", 3) == at + "observation element 1 is nan, but must be finite");
    CHECK(faulty("final", 3) == at + "observation element 1 is -inf, but must be finite");
    CHECK(faulty("flag", 3) == at + "terminated is 2 and truncated 0, but they must be 0 or 1");
    CHECK(faulty("step", 3) == fmt::format("{}: step failed: step was told to fail", GMAC_FAULTY));
    CHECK(faulty("silent", 3) == fmt::format("{}: step failed: it gives no reason", GMAC_FAULTY));
    CHECK(faulty("reset", 0) ==
          fmt::format("{}: environment 0, the reset of its episode: observation element 0 is inf, but must be finite",
                      GMAC_FAULTY));
    CHECK(faulty("mask", 3) == fmt::format("{}: environment 1, after step 3 of its episode: all of the 3 actions are "
                                           "forbidden, but at least one must be allowed",
                                           GMAC_FAULTY));
    CHECK(message_of([] { plugin_environments(GMAC_FAULTY, 3, 1, "make"); }) ==
          fmt::format("{}: the environments cannot be made: make was told to fail", GMAC_FAULTY));

    // With guarded memory also what is not written, and what is written past the end.
    CHECK(faulty("unwritten", 3).empty());
    CHECK(faulty("", 5, true).empty());
    CHECK(faulty("unwritten", 3, true) == at + "observation element 1 is nan, but must be finite");
    CHECK(faulty("behind", 2, true).empty());
    CHECK(faulty("behind", 3, true) == fmt::format("{}: step writes past the end of the 6 observations", GMAC_FAULTY));

    // An end that is both is a termination.
    plugin_environments both(GMAC_FAULTY, 3, 1, "both");
    buffers b(both);
    both.reset(b.observation_view());
    for (int i = 0; i < 3; ++i)
        b.step(both);
    CHECK(b.terminated == std::vector<std::uint8_t>{0, 1, 0});
    CHECK(b.truncated == std::vector<std::uint8_t>{0, 0, 0});
    CHECK(b.final_view()(1, 0) == 7.0f);
    CHECK(both.finished().size() == 1);
    // Actions outside of the space, and one that is masked.
    for (float const wrong : {3.0f, -1.0f, 0.5f, 1.0f}) {
        b.actions[2] = wrong;
        CHECK(message_of([&] { b.step(both); }).find("environment 2, step 4 of its episode: the action is") !=
              std::string::npos);
    }
    b.actions[2] = 2.0f;
    b.step(both); // nothing was done by those that were refused
    memory_archive stored;
    both.persist(stored);
    stored.rewind();
    CHECK(message_of([&] { both.persist(stored); }) == fmt::format("{}: load failed: load always fails", GMAC_FAULTY));

    // What C gives where it fails is no size.
    plugin_environments sizes(GMAC_FAULTY, 3, 1, "sizes");
    sizes.reset(b.observation_view());
    memory_archive none;
    CHECK(
        message_of([&] { sizes.persist(none); }) ==
        fmt::
            format("{}: it says that there are 18446744073709551615 bytes of the states, but 1099511627776 is the most",
                   GMAC_FAULTY));
    CHECK(message_of([&] { static_cast<void>(sizes.draw(0)); }) ==
          fmt::format("{}: it says that there are 18446744073709551615 numbers of a drawing, but 16777216 is the most",
                      GMAC_FAULTY));
}

TEST_CASE("what a C++ environment throws is told", "[plugin]") {
    plugin_environments worlds(GMAC_EXPORTED, 2, 1, "throws");
    buffers b(worlds);
    worlds.reset(b.observation_view());
    std::string text;
    for (int i = 0; i < 40 && text.empty(); ++i)
        text = message_of([&] { b.step(worlds); });
    CHECK(text == fmt::format("{}: step failed: step 5 is too much", GMAC_EXPORTED));
    CHECK(message_of([&] { b.step(worlds); }).find("reset has to be called first, since the last step failed") !=
          std::string::npos);
    CHECK(message_of([] { plugin_environments(GMAC_EXPORTED, 2, 1, "bad"); }) ==
          fmt::format("{}: the environments cannot be made: the options are bad", GMAC_EXPORTED));
    CHECK(message_of([] {
              plugin_environments(GMAC_EXPORTED, 2, 1, "past");
          }).find("asks for states of 4 observations") != std::string::npos);
    CHECK(
        message_of([] { plugin_environments(GMAC_EXPORTED, 2, 1, "wide"); }) ==
        fmt::format("{}: the environments cannot be made: with the options \"wide\" observations have 2000 numbers and "
                    "actions 1, without options 2 and 1, or other bounds: a shared library must tell its spaces before "
                    "it is given options",
                    GMAC_EXPORTED));
    CHECK(message_of([] { plugin_environments(GMAC_CART_POLE, 2, 1, "long"); }) ==
          fmt::format("{}: the environments cannot be made: the environment has no options, but was given \"long\"",
                      GMAC_CART_POLE));
}

TEST_CASE("what is no library of an environment is refused by its name", "[plugin]") {
    auto const refused = [](std::string const& file) { return message_of([&] { plugin_environments(file, 1, 1); }); };
    CHECK(refused("/nowhere/cliff.so") == "there is no file /nowhere/cliff.so");
    gmac::testing::scratch_folder const folder;
    std::string const text = (folder.path / "text.so").string();
    gmac::testing::spit(text, "no library");
    CHECK(refused(text).starts_with(text + " is no shared library that can be loaded: "));
    CHECK(refused(GMAC_NOTHING) ==
          fmt::format("{} has no gmac_environment_library (gmac/environment/plugin.h), so it is no environment",
                      GMAC_NOTHING));
    CHECK(message_of([] { plugin_environments(GMAC_CORRIDOR, 0, 1); }).find("0 environments") != std::string::npos);
    for (
        auto const& [fault, sentence] :
        {std::pair("null", ": gmac_environment_library returned no environment (a reason may stand above)"),
         std::pair("version", " was made for version 7 of gmac/environment/plugin.h, but this program has version 2"),
         std::pair("step", ": the environment's step is NULL"),
         std::pair("half", ": state_size, save and load must all be there or all be NULL"),
         std::pair("size", ": the environment's observation size is 0, but must be positive"),
         std::pair("action_size",
                   ": there are 3 discrete actions, but action_size is 0, and must be 1, or how many are done at once"),
         std::pair("several", ": there are 2 discrete actions at once, but `high`, the last value of each, is NULL"),
         std::
             pair("begin",
                  ": component 0 of the actions has the bounds -1 and 1, but must begin at 0 and end at a whole number "
                  "below 16777216"),
         std::pair(
             "fraction",
             ": component 1 of the actions has the bounds 0 and 0.5, but must begin at 0 and end at a whole number "
             "below 16777216"),
         std::pair("sum", ": the 2 discrete actions at once have 3 values together, but `actions` is 4"),
         std::pair("large",
                   ": an observation has 18446744073709551615 numbers, an action 1, and there are 3 actions, but none "
                   "may be above 4294967296"),
         std::pair("allowed", ": `allowed` is for discrete actions"),
         std::pair("unbounded", ": the actions are vectors, but their bounds are NULL"),
         std::pair("bounds", ": the bounds of action element 1 are [1, 0], but the first must be the smaller")}) {
        INFO(fault);
        setenv("GMAC_FAULT", fault, 1);
        CHECK(refused(GMAC_FAULTY) == std::string(GMAC_FAULTY) + sentence);
    }
    unsetenv("GMAC_FAULT");
    CHECK(refused(GMAC_FAULTY).empty());
}
