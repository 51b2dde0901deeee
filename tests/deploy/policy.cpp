// SPDX-License-Identifier: Apache-2.0
// A policy that was deployed, saved and loaded acts as its agent does, bit for bit.
#include "deploy/trained.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"

#include <gmac/backends/eigen.hpp>
#include <gmac/deploy/value.hpp>
#include <gmac/environment/conditioned.hpp>
#include <gmac/statistics.hpp>

#include <array>
#include <thread>
#include <type_traits>

using namespace gmac;
using namespace gmac::testing;

namespace {

constexpr std::size_t count = 50;

template <class Subject>
void check_actions(Subject const& subject) {
    using backend = typename std::remove_cvref_t<decltype(subject.agent.networks())>::backend_type;
    scratch_folder folder;
    auto const file = folder.path / "policy.safetensors";
    save_policy(file, deploy(subject.agent, subject.normalized));
    auto const loaded = load_policy<backend>(file);
    REQUIRE(loaded.observation_size() == 2);
    REQUIRE(loaded.action_size() == 1);

    std::vector<float> const raw = raw_observations(count), seen = normalised(raw, subject.normalized);
    std::vector<float> wanted(count), actions(count), one(1);
    auto agents_own = subject.agent.policy(count);
    auto memory = loaded.make_memory(count);
    agents_own.act({seen.data(), count, 2}, {wanted.data(), count, 1});
    loaded.act({raw.data(), count, 2}, {actions.data(), count, 1}, memory);
    CHECK(actions == wanted);
    CHECK(std::ranges::count(actions, actions[0]) < std::ptrdiff_t(count)); // not always the same

    // One at a time, where a batch may round in another way.
    auto alone = subject.agent.policy();
    auto own_memory = loaded.make_memory();
    std::size_t differences = 0;
    for (std::size_t i = 0; i < count; ++i) {
        alone.act(std::span(seen).subspan(2 * i, 2), std::span(wanted).first(1));
        loaded.act(std::span(raw).subspan(2 * i, 2), one, own_memory);
        differences += one[0] == wanted[0] ? 0u : 1u;
    }
    CHECK(differences == 0);

    std::vector<random_stream> streams, same;
    for (std::size_t i = 0; i < count; ++i)
        streams.emplace_back(4, i);
    same = streams;
    agents_own.sample({seen.data(), count, 2}, streams, {wanted.data(), count, 1});
    loaded.sample({raw.data(), count, 2}, same, {actions.data(), count, 1}, memory);
    CHECK(actions == wanted);
}

} // namespace

TEST_CASE("A loaded policy acts as the agent's own, bit for bit", "[deploy]") {
    using gmac::testing::continuous_line;
    using gmac::testing::line;
    check_actions(trained<discrete_agent, line>());
    check_actions(trained<discrete_agent, line>({}, {.observations = false}));
    check_actions(trained<real_agent, continuous_line>());
    check_actions(
        trained<real_agent, continuous_line>({.deviations = actors::deviation_model::state_dependent, .floor = 0.1}));
    check_actions(trained<agents::ppo<actors::diagonal_gaussian, backends::eigen<double>>, continuous_line>(
        {.initial_deviation = 0.3}));
    check_actions(trained<agents::gmac<actors::state_dependent_exploration>, continuous_line>(
        {.initial_deviation = 0.3, .noise_steps = 2}));
}

TEST_CASE("Every frame of a state is normalised alike, and the number that tells a statistic is not", "[deploy]") {
    struct remembered : gmac::testing::line {
        [[nodiscard]] static observation_history history() { return {.frames = 3}; }
    };
    vector_environment<remembered> worlds(5, 3);
    normalized_environments normalized(worlds);
    conditioned_environments told(normalized, 4);
    agents::gmac<actors::categorical> agent(told, gmac::testing::small_options(), {.seed = 11});
    agent.value_by(statistic_range{statistic_kind::cvar, 0.1, 1.0});
    for (int i = 0; i < 2; ++i)
        static_cast<void>(agent.update());
    auto const policy = deploy(agent, normalized);
    REQUIRE(policy.observation_size() == 9);
    std::vector<float> const raw = raw_observations(3 * count), seen = normalised(raw, normalized);
    auto const with_number = [](std::vector<float> const& frames) {
        std::vector<float> states;
        for (std::size_t i = 0; i < 3 * count; ++i) {
            states.insert(states.end(), {frames[2 * i], frames[2 * i + 1]});
            states.push_back(static_cast<float>(i / 3 % 5) / 2.0f - 1.0f);
        }
        return states;
    };
    std::vector<float> const states = with_number(raw), normalised_states = with_number(seen);
    std::vector<float> wanted(count), actions(count);
    auto agents_own = agent.policy(count);
    auto memory = policy.make_memory(count);
    agents_own.act({normalised_states.data(), count, 9}, {wanted.data(), count, 1});
    policy.act({states.data(), count, 9}, {actions.data(), count, 1}, memory);
    CHECK(actions == wanted);
    CHECK(std::ranges::count(actions, actions[0]) < std::ptrdiff_t(count));

    // The other way round the number would be normalised.
    conditioned_environments inner(worlds, 4);
    normalized_environments around(inner);
    agents::gmac<actors::categorical> other(around, gmac::testing::small_options(), {.seed = 11});
    other.value_by(statistic_range{statistic_kind::cvar, 0.1, 1.0});
    CHECK(
        gmac::testing::message_of([&] { static_cast<void>(deploy(other, around)); }) ==
        "deploy: the environments normalise 3 numbers of an observation, but the policy sees 3, the last of which tells the "
        "statistic");
}

TEST_CASE("A policy worked out by hand", "[deploy]") {
    // tanh(x W + b), then one mean: (x − (1, 2)) · (2, 0.5), clipped at ±3.
    nn::mlp<backends::simd<float>> trunk({2, 1});
    deployed_policy<> policy(trunk, {actors::diagonal_gaussian{}, box{{-0.5f}, {0.75f}}, 3.0});
    std::ranges::copy(std::array{0.5f, -1.0f, /*bias*/ 0.25f, /*actor*/ 2.0f, /*bias*/ -0.5f, /*log deviation*/ -1.0f},
                      policy.parameters().data());
    std::ranges::copy(std::array{1.0, 2.0}, policy.observation_means().data());
    std::ranges::copy(std::array{2.0, 0.5}, policy.observation_scales().data());
    auto memory = policy.make_memory();
    auto const action = [&](std::array<float, 2> const& x) {
        std::array<float, 1> result{};
        policy.act(x, result, memory);
        return static_cast<double>(result[0]);
    };
    CHECK(action({1.0f, 2.0f}) == Approx(2.0 * std::tanh(0.25) - 0.5));
    CHECK(action({1.25f, 3.0f}) == Approx(2.0 * std::tanh(0.25 - 0.5 + 0.25) - 0.5).margin(1e-7));
    // The first element is clipped to 3, the action to the box.
    CHECK(action({1e6f, 5.0f}) == Approx(2.0 * std::tanh(1.5 - 1.5 + 0.25) - 0.5));
    CHECK(action({1e6f, 2.0f}) == 0.75);
    CHECK(action({-3.0f, 8.0f}) == -0.5);
    CHECK(std::isnan(action({std::nanf(""), 2.0f})));
}

TEST_CASE("Actions that a mask forbids are not done", "[deploy]") {
    // Logits tanh(x) (1, -1, 2, 0.5).
    deployed_policy<> policy(nn::mlp<backends::simd<float>>({1, 1}), {actors::categorical{}, discrete{4}});
    std::ranges::copy(std::array{1.0f, /*bias*/ 0.0f, /*actor*/ 1.0f, -1.0f, 2.0f, 0.5f, /*biases*/ 0.0f, 0.0f, 0.0f,
                                 0.0f},
                      policy.parameters().data());
    auto memory = policy.make_memory(3);
    std::array<float, 3> const observations{0.8f, -0.8f, 0.8f};
    std::array<std::uint8_t, 12> const masks{1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0, 1};
    std::array<float, 3> actions{};
    policy.act({observations.data(), 3, 1}, {actions.data(), 3, 1}, memory);
    CHECK(actions == std::array{2.0f, 1.0f, 2.0f});
    policy.act({observations.data(), 3, 1}, {actions.data(), 3, 1}, memory, {masks.data(), 3, 4});
    CHECK(actions == std::array{0.0f, 3.0f, 3.0f});
    for (std::size_t i = 0; i < 3; ++i) {
        std::array<float, 1> one{};
        CHECK(gmac::testing::allocations_during([&] {
                  policy.act(std::span(observations).subspan(i, 1), one, memory, std::span(masks).subspan(4 * i, 4));
              }) == 0);
        CHECK(one[0] == actions[i]);
    }

    std::vector<random_stream> streams{random_stream(3, 0), random_stream(3, 1), random_stream(3, 2)};
    constexpr int draws = 4000;
    std::array<int, 12> counts{};
    for (int n = 0; n < draws; ++n) {
        policy.sample({observations.data(), 3, 1}, streams, {actions.data(), 3, 1}, memory, {masks.data(), 3, 4});
        for (std::size_t i = 0; i < 3; ++i)
            ++counts[4 * i + static_cast<std::size_t>(actions[i])];
    }
    for (std::size_t i = 0; i < 3; ++i) {
        constexpr std::array slopes{1.0, -1.0, 2.0, 0.5};
        double const feature = std::tanh(static_cast<double>(observations[i]));
        double sum = 0.0;
        for (std::size_t j = 0; j < 4; ++j)
            sum += masks[4 * i + j] != 0 ? std::exp(feature * slopes[j]) : 0.0;
        for (std::size_t j = 0; j < 4; ++j) {
            double const p = masks[4 * i + j] != 0 ? std::exp(feature * slopes[j]) / sum : 0.0;
            CHECK(std::abs(counts[4 * i + j] - draws * p) <= 5.0 * std::sqrt(draws * p * (1.0 - p)));
        }
    }
}

TEST_CASE("Acting on one observation allocates nothing", "[deploy]") {
    trained<real_agent, gmac::testing::continuous_line> const subject;
    auto const policy = deploy(subject.agent, subject.normalized);
    auto memory = policy.make_memory();
    auto agents_own = subject.agent.policy();
    std::array<float, 2> const observation{0.3f, 0.1f};
    std::array<float, 1> action{};
    CHECK(gmac::testing::allocations_during([&] {
              policy.act(observation, action, memory);
              agents_own.act(observation, action);
          }) == 0);
    for (value_outputs const& head :
         {value_outputs(mixture_outputs{5, 1.0, 1.0}), value_outputs(atom_outputs{{0.0, 1.0}}),
          value_outputs(heads::implicit_quantile{.samples_per_state = 8, .embedding = 4, .hidden = 4})}) {
        deployed_value<> const value(nn::mlp<backends::simd<float>>({2, 4}), {head, 10.0});
        auto of_value = value.make_memory();
        CHECK(gmac::testing::allocations_during([&] { static_cast<void>(value.predict(observation, of_value)); }) == 0);
    }
}

TEST_CASE("Threads act with one policy at the same time", "[deploy]") {
    trained<discrete_agent, gmac::testing::line> const subject;
    auto const policy = deploy(subject.agent, subject.normalized);
    std::vector<float> const raw = raw_observations(count);
    std::vector<std::vector<float>> actions(4, std::vector<float>(count)), agents(actions);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < actions.size(); ++t)
        threads.emplace_back([&, t] {
            auto memory = policy.make_memory();
            auto agents_own = subject.agent.policy();
            for (std::size_t i = 0; i < count; ++i) {
                policy.act(std::span(raw).subspan(2 * i, 2), std::span(actions[t]).subspan(i, 1), memory);
                agents_own.act(std::span(raw).subspan(2 * i, 2), std::span(agents[t]).subspan(i, 1));
            }
        });
    for (auto& thread : threads)
        thread.join();
    for (std::size_t t = 1; t < actions.size(); ++t) {
        CHECK(actions[t] == actions[0]);
        CHECK(agents[t] == agents[0]);
    }
}

TEST_CASE("Shapes that a policy does not take are refused", "[deploy]") {
    trained<discrete_agent, gmac::testing::line> const subject;
    auto const policy = deploy(subject.agent, subject.normalized);
    auto memory = policy.make_memory(2);
    std::vector<float> three(3), many(12);
    std::array<float, 1> action{};
    CHECK_THROWS_WITH(policy.act(three, action, memory), "policy: observations is 1 x 3, but must be 1 x 2");
    CHECK_THROWS_WITH(policy.act(std::span(three).first(2), three, memory),
                      "policy: actions is 1 x 3, but must be 1 x 1");
    CHECK_THROWS_WITH(policy.act({many.data(), 3, 2}, {three.data(), 3, 1}, memory),
                      "policy: 3 observations, but the memory was made for 2");
    std::array<std::uint8_t, 6> const masks{0, 1, 1, 0, 0, 0};
    CHECK_THROWS_WITH(policy.act({many.data(), 2, 2}, {three.data(), 2, 1}, memory, {masks.data(), 1, 3}),
                      "policy: the matrix of action masks is 1 x 3, but must be 2 x 3");
    CHECK_THROWS_WITH(policy.act({many.data(), 2, 2}, {three.data(), 2, 1}, memory, {masks.data(), 2, 3}),
                      "policy: the action mask of row 1 forbids all of the 3 actions, but must allow at least one");
    deployed_policy<> const real(nn::mlp<backends::simd<float>>({2, 3}),
                                 {actors::diagonal_gaussian{}, box{{-1.0f, -1.0f, -1.0f}, {1.0f, 1.0f, 1.0f}}});
    auto real_memory = real.make_memory();
    CHECK_THROWS_WITH(real.act(std::span(many).first(2), three, real_memory, std::span(masks).first(3)),
                      "policy: there are action masks, but the action space is a box; masks are for discrete actions");
    CHECK_THROWS_WITH(deployed_policy<>(nn::mlp<backends::simd<float>>({2, 3}),
                                        {actors::categorical{}, discrete{2}, 0.0}),
                      "policy: observation_clip is 0, but must be positive");
}

TEST_CASE("a policy for a range of statistics is told of one as it acts, also from a file", "[deploy]") {
    // The action is 4 times the last number.
    deployed_policy<> policy(nn::mlp<backends::simd<float>>({3, 1}, {.function = nn::activation::none}),
                             {actors::diagonal_gaussian{}, box::uniform(1, -HUGE_VALF, HUGE_VALF), 1.0,
                              statistic_range{statistic_kind::wang, -2.0, 1.0}});
    std::ranges::copy(std::array{0.0f, 0.0f, 1.0f, 0.0f, /*actor*/ 4.0f, 0.0f, 0.0f}, policy.parameters().data());
    scratch_folder folder;
    auto const file = folder.path / "policy.safetensors";
    save_policy(file, policy);
    auto const loaded = load_policy(file);
    CHECK(loaded.description().range == policy.description().range);
    auto memory = loaded.make_memory(2);
    std::array<float, 4> const observations{5.0f, 7.0f, -5.0f, -7.0f};
    std::array<float, 2> actions{};
    auto const act = [&](double parameter) {
        loaded.act({observations.data(), 2, 2}, parameter, {actions.data(), 2, 1}, memory);
        CHECK(actions[0] == actions[1]);
        std::array<float, 1> one{};
        loaded.act(std::span(observations).first(2), parameter, one, memory);
        CHECK(one[0] == actions[0]);
        return actions[0];
    };
    CHECK(act(1.0) == 4.0f);
    CHECK(act(-2.0) == -4.0f);
    CHECK(act(-0.5) == 0.0f);
    CHECK(act(-0.875) == -1.0f);
    using gmac::testing::message_of;
    CHECK(message_of([&] { act(1.5); }) ==
          "the parameter of wang is 1.5, but the policy has learned those from -2 to 1");
    CHECK(message_of([&] {
              loaded.act(std::span(observations).first(3), 0.0, std::span(actions).first(1), memory);
          }).find("observations") != std::string::npos);
    auto small = loaded.make_memory();
    CHECK(message_of([&] {
              loaded.act({observations.data(), 2, 2}, 0.0, {actions.data(), 2, 1}, small);
          }) == "policy: 2 observations, but the memory was made for 1");

    deployed_policy<> plain(nn::mlp<backends::simd<float>>({2, 1}),
                            {actors::diagonal_gaussian{}, box::uniform(1, -1, 1)});
    auto plain_memory = plain.make_memory();
    CHECK(message_of([&] {
              plain.act(std::span(observations).first(1), 0.0, std::span(actions).first(1), plain_memory);
          }) == "policy: it has learned to act by one statistic only, so no parameter can be chosen");
    CHECK(message_of([] {
              deployed_policy<>(nn::mlp<backends::simd<float>>({1, 1}),
                                {actors::categorical{},
                                 discrete{2},
                                 {},
                                 statistic_range{statistic_kind::cvar, 0.1, 1.0}});
          }).find("the last one tells the parameter") != std::string::npos);
    CHECK(message_of([] {
              deployed_policy<>(nn::mlp<backends::simd<float>>({2, 1}),
                                {actors::categorical{}, discrete{2}, 0.5,
                                 statistic_range{statistic_kind::cvar, 0.1, 1.0}});
          }).find("observation_clip is 0.5, but must be at least 1 with a range") != std::string::npos);
}
