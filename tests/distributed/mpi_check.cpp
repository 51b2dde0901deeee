// SPDX-License-Identifier: Apache-2.0
// gmac-mpi-check [nan | death]: what MPI adds to the tests with ranks in threads. Run by mpirun.
#include <gmac/actors/categorical.hpp>
#include <gmac/agents.hpp>
#include <gmac/backends/simd.hpp>
#include <gmac/core/communicator.hpp>
#include <gmac/core/error.hpp>
#include <gmac/distributed/mpi.hpp>

#include "distributed/lines.hpp"

#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

namespace {

using gmac::require;
using agent_type = gmac::agents::gmac<gmac::actors::categorical, gmac::backends::simd<double>>;

template <class T>
void check_sums(gmac::communicator& ranks) {
    std::size_t const n = ranks.size();
    for (std::size_t const count : {std::size_t(0), std::size_t(1), std::size_t(123'457)}) {
        std::vector<T> values;
        for (std::size_t i = 0; i < count; ++i)
            values.push_back(static_cast<T>(i % 1000 + ranks.rank()));
        ranks.all_reduce(std::span<T>(values));
        for (std::size_t i = 0; i < count; ++i)
            require(values[i] == static_cast<T>(n * (i % 1000) + n * (n - 1) / 2), "sum {} of {} is {}", i, count,
                    values[i]);
    }
}

[[nodiscard]] std::vector<std::byte> letter(std::size_t rank, std::size_t size) {
    return std::vector<std::byte>(size, std::byte(static_cast<unsigned char>(rank + 1)));
}

void check_messages(gmac::communicator& ranks) {
    for (std::size_t const unit : {0u, 1u, 100'000u}) {
        auto const mine = letter(ranks.rank(), unit * ranks.rank());
        auto const all = ranks.all_gather(mine), first = ranks.gather(mine);
        require(all.size() == ranks.size() && first.size() == (ranks.rank() == 0 ? ranks.size() : 0),
                "all_gather gave {} parts, gather {}", all.size(), first.size());
        for (std::size_t r = 0; r < ranks.size(); ++r)
            require(all[r] == letter(r, unit * r) && (ranks.rank() > 0 || first[r] == all[r]),
                    "what rank {} has sent is another", r);
        auto sent = letter(ranks.rank(), unit);
        ranks.broadcast(sent);
        require(sent == letter(0, unit), "what rank 0 has sent is another");
    }
    require(gmac::on_any_rank(ranks, ranks.rank() + 1 == ranks.size()), "one is not any");
    require(!gmac::on_any_rank(ranks, false), "none is any");
}

[[nodiscard]] std::vector<double> parameters_after_updates(gmac::communicator* ranks, std::size_t environments,
                                                           std::size_t first) {
    auto worlds = gmac::testing::lines(environments, first);
    agent_type agent(worlds, gmac::testing::one_step(), {.seed = 11, .ranks = ranks});
    for (int i = 0; i < 3; ++i)
        static_cast<void>(agent.update());
    return {agent.parameters().begin(), agent.parameters().end()};
}

void check_agent(gmac::communicator& ranks) {
    auto const together = parameters_after_updates(&ranks, 3, 3 * ranks.rank());
    auto const alone = parameters_after_updates(nullptr, 3 * ranks.size(), 0);
    for (std::size_t i = 0; i < alone.size(); ++i)
        require(std::abs(together[i] - alone[i]) <= 1e-14 + 1e-12 * std::abs(alone[i]),
                "parameter {} is {}, but {} in one process", i, together[i], alone[i]);
    auto const bytes = std::as_bytes(std::span(together));
    for (auto const& other : ranks.all_gather(bytes))
        require(std::equal(other.begin(), other.end(), bytes.begin(), bytes.end()), "the parameters differ");
}

/// Rewards that are not numbers, on one rank.
void train_with_nan(gmac::communicator& ranks) {
    std::size_t const bad = 2;
    struct world {
        gmac::testing::broken_line broken;
        bool fails = false;
        static std::size_t observation_size() { return 2; }
        static gmac::discrete action_space() { return {3}; }
        void reset(gmac::random_stream& random, std::span<float> observation) { broken.reset(random, observation); }
        gmac::transition step(int action, gmac::random_stream& random, std::span<float> observation) {
            return fails ? broken.step(action, random, observation) : broken.inner.step(action, random, observation);
        }
    };
    gmac::vector_environment<world> worlds(3, 3, [&](std::size_t e) {
        return world{.broken = {}, .fails = ranks.rank() == bad && e == 1};
    });
    agent_type agent(worlds, gmac::testing::small_options(), {.seed = 11, .ranks = &ranks});
    agent.train({.frames = 100'000});
}

/// One rank is killed while the others wait for it.
void train_with_death(gmac::communicator& ranks) {
    auto worlds = gmac::testing::lines(3, 3 * ranks.rank());
    agent_type agent(worlds, gmac::testing::small_options(), {.seed = 11, .ranks = &ranks});
    agent.train({.frames = 100'000'000, .on_update = [&](gmac::update_report const& update) {
                     if (update.update == 5 && ranks.rank() == 2)
                         std::raise(SIGKILL);
                 }});
}

} // namespace

int main(int argc, char** argv) {
    return gmac::distributed::run(argc, argv, [&](gmac::communicator& ranks) {
        std::string_view const mode = argc > 1 ? argv[1] : "";
        if (!mode.empty()) {
            mode == "nan" ? train_with_nan(ranks) : train_with_death(ranks);
            std::puts("the training was not ended");
            return 0;
        }
        check_sums<float>(ranks);
        check_sums<double>(ranks);
        check_messages(ranks);
        check_agent(ranks);
        require(!gmac::on_any_rank(ranks, false), "none is any"); // all have come here
        if (ranks.rank() == 0)
            std::printf("all is well on %zu ranks\n", ranks.size());
        return 0;
    });
}
