// SPDX-License-Identifier: Apache-2.0
// What targets compute in lanes; compiled once for each instruction set.
#include "rollouts.hpp"
#include "support/catch.hpp"

#include <gmac/core/random.hpp>
#include <gmac/targets/gae.hpp>
#include <gmac/targets/sr_lambda.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

using namespace gmac;
using gmac::testing::random_rollout;

TEST_CASE("Words made many at a time are those of the stream, one by one") {
    for (std::uint64_t const start : {0ull, 1ull, 3ull, 4ull, 63ull, (1ull << 34u) - 16, (1ull << 34u) - 13}) {
        for (std::size_t const count : {0u, 1u, 4u, 63u, 64u, 65u, 130u, 300u}) {
            random_stream one(0x123456789abcdefull, (7ull << 40u) | 5u);
            one.seek(start);
            random_stream many = one;
            std::vector<std::uint32_t> expected(count), got(count);
            for (std::uint32_t& word : expected)
                word = one();
            many.fill(got);
            CHECK(got == expected);
            CHECK(many.position() == one.position());
            CHECK(many() == one());
        }
    }
}

TEST_CASE("In lanes of any width every particle is a component of an n-step return") {
    // 4, 8 and 16 lanes and what is left of them.
    for (std::size_t const particles : {1u, 7u, 33u, 130u})
        for (auto const form : {targets::resampling::independent, targets::resampling::stratified}) {
            random_rollout<float> const rollout(12, 3, 5, 8, 6);
            std::vector<float> means(36 * particles), deviations(means.size());
            std::vector<random_stream> streams;
            for (std::uint64_t e = 0; e < 3; ++e)
                streams.emplace_back(99, e);
            targets::sr_lambda const returns{.discount = 0.9,
                                             .lambda = 0.7,
                                             .particles = particles,
                                             .replacement = form};
            returns(rollout.view(), rollout.gaussians(), std::span<random_stream>(streams),
                    targets::gaussian_particles<float>{{means.data(), 36, particles},
                                                       {deviations.data(), 36, particles}});
            double farthest = 0.0;
            for (std::size_t row = 0; row < 36; ++row) {
                auto const atoms = n_step_returns(rollout, row / 3, row % 3, 0.9, 0.7);
                for (std::size_t i = row * particles; i < (row + 1) * particles; ++i) {
                    double nearest = 1e9;
                    for (auto const& atom : atoms)
                        if (atom.weight > 0.0)
                            nearest =
                                (std::min)(nearest, std::abs(atom.mean - static_cast<double>(means[i])) +
                                                        std::abs(atom.deviation - static_cast<double>(deviations[i])));
                    farthest = (std::max)(farthest, nearest);
                }
            }
            CAPTURE(particles);
            CHECK(farthest < 5e-6);
        }
}

TEST_CASE("In lanes of any width GAE is its recursion") {
    for (std::size_t const environments : {1u, 5u, 16u, 37u}) {
        random_rollout<float> const rollout(20, environments, 3, 6, 8);
        std::vector<float> advantages(20 * environments);
        targets::gae const estimate{.discount = 0.95, .lambda = 0.8};
        estimate(rollout.view(), rollout.state_values(), rollout.final_values(),
                 vector_view<float>(advantages.data(), advantages.size()));
        double farthest = 0.0;
        for (std::size_t e = 0; e < environments; ++e) {
            double next = 0.0;
            for (std::size_t t = 20; t-- > 0;) {
                std::size_t const here = t * environments + e;
                bool const terminated = rollout.terminated[here], truncated = rollout.truncated[here];
                double const after =
                    terminated ? 0.0 : 0.95 * static_cast<double>(rollout.values[rollout.row_after(t, e)]);
                next = static_cast<double>(rollout.rewards[here]) + after - static_cast<double>(rollout.values[here]) +
                       (terminated || truncated ? 0.0 : 0.95 * 0.8 * next);
                farthest = (std::max)(farthest, std::abs(next - static_cast<double>(advantages[here])));
            }
        }
        CAPTURE(environments);
        CHECK(farthest < 1e-5);
    }
}
