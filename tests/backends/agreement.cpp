// SPDX-License-Identifier: Apache-2.0
// A whole update is the same on every backend, to rounding, and on every number of threads, bit for bit.
#include "agent/worlds.hpp"
#include "backends/agents.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"
#include "support/numbers.hpp"
#include "support/serial_blas.hpp"

#include <gmac/backends/eigen.hpp>
#include <gmac/backends/simd.hpp>
#include <gmac/core/tbb_executor.hpp>
#include <gmac/environment/normalized.hpp>
#include <gmac/environment/vector_environment.hpp>
#if defined(GMAC_TEST_XTENSOR)
#include <gmac/backends/xtensor.hpp>
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace gmac::testing {

std::vector<kind_of_agent> const& all_kinds() {
    static std::vector<kind_of_agent> const kinds {
        {"simd, float", true, make_agent<backends::simd<float>>},
            {"simd, double", false, make_agent<backends::simd<double>>},
            {"eigen, float", true, make_agent<backends::eigen<float>>},
            {"eigen, double", false, make_agent<backends::eigen<double>>},
#if defined(GMAC_TEST_XTENSOR)
            {"xtensor, float", true, make_agent<backends::xtensor<float>>},
            {"xtensor, double", false, make_agent<backends::xtensor<double>>},
#endif
    };
    return kinds;
}

} // namespace gmac::testing

using namespace gmac;
using gmac::testing::all_kinds;
using gmac::testing::kind_of_agent;
using gmac::testing::largest_difference;
using gmac::testing::line;
using gmac::testing::memory_archive;

namespace {

/// Two hidden layers, minibatches of three parts whose sizes fill no register, and separate trunks.
agent_options options() {
    auto chosen = gmac::testing::small_options();
    chosen.hidden = {33, 20};
    chosen.minibatch = 50;
    chosen.shared_trunk = false;
    return chosen;
}

/// An agent with the environments that it lives in.
struct life {
    vector_environment<line> worlds;
    normalized_environments normalized;
    std::unique_ptr<testing::any_agent> agent;

    life(kind_of_agent const& kind, std::uint64_t seed, executor* tasks = nullptr)
        : worlds(7, seed, tasks), normalized(worlds), agent(kind.make(normalized, options(), seed, tasks)) {}
};

} // namespace

TEST_CASE("From the same state all backends make the same update, to rounding", "[backends]") {
    for (bool const single_precision : {true, false}) {
        // The state: some way into a run, with the optimiser's moments and unfinished episodes in it.
        memory_archive state;
        std::vector<double> expected, before;
        update_report wanted;
        for (kind_of_agent const& kind : all_kinds()) {
            if (kind.single_precision != single_precision)
                continue;
            CAPTURE(kind.name);
            life here(kind, /*seed*/ 3);
            if (expected.empty()) {
                for (int i = 0; i < 3; ++i)
                    static_cast<void>(here.agent->update());
                here.agent->persist(state);
                state.rewind();
                before = here.agent->parameters();
                wanted = here.agent->update();
                expected = here.agent->parameters();
                REQUIRE(largest_difference(before, expected) > 1e-3); // there is something to agree on
                continue;
            }
            here.agent->persist(state);
            REQUIRE(here.agent->parameters() == before);
            auto const report = here.agent->update();
            double const rounding = single_precision ? 2e-6 : 1e-12;
            CHECK(largest_difference(here.agent->parameters(), expected) < rounding);
            CHECK(report.frames == wanted.frames);
            CHECK(report.mean_return == wanted.mean_return); // the same actions were drawn
            CHECK(report.value_loss == Approx(wanted.value_loss).epsilon(100 * rounding));
            CHECK(report.policy_loss == Approx(wanted.policy_loss).margin(100 * rounding));
            CHECK(report.entropy == Approx(wanted.entropy).epsilon(rounding));
            CHECK(report.gradient_norm == Approx(wanted.gradient_norm).epsilon(100 * rounding));
        }
    }
}

TEST_CASE("On every backend a run is the same for 1, 2 and 3 threads, bit for bit", "[backends]") {
    tbb_executor two(2), three(3);
    for (kind_of_agent const& kind : all_kinds()) {
        CAPTURE(kind.name);
        auto const run = [&](executor* tasks) {
            life here(kind, /*seed*/ 5, tasks);
            auto numbers = here.agent->parameters();
            for (int i = 0; i < 3; ++i)
                numbers.push_back(here.agent->update().value_loss);
            auto const learned = here.agent->parameters();
            numbers.insert(numbers.end(), learned.begin(), learned.end());
            return numbers;
        };
        auto const alone = run(nullptr);
        CHECK(run(&two) == alone);
        CHECK(run(&three) == alone);
    }
}

TEST_CASE("On every backend an update allocates nothing after the first", "[backends]") {
    for (kind_of_agent const& kind : all_kinds()) {
        CAPTURE(kind.name);
        life here(kind, /*seed*/ 7);
        static_cast<void>(here.agent->update());
        CHECK(gmac::testing::allocations_during([&] { static_cast<void>(here.agent->update()); }) == 0);
    }
}
