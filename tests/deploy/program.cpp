// SPDX-License-Identifier: Apache-2.0
// gmac-act acts from a file as the agent does.
#include "deploy/program.hpp"
#include "deploy/trained.hpp"
#include "support/catch.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

using namespace gmac;
using namespace gmac::test;

TEST_CASE("gmac-act acts as the agent whose policy it was given", "[deploy]") {
    trained<real_agent, gmac::testing::continuous_line> const subject;
    scratch_folder folder;
    auto const file = (folder.path / "policy.safetensors").string();
    auto const input = (folder.path / "observations.txt").string();
    save_policy(file, deploy(subject.agent, subject.normalized));
    std::vector<float> const raw = raw_observations(10), seen = normalised(raw, subject.normalized);
    std::ofstream(input) << fmt::format("{}", fmt::join(raw, "\n"));

    auto const result = act(fmt::format("{} <{}", file, input));
    INFO(result.text);
    CHECK(result.status == 0);
    std::istringstream words(result.text);
    auto agents_own = subject.agent.policy();
    for (std::size_t i = 0; i < 10; ++i) {
        float action = 0.0f, wanted = 0.0f;
        REQUIRE(words >> action);
        agents_own.act(std::span(seen).subspan(2 * i, 2), {&wanted, 1});
        CHECK(action == wanted);
    }
    CHECK((words >> std::ws).eof());

    std::ofstream(input) << "0.5 0.5 0.5";
    CHECK(act(fmt::format("{} <{}", file, input)).status == 1);
    CHECK(act(fmt::format("{} <{}", file, input))
              .text.ends_with("gmac-act: observation 1 has 1 numbers, but must have 2\n"));
    std::ofstream(input) << "0.5 left";
    auto const word = act(fmt::format("{} <{}", file, input));
    CHECK(word.status == 1);
    CHECK(word.text == "gmac-act: element 1 of observation 0 is not a finite number\n");
    auto const option = act("--help");
    CHECK(option.status == 1);
    CHECK(option.text.find("usage: gmac-act") != std::string::npos);
    auto const missing = act(fmt::format("{}.missing <{}", file, input));
    CHECK(missing.status == 1);
    CHECK(missing.text.find("cannot read " + file + ".missing") != std::string::npos);
}
