// SPDX-License-Identifier: Apache-2.0
// gmac-train --serve: the report of a run while it trains. What the server refuses is in tests/serve.
#include "runs.hpp"

#include "serve/http_client.hpp"
#include "support/says.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

using namespace gmac::testing;

namespace {

/// As refused by gmac-train, which leaves no folder behind.
std::string refusal(std::string const& options) {
    scratch const folder;
    auto const done = train(fmt::format("--env classic/cart_pole --out '{}' {}", folder / "run", options));
    CHECK(done.status == 1);
    CHECK_FALSE(fs::exists(folder.path / "run"));
    return done.text;
}

} // namespace

TEST_CASE("--serve shows the report while the run trains, and each update is an event") {
    scratch const folder;
    auto const run = folder.path / "run", output = folder.path / "output";
    running_train training(fmt::format("--env classic/cart_pole --frames 1000000000 --serve 0 --out '{}'{} > '{}' 2>&1",
                                       run.string(), quiet, output.string()));
    wait_until([&] { return port_in(output) > 0; });
    auto const port = port_in(output);
    connection listener(port);
    listener.send(request_for(port, "/events"));
    (void)listener.read_to("data: 1\n\n");
    for (int event = 0; event < 2; ++event)
        (void)listener.read_to("data: "); // only an update makes another one
    auto const page = get(port, "/");
    CHECK(page.status == 200);
    CHECK(contains(page.body, "<!DOCTYPE html>"));
    CHECK(contains(page.body, "classic/cart_pole"));
    auto const data = nlohmann::json::parse(get(port, "/data.json").body);
    CHECK(data.at("format") == "gmac-report-1");
    CHECK(!data.at("metrics").empty());
    CHECK(get(port, "/files/metrics.csv").body.starts_with("frames,seconds,"));
    CHECK(get(port, "/files/checkpoint.safetensors").status == 404);
    CHECK(training.end(SIGINT) == 128 + SIGINT);
    CHECK(contains(slurp(output), " --serve 0"));
    CHECK(contains(listener.read_to_end(), "data: ")); // of the last change; then comes the end
}

TEST_CASE("a run that is served is the run that is not") {
    scratch const folder;
    std::string const what = "--env classic/cart_pole --frames 4096" + quiet;
    REQUIRE(train(fmt::format("{} --serve 0 --out '{}'", what, folder / "served")).status == 0);
    REQUIRE(train(fmt::format("{} --out '{}'", what, folder / "plain")).status == 0);
    CHECK(state_of(folder.path / "served") == state_of(folder.path / "plain"));
    CHECK(numbers_of(folder.path / "served") == numbers_of(folder.path / "plain"));
}

TEST_CASE("a port that is none, or is taken, is refused before anything is written") {
    CHECK(contains(refusal("--serve 70000"), "gmac-train: --serve is 70000, but must be in [0, 65535]"));
    CHECK(contains(refusal("--serve -1"), "--serve is -1, but must be in [0, 65535]"));
    CHECK(contains(refusal("--serve http"), "--serve is \"http\", but must be a whole number"));
    int const taken = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(taken, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(taken, 1) == 0);
    REQUIRE(::getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    CHECK(
        refusal(fmt::format("--serve {}", ntohs(address.sin_port))) ==
        fmt::format("gmac-train: cannot serve on port {} of 127.0.0.1: Address already in use; --serve 0 takes a port "
                    "that is free\n",
                    ntohs(address.sin_port)));
    ::close(taken);
}
