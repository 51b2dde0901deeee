// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

/// HTTP by hand: a test sends what it likes, and sees each byte.
namespace gmac::testing {

/// A connection to a port of 127.0.0.1.
class connection {
public:
    explicit connection(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        REQUIRE(socket_ >= 0);
        REQUIRE(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    }
    connection(connection const&) = delete;
    connection& operator=(connection const&) = delete;
    ~connection() { ::close(socket_); }

    void send(std::string_view text) const {
        REQUIRE(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
    }
    /// Reads until this text has come, which is all that came up to its end; fails after a minute, and at the end.
    std::string read_to(std::string_view last) {
        while (received_.find(last) == std::string::npos)
            REQUIRE(read_some());
        std::string const text = received_.substr(0, received_.find(last) + last.size());
        received_.erase(0, text.size());
        return text;
    }
    /// What comes until the other side closes.
    std::string read_to_end() {
        while (read_some())
            ;
        return received_;
    }

private:
    bool read_some() {
        pollfd waiting{socket_, POLLIN, 0};
        REQUIRE(::poll(&waiting, 1, 60'000) == 1);
        std::array<char, 65536> piece;
        auto const got = ::recv(socket_, piece.data(), piece.size(), 0);
        if (got <= 0)
            return false;
        received_.append(piece.data(), static_cast<std::size_t>(got));
        return true;
    }

    int socket_;
    std::string received_;
};

struct http_answer {
    int status = 0;
    std::string head, body;
    /// The value of a header; empty if there is none.
    [[nodiscard]] std::string header(std::string const& name) const {
        auto const lower = [](std::string text) {
            std::ranges::transform(text, text.begin(),
                                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
            return text;
        };
        auto const at = lower(head).find("\r\n" + lower(name) + ": ");
        if (at == std::string::npos)
            return {};
        auto const begin = at + name.size() + 4;
        return head.substr(begin, head.find("\r\n", begin) - begin);
    }
};

/// What comes for a whole request; the connection must be closed by it.
inline http_answer ask(std::uint16_t port, std::string const& request) {
    connection to(port);
    to.send(request);
    std::string const text = to.read_to_end();
    http_answer answer;
    auto const end = text.find("\r\n\r\n");
    INFO(request);
    INFO(text.substr(0, 300));
    REQUIRE(text.starts_with("HTTP/1.1 "));
    REQUIRE(end != std::string::npos);
    answer.status = std::stoi(text.substr(9));
    answer.head = text.substr(0, end + 2);
    answer.body = text.substr(end + 4);
    return answer;
}

inline std::string request_for(std::uint16_t port, std::string const& target, std::string const& method = "GET",
                               std::string const& more = {}) {
    return fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n{}\r\n", method, target, port,
                       more);
}
inline http_answer get(std::uint16_t port, std::string const& target) {
    return ask(port, request_for(port, target));
}

/// The port that a program said in a file of its output; 0 before that.
inline std::uint16_t port_in(std::filesystem::path const& output) {
    std::string const text = std::filesystem::exists(output) ? slurp(output) : std::string();
    std::string const before = "the report is at http://127.0.0.1:";
    auto const at = text.find(before);
    bool const whole = at != std::string::npos && text.find("/\n", at + before.size()) != std::string::npos;
    return whole ? static_cast<std::uint16_t>(std::stoi(text.substr(at + before.size()))) : std::uint16_t(0);
}

} // namespace gmac::testing
