// SPDX-License-Identifier: Apache-2.0
// The classic environments against steps computed by hand from the published equations, and their limits.
#include "support/catch.hpp"
#include "support/memory_archive.hpp"
#include "support/numbers.hpp"

#include "../../examples/environments/classic/cart_pole.hpp"
#include "../../examples/environments/classic/pendulum.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

namespace {

using classic::cart_pole;
using classic::cart_pole_world;
using classic::pendulum;
using classic::pendulum_world;

static_assert(gmac::checkpointable_environment<cart_pole>);
static_assert(gmac::checkpointable_environment<pendulum>);

Approx near(double value) {
    return Approx(value).epsilon(1e-14).margin(1e-15);
}

struct bench {
    gmac::random_stream random{3};
    std::array<float, 4> observation{};

    gmac::transition push(cart_pole_world& world, int action) { return world.step(action, random, observation); }
    gmac::transition twist(pendulum_world& world, float torque) {
        return world.step(std::span<float const>(&torque, 1), random, std::span(observation).first(3));
    }
};

// The literals come from the published equations, evaluated in Python with x, v, θ, ω for the cart-pole:
//   t = (F + 0.05 ω² sin θ) / 1.1,  θ'' = (9.8 sin θ − cos θ t) / (0.5 (4/3 − 0.1 cos² θ / 1.1)),  x'' = t − 0.05 θ''
// cos θ / 1.1,   x += 0.02 v, v += 0.02 x'', θ += 0.02 ω, ω += 0.02 θ'', all with the old values on the right.
TEST_CASE("cart-pole takes the steps of the published equations") {
    bench b;
    cart_pole_world world;
    world.set({0.01, -0.02, 0.03, 0.04});
    struct expected {
        int action;
        double position, velocity, angle, angular_velocity;
    };
    std::array<expected, 4> const steps{{
        {1, 0.009600000000000001, 0.17467919574755525, 0.030799999999999998, -0.2430687179600081},
        {1, 0.013093583914951107, 0.3693479760579556, 0.025938625640799837, -0.5258796280501483},
        {0, 0.02048054343611022, 0.17387081260481596, 0.01542103307979687, -0.22513741609237464},
        {1, 0.02395795968820654, 0.3687690101747617, 0.010918284757949377, -0.5129163478026587},
    }};
    for (expected const& step : steps) {
        auto const given = b.push(world, step.action);
        CHECK(given.reward == 1.0);
        CHECK_FALSE(given.terminated);
        CHECK_FALSE(given.truncated);
        CHECK(world.current().position == near(step.position));
        CHECK(world.current().velocity == near(step.velocity));
        CHECK(world.current().angle == near(step.angle));
        CHECK(world.current().angular_velocity == near(step.angular_velocity));
        CHECK(b.observation[0] == static_cast<float>(world.current().position));
        CHECK(b.observation[1] == static_cast<float>(world.current().velocity));
        CHECK(b.observation[2] == static_cast<float>(world.current().angle));
        CHECK(b.observation[3] == static_cast<float>(world.current().angular_velocity));
    }
}

TEST_CASE("cart-pole ends beyond 2.4 m and 12 degrees, and still pays 1") {
    bench b;
    cart_pole_world world;
    auto const ends = [&](cart_pole_world::coordinates const& start) {
        world.set(start);
        auto const given = b.push(world, 0);
        CHECK(given.reward == 1.0);
        CHECK_FALSE(given.truncated);
        return given.terminated;
    };
    // The position after a step is x + 0.02 v, the angle θ + 0.02 ω; 12° = 0.20943951….
    CHECK_FALSE(ends({2.38, 0.99, 0.0, 0.0}));
    CHECK(ends({2.38, 1.01, 0.0, 0.0}));
    CHECK_FALSE(ends({-2.38, -0.99, 0.0, 0.0}));
    CHECK(ends({-2.38, -1.01, 0.0, 0.0}));
    CHECK_FALSE(ends({0.0, 0.0, 0.2, 0.47}));
    CHECK(ends({0.0, 0.0, 0.2, 0.48}));
    CHECK_FALSE(ends({0.0, 0.0, -0.2, -0.47}));
    CHECK(ends({0.0, 0.0, -0.2, -0.48}));
}

// θ normalised to [−π, π); cost θ² + 0.1 ω² + 0.001 u²; ω += 0.05 (15 sin θ + 3 u), clipped to ±8; θ += 0.05 ω.
TEST_CASE("pendulum takes the steps of the published equations") {
    bench b;
    pendulum_world world;
    struct expected {
        float torque;
        double angle, angular_velocity, reward;
    };
    auto const check = [&](expected const& step) {
        auto const given = b.twist(world, step.torque);
        CHECK(given.reward == near(step.reward));
        CHECK_FALSE(given.terminated);
        CHECK_FALSE(given.truncated);
        CHECK(world.current().angle == near(step.angle));
        CHECK(world.current().angular_velocity == near(step.angular_velocity));
        CHECK(b.observation[0] == static_cast<float>(std::cos(world.current().angle)));
        CHECK(b.observation[1] == static_cast<float>(std::sin(world.current().angle)));
        CHECK(b.observation[2] == static_cast<float>(world.current().angular_velocity));
    };
    world.set({1.0, -0.5});
    check({1.5f, 1.0178051619302961, 0.3561032386059225, -1.02725});
    check({-2.0f, 1.0525212213701767, 0.6943211887976128, -1.0526082993065187});
    check({5.0f, 1.1348125915892908, 1.645827404382283, -1.160009112755902}); // the torque is clipped to 2
    check({0.25f, 1.2529710260826605, 2.363168689867395, -1.5587369025311744});
    world.set({7.0, 7.9}); // the speed is clipped to 8, the angle of the cost is 7 − 2π
    check({2.0f, 7.4, 8.0, -6.758823303843224});
    world.set({-4.0, -7.95}); // the angle of the cost is 2π − 4
    check({-2.0f, -4.384119906425953, -7.682398128519054, -11.537185146920741});
    world.set({std::numbers::pi, 0.0}); // hanging: −π in the cost, and no torque keeps it there
    check({0.0f, 3.141592653589793, 9.184850993605151e-17, -9.869604401089358});
    world.set({-9.0, 3.0});
    check({0.5f, -8.861704443196565, 2.7659111360686826, -8.281332075124878});
}

TEST_CASE("pendulum clips the speed on both sides") {
    bench b;
    pendulum_world world;
    world.set({-std::numbers::pi / 2, -7.9});
    (void)b.twist(world, -2.0f);
    CHECK(world.current().angular_velocity == -8.0);
    CHECK(world.current().angle == near(-std::numbers::pi / 2 - 0.4));
    CHECK(world.action_space().low == std::vector<float>{-2.0f});
    CHECK(world.action_space().high == std::vector<float>{2.0f});
}

TEST_CASE("episodes are truncated after 500 and 200 steps") {
    bench b;
    pendulum swing;
    swing.reset(b.random, std::span(b.observation).first(3));
    float const torque = 0.3f;
    for (int episode = 0; episode < 2; ++episode) {
        for (int step = 1; step <= 200; ++step) {
            auto const given =
                swing.step(std::span<float const>(&torque, 1), b.random, std::span(b.observation).first(3));
            CHECK(given.truncated == (step == 200));
            CHECK_FALSE(given.terminated);
        }
        swing.reset(b.random, std::span(b.observation).first(3));
    }
    cart_pole cart;
    cart.reset(b.random, b.observation);
    for (int step = 1; step <= 500; ++step) {
        auto const given = cart.step(step % 2, b.random, b.observation);
        CHECK(given.truncated == (step == 500));
        CHECK_FALSE(given.terminated);
        cart.world().set({}); // upright again, so that it never falls
    }
}

/// Pearson's χ² of numbers that should be uniform on [low, high), over 20 cells.
double chi_square(std::vector<double> const& numbers, double low, double high) {
    std::vector<int> cells(20);
    for (double x : numbers) {
        REQUIRE(x >= low);
        REQUIRE(x <= high);
        ++cells[static_cast<std::size_t>(std::min(19.0, std::floor(20.0 * (x - low) / (high - low))))];
    }
    return gmac::testing::chi_square(cells);
}

TEST_CASE("resets are uniform in the published ranges") {
    // With 19 degrees of freedom, 43.8 is exceeded by one in a thousand.
    constexpr double limit = 43.8;
    bench b;
    std::array<std::vector<double>, 4> cart_numbers;
    std::array<std::vector<double>, 2> swing_numbers;
    cart_pole_world cart;
    pendulum_world swing;
    for (int i = 0; i < 20000; ++i) {
        cart.reset(b.random, b.observation);
        auto const& c = cart.current();
        cart_numbers[0].push_back(c.position);
        cart_numbers[1].push_back(c.velocity);
        cart_numbers[2].push_back(c.angle);
        cart_numbers[3].push_back(c.angular_velocity);
        swing.reset(b.random, std::span(b.observation).first(3));
        swing_numbers[0].push_back(swing.current().angle);
        swing_numbers[1].push_back(swing.current().angular_velocity);
    }
    for (auto const& numbers : cart_numbers)
        CHECK(chi_square(numbers, -0.05, 0.05) < limit);
    CHECK(chi_square(swing_numbers[0], -std::numbers::pi, std::numbers::pi) < limit);
    CHECK(chi_square(swing_numbers[1], -1.0, 1.0) < limit);
}

TEST_CASE("a classic episode is restored bit for bit, its step count too") {
    bench b;
    pendulum swing;
    float const torque = -1.2f;
    auto const step = [&](pendulum& world) {
        return world.step(std::span<float const>(&torque, 1), b.random, std::span(b.observation).first(3));
    };
    swing.reset(b.random, std::span(b.observation).first(3));
    for (int i = 0; i < 150; ++i)
        (void)step(swing);
    gmac::testing::memory_archive saved;
    swing.persist(saved);
    saved.rewind();
    pendulum other;
    other.persist(saved);
    for (int i = 151; i <= 200; ++i) {
        auto const a = step(swing);
        auto const c = step(other);
        CHECK(a.reward == c.reward);
        CHECK(c.truncated == (i == 200));
        CHECK(swing.world().current().angle == other.world().current().angle);
        CHECK(swing.world().current().angular_velocity == other.world().current().angular_velocity);
    }
}

} // namespace
