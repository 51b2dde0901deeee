// SPDX-License-Identifier: Apache-2.0
#include <gmac/actors/categorical.hpp>
#include <gmac/agent/exploration.hpp>
#include <gmac/agents.hpp>
#include <gmac/core/communicator.hpp>
#include <gmac/core/random.hpp>
#include <gmac/distributed/checkpoint.hpp>
#include <gmac/environment/normalized.hpp>
#include <gmac/environment/vector_environment.hpp>

#include "agent/worlds.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"
#include "support/scratch_folder.hpp"
#include "support/thread_ranks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace {

using gmac::testing::thread_ranks;
using agent_type = gmac::agents::gmac<gmac::actors::categorical>;

/// The line without its way to be stored.
struct forgetful_line {
    gmac::testing::line inner;
    static std::size_t observation_size() { return 2; }
    static gmac::discrete action_space() { return {3}; }
    void reset(gmac::random_stream& random, std::span<float> observation) { inner.reset(random, observation); }
    gmac::transition step(int action, gmac::random_stream& random, std::span<float> observation) {
        return inner.step(action, random, observation);
    }
};

/// An agent with all that can be stored, and environments of its own.
template <class World = gmac::testing::line>
struct trained {
    trained(gmac::communicator& mine, std::uint64_t seed)
        : worlds(4, gmac::seed_of_rank(seed, mine.rank())),
          normalized(worlds),
          agent(normalized, options(), {.seed = 11, .ranks = &mine}) {
        agent.explore(gmac::exploration::td_error(agent));
    }
    void update(int times) {
        for (int i = 0; i < times; ++i)
            static_cast<void>(agent.update());
    }
    void save(std::filesystem::path const& file, gmac::communicator& mine) {
        gmac::distributed::save_checkpoint(
            file, {{"note", "hello"}}, mine, [this](gmac::archive& state) { agent.persist(state); },
            [this](gmac::archive& state) { agent.persist_shared(state); });
    }
    bool load(std::filesystem::path const& file, gmac::communicator& mine) {
        gmac::checkpoint stored;
        if (mine.rank() == 0)
            stored = gmac::read_checkpoint(file);
        stored = gmac::distributed::broadcast_checkpoint(mine, stored);
        return gmac::distributed::load_checkpoint(
            stored, "the checkpoint", &mine, [this](gmac::archive& state) { agent.persist(state); },
            [this](gmac::archive& state) { agent.persist_shared(state); });
    }
    [[nodiscard]] gmac::snapshot state() {
        return gmac::snapshot::of([this](gmac::archive& to) { agent.persist(to); });
    }
    [[nodiscard]] gmac::snapshot shared() {
        return gmac::snapshot::of([this](gmac::archive& to) { agent.persist_shared(to); });
    }
    static gmac::agent_options options() {
        auto all = gmac::testing::small_options();
        all.exploration = gmac::exploration_options{};
        return all;
    }

    gmac::vector_environment<World> worlds;
    gmac::normalized_environments normalized;
    agent_type agent;
};

/// The states of all ranks after some updates, which are then saved, and after some more.
[[nodiscard]] std::vector<gmac::snapshot> go(std::size_t ranks, std::filesystem::path const& file) {
    std::vector<gmac::snapshot> ends(ranks);
    thread_ranks::run(ranks, [&](gmac::communicator& mine) {
        trained<> one(mine, 3);
        one.update(3);
        one.save(file, mine);
        one.update(2);
        ends[mine.rank()] = one.state();
    });
    return ends;
}

} // namespace

TEST_CASE("a run on as many ranks goes on bit for bit from the one checkpoint of all of them") {
    gmac::testing::scratch_folder const folder;
    auto const file = folder / "run.safetensors";
    for (std::size_t const ranks : {1u, 3u}) {
        auto const ends = go(ranks, file);
        auto const stored = gmac::read_checkpoint(file);
        CHECK(stored.metadata.at("note") == "hello");
        CHECK(gmac::distributed::ranks_of(stored, "") == ranks);
        std::vector<gmac::snapshot> resumed(ranks);
        std::vector<int> fits(ranks);
        thread_ranks::run(ranks, [&](gmac::communicator& mine) {
            trained<> one(mine, 99); // what the checkpoint must overwrite
            one.update(1);
            fits[mine.rank()] = one.load(file, mine);
            one.update(2);
            resumed[mine.rank()] = one.state();
        });
        CHECK(fits == std::vector<int>(ranks, 1));
        CHECK(resumed == ends);
        // And they are not alike, or the prefixes would not matter.
        if (ranks > 1)
            CHECK_FALSE(resumed[0] == resumed[1]);
    }
}

TEST_CASE("on another number of ranks a run goes on with what all of them share") {
    gmac::testing::scratch_folder const folder;
    auto const file = folder / "run.safetensors";
    static_cast<void>(go(3, file));
    gmac::checkpoint const stored = gmac::read_checkpoint(file);
    for (std::size_t const ranks : {1u, 2u, 4u}) {
        std::vector<gmac::snapshot> loaded(ranks);
        std::vector<int> fits(ranks, 1);
        thread_ranks::run(ranks, [&](gmac::communicator& mine) {
            trained<> one(mine, 3);
            fits[mine.rank()] = one.load(file, mine);
            loaded[mine.rank()] = one.shared();
            one.update(1); // it can go on
            std::lock_guard const lock(gmac::testing::one_checks());
            CHECK(one.agent.updates() == 4);
            CHECK(one.agent.frames() == 3 * (3 * 4 * 16) + ranks * 4 * 16);
        });
        CHECK(fits == std::vector<int>(ranks, 0));
        for (gmac::snapshot const& one : loaded)
            for (auto const& tensor : one.tensors()) {
                auto const same = [&](auto const& other) { return other == tensor; };
                CHECK(std::ranges::count_if(stored.state.tensors(), same) == 1);
            }
    }
}

TEST_CASE("what was loaded can be stored again at once, also where environments cannot be stored") {
    gmac::testing::scratch_folder const folder;
    auto const file = folder / "run.safetensors", again = folder / "again.safetensors";
    thread_ranks::run(2, [&](gmac::communicator& mine) {
        trained<forgetful_line> one(mine, 3), other(mine, 4);
        one.update(2);
        one.save(file, mine);
        other.update(1);
        other.load(file, mine);
        gmac::snapshot const loaded = other.shared();
        other.save(again, mine);
        other.update(1);
        std::lock_guard const lock(gmac::testing::one_checks());
        CHECK(loaded == one.shared());
    });
    CHECK(std::filesystem::exists(again));
}

TEST_CASE("a run that goes on on one rank is stored as one of one rank, with the notes of the other one") {
    gmac::testing::scratch_folder const folder;
    auto const file = folder / "run.safetensors";
    static_cast<void>(go(2, file));
    auto const notes = gmac::read_checkpoint(file).metadata;
    thread_ranks::run(1, [&](gmac::communicator& mine) {
        float weight = 1.0f;
        auto const visit = [&](gmac::archive& state) { state("weight", weight); };
        gmac::distributed::save_checkpoint(file, notes, mine, visit, visit);
    });
    CHECK(gmac::distributed::ranks_of(gmac::read_checkpoint(file), "it") == 1);
}

TEST_CASE("ranks whose parameters have come apart write no checkpoint") {
    gmac::testing::scratch_folder const folder;
    auto const file = folder / "run.safetensors";
    std::string message;
    thread_ranks::run(3, [&](gmac::communicator& mine) {
        trained<> one(mine, 3);
        one.update(1);
        if (mine.rank() == 2)
            one.agent.parameters()[5] += 1e-6f;
        try {
            one.save(file, mine);
        } catch (gmac::error const& problem) {
            message = problem.what();
        }
    });
    CHECK(message == "checkpoint " + file.string() +
                         ": parameters.trunk.0.weight is another on rank 2 than on rank 0, but must be the same on all "
                         "ranks: nothing was written");
    CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("a number of ranks that is none is refused") {
    for (std::string const text : {"", "0", "-1", "2x", "99999999999999999999999"}) {
        gmac::checkpoint const stored{{{"ranks", text}}, {}};
        CHECK_THROWS_WITH(gmac::distributed::ranks_of(stored, "checkpoint a"),
                          "checkpoint a: its number of ranks is \"" + text + "\", but must be a positive number");
    }
}
