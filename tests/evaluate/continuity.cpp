// SPDX-License-Identifier: Apache-2.0
// The continuity cost against its definition, on actions that are known.
#include "support/catch.hpp"
#include "train/evaluate/action_continuity.hpp"

#include <gmac/core/random.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace {

using gmac::examples::train::watched_actions;

/// Episodes of three steps.
struct counting {
    int length = 3, steps = 0;
    static std::size_t observation_size() { return 1; }
    static gmac::box action_space() { return {{-1.0f, 0.0f}, {1.0f, 5.0f}}; }
    void reset(gmac::random_stream&, std::span<float> observation) {
        steps = 0;
        observation[0] = 0.0f;
    }
    gmac::transition step(std::span<float const>, gmac::random_stream&, std::span<float> observation) {
        observation[0] = 0.0f;
        return {.reward = 0.0, .terminated = ++steps == length};
    }
};
struct choosing {
    static std::size_t observation_size() { return 1; }
    static gmac::discrete action_space() { return {3}; }
    void reset(gmac::random_stream&, std::span<float> observation) { observation[0] = 0.0f; }
    gmac::transition step(int, gmac::random_stream&, std::span<float> observation) {
        observation[0] = 0.0f;
        return {};
    }
};

/// Any number of steps with these actions, one row a step and environment.
void play(gmac::environment_batch& worlds, std::vector<float> const& actions) {
    std::size_t const size = worlds.size(), acted = gmac::action_size(worlds.action_space());
    std::vector<float> observations(size), rewards(size);
    std::vector<std::uint8_t> terminated(size), truncated(size);
    worlds.reset({observations.data(), size, 1});
    for (std::size_t first = 0; first < actions.size(); first += size * acted)
        worlds.step({actions.data() + first, size, acted},
                    {{observations.data(), size, 1}, {}, rewards, terminated, truncated});
}

} // namespace

TEST_CASE("the continuity cost is 100 times the mean squared change in units of the range", "[evaluate]") {
    gmac::random_stream random(3);
    std::size_t const steps = 8;
    std::vector<float> actions;
    for (std::size_t i = 0; i < 2 * steps; ++i) {
        actions.push_back(2.0f * random.uniform<float>() - 1.0f);
        actions.push_back(5.0f * random.uniform<float>());
    }
    watched_actions worlds(std::make_unique<gmac::vector_environment<counting>>(2, 1));
    play(worlds, actions);
    // Both first episodes have three steps: two changes each, of two elements.
    double sum = 0.0;
    for (std::size_t e = 0; e < 2; ++e)
        for (std::size_t t = 1; t < 3; ++t)
            for (std::size_t i = 0; i < 2; ++i) {
                double const now = actions[(t * 2 + e) * 2 + i], before = actions[((t - 1) * 2 + e) * 2 + i];
                sum += std::pow((now - before) / (i == 0 ? 2.0 : 5.0), 2);
            }
    CHECK(worlds.continuity_cost() == Approx(100.0 * sum / 8.0).epsilon(1e-12));
    play(worlds, actions); // begins anew
    CHECK(worlds.continuity_cost() == Approx(100.0 * sum / 8.0).epsilon(1e-12));

    play(worlds, {-1, 0, 1, 5, 1, 5, -1, 0, -1, 0, 1, 5}); // from bound to bound
    CHECK(worlds.continuity_cost() == 100.0);
    play(worlds, std::vector<float>(24, 0.5f));
    CHECK(worlds.continuity_cost() == 0.0);
    play(worlds, {1, 1, 1, 1}); // one step has no change
    CHECK(std::isnan(worlds.continuity_cost()));
}

TEST_CASE("discrete actions have no continuity cost", "[evaluate]") {
    watched_actions worlds(std::make_unique<gmac::vector_environment<choosing>>(2, 1));
    play(worlds, {0, 1, 2, 1, 0, 0});
    CHECK(std::isnan(worlds.continuity_cost()));
}
