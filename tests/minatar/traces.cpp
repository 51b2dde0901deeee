// SPDX-License-Identifier: Apache-2.0
// Every recorded step of the original games is repeated exactly; a step that differs is named.
#include "minatar/trace.hpp"
#include "support/catch.hpp"

#include <gmac/core/error.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace {

namespace fs = std::filesystem;

[[nodiscard]] std::string text_of(fs::path const& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// What is wrong with a recorded sequence, or nothing.
[[nodiscard]] std::string complaint(std::string const& text) {
    std::istringstream file(text);
    try {
        static_cast<void>(minatar::replay(file, "trace"));
    } catch (gmac::error const& problem) {
        return problem.what();
    }
    return {};
}

/// The text with one occurrence of `from` replaced.
[[nodiscard]] std::string with(std::string text, std::string const& from, std::string const& to) {
    auto const at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

} // namespace

TEST_CASE("every recorded step of the five games is repeated exactly") {
    std::map<std::string, std::size_t> steps;
    for (auto const& entry : fs::directory_iterator(GMAC_MINATAR_TRACES)) {
        CAPTURE(entry.path().filename().string());
        std::ifstream file(entry.path());
        minatar::replayed const result = minatar::replay(file, entry.path().filename().string());
        CHECK(entry.path().filename().string().starts_with(result.game));
        steps[result.game] += result.steps;
    }
    // The numbers of the recordings' own description.
    CHECK(steps == std::map<std::string, std::size_t>{{"asterix", 9600},
                                                      {"breakout", 10200},
                                                      {"freeway", 15500},
                                                      {"seaquest", 19200},
                                                      {"space_invaders", 12200}});
}

TEST_CASE("the first step that differs is named, with what was expected") {
    std::string const good = text_of(fs::path(GMAC_MINATAR_TRACES) / "asterix_random_a.txt");
    CHECK(complaint(good).empty());
    CHECK(complaint(with(good, "S 1 u0.019475241487624584 0 0 dc8c", "S 1 u0.019475241487624584 1 0 dc8c")) ==
          "trace, line 5: step 2 gave reward 0 and terminal 0, but 1 and 0 were recorded");
    CHECK(complaint(with(good, "S 0 u0.1802696888767692 0 0 dc8c", "S 0 u0.1802696888767692 0 0 dc8d")) ==
          "trace, line 4: the observation's hash is dc8c2fc9f5cfff14, but dc8d2fc9f5cfff14 was recorded");
    CHECK(complaint(with(good, "i5/0/8", "i5/0/7")) ==
          "trace, line 14: the game asks for a whole number from 0 to 7, but \"i5/0/7\" was recorded");
    CHECK(complaint(with(good, ",i5/0/8", "")) ==
          "trace, line 14: the game asks for a whole number after 3 recorded chances, of which there are no more");
    CHECK(complaint(with(good, "u0.1802696888767692 ", "u0.1802696888767692,u0.5 ")) ==
          "trace, line 4: the game used 1 of the 2 recorded chances");
    CHECK(complaint(with(good, "S 0 ", "S 9 ")) == "trace, line 4: action 9 is not one of 0 to 5");
    CHECK(complaint(with(good, "S 0 u0.18", "X 0 u0.18"))
              .starts_with("trace, line 4: \"X 0 u0.1802696888767692 0 0 dc8c"));
    CHECK(complaint(with(good, "game=asterix", "game=pong")) ==
          "there is no game \"pong\" in MinAtar; there are asterix, breakout, freeway, seaquest and space_invaders");
    CHECK(complaint(with(good, "steps=1000", "steps=1001")) ==
          "trace: it has 1000 steps that earn 7, but its head says 1001 and 7");
    CHECK(complaint("frames\n1\n") ==
          "trace is no recorded game of MinAtar: it does not begin with \"# minatar-trace 1\"");
    CHECK(complaint("# minatar-trace 1\n# game=asterix steps=0 return=0\nS 0 u0.5 0 0 dc8c2fc9f5cfff14\n") ==
          "trace, line 3: a step before the first reset");
}
