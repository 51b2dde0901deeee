// SPDX-License-Identifier: Apache-2.0
// The server of gmac-train --serve, asked by hand: what it shows, what it refuses, and that nobody waits for its clients.
#include "report/report_server.hpp"

#include "http_client.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"
#include "support/scratch_folder.hpp"

#include <fmt/format.h>

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace gmac::testing;
using gmac::examples::report::report_server;
using gmac::examples::report::report_source;
namespace fs = std::filesystem;

namespace {

report_source const plain{.page = [] { return std::string("<p>the page"); }, .data = [] { return std::string("{}"); }};

/// A run beside something that is nobody's business.
struct run_folder {
    scratch_folder scratch;
    fs::path run = scratch / "a run";
    run_folder() {
        fs::create_directory(run);
        spit(scratch / "secret.csv", "SECRET");
        spit(run / "metrics.csv", "frames\n1\n");
        spit(run / "a picture.svg", "<svg/>");
    }
};

} // namespace

TEST_CASE("the page, its data and the files of the run are served, and nothing else") {
    run_folder const folder;
    spit(folder.run / "empty.csv", "");
    spit(folder.run / "checkpoint.safetensors", "weights");
    report_server const server(folder.run, 0, plain);
    auto const port = server.port();
    CHECK(server.address() == fmt::format("http://127.0.0.1:{}/", port));

    auto const page = get(port, "/");
    CHECK(page.status == 200);
    CHECK(page.body == "<p>the page");
    CHECK(page.header("Content-Type") == "text/html; charset=utf-8");
    CHECK(page.header("Cache-Control") == "no-store");
    CHECK(contains(page.header("Content-Security-Policy"), "default-src 'none'"));
    CHECK(!contains(page.head, "Access-Control"));
    CHECK(get(port, "/?anything").body == "<p>the page");
    auto const data = get(port, "/data.json");
    CHECK(data.body == "{}");
    CHECK(data.header("Content-Type") == "application/json");
    CHECK(get(port, "/files/metrics.csv").body == "frames\n1\n");
    CHECK(get(port, "/files/a%20picture.svg").header("Content-Type") == "image/svg+xml");
    CHECK(get(port, "/files/empty.csv").status == 200);
    CHECK(get(port, "/files/empty.csv").body.empty());
    for (char const* const none : {"/index.html", "/files", "/files/", "/files/none.csv", "/data.json/", "/DATA.JSON",
                                   "/files/checkpoint.safetensors"})
        CHECK(get(port, none).status == 404);
    for (char const* const target : {"/", "/data.json", "/events", "/files/metrics.csv"}) {
        auto const head = ask(port, request_for(port, target, "HEAD"));
        CHECK(head.status == 200);
        CHECK(head.body.empty());
    }
}

TEST_CASE("only GET and HEAD are answered, and a request that is none does no harm") {
    run_folder const folder;
    report_server const server(folder.run, 0, plain);
    auto const port = server.port();
    for (char const* const method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
        for (char const* const target : {"/", "/data.json", "/files/metrics.csv"}) {
            auto const answer = ask(port, request_for(port, target, method, "Content-Length: 0\r\n"));
            CHECK(answer.status == 405);
            CHECK(answer.header("Allow") == "GET, HEAD");
        }
    CHECK(slurp(folder.run / "metrics.csv") == "frames\n1\n");
    for (std::string const& garbage :
         {std::string("\r\n\r\n"), std::string("GET\r\n\r\n"), std::string("\0\1\2\r\n\r\n", 7),
          "GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\n\r\n", std::string("GET / HTTP/1.1\r\nHost")}) {
        connection to(port);
        to.send(garbage);
    }
    CHECK(get(port, "/").status == 200);
    CHECK(get(port, "/files/" + std::string(8000, 'a')).status == 404);
}

TEST_CASE("nothing outside of the run's folder is served") {
    run_folder const folder;
    fs::create_symlink(folder.scratch / "secret.csv", folder.run / "link.csv");
    fs::create_symlink("../secret.csv", folder.run / "relative.csv");
    fs::create_directory_symlink(folder.scratch.path, folder.run / "up");
    fs::create_directory(folder.run / "folder.csv");
    spit(folder.run / ".hidden.csv", "SECRET");
    fs::create_directory(folder.run / "inner");
    spit(folder.run / "inner" / "deep.csv", "SECRET");
    REQUIRE(::mkfifo((folder.run / "pipe.csv").c_str(), 0600) == 0);
    report_server const server(folder.run, 0, plain);
    auto const port = server.port();
    std::string const secret = (folder.scratch / "secret.csv").string();
    for (std::string const& target : {std::string("/../secret.csv"),
                                      std::string("/files/../secret.csv"),
                                      std::string("/files/%2e%2e/secret.csv"),
                                      std::string("/files/%2E%2E%2Fsecret.csv"),
                                      std::string("/files/..%2fsecret.csv"),
                                      std::string("/files/%252e%252e/secret.csv"),
                                      std::string("/files/..\\secret.csv"),
                                      std::string("/files/a/../../secret.csv"),
                                      std::string("/files/up/secret.csv"),
                                      std::string("/files/./metrics.csv/../../secret.csv"),
                                      std::string("/files/link.csv"),
                                      std::string("/files/relative.csv"),
                                      std::string("/files/folder.csv"),
                                      std::string("/files/pipe.csv"),
                                      std::string("/files/.hidden.csv"),
                                      std::string("/files/inner/deep.csv"),
                                      std::string("/files/../secret.csv%00.csv"),
                                      "/files/" + secret,
                                      "/files/%2f" + secret.substr(1),
                                      secret,
                                      "//" + secret,
                                      fmt::format("http://127.0.0.1:{}/files/../secret.csv", port)}) {
        auto const answer = get(port, target);
        CAPTURE(target);
        CHECK(answer.status >= 400);
        CHECK(answer.status < 500);
        CHECK(!contains(answer.body, "SECRET"));
    }
}

TEST_CASE("who asks by another name, and a page from elsewhere, is refused") {
    run_folder const folder;
    report_server const server(folder.run, 0, plain);
    auto const port = server.port();
    auto const status = [&](std::string const& headers) {
        return ask(port, fmt::format("GET /data.json HTTP/1.1\r\nConnection: close\r\n{}\r\n", headers)).status;
    };
    for (char const* const host : {"127.0.0.1", "localhost", "LocalHost", "[::1]"})
        CHECK(status(fmt::format("Host: {}:{}\r\n", host, port)) == 200);
    CHECK(status("") == 403);
    CHECK(status("Host: 127.0.0.1\r\n") == 403);
    CHECK(status("Host: localhost:1\r\n") == 403);
    CHECK(status(fmt::format("Host: rebound.example:{}\r\n", port)) == 403);
    CHECK(status(fmt::format("Host: 127.0.0.1.example:{}\r\n", port)) == 403);
    CHECK(status(fmt::format("Host: 127.0.0.1:{0}\r\nHost: evil.example:{0}\r\n", port)) == 403);
    auto const from = [&](std::string const& origin) {
        return status(fmt::format("Host: localhost:{}\r\nOrigin: {}\r\n", port, origin));
    };
    CHECK(from(fmt::format("http://localhost:{}", port)) == 200);
    CHECK(from("https://evil.example") == 403);
    CHECK(from(fmt::format("http://evil.example:{}", port)) == 403);
    CHECK(from("null") == 403);
}

TEST_CASE("the port is open on the loopback address and nowhere else") {
    run_folder const folder;
    report_server const server(folder.run, 0, plain);
    // Lines of /proc/net/tcp: number, local address and port in hexadecimal, remote ones, and the state, 0A for listening.
    std::size_t listening = 0;
    for (char const* const table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        std::string const text = fs::exists(table) ? slurp(table) : std::string();
        std::string const port = fmt::format(":{:04X} ", server.port());
        for (auto at = text.find(port); at != std::string::npos; at = text.find(port, at + 1))
            if (std::string const line = text.substr(text.rfind('\n', at) + 1, 60); contains(line, " 0A ")) {
                ++listening;
                CHECK(contains(line, " 0100007F" + port));
            }
    }
    CHECK(listening == 1);
}

TEST_CASE("a port that is taken is refused in a clear sentence") {
    run_folder const folder;
    report_server const first(folder.run, 0, plain);
    auto const message = message_of([&] { report_server(folder.run, first.port(), plain); });
    CHECK(message == fmt::format("cannot serve on port {} of 127.0.0.1: Address already in use; --serve 0 takes a port "
                                 "that is free",
                                 first.port()));
    CHECK(contains(message_of([&] { report_server(folder.run / "none", 0, plain); }), "No such file or directory"));
    CHECK(get(first.port(), "/").status == 200);
}

TEST_CASE("an event comes for what changed, and no more than one in a time") {
    run_folder const folder;
    {
        report_server server(folder.run, 0, plain, std::chrono::milliseconds(1));
        connection listener(server.port());
        listener.send(request_for(server.port(), "/events"));
        CHECK(contains(listener.read_to("\r\n\r\n"), "text/event-stream"));
        (void)listener.read_to("data: 1\n\n");
        server.changed();
        (void)listener.read_to("data: 2\n\n");
        server.changed();
        (void)listener.read_to("data: 3\n\n");
    }
    auto server = std::make_unique<report_server>(folder.run, 0, plain, std::chrono::hours(1));
    connection listener(server->port());
    listener.send(request_for(server->port(), "/events"));
    (void)listener.read_to("data: 1\n\n");
    for (int i = 0; i < 20; ++i) {
        server->changed();
        (void)get(server->port(), "/"); // time in which an event could be sent
    }
    server.reset(); // tells of the last change at once
    auto const rest = listener.read_to_end();
    CHECK(contains(rest, "data: 22\n\n"));
    CHECK(rest.find("data: ") == rest.rfind("data: "));
    CHECK(rest.ends_with("\r\n"));
}

TEST_CASE("who listens can ask for the last data before the server is gone") {
    run_folder const folder;
    std::atomic<int> state = 0;
    report_source source = plain;
    source.data = [&] { return fmt::format("state {}", state.load()); };
    auto server = std::make_unique<report_server>(folder.run, 0, source, std::chrono::hours(1));
    auto const port = server->port();
    connection listener(port);
    listener.send(request_for(port, "/events"));
    (void)listener.read_to("data: 1\n\n");
    CHECK(get(port, "/data.json").body == "state 0");
    auto last = std::async(std::launch::async, [&] {
        (void)listener.read_to("data: 3\n\n");
        return get(port, "/data.json").body;
    });
    state = 1;
    server->changed();
    server.reset();
    CHECK(last.get() == "state 1");
}

TEST_CASE("data are made once for one version, and again after a change") {
    run_folder const folder;
    std::atomic<int> made = 0;
    report_source source = plain;
    source.data = [&] { return std::to_string(++made); };
    report_server server(folder.run, 0, source, std::chrono::hours(1));
    CHECK(get(server.port(), "/data.json").body == "1");
    CHECK(get(server.port(), "/data.json").body == "1");
    server.changed();
    CHECK(get(server.port(), "/data.json").body == "2");
}

TEST_CASE("what cannot be made is said, and the server goes on") {
    run_folder const folder;
    report_source source = plain;
    source.data = []() -> std::string { throw std::runtime_error("the reason"); };
    report_server const server(folder.run, 0, source);
    auto const answer = get(server.port(), "/data.json");
    CHECK(answer.status == 500);
    CHECK(answer.body == "the reason\n");
    CHECK(get(server.port(), "/").status == 200);
}

TEST_CASE("the training waits neither for the report nor for a client") {
    run_folder const folder;
    std::mutex held;
    std::promise<void> asked;
    report_source source = plain;
    source.page = [&] {
        asked.set_value();
        std::lock_guard const wait(held);
        return std::string("late");
    };
    std::unique_lock lock(held);
    report_server server(folder.run, 0, source);
    connection client(server.port());
    client.send(request_for(server.port(), "/"));
    asked.get_future().wait(); // the server is making the page, and does not come to an end
    for (int i = 0; i < 1000; ++i)
        server.changed(); // would never return if it waited for that
    lock.unlock();
    CHECK(client.read_to_end().ends_with("late"));
}

TEST_CASE("clients that never read are left, and neither the training nor others wait for them without end") {
    run_folder const folder;
    std::size_t const size = std::size_t{64} << 20u; // much more than a socket holds
    report_source source = plain;
    source.data = [=] { return std::string(size, 'x'); };
    report_server server(folder.run, 0, source);
    auto const port = server.port();
    std::vector<std::unique_ptr<connection>> idle;
    for (int i = 0; i < 20; ++i) { // more than there are threads
        idle.push_back(std::make_unique<connection>(port));
        idle.back()->send(request_for(port, "/data.json"));
        server.changed();
    }
    CHECK(get(port, "/").body == "<p>the page"); // the 21st of 16 threads: five were left by now
    CHECK(std::ranges::count_if(idle, [&](auto const& one) { return one->read_to_end().size() < size; }) >= 5);
}

TEST_CASE("connections that say nothing take no more than a few files of the program") {
    run_folder const folder;
    report_server server(folder.run, 0, plain);
    auto const files = [] {
        auto const all = fs::directory_iterator("/proc/self/fd");
        return std::distance(begin(all), end(all));
    };
    auto const before = files();
    std::vector<std::unique_ptr<connection>> silent;
    for (int i = 0; i < 60; ++i)
        silent.push_back(std::make_unique<connection>(server.port()));
    auto const page = get(server.port(), "/"); // comes after them
    CHECK(page.status == 200);
    CHECK(files() - before <= 60 + 33);
}

TEST_CASE("only some pages can listen at a time, and others can be read meanwhile") {
    run_folder const folder;
    report_server server(folder.run, 0, plain, std::chrono::milliseconds(1));
    auto const port = server.port();
    std::vector<std::unique_ptr<connection>> listeners;
    for (int i = 0; i < 8; ++i) {
        listeners.push_back(std::make_unique<connection>(port));
        listeners.back()->send(request_for(port, "/events"));
        (void)listeners.back()->read_to("data: 1\n\n");
    }
    CHECK(get(port, "/events").status == 503);
    CHECK(get(port, "/").status == 200);
    listeners.pop_back(); // one that goes is noticed, and makes room
    int status = 503;
    for (int turn = 0; turn < 600 && status == 503; ++turn) {
        server.changed();
        connection again(port);
        again.send(request_for(port, "/events"));
        status = std::stoi(again.read_to("\r\n").substr(9));
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    CHECK(status == 200);
}
