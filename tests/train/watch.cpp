// SPDX-License-Identifier: Apache-2.0
// gmac-train --watch on a terminal, and where there is none.
#include "runs.hpp"

#include "output/terminal.hpp"
#include "support/says.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace gmac::testing;

namespace {

/// Becomes gmac-train with these arguments.
int train_here(std::string const& arguments) {
    std::string const line = fmt::format("exec '{}' {}", GMAC_TRAIN, arguments);
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    return 127;
}

/// Columns of a screen, right of the axis, in which a curve has a dot: characters of Braille.
std::vector<std::size_t> columns_of_curve(terminal_model const& model) {
    std::vector<std::size_t> columns;
    for (std::string const& line : model.lines()) {
        std::size_t column = 0;
        for (std::size_t i = 0; i < line.size(); ++i) {
            bool const first = (static_cast<unsigned char>(line[i]) & 0xc0u) != 0x80u;
            column += first ? 1 : 0;
            auto const at = std::string_view(line).substr(i, 2);
            if (at >= "\xe2\xa0" && at <= "\xe2\xa3")
                columns.push_back(column);
        }
    }
    std::ranges::sort(columns);
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    return columns;
}

} // namespace

TEST_CASE("--watch draws the run while it trains, and Ctrl-C leaves the terminal and the run as ever") {
    scratch const folder;
    on_terminal terminal([&] {
        return train_here(
            fmt::format("--env classic/cart_pole --frames 1000000000 --watch --out '{}'{}", folder / "run", quiet));
    });
    auto& model = terminal.model;
    terminal.read_until([&] { return contains(model.text(), "value of one of them"); });
    terminal.read_until([&] { return !columns_of_curve(model).empty(); });
    CHECK(model.second_screen());
    CHECK(contains(model.lines().at(0), "gmac on classic/cart_pole, seed 1 in " + folder / "run"));
    CHECK(contains(model.text(), "mean return of the last 100 episodes: "));
    CHECK(contains(model.text(), "1.00G frames"));
    terminal.resize(50, 18);
    terminal.read_until([&] { return model.lines().size() <= 18 && !contains(model.text(), "value of one of them"); });
    terminal.press(3);
    CHECK(terminal.end() == 128 + SIGINT);
    CHECK(model.as_before());
    INFO(model.text());
    CHECK(contains(model.text(), "writing to"));
    CHECK(contains(model.text(), "frames/s") == false); // of 50 columns
    CHECK(contains(model.text(), "stopped by SIGINT"));
    CHECK(contains(model.text(), " --watch\n"));
    CHECK(fs::exists(folder.path / "run" / "checkpoint.safetensors"));
}

TEST_CASE("a resumed run shows the curve from its begin on") {
    scratch const folder;
    auto const run = folder.path / "run";
    REQUIRE(train(fmt::format("--env classic/cart_pole --frames 40000 --out '{}'{}", run.string(), quiet)).status == 0);
    on_terminal terminal(
        [&] { return train_here(fmt::format("--resume '{}' --frames 80000 --watch{}", run.string(), quiet)); });
    std::vector<std::size_t> columns;
    terminal.read_until([&] { return !(columns = columns_of_curve(terminal.model)).empty(); });
    CHECK(columns.front() < 20);
    CHECK(columns.back() > 40); // half of the 80 000 frames
}

TEST_CASE("into a pipe --watch says what is said without it, and the run is the same") {
    scratch const folder;
    std::string const what = "--env classic/cart_pole --frames 4096" + quiet;
    auto const watched = train(fmt::format("{} --watch --out '{}'", what, folder / "watched"));
    auto const plain = train(fmt::format("{} --out '{}'", what, folder / "plain"));
    CHECK(watched.status == 0);
    CHECK(watched.says("100%"));
    CHECK(!watched.says("\x1b"));
    CHECK(!watched.says("mean return of"));
    CHECK(state_of(folder.path / "watched") == state_of(folder.path / "plain"));
    CHECK(numbers_of(folder.path / "watched") == numbers_of(folder.path / "plain"));
}
