// SPDX-License-Identifier: Apache-2.0
// gmac-report --serve: the report of a run that is done, and of one that another process trains.
#include "http_client.hpp"
#include "support/says.hpp"
#include "train/runs.hpp"

#include <nlohmann/json.hpp>

#include <csignal>
#include <string>

using namespace gmac::testing;

TEST_CASE("gmac-report --serve shows a run until a signal, and follows it when another process trains on") {
    scratch const folder;
    auto const run = folder.path / "run", output = folder.path / "output";
    REQUIRE(train(fmt::format("--env classic/cart_pole --frames 2048 --out '{}'{}", run.string(), quiet)).status == 0);
    running_program server(
        fmt::format("exec '{}' '{}' --no-play --serve 0 > '{}' 2>&1", GMAC_REPORT, run.string(), output.string()));
    wait_until([&] { return port_in(output) > 0; });
    auto const port = port_in(output);
    CHECK(contains(get(port, "/").body, "classic/cart_pole"));
    auto const frames = [&] {
        return nlohmann::json::parse(get(port, "/data.json").body).at("run").at("frames").get<double>();
    };
    CHECK(frames() == 2048.0);
    connection listener(port);
    listener.send(request_for(port, "/events"));
    (void)listener.read_to("data: 1\n\n");
    REQUIRE(train(fmt::format("--resume '{}' --frames 4096{}", run.string(), quiet)).status == 0);
    (void)listener.read_to("data: ");
    wait_until([&] { return frames() == 4096.0; });
    CHECK(server.end(SIGTERM) == 0);
}

TEST_CASE("gmac-report refuses a port that is none before it writes anything") {
    scratch const folder;
    auto const run = folder.path / "run";
    REQUIRE(train(fmt::format("--env classic/cart_pole --frames 256 --no-report --out '{}'{}", run.string(), quiet))
                .status == 0);
    auto const before = files_in(run);
    auto const refused = run_program(fmt::format("'{}' '{}' --serve 70000 2>&1", GMAC_REPORT, run.string()));
    CHECK(refused.status == 1);
    CHECK(refused.says("--serve is 70000, but must be in [0, 65535]"));
    CHECK(files_in(run) == before);
}
