// SPDX-License-Identifier: Apache-2.0
// What a batch refuses, and that the messages name the environment, the step and the quantity.
#include "support/catch.hpp"

#include "../../examples/environments/classic/cart_pole.hpp"
#include "worlds.hpp"

#include <gmac/environment/running_statistics.hpp>
#include <gmac/environment/time_limit.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using gmac::vector_environment;
using gmac::testing::buffers;
using gmac::testing::counting;
using gmac::testing::faulty;
using gmac::testing::message_of;
using gmac::testing::walk;
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

/// Four environments of which number 2 goes wrong.
vector_environment<faulty> one_of_four(faulty wrong) {
    return vector_environment<faulty>(4, 1, [wrong](std::size_t i) { return i == 2 ? wrong : faulty(); });
}

TEST_CASE("a reward that is not finite is an error that names environment, step and quantity") {
    auto batch = one_of_four({.kind = faulty::fault::reward, .when = 3});
    buffers b(batch);
    batch.reset(b.observation_view());
    b.step(batch);
    b.step(batch);
    CHECK(message_of([&] { b.step(batch); }) ==
          "vector_environment: environment 2, step 3 of its episode: the reward is nan, but must be finite");
    CHECK(batch.finished().empty());

    auto huge = one_of_four({.kind = faulty::fault::reward, .when = 1, .value = -1e300});
    huge.reset(b.observation_view());
    CHECK(message_of([&] { b.step(huge); }) ==
          "vector_environment: environment 2, step 1 of its episode: the reward is "
          "-1e+300, but must be finite as a float");
}

TEST_CASE("an observation that is not finite is an error that names environment, step and element") {
    auto batch =
        one_of_four({.kind = faulty::fault::observation, .when = 2, .value = -std::numeric_limits<double>::infinity()});
    buffers b(batch);
    batch.reset(b.observation_view());
    b.step(batch);
    CHECK(
        message_of([&] { b.step(batch); }) ==
        "vector_environment: environment 2, step 2 of its episode: observation element 2 is -inf, but must be finite");

    auto at_reset = one_of_four({.kind = faulty::fault::observation, .when = 0});
    CHECK(message_of([&] { at_reset.reset(b.observation_view()); }) ==
          "vector_environment: environment 2, reset: observation element 2 is nan, but must be finite");
}

TEST_CASE("the error is that of the first environment") {
    vector_environment<faulty> batch(4, 1, [](std::size_t i) {
        return faulty{.kind = i == 0 ? faulty::fault::none : faulty::fault::reward, .when = 1};
    });
    buffers b(batch);
    batch.reset(b.observation_view());
    CHECK(message_of([&] { b.step(batch); }).find("environment 1,") != std::string::npos);
}

TEST_CASE("after a failed step a batch asks for a reset, and then works") {
    for (auto kind : {faulty::fault::reward, faulty::fault::observation, faulty::fault::exception}) {
        auto batch = one_of_four({.kind = kind, .when = 1});
        buffers b(batch);
        batch.reset(b.observation_view());
        CHECK_THROWS_AS(b.step(batch), std::runtime_error);
        CHECK(batch.finished().empty());
        CHECK(
            message_of([&] { b.step(batch); }) ==
            "vector_environment::step: reset has to be called first, since the last step failed or the episodes could "
            "not be restored");
        batch[2].kind = faulty::fault::none;
        batch.reset(b.observation_view());
        b.step(batch);
        CHECK(b.rewards == std::vector<float>{1, 1, 1, 1});
        CHECK(b.observations[6] == 1.0f);
    }
}

TEST_CASE("an exception of an environment reaches the caller as it is") {
    auto batch = one_of_four({.kind = faulty::fault::exception, .when = 1});
    buffers b(batch);
    batch.reset(b.observation_view());
    CHECK_THROWS_WITH(b.step(batch), "the emulator crashed");
}

TEST_CASE("a discrete action outside the space is refused before anything moves") {
    vector_environment<counting> batch(3, 1);
    buffers b(batch);
    batch.reset(b.observation_view());
    b.step(batch);
    auto const refused = [&](float action) {
        b.actions[1] = action;
        std::string message = message_of([&] { b.step(batch); });
        b.actions[1] = 0.0f;
        return message;
    };
    CHECK(refused(3.0f) ==
          "vector_environment: environment 1, step 2 of its episode: the action is 3, but must be a whole "
          "number from 0 to 2");
    for (float action : {-1.0f, 0.5f, -0.25f, 2.5f, nan, infinity, -infinity, 1e20f})
        CHECK(refused(action).find("environment 1, step 2 of its episode: the action is") != std::string::npos);
    for (float action : {-0.0f, 1.0f, 2.0f})
        CHECK(refused(action).empty());
    CHECK(batch[0].episode == 2); // four steps in all, those that were refused not among them
    CHECK(batch[0].steps == 1);
}

TEST_CASE("a continuous action outside its bounds is refused with the bounds named") {
    vector_environment<walk> batch(2, 1);
    buffers b(batch);
    batch.reset(b.observation_view());
    auto const refused = [&](float action) {
        b.actions[3] = action;
        return message_of([&] { b.step(batch); });
    };
    CHECK(refused(0.75f) ==
          "vector_environment: environment 1, step 1 of its episode: action element 1 is 0.75, but must be "
          "a finite number in [-2, 0.5]");
    CHECK(refused(-2.5f).find("action element 1 is -2.5") != std::string::npos);
    CHECK(refused(nan).find("action element 1 is nan") != std::string::npos);
    CHECK(refused(0.5f).empty());
    CHECK(refused(-2.0f).empty());
}

TEST_CASE("a space without bounds still refuses infinite actions") {
    struct unbounded : walk {
        [[nodiscard]] gmac::box action_space() const { return gmac::box::uniform(2, -infinity, infinity); }
    };
    vector_environment<unbounded> batch(1, 1);
    buffers b(batch);
    batch.reset(b.observation_view());
    b.actions[0] = 1e30f;
    b.step(batch);
    b.actions[0] = infinity;
    CHECK(message_of([&] { b.step(batch); }).find("action element 0 is inf") != std::string::npos);
}

TEST_CASE("zero environments and a step before the first reset are refused") {
    CHECK(message_of([] { vector_environment<counting>(0, 1); }) ==
          "vector_environment: 0 environments were asked for, but at least 1 is needed");
    vector_environment<counting> batch(1, 1);
    buffers b(batch);
    CHECK(message_of([&] { b.step(batch); }) == "vector_environment::step: reset has to be called first");
}

TEST_CASE("shapes that do not match are named") {
    vector_environment<counting> batch(3, 1);
    buffers b(batch);
    CHECK(message_of([&] {
              batch.reset({b.observations.data(), 2, 3});
          }) == "vector_environment::reset: observations is 2 x 3, but must be 3 x 2");
    batch.reset(b.observation_view());
    CHECK(message_of([&] {
              batch.step({b.actions.data(), 1, 3}, b.result());
          }) == "vector_environment::step: actions is 1 x 3, but must be 3 x 1");
    auto result = b.result();
    result.final_observations = result.observations;
    CHECK(message_of([&] { batch.step(b.action_view(), result); }) ==
          "vector_environment::step: observations and final_observations must not be the same memory");
    result = b.result();
    result.truncated = result.truncated.first(2);
    CHECK(message_of([&] { batch.step(b.action_view(), result); }) ==
          "vector_environment::step: rewards, terminated and truncated have 3, 3 and 2 elements, but must have 3 each");
    b.step(batch);
    CHECK(b.rewards[0] == 11.0f);
}

TEST_CASE("environments that make no sense are refused when the batch is made") {
    struct sized : counting {
        std::size_t size = 0, actions = 2;
        [[nodiscard]] std::size_t observation_size() const { return size; }
        [[nodiscard]] gmac::discrete action_space() const { return {actions}; }
    };
    auto const make = [](std::size_t size, std::size_t actions) {
        return message_of([&] {
            vector_environment<sized>(1, 1, [&](std::size_t) { return sized{{}, size, actions}; });
        });
    };
    CHECK(make(2, 2).empty());
    CHECK(make(0, 2) == "vector_environment: the environment's observation size is 0, but must be positive");
    CHECK(make(2, 0) == "vector_environment: the action space has 0 actions, but must have 1 to 16777216");
    CHECK(message_of([] { vector_environment<sized>(2, 1, [](std::size_t i) {
                              return sized{{}, 2 + i, 2};
                          }); }) ==
          "vector_environment: environment 1 has another observation size, history or action space than environment 0");

    struct bounded : walk {
        gmac::box bounds;
        [[nodiscard]] gmac::action_space action_space() const { return bounds; }
    };
    auto const with = [](gmac::box const& bounds) {
        return message_of([&] { vector_environment<bounded>(1, 1, [&](std::size_t) { return bounded{{}, bounds}; }); });
    };
    CHECK(with({{-1.0f, -1.0f}, {1.0f, 1.0f}}).empty());
    CHECK(with({{-1.0f}, {1.0f, 1.0f}}) ==
          "vector_environment: the action space has 1 lower and 2 upper bounds, but needs "
          "as many of each, at least 1");
    CHECK(with({{-1.0f, 2.0f}, {1.0f, 1.0f}}) ==
          "vector_environment: the bounds of action element 1 are [2, 1], but the "
          "first must be the smaller");
    CHECK(with({{-1.0f, nan}, {1.0f, 1.0f}}).find("the bounds of action element 1 are [nan, 1]") != std::string::npos);

    struct confused : walk {
        [[nodiscard]] gmac::action_space action_space() const { return gmac::discrete{2}; }
    };
    CHECK(message_of([] { vector_environment<confused>(1, 1); }) ==
          "vector_environment: the environment's action space is discrete, but its step takes no int");
}

TEST_CASE("a time limit of zero is refused") {
    CHECK(message_of([] { gmac::time_limit<counting>({}, 0); }) ==
          "time_limit: the limit is 0 steps, but must be at least 1");
}

} // namespace
