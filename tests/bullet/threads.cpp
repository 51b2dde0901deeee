// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"
#include "walks.hpp"

#include <memory>
#include <thread>

namespace {

namespace bullet = gmac::examples::bullet;
using gmac::testing::walker;

std::vector<std::unique_ptr<walker>> many(std::size_t count) {
    std::vector<std::unique_ptr<walker>> walkers;
    for (std::size_t i = 0; i < count; ++i) {
        walkers.push_back(std::make_unique<walker>(*bullet::robots()[i % bullet::robots().size()], i));
        walkers.back()->reset();
    }
    return walkers;
}

} // namespace

TEST_CASE("worlds on two threads, changing hands, do what they do on one", "[bullet][threads]") {
    constexpr std::size_t count = 10;
    auto const alone = many(count);
    for (auto const& subject : alone)
        subject->walk_on(40);

    auto const shared = many(count);
    for (std::size_t round = 0; round < 4; ++round) {
        std::thread helper([&] {
            for (std::size_t i = 0; i < count; ++i)
                if ((i + round) % 2 == 0)
                    shared[i]->walk_on(10);
        });
        for (std::size_t i = 0; i < count; ++i)
            if ((i + round) % 2 != 0)
                shared[i]->walk_on(10);
        helper.join();
    }
    for (std::size_t i = 0; i < count; ++i)
        CHECK(alone[i]->history() == shared[i]->history());
}

TEST_CASE("worlds are built and destroyed on two threads at once", "[bullet][threads]") {
    auto const first_bits = [](std::uint64_t seed) {
        std::vector<std::uint64_t> bits;
        for (bullet::robot const* const robot : bullet::robots()) {
            walker subject(*robot, seed);
            subject.reset();
            subject.walk(3);
            bits.insert(bits.end(), subject.history().begin(), subject.history().end());
        }
        return bits;
    };
    std::vector<std::uint64_t> here, there;
    std::thread helper([&] { there = first_bits(1); });
    here = first_bits(1);
    helper.join();
    CHECK(here == there);
}

TEST_CASE("a thousand worlds live in one process", "[bullet]") {
    std::vector<bullet::locomotion> robots;
    for (int i = 0; i < 1000; ++i)
        robots.emplace_back(bullet::hopper);
    std::vector<float> observation(15), first(15);
    std::vector<double> const action{0.5, -0.5, 0.5};
    robots.front().step(action, first);
    for (bullet::locomotion& robot : std::span(robots).subspan(1)) {
        robot.step(action, observation);
        CHECK(observation == first);
    }
}
