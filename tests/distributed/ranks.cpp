// SPDX-License-Identifier: Apache-2.0
#include <gmac/actors/categorical.hpp>
#include <gmac/agent/explained_variance.hpp>
#include <gmac/agent/exploration.hpp>
#include <gmac/agents.hpp>
#include <gmac/backends/simd.hpp>
#include <gmac/core/communicator.hpp>
#include <gmac/core/random.hpp>
#include <gmac/environment/normalized.hpp>
#include <gmac/environment/running_statistics.hpp>
#include <gmac/environment/vector_environment.hpp>
#include <gmac/heads/dirac.hpp>
#include <gmac/losses/sample_energy.hpp>

#include "agent/worlds.hpp"
#include "distributed/lines.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"
#include "support/says.hpp"
#include "support/thread_ranks.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

using gmac::testing::thread_ranks;

namespace {

using gmac::testing::lines;
using gmac::testing::one_step;
using backend = gmac::backends::simd<double>;
using mixture_agent = gmac::agents::gmac<gmac::actors::categorical, backend>;
using scalar_agent = gmac::agents::ppo<gmac::actors::categorical, backend>;
using float_agent = gmac::agents::gmac<gmac::actors::categorical>;
using quantile_agent = gmac::agents::iqac<gmac::actors::categorical>;

struct outcome {
    std::vector<double> parameters;
    std::vector<gmac::update_report> reports;
    std::vector<double> ends; // of episodes: frames, return, environment
};

template <class Agent>
void go(outcome& to, Agent& agent, int updates) {
    for (int i = 0; i < updates; ++i) {
        to.reports.push_back(agent.update());
        for (auto const& [frames, episode] : to.reports.back().finished)
            to.ends.insert(to.ends.end(),
                           {static_cast<double>(frames), episode.reward_sum, static_cast<double>(episode.environment)});
        to.reports.back().finished = {};
    }
    to.parameters.assign(agent.parameters().begin(), agent.parameters().end());
}

template <class Agent>
[[nodiscard]] outcome in_one_process(std::size_t environments, gmac::agent_options const& options, int updates) {
    auto worlds = lines(environments, 0);
    Agent agent(worlds, options, {.seed = 11});
    outcome result;
    go(result, agent, updates);
    return result;
}

template <class Agent>
[[nodiscard]] std::vector<outcome> on_ranks(std::size_t ranks, std::size_t environments,
                                            gmac::agent_options const& options, int updates) {
    std::vector<outcome> results(ranks);
    thread_ranks::run(ranks, [&](gmac::communicator& mine) {
        auto worlds = lines(environments, mine.rank() * environments);
        Agent agent(worlds, options, {.seed = 11, .ranks = &mine});
        go(results[mine.rank()], agent, updates);
    });
    return results;
}

void check_close(double a, double b) {
    if (std::isnan(a))
        CHECK(std::isnan(b));
    else
        CHECK(a == Approx(b).epsilon(1e-12).margin(1e-14));
}

template <class Agent>
void check_union() {
    for (std::size_t const ranks : {2u, 4u}) {
        auto const alone = in_one_process<Agent>(8, one_step(), 3);
        auto const together = on_ranks<Agent>(ranks, 8 / ranks, one_step(), 3);
        for (outcome const& one : together) {
            CHECK(one.parameters == together[0].parameters); // to the bit
            REQUIRE(one.parameters.size() == alone.parameters.size());
            for (std::size_t i = 0; i < one.parameters.size(); ++i)
                check_close(one.parameters[i], alone.parameters[i]);
            CHECK(one.ends.size() > 30);
            CHECK(one.ends == alone.ends);
            for (std::size_t u = 0; u < one.reports.size(); ++u) {
                std::vector<double> numbers, others;
                one.reports[u].describe([&](std::string_view name, double value) {
                    if (!name.ends_with("seconds") && name != "frames_per_second")
                        numbers.push_back(value);
                });
                alone.reports[u].describe([&](std::string_view name, double value) {
                    if (!name.ends_with("seconds") && name != "frames_per_second")
                        others.push_back(value);
                });
                REQUIRE(numbers.size() == others.size());
                for (std::size_t i = 0; i < numbers.size(); ++i)
                    check_close(numbers[i], others[i]);
            }
        }
    }
}

} // namespace

TEST_CASE("ranks do together what one process does with all their environments") {
    check_union<mixture_agent>();
    check_union<scalar_agent>();
}

TEST_CASE("a communicator of one rank changes nothing") {
    auto options = gmac::testing::small_options();
    auto const alone = in_one_process<float_agent>(5, options, 3);
    auto const one = on_ranks<float_agent>(1, 5, options, 3);
    CHECK(alone.parameters == one[0].parameters);
    CHECK(alone.ends == one[0].ends);
}

TEMPLATE_TEST_CASE("parameters stay the same on all ranks, whatever is switched on, and a run is reproducible", "",
                   float_agent, quantile_agent) {
    auto options = gmac::testing::small_options();
    options.exploration = gmac::exploration_options{};
    options.schedule = gmac::rate_schedule::kl;
    options.early_stop = true;
    auto const run = [&] {
        std::vector<std::vector<float>> parameters(3);
        thread_ranks::run(3, [&](gmac::communicator& mine) {
            gmac::vector_environment<gmac::testing::line> worlds(5, gmac::seed_of_rank(3, mine.rank()));
            gmac::normalized_environments normalized(worlds);
            TestType agent(normalized, options, {.seed = 11, .ranks = &mine});
            agent.explore(gmac::exploration::random_network_distillation(agent));
            auto& watching = agent.template observe<gmac::heads::dirac<8>, gmac::losses::sample_energy>({.seed = 4});
            for (int i = 0; i < 4; ++i)
                static_cast<void>(agent.update());
            gmac::testing::memory_archive shared;
            agent.persist_shared(shared);
            auto& to = parameters[mine.rank()];
            to = gmac::testing::parameters_of(agent);
            to.insert(to.end(), watching.parameters().begin(), watching.parameters().end());
            for (auto const& [name, entry] : shared.entries())
                for (std::byte const one : entry.data)
                    to.push_back(static_cast<float>(std::to_integer<int>(one)));
        });
        return parameters;
    };
    auto const first = run();
    CHECK(first[0].size() > 500);
    CHECK(first[0] == first[1]);
    CHECK(first[0] == first[2]);
    CHECK(first == run());
}

TEST_CASE("the ranks' environments are not alike") {
    std::set<double> ends;
    thread_ranks::run(4, [&](gmac::communicator& mine) {
        gmac::vector_environment<gmac::testing::line> worlds(2, gmac::seed_of_rank(3, mine.rank()));
        std::vector<float> observations(4);
        worlds.reset(gmac::matrix_view<float>(observations.data(), 2, 2));
        std::lock_guard const lock(gmac::testing::one_checks());
        ends.insert(static_cast<double>(observations[0]));
        ends.insert(static_cast<double>(observations[2]));
    });
    CHECK(ends.size() == 8);
    CHECK(gmac::seed_of_rank(3, 0) == 3);
    CHECK(gmac::seed_of_rank(3, 1) != gmac::seed_of_rank(4, 1));
}

TEST_CASE("running statistics of ranks are those of all that they have seen") {
    // Numbers with a large mean, in pieces of different length on each rank.
    auto const number = [](std::size_t rank, std::size_t i) {
        return 1000.0 + std::sin(static_cast<double>(37 * rank + i)) * static_cast<double>(rank + 1);
    };
    gmac::running_statistics all(1);
    for (std::size_t rank = 0; rank < 3; ++rank)
        for (std::size_t i = 0; i < 10 + rank; ++i) {
            double x = number(rank, i);
            all.update(gmac::matrix_view<double const>(&x, 1, 1));
        }
    thread_ranks::run(3, [&](gmac::communicator& mine) {
        gmac::running_statistics here(1), total(1);
        for (std::size_t i = 0; i < 10 + mine.rank(); ++i) {
            double x = number(mine.rank(), i);
            here.update(gmac::matrix_view<double const>(&x, 1, 1));
        }
        total.merge(mine, here);
        std::lock_guard const lock(gmac::testing::one_checks());
        if (mine.rank() == 1) {
            CHECK(total.count() == 33);
            CHECK(total.mean(0) == Approx(all.mean(0)).epsilon(1e-14));
            CHECK(total.variance(0) == Approx(all.variance(0)).epsilon(1e-12));
        }
    });
}

TEST_CASE("normalised environments of ranks know all observations once they combine, each of them once") {
    std::size_t const steps = 7, count = 3;
    thread_ranks::run(2, [&](gmac::communicator& mine) {
        gmac::vector_environment<gmac::testing::line> worlds(count, 5 + mine.rank());
        gmac::normalized_environments normalized(worlds);
        // The same environments of both ranks, whose observations are counted one by one.
        gmac::vector_environment<gmac::testing::line> first(count, 5), second(count, 6);
        gmac::running_statistics expected(2);
        std::vector<float> seen(2 * count), rewards(count), actions(count, 2.0f);
        std::vector<std::uint8_t> terminated(count), truncated(count);
        gmac::matrix_view<float> const observations(seen.data(), count, 2);
        gmac::matrix_view<float const> const moves(actions.data(), count, 1);
        gmac::step_result const to{observations, {}, rewards, terminated, truncated};
        gmac::vector_environment<gmac::testing::line>* const both[] = {&first, &second};
        for (auto* world : both) {
            world->reset(observations);
            expected.update(observations);
        }
        normalized.reset(observations);
        for (int round = 0; round < 3; ++round) {
            if (round != 1) // whatever was not combined yet is not lost
                normalized.combine(mine);
            for (std::size_t t = 0; t < steps; ++t) {
                for (auto* world : both) {
                    world->step(moves, to);
                    expected.update(observations);
                }
                normalized.step(moves, to);
            }
        }
        normalized.combine(mine);
        normalized.combine(mine); // nothing new
        auto const& found = normalized.observation_statistics();
        std::lock_guard const lock(gmac::testing::one_checks());
        CHECK(found.count() == expected.count());
        for (std::size_t j = 0; j < 2; ++j) {
            CHECK(found.mean(j) == Approx(expected.mean(j)).epsilon(1e-12));
            CHECK(found.variance(j) == Approx(expected.variance(j)).epsilon(1e-12));
        }
        CHECK(normalized.return_statistics().count() == 2 * 3 * steps * count);
    });
}

TEST_CASE("explained variance over ranks is that of all numbers") {
    std::vector<double> const returns{1.0, 4.0, 2.5, -3.0, 0.5, 8.0}, values{0.5, 3.0, 2.0, -1.0, 1.0, 6.5};
    double const whole = gmac::explained_variance(returns, values);
    thread_ranks::run(2, [&](gmac::communicator& mine) {
        std::ptrdiff_t const from = mine.rank() == 0 ? 0 : 2, to = mine.rank() == 0 ? 2 : 6;
        std::vector<double> const r(returns.begin() + from, returns.begin() + to),
            v(values.begin() + from, values.begin() + to);
        double const found = gmac::explained_variance(mine, r, v);
        std::vector<double> const same(3, 7.0), anything{1.0, 2.0, 3.0};
        double const constant = gmac::explained_variance(mine, same, anything);
        std::lock_guard const lock(gmac::testing::one_checks());
        CHECK(found == Approx(whole).epsilon(1e-14));
        CHECK(std::isnan(constant));
    });
}

TEST_CASE("a loss that is not finite on one rank ends all of them, and that rank is named") {
    std::vector<std::string> messages(3);
    thread_ranks::run(3, [&](gmac::communicator& mine) {
        auto worlds = lines(2, 2 * mine.rank());
        mixture_agent agent(worlds, gmac::testing::small_options(), {.seed = 11, .ranks = &mine});
        static_cast<void>(agent.update());
        if (mine.rank() == 2)
            agent.value_by([](auto const&, auto const&, gmac::vector_view<double> values) {
                for (std::size_t i = 0; i < values.size(); ++i)
                    values[i] = std::numeric_limits<double>::quiet_NaN();
            });
        try {
            static_cast<void>(agent.update());
        } catch (gmac::error const& problem) {
            messages[mine.rank()] = problem.what();
        }
    });
    CHECK(messages[0].find("update 2, minibatch 0: the loss is nan") != std::string::npos);
    CHECK(messages[0].ends_with("; they are not on rank 2"));
    CHECK(messages[0] == messages[1]);
    CHECK(messages[0] == messages[2]);
}

TEST_CASE("ranks that do not fit each other are refused on each of them") {
    std::vector<std::string> messages(2);
    thread_ranks::run(2, [&](gmac::communicator& mine) {
        auto worlds = lines(2 + mine.rank(), 0);
        try {
            mixture_agent agent(worlds, gmac::testing::small_options(), {.seed = 11, .ranks = &mine});
        } catch (gmac::error const& problem) {
            messages[mine.rank()] = problem.what();
        }
    });
    CHECK(messages[0] ==
          "actor_critic: the number of environments is 3 on rank 1 and 2 on rank 0, but must be the same "
          "on all ranks");
    CHECK(messages[1] == messages[0]);
}

TEST_CASE("ranks that give other counts of numbers are refused, and sets without numbers have none") {
    std::vector<std::string> messages(2);
    thread_ranks::run(2, [&](gmac::communicator& mine) {
        std::vector<gmac::shared_number> const numbers(1 + mine.rank(), {"steps", 7});
        try {
            mine.require_same("test", numbers);
        } catch (gmac::error const& problem) {
            messages[mine.rank()] = problem.what();
        }
        std::vector<std::size_t> const counts{0, mine.rank()};
        auto const all = mine.moments_of(counts, std::vector<double>(mine.rank(), 3.0));
        std::lock_guard const lock(gmac::testing::one_checks());
        CHECK(all[0].count == 0.0);
        CHECK(all[0].mean == 0.0);
        CHECK(all[0].squares == 0.0);
        CHECK(all[1].mean == 3.0);
    });
    CHECK(messages[0] == "test: rank 1 gives 2 numbers and rank 0 1, but must be the same on all ranks");
    CHECK(messages[1] == messages[0]);
}

TEST_CASE("training ends where any rank asks for it") {
    thread_ranks::run(3, [](gmac::communicator& mine) {
        auto worlds = lines(2, 2 * mine.rank());
        mixture_agent agent(worlds, gmac::testing::small_options(), {.seed = 11, .ranks = &mine});
        gmac::train_options options{.frames = 1'000'000};
        if (mine.rank() == 1)
            options.stop = [&] { return agent.updates() == 3; };
        agent.train(options);
        std::lock_guard const lock(gmac::testing::one_checks());
        CHECK(agent.updates() == 3);
        CHECK(agent.frames() == 3 * 3 * 2 * 16);
    });
}
