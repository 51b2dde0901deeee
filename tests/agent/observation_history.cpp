// SPDX-License-Identifier: Apache-2.0
// Observations as bytes and states of several observations, from the environment to the agent.
#include <gmac/actors/categorical.hpp>
#include <gmac/agents.hpp>
#include <gmac/core/tbb_executor.hpp>
#include <gmac/environment/clipped_rewards.hpp>
#include <gmac/environment/decorator.hpp>
#include <gmac/environment/time_limit.hpp>
#include <gmac/environment/vector_environment.hpp>
#include <gmac/nn/conv2d.hpp>
#include <gmac/nn/sequential.hpp>

#include "agent/frames.hpp"
#include "agent/worlds.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"

#include <unistd.h>

#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace {

using gmac::history_padding;
using gmac::observation_history;
using gmac::testing::parameters_of;
using gmac::testing::screens;
using bytes = std::vector<std::uint8_t>;
using screen_worlds = gmac::vector_environment<screens>;
using backend = gmac::backends::simd<float>;
using trunk = gmac::nn::sequential<gmac::nn::conv2d<backend, std::uint8_t>, gmac::nn::linear<backend>>;
using byte_agent = gmac::agents::gmac<gmac::actors::categorical, backend, trunk>;
using byte_ppo = gmac::agents::ppo<gmac::actors::categorical, backend, trunk>;

/// Filters of single pixels, over all frames of the state.
trunk trunk_for(std::size_t frames, std::size_t filters) {
    return trunk({{1, 5, frames}, {.filters = filters, .kernel = 1, .layout = gmac::nn::image_layout::channels_first}},
                 {5 * filters, 8, {.function = gmac::nn::activation::relu}});
}

screen_worlds worlds_with(observation_history history, std::size_t count, std::uint64_t seed,
                          gmac::executor* tasks = nullptr) {
    return screen_worlds(
        count, seed, [history](std::size_t) { return screens{.wanted = history}; }, tasks);
}

/// The last observations of an episode, put together from all of them.
bytes stack_of(std::vector<bytes> const& episode, observation_history history) {
    bytes state;
    for (std::size_t back = history.frames; back-- > 0;) {
        bytes const absent = history.padding == history_padding::zeros ? bytes(episode[0].size(), 0) : episode.front();
        bytes const& frame = back < episode.size() ? episode[episode.size() - 1 - back] : absent;
        state.insert(state.end(), frame.begin(), frame.end());
    }
    return state;
}

template <class T>
bytes row_of(gmac::matrix_view<T> const& matrix, std::size_t i) {
    bytes row;
    for (std::size_t j = 0; j < matrix.cols(); ++j)
        row.push_back(matrix(i, j));
    return row;
}

/// Steps the environments like a rollout does and keeps every episode whole.
struct bookkeeper {
    bookkeeper(observation_history const& h, std::size_t count, std::uint64_t seed)
        : history(h), worlds(worlds_with(h, count, seed)), episodes(count), observations(5 * count), finals(5 * count) {
        worlds.reset(seen());
        for (std::size_t e = 0; e < count; ++e)
            episodes[e] = {row_of(seen(), e)};
    }
    gmac::matrix_view<std::uint8_t> seen() { return {observations.data(), worlds.size(), 5}; }
    gmac::matrix_view<std::uint8_t> ends() { return {finals.data(), worlds.size(), 5}; }

    /// Adds the states of this step, and of the episodes that were truncated in it.
    void step(gmac::matrix_view<float const> actions, std::vector<bytes>& states, std::vector<bytes>& final_states) {
        std::size_t const count = worlds.size();
        std::vector<float> rewards(count);
        bytes terminated(count), truncated(count);
        for (auto const& episode : episodes)
            states.push_back(stack_of(episode, history));
        worlds.step(actions, {seen(), ends(), rewards, terminated, truncated});
        for (std::size_t e = 0; e < count; ++e) {
            if (truncated[e]) {
                episodes[e].push_back(row_of(ends(), e));
                final_states.push_back(stack_of(episodes[e], history));
            }
            if (terminated[e] || truncated[e])
                episodes[e].clear();
            episodes[e].push_back(row_of(seen(), e));
        }
    }

    observation_history history;
    screen_worlds worlds;
    std::vector<std::vector<bytes>> episodes;
    bytes observations, finals;
};

void check_rollouts(observation_history history) {
    constexpr std::size_t steps = 20, count = 4;
    CAPTURE(history.frames, static_cast<int>(history.padding));
    auto worlds = worlds_with(history, count, 7);
    bookkeeper books(history, count, 7);
    gmac::rollout<float, std::uint8_t> rollout(steps, count, 5, 1, worlds.history());
    worlds.reset(rollout.observations(0));
    std::vector<float> const actions(count, 1.0f);
    gmac::matrix_view<float const> const chosen(actions.data(), count, 1);
    bytes memory(2 * steps * count * rollout.state_size());
    std::size_t finals = 0;
    for (int round = 0; round < 3; ++round) {
        std::vector<bytes> states, final_states;
        rollout.begin(worlds);
        for (std::size_t t = 0; t < steps; ++t) {
            books.step(chosen, states, final_states);
            for (std::size_t e = 0; e < count; ++e)
                CHECK(row_of(rollout.states(t), e) == states[t * count + e]);
            rollout.record(t, worlds, chosen);
        }
        for (auto const& episode : books.episodes)
            states.push_back(stack_of(episode, history));

        auto const all = rollout.states(3, states.size() - 3, memory);
        for (std::size_t row = 3; row < states.size(); ++row)
            CHECK(row_of(all, row - 3) == states[row]);
        REQUIRE(rollout.final_count() == final_states.size());
        auto const ends = rollout.final_states(0, final_states.size(), memory);
        for (std::size_t i = 0; i < final_states.size(); ++i)
            CHECK(row_of(ends, i) == final_states[i]);
        std::vector<std::uint32_t> const rows{79, 3, 40, 41, 3};
        rollout.gather_states(rows, memory.data());
        for (std::size_t i = 0; i < rows.size(); ++i)
            CHECK(row_of(gmac::matrix_view<std::uint8_t>(memory.data(), rows.size(), rollout.state_size()), i) ==
                  states[rows[i]]);
        finals += final_states.size();
    }
    CHECK(finals > 10);
}

gmac::agent_options options_of_agents() {
    auto options = gmac::testing::small_options();
    options.steps = 10;
    return options;
}

template <class Agent>
void check_resume(observation_history history) {
    auto worlds = worlds_with(history, 5, 3), others = worlds_with(history, 5, 99);
    trunk const net = trunk_for(history.frames, 4);
    Agent agent(worlds, net, options_of_agents(), {.seed = 11}),
        resumed(others, net, options_of_agents(), {.seed = 12});
    for (int i = 0; i < 3; ++i)
        static_cast<void>(agent.update());
    static_cast<void>(resumed.update());
    auto const latest = [&] {
        auto const& seen = agent.experience();
        std::vector<std::uint8_t> memory(seen.state_count() * seen.state_size());
        auto const states = seen.states(0, seen.state_count(), memory);
        return std::vector<std::uint8_t>(states.data(), states.data() + memory.size());
    };
    auto const before = latest();
    gmac::testing::memory_archive file;
    agent.persist(file);
    CHECK(latest() == before);
    file.rewind();
    resumed.persist(file);
    for (int i = 0; i < 3; ++i)
        CHECK(agent.update().value_loss == resumed.update().value_loss);
    CHECK(parameters_of(agent) == parameters_of(resumed));
    CHECK(file.entries().contains("history.states") == (history.frames > 1));
}

/// Throws once, when `left` steps are done, before or after the environments moved.
struct interrupting final : gmac::basic_environment_batch_decorator<std::uint8_t> {
    using basic_environment_batch_decorator::basic_environment_batch_decorator;
    int left = -1;
    bool after = false;

    void step(gmac::matrix_view<float const> actions, gmac::basic_step_result<std::uint8_t> const& result) override {
        bool const now = left-- == 0;
        if (!now || after)
            basic_environment_batch_decorator::step(actions, result);
        if (now)
            gmac::fail("the line is cut");
    }
};

/// An episode of 84 × 84 screens that never ends.
struct large_screens {
    using observation_type = std::uint8_t;
    static std::size_t observation_size() { return std::size_t{84} * 84; }
    static gmac::discrete action_space() { return {2}; }
    static observation_history history() { return {.frames = 4}; }
    std::uint8_t shade = 0;
    void reset(gmac::random_stream&, std::span<std::uint8_t> screen) { std::ranges::fill(screen, ++shade); }
    gmac::transition step(int, gmac::random_stream& random, std::span<std::uint8_t> screen) {
        reset(random, screen);
        return {};
    }
};

std::size_t resident_bytes() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;
    return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

} // namespace

TEST_CASE("states of several observations are those of a frame stack, over episodes' ends and rollouts' borders") {
    for (auto const padding : {history_padding::first, history_padding::zeros})
        for (std::size_t const frames : {1u, 2u, 4u, 30u})
            check_rollouts({frames, padding});
}

TEST_CASE("a rollout begins with what the environments show, whoever has moved them") {
    constexpr std::size_t steps = 5, count = 3;
    std::vector<float> const actions(count, 1.0f);
    gmac::matrix_view<float const> const chosen(actions.data(), count, 1);
    for (observation_history const history :
         {observation_history{}, observation_history{3}, observation_history{3, history_padding::zeros}}) {
        auto worlds = worlds_with(history, count, 7);
        gmac::rollout<float, std::uint8_t> rollout(steps, count, 5, 1, history);
        bytes seen(count * 5), shown(count * 5), terminated(count), truncated(count),
            memory(count * 5 * history.frames);
        std::vector<float> rewards(count);
        gmac::matrix_view<std::uint8_t> const view(seen.data(), count, 5);
        gmac::basic_step_result<std::uint8_t> const result{view, {}, rewards, terminated, truncated};
        worlds.reset(view);
        auto const check_start = [&] {
            worlds.observe({shown.data(), count, 5});
            rollout.begin(worlds);
            auto const states = rollout.states(0);
            for (std::size_t e = 0; e < count; ++e)
                CHECK(row_of(states, e) ==
                      stack_of({row_of(gmac::matrix_view(shown.data(), count, std::size_t{5}), e)}, history));
            auto const learned = rollout.states(0, count, memory);
            for (std::size_t e = 0; e < count; ++e)
                CHECK(row_of(learned, e) == row_of(states, e));
            for (std::size_t t = 0; t < steps; ++t)
                rollout.record(t, worlds, chosen);
        };
        check_start();
        worlds.step(chosen, result);
        check_start();
        worlds.reset(view);
        check_start();
        gmac::testing::memory_archive saved;
        worlds.persist(saved);
        worlds.step(chosen, result);
        saved.rewind();
        worlds.persist(saved);
        check_start();
    }
}

TEST_CASE("an observation stack goes on like a frame stack") {
    for (auto const padding : {history_padding::first, history_padding::zeros}) {
        observation_history const history{3, padding};
        bookkeeper books(history, 6, 5);
        auto worlds = worlds_with(history, 6, 5);
        bytes observations(30), terminated(6), truncated(6);
        std::vector<float> rewards(6), actions(6);
        gmac::matrix_view<std::uint8_t> const seen(observations.data(), 6, 5);
        gmac::observation_stack<std::uint8_t> stack(worlds);
        worlds.reset(seen);
        stack.restart(seen);
        for (int t = 0; t < 40; ++t) {
            std::vector<bytes> states, finals;
            gmac::matrix_view<float const> const chosen(actions.data(), 6, 1);
            books.step(chosen, states, finals);
            for (std::size_t e = 0; e < 6; ++e)
                CHECK(row_of(stack.states(), e) == states[e]);
            gmac::basic_step_result<std::uint8_t> const result{seen, {}, rewards, terminated, truncated};
            worlds.step(chosen, result);
            stack.advance(result);
        }
    }
}

TEST_CASE("an agent on bytes is the same after stop and resume") {
    check_resume<byte_agent>({4, history_padding::first});
    check_resume<byte_ppo>({3, history_padding::zeros});
    check_resume<byte_ppo>({});
}

TEST_CASE("an agent on bytes that somebody else's steps or an error interrupted goes on as one that was stored then") {
    for (observation_history const history : {observation_history{4, history_padding::first}, observation_history{}}) {
        auto worlds = worlds_with(history, 5, 3), others = worlds_with(history, 5, 99);
        trunk const net = trunk_for(history.frames, 4);
        interrupting interrupted(worlds);
        byte_agent agent(interrupted, net, options_of_agents(), {.seed = 11}),
            resumed(others, net, options_of_agents(), {.seed = 12});
        auto const check_as_stored = [&] {
            gmac::testing::memory_archive file;
            agent.persist(file);
            file.rewind();
            resumed.persist(file);
            for (int i = 0; i < 2; ++i)
                CHECK(agent.update().value_loss == resumed.update().value_loss);
            CHECK(parameters_of(agent) == parameters_of(resumed));
        };
        static_cast<void>(agent.update());
        auto policy = agent.policy(5);
        static_cast<void>(gmac::evaluate(policy, worlds));
        check_as_stored();
        // In the middle of a rollout, before and after the environments have moved.
        for (bool const after : {false, true}) {
            interrupted.left = 7;
            interrupted.after = after;
            CHECK_THROWS_WITH(agent.update(), "the line is cut");
            check_as_stored();
        }
        // After the rollout: what is learned from is not finite.
        auto const sound = parameters_of(agent);
        agent.parameters().back() = std::numeric_limits<float>::quiet_NaN();
        CHECK_THROWS_AS(agent.update(), gmac::error);
        std::ranges::copy(sound, agent.parameters().begin());
        check_as_stored();
    }
}

TEST_CASE("an agent on bytes is the same for any number of threads, and allocates nothing") {
    observation_history const history{4, history_padding::first};
    auto const run = [&](gmac::executor* tasks) {
        auto worlds = worlds_with(history, 40, 3, tasks);
        byte_agent agent(worlds, trunk_for(4, 4), options_of_agents(), {.seed = 11, .tasks = tasks});
        std::vector<float> result{static_cast<float>(agent.update().value_loss)};
        if (tasks == nullptr)
            CHECK(gmac::testing::allocations_during([&] { static_cast<void>(agent.update()); }) == 0);
        else
            static_cast<void>(agent.update());
        for (float const parameter : agent.parameters())
            result.push_back(parameter);
        return result;
    };
    gmac::tbb_executor two(2), three(3);
    auto const alone = run(nullptr);
    CHECK(alone == run(&two));
    CHECK(alone == run(&three));
}

TEST_CASE("an agent learns what only the older observations tell") {
    observation_history const history{3, history_padding::first};
    auto worlds = worlds_with(history, 16, 3);
    auto options = options_of_agents();
    options.steps = 32;
    options.minibatch = 128;
    options.epochs = 8;
    options.learning_rate = 1e-2;
    options.discount = 0.0;
    byte_ppo agent(worlds, trunk_for(3, 8), options, {.seed = 1});
    agent.train({.frames = 60'000});
    auto const fresh_return = [&](auto& policy) {
        auto fresh = worlds_with(history, 200, 77);
        double sum = 0.0;
        for (gmac::finished_episode const& episode : gmac::evaluate(policy, fresh))
            sum += episode.reward_sum;
        return sum;
    };
    auto learned = agent.policy(200);
    byte_ppo const untrained(worlds, trunk_for(3, 8), options, {.seed = 2});
    auto ignorant = untrained.policy(200);
    // By chance half of the steps are rewarded, at best all.
    CHECK(fresh_return(learned) > 1.6 * fresh_return(ignorant));
}

TEST_CASE("a rollout of 64 x 128 screens keeps each once, below 80 MB") {
    gmac::vector_environment<large_screens> worlds(64, 1);
    std::vector<float> const actions(64);
    std::size_t const before = resident_bytes();
    gmac::rollout<float, std::uint8_t> rollout(128, 64, worlds.observation_size(), 1, worlds.history());
    worlds.reset(rollout.observations(0));
    rollout.begin(worlds);
    for (std::size_t t = 0; t < 128; ++t)
        rollout.record(t, worlds, {actions.data(), 64, 1});
    std::size_t const used = resident_bytes() - before;
#if !defined(GMAC_TEST_SANITIZED) // whose own tables are resident too
    CHECK(used < 80'000'000);
#endif
    CHECK(used > 129u * 64u * 84u * 84u); // all of them are there
    bytes memory(rollout.state_size());
    auto const last = rollout.states(64 * 128, 1, memory);
    for (std::size_t k = 0; k < 4; ++k)
        CHECK(last(0, k * 84 * 84) == 126 + k); // the shade counts the screens from 1
}

TEST_CASE("wrappers pass bytes and histories on") {
    gmac::vector_environment limited(2, 1, [](std::size_t) {
        return gmac::time_limit(screens{.wanted = {4, history_padding::zeros}}, 3);
    });
    gmac::basic_clipped_rewards<std::uint8_t> clipped(limited, 0.5f);
    CHECK(clipped.history() == observation_history{4, history_padding::zeros});
    CHECK(gmac::state_size(clipped) == 20);
}

TEST_CASE("histories and trunks that do not fit are refused") {
    auto const message = [](auto work) {
        try {
            work();
        } catch (gmac::error const& problem) {
            return std::string(problem.what());
        }
        return std::string("no error");
    };
    CHECK(message([] { static_cast<void>(worlds_with({.frames = 0}, 1, 1)); }) ==
          "vector_environment: the environment's history has 0 frames, but must have at least 1");
    CHECK(message([] {
              gmac::vector_environment const worlds(2, 1, [](std::size_t i) { return screens{.wanted = {i + 1}}; });
          }) ==
          "vector_environment: environment 1 has another observation size, history or action space than "
          "environment 0");
    CHECK(message([] {
              auto worlds = worlds_with({4, history_padding::first}, 2, 1);
              byte_ppo const agent(worlds, trunk_for(1, 4), options_of_agents());
          }) == "actor_critic: the trunk takes 5 inputs, but a state has 20 elements (4 observations of 5)");
}
