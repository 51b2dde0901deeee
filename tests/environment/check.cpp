// SPDX-License-Identifier: Apache-2.0
// Environments that are sound, and for each question one that is not.
#include <gmac/environment/check.hpp>

#include <gmac/environment/time_limit.hpp>
#include <gmac/environment/vector_environment.hpp>

#include "support/catch.hpp"
#include "support/masked_ring.hpp"
#include "support/says.hpp"

#include "../../examples/environments/classic/cart_pole.hpp"
#include "../../examples/environments/classic/deep_sea.hpp"
#include "../../examples/environments/classic/pendulum.hpp"
#include "../../examples/environments/minatar/games.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace {

using findings = std::vector<gmac::environment_finding>;

/// What is wrong, a line each.
std::string faults(findings const& all) {
    std::string text;
    for (auto const& finding : all)
        if (!finding.sound)
            text += finding.asked + ": " + finding.found + "\n";
    return text;
}

/// Counts to 5, and goes wrong in one way.
enum class fault {
    none,
    unwritten,
    unwritten_after_reset,
    behind,
    not_finite,
    reward,
    not_finite_at_the_end,
    endless,
    another_course,
    forgets,
    box
};
template <fault Wrong>
struct counting {
    int at = 0;

    static std::size_t observation_size() { return 2; }
    static gmac::action_space action_space() {
        if (Wrong == fault::box)
            return gmac::box{{-1.0f, 0.5f}, {1.0f, -0.5f}};
        return gmac::discrete{3};
    }
    void reset(gmac::random_stream& random, std::span<float> observation) {
        at = static_cast<int>(random.below(2));
        if (Wrong != fault::unwritten_after_reset)
            observation[1] = 1.0f;
        observation[0] = static_cast<float>(at);
    }
    gmac::transition step(int action, gmac::random_stream&, std::span<float> observation) {
        static int all = 0;
        ++all;
        at += action > 0 ? 1 : 0;
        observation[0] = static_cast<float>(at);
        if (Wrong != fault::unwritten)
            observation[1] = 0.0f;
        if (Wrong == fault::behind)
            observation.data()[2] = 7.0f;
        if (Wrong == fault::another_course)
            observation[1] = static_cast<float>(all);
        if (Wrong == fault::not_finite && at == 3)
            observation[1] = std::numeric_limits<float>::quiet_NaN();
        if (Wrong == fault::not_finite_at_the_end && at >= 5)
            observation[1] = std::numeric_limits<float>::infinity();
        double const reward = Wrong == fault::reward && at == 4 ? std::numeric_limits<double>::infinity() : 1.0;
        return {.reward = reward, .terminated = Wrong != fault::endless && at >= 5};
    }
    gmac::transition step(std::span<float const>, gmac::random_stream&, std::span<float>) { return {}; }
    void persist(gmac::archive& state) {
        if (Wrong != fault::forgets)
            state("at", at);
    }
};

/// Of 4 steps, the third of which is no number in the third episode.
struct third_of_third {
    int episode = 0, at = 0;

    static std::size_t observation_size() { return 1; }
    static gmac::discrete action_space() { return {2}; }
    void reset(gmac::random_stream&, std::span<float> observation) {
        ++episode;
        at = 0;
        observation[0] = 0.0f;
    }
    gmac::transition step(int, gmac::random_stream&, std::span<float> observation) {
        ++at;
        observation[0] = episode == 3 && at == 3 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(at);
        return {.reward = 1.0, .terminated = at == 4};
    }
    void persist(gmac::archive& state) {
        state("episode", episode);
        state("at", at);
    }
};

template <fault Wrong>
std::string faults_of() {
    return faults(gmac::check_environment<counting<Wrong>>({.steps = 200}));
}

} // namespace

TEST_CASE("environments that are sound are found sound") {
    CHECK(faults_of<fault::none>().empty());
    CHECK(faults(gmac::check_environment<classic::cart_pole>()).empty());
    CHECK(faults(gmac::check_environment<classic::pendulum>()).empty());
    CHECK(faults(gmac::check_environment<gmac::testing::masked_ring>()).empty());
    CHECK(faults(gmac::check_environment<classic::deep_sea>([](std::size_t) {
              return classic::deep_sea(7, true);
          })).empty());
    // Bytes, and a batch that has its own memory.
    using game = minatar::game<minatar::breakout>;
    auto const batch = [](std::size_t count,
                          std::uint64_t seed) -> std::unique_ptr<gmac::basic_environment_batch<std::uint8_t>> {
        return std::make_unique<gmac::vector_environment<game>>(count, seed);
    };
    auto const all = gmac::check_environments<std::uint8_t>(batch);
    CHECK(faults(all).empty());
    CHECK(all.size() == 8);
}

TEST_CASE("what is found says how much there is") {
    auto const all = gmac::check_environment<counting<fault::none>>({.environments = 2, .steps = 50});
    REQUIRE(all.size() == 8);
    CHECK(all[0].found == "observations of 2 elements, 3 actions");
    CHECK(all[2].found == "their elements are from 0 to 4");
    CHECK(all[3].found == "rewards are from 1 to 1");
}

TEST_CASE("what is wrong with an environment is said, with environment, step and quantity") {
    CHECK(
        faults_of<fault::unwritten>() ==
        "observations are written: environment 0, step 1 of its episode: element 1 of the observation is not written\n");
    CHECK(faults_of<fault::unwritten_after_reset>() ==
          "observations are written: environment 0, after the reset: element 1 of the observation is not written\n");
    CHECK(faults_of<fault::behind>() ==
          "they can be played: the environments wrote behind the memory of their observations, 6 elements\n");
    auto const alone = gmac::check_environment<counting<fault::behind>>({.environments = 1});
    CHECK(faults(alone) ==
          "they can be played: the environments wrote behind the memory of their observations, 2 elements\n");
    CHECK_THAT(faults_of<fault::not_finite>(), gmac::testing::says("numbers are finite: environment ") &&
                                                   gmac::testing::says("element 1 of the observation is nan"));
    CHECK_THAT(faults_of<fault::not_finite_at_the_end>(),
               gmac::testing::says("element 1 of the final observation is inf"));
    CHECK_THAT(faults_of<fault::reward>(), gmac::testing::says("the reward is inf"));
    CHECK(faults_of<fault::endless>() ==
          "episodes end: none ended in 200 steps of 3 environments; gmac::time_limit cuts those that go on\n");
    CHECK_THAT(faults_of<fault::another_course>(),
               gmac::testing::says(
                   "the same seed and actions give the same: step 1 gives other observations, rewards or ends"));
    CHECK_THAT(faults_of<fault::forgets>(), gmac::testing::says("a stored state goes on as it was: step "));
    CHECK(faults_of<fault::box>() ==
          "they can be played: the box of actions has the bounds 0.5 and -0.5 for element 1\n");
}

TEST_CASE("an environment that cannot be moved is checked") {
    struct fixed : counting<fault::none> {
        fixed() = default;
        fixed(fixed const&) = delete;
        fixed& operator=(fixed const&) = delete;
    };
    CHECK(faults(gmac::check_environment<fixed>({.steps = 200})).empty());
}

TEST_CASE("what is not finite is found once, in the step that the environment batch says") {
    std::string const when = "environment 0, step 3 of its episode";
    CHECK(faults(gmac::check_environment<third_of_third>()) ==
          "numbers are finite: " + when + ": element 0 of the observation is nan\n");
    gmac::vector_environment<third_of_third> worlds(1, 1);
    std::vector<float> observations(1), rewards(1), actions(1);
    std::vector<std::uint8_t> flags(2);
    worlds.reset({observations.data(), 1, 1});
    auto const play = [&] {
        for (int t = 0; t < 20; ++t)
            worlds.step({actions.data(), 1, 1},
                        {{observations.data(), 1, 1}, {}, {rewards.data(), 1}, {&flags[0], 1}, {&flags[1], 1}});
    };
    CHECK_THROWS_WITH(play(), gmac::testing::says(when + ": observation element 0 is nan"));
}
