// SPDX-License-Identifier: Apache-2.0
// gmac-train --critics: further methods that learn the value of the agent's policy.
#include "runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace gmac::testing;

namespace {

void check_watched(std::string const& what, std::string const& critics, std::size_t critic_count) {
    scratch folder;
    auto const run = [&](std::string const& name, std::string const& more) {
        auto const result = train(fmt::format("{} --out {} {}{}", what, folder / name, more, quiet));
        INFO(result.text);
        REQUIRE(result.status == 0);
    };
    run("alone", "--frames 1024");
    run("watched", fmt::format("--frames 1024 --threads 1 --critics {}", critics));
    run("cut", fmt::format("--frames 512 --critics {}", critics));
    auto const resumed = train(fmt::format("--resume {} --frames 1024{}", folder / "cut", quiet));
    INFO(resumed.text);
    REQUIRE(resumed.status == 0);
    CHECK(resumed.says("critics that watch: " + critics));

    auto const alone = numbers_of(folder.path / "alone");
    auto watched = numbers_of(folder.path / "watched");
    CHECK(numbers_of(folder.path / "cut") == watched);
    CHECK(state_of(folder.path / "cut") == state_of(folder.path / "watched"));
    // The agent's own columns come first.
    REQUIRE(watched.size() == alone.size() + 3 * critic_count);
    for (std::size_t i = 0; i < watched.size(); ++i)
        if (i >= alone.size()) {
            CHECK(std::ranges::all_of(watched[i], [](double value) { return std::isfinite(value); }));
            CHECK(watched[i].front() != watched[i].back());
        }
    watched.resize(alone.size());
    CHECK(watched == alone);
    // Nor does the policy that is deployed know of them.
    CHECK(slurp(folder.path / "alone" / "policy.safetensors") == slurp(folder.path / "watched" / "policy.safetensors"));
}

} // namespace

TEST_CASE("critics leave the run as it is, to the bit, and are resumed with it") {
    check_watched(
        "--env classic/cart_pole --algorithm ppo --hidden 8 --envs 4 --steps 32 --epochs 2 --schedule constant",
        "iqac,gmac,c51", 3);
    check_watched("--env classic/pendulum --hidden 8 --envs 4 --steps 32 --epochs 2", "gmac", 1);
    check_watched(
        "--env minatar/freeway --trunk conv:4x3x2,16 --envs 4 --steps 32 --epochs 1 --quantile-samples 4 "
        "--quantile-hidden 8",
        "iqac_e,ppo", 2);
}

TEST_CASE("critics that are none are refused, by name") {
    auto const refused = [](std::string const& arguments, std::string const& sentence) {
        auto const result = train(arguments);
        INFO(result.text);
        CHECK(result.status == 1);
        CHECK(result.says(sentence));
    };
    refused("--env classic/cart_pole --critics dqn",
            "unknown method in --critics \"dqn\"; known are gmac, ppo, iqac, iqac_e");
    refused("--env classic/cart_pole --critics iqac,,gmac",
            "--critics is \"iqac,,gmac\", but must be names of methods with a comma between two of them");
    refused("--env classic/cart_pole --critics iqac,gmac,iqac",
            "--critics is \"iqac,gmac,iqac\", which has iqac twice");
    refused("--env minatar/breakout --critics c51",
            "unknown method in --critics \"c51\"; known are gmac, ppo, iqac, iqac_e");
    refused("--env classic/cart_pole --critics gmac --particles 16000000 --envs 64 --steps 4096 --algorithm ppo",
            "--critics gmac");
}
