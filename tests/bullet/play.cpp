// SPDX-License-Identifier: Apache-2.0
// The program gmac-play, run as a user runs it.
#include "recordings.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"
#include "support/scratch_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>

namespace recordings = gmac::testing::recordings;

namespace {

namespace bullet = gmac::examples::bullet;
using gmac::testing::scratch_folder;
using gmac::testing::slurp;
using gmac::testing::spit;

std::string table(std::span<double const> numbers, std::size_t columns) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size(); ++i)
        text += fmt::format("{:.17g}{}", numbers[i], (i + 1) % columns == 0 ? '\n' : ',');
    return text;
}

struct outcome {
    int status = 0;
    std::string said; ///< to both streams
};

outcome play(scratch_folder const& folder, std::string const& arguments) {
    std::string const log = (folder / "log").string();
    int const status = std::system(fmt::format("'{}' {} > '{}' 2>&1", GMAC_PLAY, arguments, log).c_str());
    return {status, slurp(log)};
}

} // namespace

TEST_CASE("gmac-play writes the file that PyBullet's recording is", "[bullet][play]") {
    scratch_folder const folder;
    recordings::recording const recorded = recordings::load(bullet::hopper, 'b');
    std::size_t const columns = bullet::hopper.action_size();
    spit(folder / "joints", table(recorded.initial_angles(), columns));
    spit(folder / "actions", table(recorded.actions(), columns));
    outcome const done = play(folder, fmt::format("--env bullet/hopper --joints '{}' --actions '{}' --trace '{}'",
                                                  (folder / "joints").string(), (folder / "actions").string(),
                                                  (folder / "trace").string()));
    INFO(done.said);
    REQUIRE(done.status == 0);
    std::string const ours = slurp(folder / "trace");
    if (recordings::same_elementary_functions())
        CHECK(ours == recorded.text);
    CHECK(ours.substr(0, ours.find('\n')) == recorded.text.substr(0, recorded.text.find('\n')));
    CHECK(std::count(ours.begin(), ours.end(), '\n') == std::count(recorded.text.begin(), recorded.text.end(), '\n'));
}

TEST_CASE("gmac-play says what is wrong and fails", "[bullet][play]") {
    scratch_folder const folder;
    spit(folder / "three", "0,0,0\n");
    spit(folder / "two", "0,0\n");
    spit(folder / "rows", "0,0,0\n0,0,0\n");
    spit(folder / "words", "0,zero,0\n");
    std::filesystem::create_symlink("/dev/full", folder / "full");
    auto const with = [&](char const* env, char const* joints, char const* actions, char const* trace) {
        return play(folder,
                    fmt::format("--env {} --joints '{}' --actions '{}' --trace '{}'", env, (folder / joints).string(),
                                (folder / actions).string(), (folder / trace).string()));
    };
    struct mistake {
        char const *env, *joints, *actions, *trace, *message;
    };
    for (mistake const& m : {
             mistake{"bullet/hoper", "three", "three", "out", "bullet/hopper, bullet/walker2d"},
             mistake{"hopper", "three", "three", "out", "there is no robot \"hopper\""},
             mistake{"bullet/hopper", "missing", "three", "out", "cannot be opened"},
             mistake{"bullet/hopper", "two", "three", "out", "line 1: it has 2 numbers, but must have 3"},
             mistake{"bullet/hopper", "rows", "three", "out", "2 rows, but must have one"},
             mistake{"bullet/hopper", "three", "words", "out", "column 2: \"zero\" is not a number"},
             mistake{"bullet/hopper", "three", "three", "no/folder/out", "No such file or directory"},
             mistake{"bullet/hopper", "three", "three", "full", "full: No space left on device"},
         }) {
        outcome const failed = with(m.env, m.joints, m.actions, m.trace);
        CHECK(failed.status != 0);
        CHECK(gmac::testing::contains(failed.said, m.message));
    }
    CHECK(std::filesystem::is_symlink(folder / "full"));
    outcome const lengthy = with("bullet/hopper", "three", "three", std::string(20'000, 'x').c_str());
    CHECK(lengthy.said.size() < 1100);
    CHECK(lengthy.said.find("File name too long") != std::string::npos);
    CHECK(with(std::string(20'000, 'x').c_str(), "three", "three", "out").said.size() < 1100);
    CHECK(play(folder, "--env bullet/hopper --" + std::string(20'000, 'x')).said.size() < 1100);
    CHECK(play(folder, "--env bullet/hopper").status != 0);
    CHECK(with("bullet/hopper", "three", "rows", "out").status == 0);
}
