// SPDX-License-Identifier: Apache-2.0
// How programs end, in the shell that runs them.
#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/scratch_folder.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

using gmac::testing::program_outcome;
using gmac::testing::run_program;

namespace {

program_outcome sample(std::string const& what, std::string const& redirections = "2>&1") {
    return run_program(fmt::format("'{}' {} {}", GMAC_SAMPLE, what, redirections));
}

} // namespace

TEST_CASE("a program that does its work ends with its status and says nothing more", "[programs]") {
    for (std::string const what : {"print", "stream", "flush"}) {
        INFO(what);
        auto const done = sample(what);
        CHECK(done.status == 0);
        CHECK(done.text == "a line\n");
    }
    CHECK(sample("'print much'").text.size() == 100'001);
    CHECK(sample("status").status == 130);
    CHECK(sample("request").status == 7);
    CHECK(sample("request").text.empty());
}

TEST_CASE("output that cannot be written is a failure, however it is printed", "[programs]") {
    for (std::string const what : {"print", "'print much'", "stream"}) {
        INFO(what);
        auto const done = sample(what, "2>&1 >/dev/full");
        CHECK(done.status == 1);
        CHECK(done.text == "sample: the standard output could not be written: No space left on device\n");
    }
    auto const flushed = sample("flush", "2>&1 >/dev/full"); // it failed before the end: asked once more
    CHECK(flushed.status == 1);
    CHECK(flushed.text == "sample: the standard output could not be written: No space left on device\n");
    CHECK(sample("status", "2>&1 >/dev/full").status == 130);
}

TEST_CASE("whatever is thrown becomes a sentence and a failure", "[programs]") {
    for (auto const& [what, sentence] : {std::pair("error", "the number is 3, but must be 4"),
                                         std::pair("memory", "that takes more memory than there is"),
                                         std::pair("length", "that takes more memory than there can be"),
                                         std::pair("unexpected", "unexpected: a thing of another library")}) {
        auto const done = sample(what);
        CHECK(done.status == 1);
        CHECK(done.text == fmt::format("sample: {}\n", sentence));
    }
}

TEST_CASE("a message is short, whatever was given", "[programs]") {
    auto const cut = sample("'long error'");
    CHECK(cut.status == 1);
    CHECK(cut.text.size() < 1100);
    CHECK(cut.text.starts_with("sample: xxxxx"));
    CHECK(cut.says("xxx … xxx"));
    CHECK(cut.text.ends_with("xxxz is not a number\n"));
    std::string letters = "sample: a";
    for (int i = 0; i < 249; ++i)
        letters += "ü";
    letters += " … ";
    for (int i = 0; i < 250; ++i)
        letters += "ü";
    CHECK(sample("'long letters'").text == letters + "\n");
}

TEST_CASE("closed standard streams do not end up in files", "[programs]") {
    gmac::testing::scratch_folder const folder;
    auto const file = folder / "mine";
    for (std::string const closed : {"<&- >&- 2>&-", ">&- 2>&-", "<&- >&-", "2>&-", "<&-"}) {
        INFO(closed);
        CHECK(sample(fmt::format("file '{}'", file.string()), closed).status == 0);
        CHECK(gmac::testing::slurp(file) == "mine");
    }
}
